/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "tests/serve/fixture.h"

#define WAIT_MS 20000               /* for what comes soon on a quiet machine */

static uint32_t count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    uint32_t n = 0;

    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static void wake(void *arg)
{
    ring_wake(arg);
}

static void on_signal(void *arg, int fd)
{
    struct fixture *f = arg;
    uint64_t n;

    assert_int_equal(read(fd, &n, sizeof(n)), sizeof(n));
    door_drain(f->door, WIRE_GOAWAY_REASON_SHUTDOWN, f->drain_deadline_ms);
}

static void on_serving(void *arg)
{
    ((struct fixture *)arg)->serving = 1;
}

struct fixture *fixture_new(void)
{
    static uint32_t serial;
    struct fixture *f = calloc(1, sizeof(*f));

    f->fds_before = count_fds();
    snprintf(f->path, sizeof(f->path), "/tmp/tenon-serve-%d-%u.sock", (int)getpid(), serial);
    snprintf(f->admin_path, sizeof(f->admin_path), "/tmp/tenon-serve-%d-%u-admin.sock", (int)getpid(), serial++);
    f->models[0] = (struct instance_config){ .id = "fake", .path = "/nowhere/fake.gguf" };
    f->models[1] = (struct instance_config){ .id = "second", .path = "/nowhere/second.gguf" };
    f->config = (struct door_config){ .models = f->models, .model_count = 1, .listener_count = 2, .boot_id = 7,
                                      .limits = LIMITS_DEFAULT, .log_level = LOG_LEVEL_ERROR,
                                      .hooks = { .arg = f, .signal = on_signal, .serving = on_serving } };
    f->drain_deadline_ms = WAIT_MS;
    return f;
}

static void *run(void *arg)
{
    struct fixture *f = arg;

    f->result = door_run(f->door, &f->error);
    return NULL;
}

void fixture_start(struct fixture *f)
{
    struct socket_listen_config listen = { .path = f->path, .mode = 0600, .group = SOCKET_GROUP_KEEP };
    struct ring_config ring = { .operations = 0 };
    struct error error = ERROR_NULL;

    log_set_level(getenv("TENON_TEST_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
    assert_int_equal(socket_listen(&listen, &f->listener, &error), 0);
    listen.path = f->admin_path;
    assert_int_equal(socket_listen(&listen, &f->admin, &error), 0);
    assert_int_equal(ring_new(&ring, &f->ring, &error), 0);
    assert_int_equal(bridge_new(wake, f->ring, &f->bridge), 0);
    f->wake_fd = eventfd(0, EFD_CLOEXEC);
    f->config.ring = f->ring;
    f->config.bridge = f->bridge;
    f->config.listeners[0] = (struct door_listener){ .fd = f->listener.fd };
    f->config.listeners[1] = (struct door_listener){ .fd = f->admin.fd, .admin = true };
    f->config.signal_fd = f->wake_fd;
    assert_int_equal(door_new(&f->config, &f->door, &error), 0);
    assert_int_equal(host_start(f->bridge, f->models, f->config.model_count, &f->host, &error), 0);
    assert_int_equal(pthread_create(&f->thread, NULL, run, f), 0);
    if (!fake.load_ns && !fake.load_error)
        assert_true(reaches_u32(&f->serving, 1));
}

void fixture_drain(struct fixture *f, uint32_t deadline_ms)
{
    uint64_t one = 1;

    f->drain_deadline_ms = deadline_ms;
    assert_int_equal(write(f->wake_fd, &one, sizeof(one)), sizeof(one));
}

void fixture_end(struct fixture *f, int expected)
{
    uint32_t before = f->fds_before;

    pthread_join(f->thread, NULL);
    if (f->result != expected)
        print_message("door_run: %d, %s\n", f->result, f->error.text);
    assert_int_equal(f->result, expected);
    host_join(f->host);
    f->ring = ring_free(f->ring);
    door_free(f->door);
    bridge_free(f->bridge);
    close(f->wake_fd);
    socket_listener_close(&f->listener);
    socket_listener_close(&f->admin);
    free(f);
    assert_int_equal(fake.live, 0);
    assert_int_equal(count_fds(), before);
}

void fixture_stop(struct fixture *f)
{
    fixture_drain(f, WAIT_MS);
    fixture_end(f, 0);
}

bool reaches_u32(_Atomic uint32_t *value, uint32_t wanted)
{
    for (int i = 0; i < WAIT_MS && *value != wanted; i++)
        usleep(1000);
    return *value == wanted;
}

bool settles_u32(_Atomic uint32_t *value, uint32_t wanted)
{
    int steady = 0;

    for (int i = 0; i < WAIT_MS && steady < 100; i++) {
        steady = *value == wanted ? steady + 1 : 0;
        usleep(1000);
    }
    return steady == 100;
}

/* --- client --- */

struct client *client_connect(const char *path)
{
    struct client *c = calloc(1, sizeof(*c));
    struct error error = ERROR_NULL;

    assert_int_equal(socket_connect(path, &c->fd, &error), 0);
    return c;
}

struct client *client_close(struct client *c)
{
    close(c->fd);
    free(c);
    return NULL;
}

void client_send_bytes(struct client *c, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;

    while (size) {
        ssize_t n = send(c->fd, at, size, MSG_NOSIGNAL);

        assert_true(n > 0);
        at += n;
        size -= (size_t)n;
    }
}

void client_send_fds(struct client *c, const struct wire_message *message, const void *value, uint64_t cookie,
                     uint8_t nfds, const int *fds, uint32_t count)
{
    struct frame_header head = { .request = cookie, .nfds = nfds };
    struct frame_out out = { .capacity = FRAME_HEADER_BYTES + WIRE_LIMIT_FRAME_CLIENT };
    union { struct cmsghdr align; uint8_t bytes[CMSG_SPACE(16 * sizeof(int))]; } control = { .bytes = { 0 } };
    struct iovec part;
    struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
    ssize_t n;

    out.data = malloc(out.capacity);
    assert_int_equal(wire_encode(message, value, head, &out, NULL), 0);
    part = (struct iovec){ out.data, out.size };
    if (count) {
        m.msg_control = control.bytes;
        m.msg_controllen = CMSG_SPACE(count * sizeof(int));
        CMSG_FIRSTHDR(&m)->cmsg_level = SOL_SOCKET;
        CMSG_FIRSTHDR(&m)->cmsg_type = SCM_RIGHTS;
        CMSG_FIRSTHDR(&m)->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), fds, count * sizeof(int));
    }
    n = sendmsg(c->fd, &m, MSG_NOSIGNAL);
    assert_true(n > 0);
    client_send_bytes(c, out.data + n, out.size - (size_t)n);
    free(out.data);
}

