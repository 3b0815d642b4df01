/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/client/connection.h"

#define SYSTEM_SOCKET "/run/tenon/tenon.sock"
#define TIMEOUT_MS 30000u
#define GREASE_MAX 16u

const char *tenon_code_name(int code)
{
    static const char *const ours[] = { "CONNECT", "CLOSED", "TIMEOUT", "SYSTEM", "ARGUMENT", "CHAT" };

    if (code == 0)
        return "OK";
    if (code >= TENON_E_CONNECT && code <= TENON_E_CHAT)
        return ours[code - TENON_E_CONNECT];
    return wire_code_name((uint32_t)code);
}

/* A connected socket or -errno. */
static int connect_to(const char *path, uint32_t timeout_ms)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct timeval limit = { .tv_sec = timeout_ms / 1000, .tv_usec = (timeout_ms % 1000) * 1000 };
    size_t size = strlen(path);
    int fd;

    if (size == 0 || size >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    memcpy(address.sun_path, path, size);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    /* A full backlog makes connect() wait; this bounds it. */
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) ||
        connect(fd, (const struct sockaddr *)&address, sizeof(address))) {
        int e = errno;

        close(fd);
        return -e;
    }
    return fd;
}

static int connect_failed(const char *path, int e, struct tenon_error *error)
{
    const char *advice = e == EACCES ? "; join the group tenon-clients"
                         : e == ENOENT || e == ECONNREFUSED ? "; is tenond running? TENON_SOCKET names another socket"
                                                            : "";

    return tenon_error_set(error, TENON_E_CONNECT, "%s: %s%s", path, strerror(e), advice);
}

static int connect_somewhere(const char *path, uint32_t timeout_ms, int *ret_fd, struct tenon_error *error)
{
    const char *named = path ? path : secure_getenv("TENON_SOCKET");
    const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
    char own[sizeof(((struct sockaddr_un *)0)->sun_path) + 32];
    int fd;

    if (named && *named) {
        fd = connect_to(named, timeout_ms);
        if (fd < 0)
            return connect_failed(named, -fd, error);
        *ret_fd = fd;
        return 0;
    }
    fd = connect_to(SYSTEM_SOCKET, timeout_ms);
    if ((fd == -ENOENT || fd == -ECONNREFUSED) && runtime && *runtime &&
        (size_t)snprintf(own, sizeof(own), "%s/tenon.sock", runtime) < sizeof(own)) {
        fd = connect_to(own, timeout_ms);
        if (fd == -ENOENT || fd == -ECONNREFUSED)
            return tenon_error_set(error, TENON_E_CONNECT, "nobody listens at " SYSTEM_SOCKET
                                   " or %s; is tenond running? TENON_SOCKET names another socket", own);
        if (fd < 0)
            return connect_failed(own, -fd, error);
    }
    if (fd < 0)
        return connect_failed(SYSTEM_SOCKET, -fd, error);
    *ret_fd = fd;
    return 0;
}

/*
 * Puts a TLV that no server knows behind the payload, so that servers which choke on unknown ones are found now and
 * not when a real one is added.
 */
static void grease(struct frame_out *out, uint64_t random)
{
    uint8_t tlv[8 + GREASE_MAX] = { 0 };
    uint16_t tag = (uint16_t)(FRAME_TLV_GREASE | (random & 0xfff));
    uint32_t length = (uint32_t)(random >> 12) % (GREASE_MAX + 1), total;

    memcpy(tlv, &tag, sizeof(tag));
    memcpy(tlv + 4, &length, sizeof(length));
    for (uint32_t i = 0; i < length; i++)
        tlv[8 + i] = (uint8_t)(random >> (i * 3));
    total = 8 + (uint32_t)align_up(length, 8);
    check(out->capacity - out->size >= total);
    memcpy(out->data + out->size, tlv, total);
    out->size += total;
    total += load_u32(out->data);
    memcpy(out->data, &total, sizeof(total));
}

