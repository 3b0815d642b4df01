/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/client/fake_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

void fake_verify(struct fake *fake, bool condition, const char *text, int line)
{
    if (!condition && !fake->failure[0])
        snprintf(fake->failure, sizeof(fake->failure), "script, line %d: %s", line, text);
}

static void take_fds(struct fake *fake, struct msghdr *m)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        fake_check(fake, c->cmsg_type == SCM_RIGHTS && fake->frame.fd_count + n <= WIRE_LIMIT_FDS);
        memcpy(fake->frame.fds + fake->frame.fd_count, CMSG_DATA(c), n * sizeof(int));
        fake->frame.fd_count += n;
    }
}

static bool read_all(struct fake *fake, void *to, size_t size)
{
    size_t done = 0;

    while (done < size) {
        uint8_t control[256];
        struct iovec iov = { (uint8_t *)to + done, size - done };
        struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control };
        ssize_t n;

        m.msg_controllen = sizeof(control);
        n = recvmsg(fake->fd, &m, MSG_CMSG_CLOEXEC);
        if (n <= 0)
            return false;
        take_fds(fake, &m);
        done += (size_t)n;
    }
    return true;
}

bool fake_read(struct fake *fake, uint16_t type)
{
    uint8_t head[FRAME_HEADER_BYTES];
    struct wire_fault fault;

    for (size_t i = 0; i < fake->frame.fd_count; i++)
        close(fake->frame.fds[i]);
    fake->frame.fd_count = 0;
    if (!read_all(fake, head, sizeof(head)))
        return false;
    fake_check(fake, frame_header_decode(head, WIRE_LIMIT_FRAME_CLIENT, &fake->frame.header, &fault) == 0);
    fake_check(fake, fake->frame.header.type == type);
    if (fake->failure[0] || !read_all(fake, fake->frame.payload, fake->frame.header.length))
        return false;
    fake_check(fake, fake->frame.fd_count == fake->frame.header.nfds);
    return true;
}

struct span fake_payload(const struct fake *fake)
{
    return span_of(fake->frame.payload, fake->frame.header.length);
}

void fake_send_bytes(struct fake *fake, const void *bytes, size_t size)
{
    if (send(fake->fd, bytes, size, MSG_NOSIGNAL) < 0) {
        /* The client may have left; what that means is the test's business. */
    }
}

void fake_send(struct fake *fake, const struct wire_message *message, const void *value, uint64_t request,
               uint8_t flags)
{
    size_t size = wire_size(message, value);
    struct frame_out out = { .data = malloc(size ? size : 1), .capacity = size };
    struct frame_header head = { .request = request, .flags = flags };

    fake_check(fake, size && wire_encode(message, value, head, &out, NULL) == 0);
    fake_send_bytes(fake, out.data, out.size);
    free(out.data);
}

void fake_send_error(struct fake *fake, uint16_t type, uint64_t request, uint32_t code, const char *text)
{
    struct wire_error e = { .code = code, .detail = 61, .retry_after_ms = 250, .message = span_of(text, strlen(text)) };
    uint8_t memory[512];
    struct frame_out out = { .data = memory, .capacity = sizeof(memory) };
    struct frame_header head = { .type = type, .request = request, .flags = FRAME_END | FRAME_ERROR };

    fake_check(fake, wire_error_encode(&e, head, &out) == 0);
    fake_send_bytes(fake, out.data, out.size);
}

static void serve_one(struct fake *fake)
{
    struct wire_hello hello;

    fake->fd = accept4(fake->listener, NULL, NULL, SOCK_CLOEXEC);
    fake_check(fake, fake->fd >= 0);
    if (!fake->silent && fake_read(fake, WIRE_TYPE_HELLO)) {
        fake_check(fake, wire_hello_decode(fake_payload(fake), &hello, NULL) == 0);
        fake_send(fake, &wire_hello_ok_message, &fake->hello_ok, fake->frame.header.request, FRAME_END);
    }
    if (fake->script)
        fake->script(fake);
    for (size_t i = 0; i < fake->frame.fd_count; i++)
        close(fake->frame.fds[i]);
    fake->frame.fd_count = 0;
    close(fake->fd);
}

static void *run(void *arg)
{
    struct fake *fake = arg;

    for (uint32_t i = 0; i < fake->connections; i++)
        serve_one(fake);
    return NULL;
}

void fake_start(struct fake *fake, void (*script)(struct fake *fake))
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    fake->script = script;
    if (!fake->connections)
        fake->connections = 1;
    if (!fake->hello_ok.version)
        fake->hello_ok = (struct wire_hello_ok){
            .version = WIRE_VERSION, .max_fds = WIRE_LIMIT_FDS, .max_frame = WIRE_LIMIT_FRAME_CLIENT,
            .max_in_flight = WIRE_LIMIT_IN_FLIGHT, .max_prompt_bytes = WIRE_LIMIT_PROMPT_INLINE, .boot_id = 42,
            .capabilities = WIRE_CAP_PROMPT_MEMFD, .server = span_of("fake 1", 6),
        };
    strcpy(fake->directory, "/tmp/tenon-client-XXXXXX");
    assert_non_null(mkdtemp(fake->directory));
    snprintf(fake->path, sizeof(fake->path), "%s/tenon.sock", fake->directory);
    strcpy(address.sun_path, fake->path);
    fake->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fake->listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fake->listener, 8), 0);
    assert_int_equal(pthread_create(&fake->thread, NULL, run, fake), 0);
}

void fake_stop(struct fake *fake)
{
    pthread_join(fake->thread, NULL);
    close(fake->listener);
    unlink(fake->path);
    rmdir(fake->directory);
    if (fake->failure[0])
        fail_msg("%s", fake->failure);
}