void client_send(struct client *c, const struct wire_message *message, const void *value, uint64_t cookie)
{
    client_send_fds(c, message, value, cookie, 0, NULL, 0);
}

/* False at the end of the stream. */
static bool read_all(struct client *c, uint8_t *to, size_t size)
{
    while (size) {
        struct pollfd p = { .fd = c->fd, .events = POLLIN };
        ssize_t n;

        if (poll(&p, 1, 5000) != 1)
            fail_msg("no frame within 5 s");
        n = recv(c->fd, to, size, 0);
        if (n <= 0)
            return false;
        to += n;
        size -= (size_t)n;
    }
    return true;
}

bool client_receive(struct client *c, struct reply *ret)
{
    struct wire_fault fault;

    if (!read_all(c, c->buffer, FRAME_HEADER_BYTES))
        return false;
    assert_int_equal(frame_header_decode(c->buffer, WIRE_LIMIT_FRAME_SERVER, &ret->header, &fault), 0);
    if (!read_all(c, c->buffer + FRAME_HEADER_BYTES, ret->header.length))
        return false;
    ret->payload = (struct span){ c->buffer + FRAME_HEADER_BYTES, ret->header.length };
    ret->message = wire_message_find(&ret->header, ret->payload);
    assert_non_null(ret->message);
    return true;
}

bool client_silent(struct client *c, uint32_t ms)
{
    struct pollfd p = { .fd = c->fd, .events = POLLIN };

    return poll(&p, 1, (int)ms) == 0;
}

struct wire_error client_expect_error(struct client *c, uint64_t cookie, uint32_t code)
{
    struct wire_error e = { .code = 0 };
    struct wire_fault fault;
    struct reply r;

    if (!client_receive(c, &r))
        fail_msg("closed, instead of error %s", wire_code_name(code));
    assert_ptr_equal(r.message, &wire_error_message);
    assert_int_equal(wire_error_decode(r.payload, &e, &fault), 0);
    if (e.code != code)
        fail_msg("error %s (%.*s), not %s", wire_code_name(e.code), (int)e.message.size, (const char *)e.message.data,
                 wire_code_name(code));
    assert_int_equal(r.header.request, cookie);
    assert_int_equal(r.header.flags, FRAME_END | FRAME_ERROR);
    assert_true(e.message.size > 0);
    return e;
}

void client_expect_closed(struct client *c)
{
    struct reply r;

    if (client_receive(c, &r))
        fail_msg("a frame %s, instead of the end", r.message->name);
}

void client_hello(struct client *c, uint16_t low, uint16_t high, uint32_t max_frame)
{
    struct wire_hello h = { .magic = WIRE_MAGIC, .version_min = low, .version_max = high, .max_frame = max_frame,
                            .client = { (const uint8_t *)"test", 4 } };

    client_send(c, &wire_hello_message, &h, 0);
}

struct client *client_try(const char *path)
{
    struct wire_hello h = { .magic = WIRE_MAGIC, .version_min = 1, .version_max = 1 };
    struct frame_out out = { .capacity = 256, .data = (uint8_t[256]){ 0 } };
    struct client *c = client_connect(path);
    struct reply r;