static int send_hello(struct tenon *tenon, const char *name, struct tenon_error *error)
{
    uint8_t memory[512];
    struct frame_out out = { .data = memory, .capacity = sizeof(memory) };
    uint64_t random = clock_now_ns();
    struct wire_hello hello = { .magic = WIRE_MAGIC, .version_min = 1, .max_frame = WIRE_LIMIT_FRAME_SERVER };

    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
        random *= 0x9e3779b97f4a7c15u;  /* good enough: it need not be secret */
    hello.version_max = (uint16_t)(WIRE_VERSION + (random >> 63));
    hello.capabilities = WIRE_CAP_PROMPT_MEMFD | WIRE_CAP_CREDITS | WIRE_CAP_GRAMMAR | WIRE_CAP_LOGIT_BIAS;
    hello.client = span_of(name, strnlen(name, 256));
    if (wire_hello_encode(&hello, (struct frame_header){ .request = 0 }, &out))
        return tenon_error_set(error, TENON_E_ARGUMENT, "HELLO cannot be written");
    grease(&out, random);
    return connection_send(tenon, out.data, out.size, NULL, 0, error);
}

static int take_hello_ok(struct tenon *tenon, const struct frame *frame, struct tenon_error *error)
{
    struct span payload = frame_payload(frame);
    struct tenon_server *s = &tenon->server;
    struct wire_hello_ok ok;
    int r;

    if (frame->header.flags & FRAME_ERROR)
        return connection_error(tenon, payload, error);
    if (frame->header.type != WIRE_TYPE_HELLO_OK)
        return tenon_error_set(error, TENON_E_PROTOCOL, "the server answered HELLO with type 0x%04x: is this tenond?",
                               frame->header.type);
    r = connection_decode(tenon, &wire_hello_ok_message, payload, &ok, error);
    if (r)
        return r;
    if (ok.version != WIRE_VERSION)
        return tenon_error_set(error, TENON_E_VERSION, "the server chose version %u, this library speaks %u",
                               ok.version, WIRE_VERSION);
    tenon->max_frame = (uint32_t)min_u64(ok.max_frame, WIRE_LIMIT_FRAME_CLIENT);
    s->version = ok.version;
    s->max_in_flight = ok.max_in_flight;
    s->max_prompt_bytes = ok.max_prompt_bytes;
    s->capabilities = ok.capabilities;
    s->boot_id = ok.boot_id;
    memcpy(s->name, ok.server.data, min_u64(ok.server.size, sizeof(s->name) - 1));
    return 0;
}

static int handshake(struct tenon *tenon, const char *name, struct tenon_error *error)
{
    struct frame *frame;
    int r = send_hello(tenon, name, error);

    if (r && r != TENON_E_CLOSED)       /* one that hangs up may have said why */
        return r;
    r = connection_first(tenon, connection_deadline(tenon->timeout_ms), &frame, error);
    if (r)
        return r;
    r = take_hello_ok(tenon, frame, error);
    free(frame);
    return r;
}

int tenon_open(const char *path, const struct tenon_options *options, struct tenon **ret_tenon,
               struct tenon_error *error)
{
    struct tenon *tenon = calloc(1, sizeof(*tenon));
    int r;

    if (!tenon)
        return tenon_error_set(error, TENON_E_SYSTEM, "no memory for a connection");
    tenon->fd = -1;
    tenon->queue_end = &tenon->queue;
    tenon->next_cookie = RAW_COOKIE_END;
    tenon->max_frame = WIRE_LIMIT_FRAME_BEFORE_HELLO;
    tenon->timeout_ms = options && options->timeout_ms ? options->timeout_ms : TIMEOUT_MS;
    r = connect_somewhere(path, tenon->timeout_ms, &tenon->fd, error);
    if (r == 0)
        r = handshake(tenon, options && options->name ? options->name : "libtenon", error);
    if (r) {
        tenon_close(tenon);
        return r;
    }
    *ret_tenon = tenon;
    return 0;
}

struct tenon *tenon_close(struct tenon *tenon)
{
    if (!tenon)
        return NULL;
    while (tenon->queue) {
        struct frame *next = tenon->queue->next;

        free(tenon->queue);
        tenon->queue = next;
    }
    if (tenon->fd >= 0)
        close(tenon->fd);
    free(tenon->held);
    free(tenon->tokens);
    free(tenon->alternatives);
    free(tenon->flight);
    free(tenon);
    return NULL;
}

const struct tenon_server *tenon_server(const struct tenon *tenon) { return &tenon->server; }
int tenon_fd(const struct tenon *tenon) { return tenon->fd; }

bool tenon_pending(const struct tenon *tenon)
{
    size_t size;

    return tenon->queue || tenon->broken || connection_frame_size(tenon, &size, NULL) || size;
}
