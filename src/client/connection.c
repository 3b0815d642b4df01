/* SPDX-License-Identifier: Apache-2.0 */
#include "src/client/connection.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/base/clock.h"

static void fill(struct tenon_error *error, int code, const char *format, va_list args)
{
    *error = (struct tenon_error){ .code = code };
    vsnprintf(error->message, sizeof(error->message), format, args);
}

int tenon_error_set(struct tenon_error *error, int code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (error)
        fill(error, code, format, args);
    va_end(args);
    return code;
}

int connection_break(struct tenon *tenon, struct tenon_error *error, int code, const char *format, ...)
{
    va_list args;

    tenon->broken = true;
    va_start(args, format);
    if (error)
        fill(error, code, format, args);
    va_end(args);
    return code;
}

int connection_error(struct tenon *tenon, struct span payload, struct tenon_error *error)
{
    struct wire_error e;
    int r = connection_decode(tenon, &wire_error_message, payload, &e, error);

    if (r)
        return r;
    r = e.code >= 1 && e.code <= WIRE_CODE_MAX ? (int)e.code : TENON_E_INTERNAL;
    tenon_error_set(error, r, "%.*s", (int)e.message.size, (const char *)e.message.data);
    if (error) {
        error->detail = e.detail;
        error->retry_after_ms = e.retry_after_ms;
    }
    return r;
}

uint64_t connection_deadline(int64_t timeout_ms)
{
    return timeout_ms < 0 ? UINT64_MAX : clock_now_ns() + (uint64_t)timeout_ms * NS_PER_MS;
}

/* 0 when the socket is ready, TENON_E_TIMEOUT, or TENON_E_SYSTEM with errno. */
static int wait_for(int fd, short events, uint64_t deadline_ns)
{
    struct pollfd p = { .fd = fd, .events = events };

    for (;;) {
        uint64_t now = clock_now_ns();
        int ms = -1, r;

        if (deadline_ns != UINT64_MAX)
            ms = deadline_ns <= now ? 0 : (int)min_u64((deadline_ns - now + NS_PER_MS - 1) / NS_PER_MS, 1u << 30);
        r = poll(&p, 1, ms);
        if (r > 0)
            return 0;
        if (r < 0 && errno != EINTR)
            return TENON_E_SYSTEM;
        if (r == 0 && deadline_ns <= clock_now_ns())
            return TENON_E_TIMEOUT;
    }
}