    assert_int_equal(wire_encode(&wire_hello_message, &h, (struct frame_header){ .flags = 0 }, &out, NULL), 0);
    (void)!send(c->fd, out.data, out.size, MSG_NOSIGNAL);       /* it may have been turned away already */
    if (client_receive(c, &r) && r.message == &wire_hello_ok_message)
        return c;
    return client_close(c);
}

struct client *client_open(const char *path)
{
    struct client *c = client_connect(path);
    struct wire_hello_ok ok;
    struct wire_fault fault;
    struct reply r;

    client_hello(c, 1, 1, 0);
    assert_true(client_receive(c, &r));
    assert_ptr_equal(r.message, &wire_hello_ok_message);
    assert_int_equal(wire_hello_ok_decode(r.payload, &ok, &fault), 0);
    assert_int_equal(ok.version, 1);
    assert_int_equal(ok.boot_id, 7);
    return c;
}

void client_ping(struct client *c, uint64_t cookie)
{
    struct wire_ping ping = { .opaque = cookie * 3 };
    struct wire_pong pong;
    struct wire_fault fault;
    struct reply r;

    client_send(c, &wire_ping_message, &ping, cookie);
    assert_true(client_receive(c, &r));
    assert_ptr_equal(r.message, &wire_pong_message);
    assert_int_equal(r.header.request, cookie);
    assert_int_equal(wire_pong_decode(r.payload, &pong, &fault), 0);
    assert_int_equal(pong.opaque, cookie * 3);
}

void client_generate(struct client *c, uint64_t cookie, const char *text, uint32_t max_tokens, uint64_t seed,
                     void (*edit)(struct wire_generate *g, void *arg), void *arg)
{
    struct wire_segment s = { .kind = WIRE_SEGMENT_KIND_TRUSTED_TEXT, .data = { (const uint8_t *)text, strlen(text) } };
    struct wire_generate g = { .segments = { .count = 1, .items = &s }, .max_tokens = max_tokens, .seed = seed,
                               .flags = WIRE_FLAG_GENERATE_SEED };

    if (edit)
        edit(&g, arg);
    client_send(c, &wire_generate_message, &g, cookie);
}

/* --- answers --- */

static void add_tokens(struct answer *a, const struct reply *r)
{
    struct wire_fault fault;
    struct wire_tokens t;
    size_t bytes = 0;

    assert_int_equal(wire_tokens_decode(r->payload, &t, &fault), 0);
    assert_true(a->started);
    for (uint32_t i = 0; i < t.tokens.count; i++) {
        struct wire_token one = wire_token_at(&t.tokens, i);

        assert_int_equal(one.text_offset, a->text.size + bytes);
        bytes += one.text_length;
    }
    assert_true(t.tokens.count == 0 || bytes == t.text.size);
    buffer_put(&a->text, t.text.data, t.text.size);
    a->tokens += t.tokens.count;
    a->frames++;
}

bool answer_add(struct answer *a, const struct reply *r)
{
    struct wire_error e;
    struct wire_fault fault;

    if (r->message == &wire_error_message) {
        assert_int_equal(wire_error_decode(r->payload, &e, &fault), 0);
        a->error = e.code;
    } else if (r->message == &wire_started_message) {
        assert_false(a->started);
        assert_int_equal(wire_started_decode(r->payload, &a->start, &fault), 0);
        a->started = true;
    } else if (r->message == &wire_tokens_message) {
        add_tokens(a, r);
    } else {
        assert_ptr_equal(r->message, &wire_done_message);
        assert_true(a->started);
        assert_int_equal(wire_done_decode(r->payload, &a->end, &fault), 0);
        assert_int_equal(a->end.text_offset, a->text.size);
        buffer_put(&a->text, a->end.text.data, a->end.text.size);
        a->reason = a->end.reason;
        a->done = true;
    }
    assert_int_equal(r->header.flags & FRAME_END ? 1 : 0, a->done || a->error);
    return a->done || a->error;
}

void client_answer(struct client *c, uint64_t cookie, struct answer *a)
{
    struct reply r;

    do {
        assert_true(client_receive(c, &r));
        assert_int_equal(r.header.request, cookie);
    } while (!answer_add(a, &r));
}

void answer_check(const struct answer *a, const char *prompt, uint64_t seed, uint32_t tokens)
{
    uint32_t n = (uint32_t)strlen(prompt), *ids = malloc((n + 1) * sizeof(*ids));

    ids[0] = FAKE_BOS;
    for (uint32_t i = 0; i < n; i++)
        ids[i + 1] = (uint8_t)prompt[i];
    assert_int_equal(a->start.prompt_tokens, n + 1);
    assert_int_equal(a->start.seed, seed);
    assert_int_equal(a->tokens, tokens);
    assert_int_equal(a->text.size, tokens);
    for (uint32_t i = 0; i < tokens; i++)
        assert_int_equal(a->text.data[i], fake_answer_byte(ids, n + 1, seed, i));
    free(ids);
}

void answer_deinit(struct answer *a)
{
    buffer_deinit(&a->text);
}