static ssize_t send_some(int fd, const uint8_t *bytes, size_t size, const int *fds, size_t fd_count)
{
    union { struct cmsghdr align; uint8_t bytes[CMSG_SPACE(WIRE_LIMIT_FDS * sizeof(int))]; } control = { 0 };
    struct iovec iov = { .iov_base = (void *)bytes, .iov_len = size };
    struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
    struct cmsghdr *c;

    if (fd_count) {
        m.msg_control = control.bytes;
        m.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
        memcpy(CMSG_DATA(c), fds, fd_count * sizeof(int));
    }
    return sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int connection_send(struct tenon *tenon, const void *bytes, size_t size, const int *fds, size_t fd_count,
                    struct tenon_error *error)
{
    uint64_t deadline = connection_deadline(tenon->timeout_ms);
    size_t done = 0;

    if (tenon->broken)
        return tenon_error_set(error, TENON_E_CLOSED, "the connection is closed");
    while (done < size) {
        ssize_t n = send_some(tenon->fd, (const uint8_t *)bytes + done, size - done, fds, done ? 0 : fd_count);

        if (n > 0) {
            done += (size_t)n;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            int r = wait_for(tenon->fd, POLLOUT, deadline);

            if (r)
                return connection_break(tenon, error, r, "the server takes no bytes");
        } else if (errno != EINTR) {
            /* What it said before it hung up is still to be read; the next read tells of the end. */
            return tenon_error_set(error, TENON_E_CLOSED, "the server hung up: %s", strerror(errno));
        }
    }
    return 0;
}

int connection_send_message(struct tenon *tenon, const struct wire_message *message, const void *value,
                            uint64_t cookie, const int *fds, size_t fd_count, struct tenon_error *error)
{
    struct frame_header head = { .request = cookie, .nfds = (uint8_t)fd_count };
    struct frame_out out = { .capacity = SIZE_MAX };
    struct wire_fault fault;
    char text[256];
    int r = wire_encode(message, value, head, &out, &fault);

    if (r) {
        wire_fault_text(&fault, text, sizeof(text));
        return tenon_error_set(error, r == WIRE_E_LIMIT ? TENON_E_LIMIT : TENON_E_ARGUMENT, "%s", text);
    }
    if (out.size - FRAME_HEADER_BYTES > tenon->max_frame)
        return tenon_error_set(error, TENON_E_LIMIT, "%s of %zu bytes; the server takes %u", message->name,
                               out.size - FRAME_HEADER_BYTES, tenon->max_frame);
    out = (struct frame_out){ .data = malloc(out.size), .capacity = out.size };
    if (!out.data)
        return tenon_error_set(error, TENON_E_SYSTEM, "no memory for a frame of %zu bytes", out.capacity);
    r = wire_encode(message, value, head, &out, NULL);
    check(r == 0);
    r = connection_send(tenon, out.data, out.size, fds, fd_count, error);
    free(out.data);
    return r;
}

/* ---- reading ---- */

int connection_frame_size(const struct tenon *tenon, size_t *ret_size, struct wire_fault *fault)
{
    struct frame_header header;

    *ret_size = 0;
    if (tenon->in_size < FRAME_HEADER_BYTES)
        return 0;
    if (frame_header_decode(tenon->in + tenon->in_start, WIRE_LIMIT_FRAME_SERVER, &header, fault))
        return TENON_E_PROTOCOL;
    if (tenon->in_size - FRAME_HEADER_BYTES >= header.length)
        *ret_size = FRAME_HEADER_BYTES + header.length;
    return 0;
}

/* Takes a whole frame out of tenon->in: 0 and *ret_frame, which is NULL while there is none yet. */
static int take_frame(struct tenon *tenon, struct frame **ret_frame, struct tenon_error *error)
{
    const uint8_t *bytes = tenon->in + tenon->in_start;
    struct wire_fault fault;
    struct frame *frame;
    size_t size;

    *ret_frame = NULL;
    if (connection_frame_size(tenon, &size, &fault))
        return connection_break(tenon, error, TENON_E_PROTOCOL, "the server sent a %s", fault.problem);
    if (!size)
        return 0;
    frame = malloc(sizeof(*frame) + size);
    if (!frame)
        return connection_break(tenon, error, TENON_E_SYSTEM, "no memory for a frame of %zu bytes", size);
    frame->next = NULL;
    check(frame_header_decode(bytes, WIRE_LIMIT_FRAME_SERVER, &frame->header, &fault) == 0);
    memcpy(frame->bytes, bytes, size);
    tenon->in_start += size;
    tenon->in_size -= size;
    *ret_frame = frame;
    return 0;
}

static int read_some(struct tenon *tenon, uint64_t deadline_ns, struct tenon_error *error)
{
    ssize_t n;
    int r;

    if (tenon->broken)
        return tenon_error_set(error, TENON_E_CLOSED, "the connection is closed");
    /* Here what is left is less than a frame, so moving it makes room for the rest of it. */
    memmove(tenon->in, tenon->in + tenon->in_start, tenon->in_size);
    tenon->in_start = 0;
    n = recv(tenon->fd, tenon->in + tenon->in_size, sizeof(tenon->in) - tenon->in_size, MSG_DONTWAIT);
    if (n > 0) {
        tenon->in_size += (size_t)n;
        return 0;
    }
    if (n == 0)
        return connection_break(tenon, error, TENON_E_CLOSED, "the server hung up");
    if (errno == EINTR)
        return 0;
    if (errno != EAGAIN && errno != EWOULDBLOCK)
        return connection_break(tenon, error, TENON_E_CLOSED, "the server hung up: %s", strerror(errno));
    r = wait_for(tenon->fd, POLLIN, deadline_ns);
    if (r == TENON_E_TIMEOUT)
        return tenon_error_set(error, r, "no answer in time");
    return r ? connection_break(tenon, error, r, "poll: %s", strerror(errno)) : 0;
}

static bool in_flight(const struct tenon *tenon, uint64_t request)
{
    for (size_t i = 0; i < tenon->flight_count; i++)
        if (tenon->flight[i] == request)
            return true;
    return false;
}

static int keep(struct tenon *tenon, struct frame *frame, struct tenon_error *error)
{
    bool raw = tenon->raw && frame->header.request < RAW_COOKIE_END;

    if (!raw && !in_flight(tenon, frame->header.request)) {
        free(frame);                    /* of a request that nobody remembers */
        return 0;
    }
    tenon->queue_bytes += frame->header.length + sizeof(*frame);
    *tenon->queue_end = frame;
    tenon->queue_end = &frame->next;
    if (tenon->queue_bytes > QUEUE_BYTES_MAX)
        return connection_break(tenon, error, TENON_E_SYSTEM, "more than %u MiB of events wait for tenon_next()",
                                QUEUE_BYTES_MAX >> 20);
    return 0;
}

/* A frame with request 0: PING, GOAWAY, a framing error of ours.  Consumes it. */
static int take_control(struct tenon *tenon, struct frame *frame, struct tenon_error *error)
{
    struct span payload = frame_payload(frame);
    struct wire_ping ping;
    int r = 0;

    if (frame->header.flags & FRAME_ERROR) {
        r = connection_error(tenon, payload, error);
        tenon->broken = true;
    } else if (frame->header.type == WIRE_TYPE_PING) {
        r = connection_decode(tenon, &wire_ping_message, payload, &ping, error);
        if (r == 0)
            r = connection_send_message(tenon, &wire_pong_message, &(struct wire_pong){ .opaque = ping.opaque }, 0,
                                        NULL, 0, error);
    } else if (frame->header.type == WIRE_TYPE_GOAWAY) {
        tenon->server.leaving = true;
    }
    if (tenon->raw && frame->header.type != WIRE_TYPE_PING) {
        int kept = keep(tenon, frame, error);

        return r ? r : kept;
    }
    free(frame);
    return r;
}

static struct frame *from_queue(struct tenon *tenon, frame_wanted *wanted, uint64_t cookie)
{
    for (struct frame **p = &tenon->queue; *p; p = &(*p)->next) {
        struct frame *frame = *p;

        if (!wanted(tenon, cookie, frame->header.request))
            continue;
        *p = frame->next;
        if (!*p)
            tenon->queue_end = p;
        tenon->queue_bytes -= frame->header.length + sizeof(*frame);
        frame->next = NULL;
        return frame;
    }
    return NULL;
}

int connection_next(struct tenon *tenon, frame_wanted *wanted, uint64_t cookie, uint64_t deadline_ns,
                    struct frame **ret_frame, struct tenon_error *error)
{
    struct frame *frame;
    int r;

    for (;;) {
        frame = from_queue(tenon, wanted, cookie);
        if (frame) {
            *ret_frame = frame;
            return 0;
        }
        r = take_frame(tenon, &frame, error);
        if (r == 0 && frame && frame->header.request == 0)
            r = take_control(tenon, frame, error);
        else if (r == 0 && frame && wanted(tenon, cookie, frame->header.request))
            return *ret_frame = frame, 0;
        else if (r == 0 && frame)
            r = keep(tenon, frame, error);
        else if (r == 0)
            r = read_some(tenon, deadline_ns, error);
        if (r)
            return r;
    }
}

int connection_first(struct tenon *tenon, uint64_t deadline_ns, struct frame **ret_frame, struct tenon_error *error)
{
    struct frame *frame = NULL;
    int r = take_frame(tenon, &frame, error);

    while (r == 0 && !frame) {
        r = read_some(tenon, deadline_ns, error);
        if (r == 0)
            r = take_frame(tenon, &frame, error);
    }
    if (r == 0)
        *ret_frame = frame;
    return r;
}

bool frame_is_of(const struct tenon *tenon, uint64_t cookie, uint64_t request)
{
    (void)tenon;
    return cookie == request;
}

int connection_decode(struct tenon *tenon, const struct wire_message *message, struct span payload, void *ret_value,
                      struct tenon_error *error)
{
    struct wire_fault fault;
    char text[256];

    if (wire_decode(message, payload, ret_value, &fault) == 0)
        return 0;
    wire_fault_text(&fault, text, sizeof(text));
    return connection_break(tenon, error, TENON_E_PROTOCOL, "the server sent what cannot be read: %s", text);
}

/* One frame of an answer to @message. */
static int take_reply(struct tenon *tenon, const struct wire_message *message, const struct frame *frame,
                      reply_taker *on_reply, void *arg, struct tenon_error *error)
{
    struct span payload = frame_payload(frame);

    if (frame->header.flags & FRAME_ERROR)
        return connection_error(tenon, payload, error);
    if (frame->header.type != (message->type | FRAME_REPLY))
        return connection_break(tenon, error, TENON_E_PROTOCOL, "the server answered %s with type 0x%04x",
                                message->name, frame->header.type);
    return on_reply(arg, tenon, payload, error);
}

int connection_call(struct tenon *tenon, const struct wire_message *message, const void *value, const int *fds,
                    size_t fd_count, reply_taker *on_reply, void *arg, struct tenon_error *error)
{
    uint64_t cookie = tenon->next_cookie++;
    bool end = false;
    int r = connection_send_message(tenon, message, value, cookie, fds, fd_count, error);

    while (r == 0 && !end) {
        struct frame *frame;

        r = connection_next(tenon, frame_is_of, cookie, connection_deadline(tenon->timeout_ms), &frame, error);
        if (r) {
            if (r == TENON_E_TIMEOUT)   /* the answer would come when nobody waits for it */
                tenon->broken = true;
            return r;
        }
        end = frame->header.flags & FRAME_END;
        r = take_reply(tenon, message, frame, on_reply, arg, error);
        free(frame);
        if (r && !end)                  /* the rest is not wanted; dropped as unknown when it comes */
            break;
    }
    return r;
}
