/* SPDX-License-Identifier: Apache-2.0 */
/* The door itself: handshake, framing, limits on connections, loading, draining. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "tests/serve/fixture.h"

static struct fixture *f;

static int set_up(void **state)
{
    (void)state;
    fake_reset();
    f = fixture_new();
    return 0;
}

static void send_header(struct client *c, struct frame_header h)
{
    uint8_t bytes[FRAME_HEADER_BYTES];

    frame_header_encode(&h, bytes);
    client_send_bytes(c, bytes, sizeof(bytes));
}

static void handshake(void **state)
{
    struct client *c;
    struct wire_error e;

    (void)state;
    fixture_start(f);
    c = client_open(f->path);
    client_ping(c, 1);
    client_ping(c, 1);                  /* the cookie is free again */
    client_close(c);

    c = client_connect(f->path);        /* a version that comes later, and this one */
    client_hello(c, 1, 9, 4096);
    assert_true(client_receive(c, &(struct reply){ .message = NULL }));
    client_ping(c, 2);
    client_close(c);

    c = client_connect(f->path);        /* only later ones */
    client_hello(c, 2, 9, 0);
    e = client_expect_error(c, 0, WIRE_E_VERSION);
    assert_int_equal(e.detail, 1);
    client_expect_closed(c);
    client_close(c);

    c = client_connect(f->path);        /* something else first */
    client_send(c, &wire_ping_message, &(struct wire_ping){ .opaque = 1 }, 5);
    client_expect_error(c, 0, WIRE_E_PROTOCOL);
    client_expect_closed(c);
    client_close(c);

    c = client_open(f->path);           /* twice */
    client_hello(c, 1, 1, 0);
    client_expect_error(c, 0, WIRE_E_INVALID);
    client_ping(c, 3);
    client_close(c);
    fixture_stop(f);
}

static void bad_magic(void **state)
{
    struct wire_hello h = { .magic = WIRE_MAGIC, .version_min = 1, .version_max = 1 };
    struct frame_out out = { .capacity = 256, .data = (uint8_t[256]){ 0 } };
    struct client *c;

    (void)state;
    fixture_start(f);
    assert_int_equal(wire_encode(&wire_hello_message, &h, (struct frame_header){ .flags = 0 }, &out, NULL), 0);
    out.data[FRAME_HEADER_BYTES + 8] ^= 1;
    c = client_connect(f->path);
    client_send_bytes(c, out.data, out.size);
    client_expect_error(c, 0, WIRE_E_PROTOCOL);
    client_expect_closed(c);
    client_close(c);

    c = client_connect(f->path);
    client_send_bytes(c, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 36);
    client_expect_error(c, 0, WIRE_E_PROTOCOL);
    client_expect_closed(c);
    client_close(c);
    fixture_stop(f);
}

/* HELLO is due within its time, byte by byte or not at all; so is a frame that was begun. */
static void slow_senders(void **state)
{
    struct client *silent, *dripping, *stuck, *good;
    uint64_t begun = clock_now_ns();

    (void)state;
    f->config.limits.handshake_ms = 200;
    f->config.limits.frame_ms = 300;
    fixture_start(f);
    good = client_open(f->path);
    silent = client_connect(f->path);
    dripping = client_connect(f->path);
    stuck = client_open(f->path);
    send_header(stuck, (struct frame_header){ .length = 16, .type = WIRE_TYPE_PING, .request = 9 });
    for (int i = 0; i < 10; i++) {
        client_send_bytes(dripping, "\0", 1);
        usleep(10000);
    }
    client_expect_error(silent, 0, WIRE_E_PROTOCOL);
    client_expect_closed(silent);
    client_expect_error(dripping, 0, WIRE_E_PROTOCOL);
    client_expect_closed(dripping);
    assert_true(clock_now_ns() - begun >= 200 * NS_PER_MS);
    client_expect_error(stuck, 0, WIRE_E_PROTOCOL);
    client_expect_closed(stuck);
    usleep(400000);
    client_ping(good, 1);               /* one that is only idle stays */
    client_close(silent);
    client_close(dripping);
    client_close(stuck);
    client_close(good);
    fixture_stop(f);
}

/* Every kind of framing error: one ERROR frame, the end of that connection, and of no other. */
static void framing_errors(void **state)
{
    static const struct frame_header bad[] = {
        { .length = 12, .type = WIRE_TYPE_PING, .request = 1 },
        { .length = WIRE_LIMIT_FRAME_CLIENT + 8, .type = WIRE_TYPE_PING, .request = 1 },
        { .length = 0xfffffff8, .type = WIRE_TYPE_PING, .request = 1 },
        { .length = 16, .type = WIRE_TYPE_PING, .flags = 0x40, .request = 1 },
        { .length = 16, .type = WIRE_TYPE_PING, .flags = FRAME_ERROR, .request = 1 },
        { .length = 16, .type = WIRE_TYPE_TOKENIZE, .nfds = 1, .request = 1 },
        { .length = 16, .type = WIRE_TYPE_TOKENIZE, .nfds = 9, .request = 1 },
    };
    struct client *other;

    (void)state;
    fixture_start(f);
    other = client_open(f->path);
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        struct client *c = client_open(f->path);

        send_header(c, bad[i]);
        client_expect_error(c, 0, WIRE_E_PROTOCOL);
        client_expect_closed(c);
        client_close(c);
    }
    client_ping(other, 1);
    client_close(other);
    fixture_stop(f);
}

static void frame_above_64k_before_hello(void **state)
{
    struct client *c;

    (void)state;
    fixture_start(f);
    c = client_connect(f->path);
    send_header(c, (struct frame_header){ .length = WIRE_LIMIT_FRAME_BEFORE_HELLO + 8, .type = WIRE_TYPE_HELLO });
    client_expect_error(c, 0, WIRE_E_PROTOCOL);
    client_expect_closed(c);
    client_close(c);
    fixture_stop(f);
}

/* Descriptors that a frame does not count, or too many: an error, and none stays open (fixture_stop looks). */
static void descriptors_nobody_wants(void **state)
{
    struct wire_ping ping = { .opaque = 1 };
    int fds[8];

    (void)state;
    fixture_start(f);
    for (int i = 0; i < 8; i++)
        fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (uint32_t count = 1; count <= 8; count++) {
        struct client *c = client_open(f->path);

        client_send_fds(c, &wire_ping_message, &ping, 1, 0, fds, count);
        if (count <= 4) {               /* the frame itself is in order and answered */
            struct reply r;

            assert_true(client_receive(c, &r));
            assert_ptr_equal(r.message, &wire_pong_message);
        }
        client_expect_error(c, 0, WIRE_E_PROTOCOL);
        client_expect_closed(c);
        client_close(c);
    }
    for (uint32_t count = 1; count <= 4; count++) {     /* counted, but PING takes none: that request's fault */
        struct client *c = client_open(f->path);

        client_send_fds(c, &wire_ping_message, &ping, 1, (uint8_t)count, fds, count);
        client_expect_error(c, 1, WIRE_E_INVALID);
        client_ping(c, 2);
        client_close(c);
    }
    for (int i = 0; i < 8; i++)
        close(fds[i]);
    fixture_stop(f);
}

static struct client *open_at_last(void)
{
    for (int i = 0; i < 1000; i++) {
        struct client *c = client_try(f->path);

        if (c)
            return c;
        usleep(5000);
    }
    fail_msg("no place came back");
    return NULL;
}

static void many_connections(void **state)
{
    struct client *c[20];

    (void)state;
    f->config.limits.connections = 12;
    f->config.limits.connections_uid = 8;
    fixture_start(f);
    for (int i = 0; i < 8; i++)
        c[i] = client_open(f->path);
    for (int i = 8; i < 20; i++) {
        struct wire_error e;

        c[i] = client_connect(f->path);
        e = client_expect_error(c[i], 0, WIRE_E_LIMIT);
        assert_int_equal(e.detail, 8);
        client_expect_closed(c[i]);
        client_close(c[i]);
    }
    client_ping(c[0], 1);
    for (int i = 0; i < 8; i++)
        client_close(c[i]);
    for (int i = 0; i < 200; i++)       /* places come back, as soon as the door has seen that the client is gone */
        client_close(open_at_last());
    fixture_stop(f);
}

static void many_connections_of_all(void **state)
{
    struct client *c[5];

    (void)state;
    f->config.limits.connections = 4;
    fixture_start(f);
    for (int i = 0; i < 4; i++)
        c[i] = client_open(f->path);
    c[4] = client_connect(f->path);
    assert_int_equal(client_expect_error(c[4], 0, WIRE_E_LIMIT).detail, 4);
    client_expect_closed(c[4]);
    for (int i = 0; i < 5; i++)
        client_close(c[i]);
    fixture_stop(f);
}

/* No descriptors left: connects wait, and are taken when there are some again. */
static void out_of_descriptors(void **state)
{
    struct rlimit old, few;
    struct client *c;
    int spare;

    (void)state;
    fixture_start(f);
    c = client_open(f->path);
    client_ping(c, 1);
    client_close(c);
    c = client_open(f->path);
    spare = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    few = old;
    few.rlim_cur = (rlim_t)spare + 1;   /* none above it; and those below are taken */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    {
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        strcpy(address.sun_path, f->path);
        assert_int_equal(connect(spare, (struct sockaddr *)&address, sizeof(address)), 0);
    }
    client_ping(c, 2);                  /* the others go on meanwhile */
    usleep(150000);
    client_ping(c, 3);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    {
        struct client late = { .fd = spare };

        client_hello(&late, 1, 1, 0);
        assert_true(client_receive(&late, &(struct reply){ .message = NULL }));
        client_ping(&late, 1);
        close(spare);
    }
    client_close(c);
    fixture_stop(f);
}

/* While a model loads: PING, MODEL_LIST, STATS are answered; GENERATE gets LOADING with the progress. */
static void loading(void **state)
{
    uint32_t last = 0, seen = 0;
    struct client *c;

    (void)state;
    fake.load_ns = 400 * NS_PER_MS;
    fixture_start(f);
    c = client_open(f->path);
    client_ping(c, 1);
    for (;;) {
        struct wire_error e = { .code = 0 };
        struct wire_fault fault;
        struct reply r;

        client_generate(c, 2, "x", 1, 0, NULL, NULL);
        assert_true(client_receive(c, &r));
        if (r.message != &wire_error_message)
            break;
        assert_int_equal(wire_error_decode(r.payload, &e, &fault), 0);
        assert_int_equal(e.code, WIRE_E_LOADING);
        assert_true(e.detail >= last && e.detail < 100 && e.retry_after_ms);
        last = e.detail;
        seen++;
        usleep(20000);
        client_ping(c, 3);
    }
    assert_true(seen >= 3 && last > 0);
    client_close(c);
    fixture_stop(f);
}

static void load_fails(void **state)
{
    struct client *c;
    struct reply r;
    bool failed = false;

    (void)state;
    fake.load_ns = 200 * NS_PER_MS;
    fake.load_error = -EBADMSG;
    fixture_start(f);
    c = client_open(f->path);
    client_send(c, &wire_subscribe_message, &(struct wire_subscribe){ .mask = 0 }, 1);
    while (client_receive(c, &r)) {
        struct wire_fault fault;
        struct wire_event e;

        if (r.message != &wire_event_message)
            continue;
        assert_int_equal(wire_event_decode(r.payload, &e, &fault), 0);
        if (e.event == WIRE_EVENT_KIND_STATE && e.state == WIRE_MODEL_STATE_FAILED) {
            failed = true;
            assert_true(e.note.size > 0);
        }
    }
    assert_true(failed);
    client_close(c);
    fixture_end(f, -EBADMSG);
}

/* GOAWAY, requests in flight finish, new ones are refused, connections end, and door_run() returns. */
static void drain(void **state)
{
    struct answer a = { .done = false };
    struct client *c, *idle;
    struct wire_goaway g;
    struct wire_fault fault;
    struct reply r;
    bool refused = false, gone = false;

    (void)state;
    fake.step_ns = 2 * NS_PER_MS;
    fixture_start(f);
    c = client_open(f->path);
    idle = client_open(f->path);
    client_generate(c, 1, "hello", 100, 3, NULL, NULL);
    assert_true(client_receive(c, &r));
    assert_false(answer_add(&a, &r));
    fixture_drain(f, 5000);
    while (client_receive(c, &r)) {
        if (r.message == &wire_goaway_message) {
            assert_int_equal(wire_goaway_decode(r.payload, &g, &fault), 0);
            assert_int_equal(g.reason, WIRE_GOAWAY_REASON_SHUTDOWN);
            assert_int_equal(g.deadline_ms, 5000);
            gone = true;
            client_generate(c, 2, "again", 1, 0, NULL, NULL);
        } else if (r.header.request == 2) {
            struct wire_error e;

            assert_int_equal(wire_error_decode(r.payload, &e, &fault), 0);
            assert_int_equal(e.code, WIRE_E_DRAINING);
            refused = true;
        } else {
            answer_add(&a, &r);
        }
    }
    assert_true(gone && refused && a.done);
    assert_int_equal(a.reason, WIRE_REASON_LENGTH);
    answer_check(&a, "hello", 3, 100);
    answer_deinit(&a);
    assert_true(client_receive(idle, &r));
    assert_ptr_equal(r.message, &wire_goaway_message);
    client_expect_closed(idle);
    client_close(c);
    client_close(idle);
    fixture_end(f, 0);
}

/* What is not done in time is cancelled, with its END frame. */
static void drain_deadline(void **state)
{
    struct answer a = { .done = false };
    struct client *c;
    struct reply r;

    (void)state;
    fake.step_ns = 5 * NS_PER_MS;
    fixture_start(f);
    c = client_open(f->path);
    client_generate(c, 1, "hello", 4000, 3, NULL, NULL);
    assert_true(client_receive(c, &r));
    answer_add(&a, &r);
    fixture_drain(f, 100);
    while (client_receive(c, &r))
        if (r.message != &wire_goaway_message)
            answer_add(&a, &r);
    assert_true(a.done);
    assert_int_equal(a.reason, WIRE_REASON_CANCELLED);
    answer_deinit(&a);
    client_close(c);
    fixture_end(f, 0);
}

/* A client that neither reads nor leaves does not keep the daemon: after the deadline it is cut. */
static void drain_cuts_the_deaf(void **state)
{
    uint64_t begun;
    struct client *c;

    (void)state;
    f->config.limits.output_queue = 8192;
    fake.context = 50000;
    fixture_start(f);
    c = client_open(f->path);
    for (uint64_t i = 1; i <= 4; i++)
        client_generate(c, i, "hello", 0, i, NULL, NULL);
    assert_true(settles_u32(&fake.parked, 4));
    begun = clock_now_ns();
    fixture_drain(f, 100);
    f->fds_before++;                    /* the client's, which stays */
    fixture_end(f, 0);
    assert_true(clock_now_ns() - begun < 4 * NS_PER_S);
    client_close(c);
}

static void admin_drain(void **state)
{
    struct wire_drain d = { .deadline_ms = 0 };
    struct client *c, *admin;
    struct answer a = { .done = false };
    struct reply r;

    (void)state;
    fake.step_ns = NS_PER_MS;
    fixture_start(f);
    c = client_open(f->path);
    admin = client_open(f->admin_path);
    client_send(c, &wire_drain_message, &d, 1);
    client_expect_error(c, 1, WIRE_E_PERMISSION);
    client_generate(c, 2, "hello", 100, 3, NULL, NULL);
    assert_true(client_receive(c, &r));
    answer_add(&a, &r);
    client_send(admin, &wire_drain_message, &d, 9);
    while (client_receive(c, &r))
        if (r.message != &wire_goaway_message)
            answer_add(&a, &r);
    answer_check(&a, "hello", 3, 100);
    assert_true(client_receive(admin, &r));
    assert_ptr_equal(r.message, &wire_goaway_message);
    assert_true(client_receive(admin, &r));
    assert_ptr_equal(r.message, &wire_drain_reply_message);
    assert_int_equal(r.header.request, 9);
    client_expect_closed(admin);
    answer_deinit(&a);
    client_close(c);
    client_close(admin);
    fixture_end(f, 0);
}

static void idle_costs_nothing(void **state)
{
    struct rusage before, after;
    struct client *c[8];
    int64_t us;

    (void)state;
    fixture_start(f);
    for (int i = 0; i < 8; i++)
        c[i] = client_open(f->path);
    usleep(100000);
    getrusage(RUSAGE_SELF, &before);
    usleep(1000000);
    getrusage(RUSAGE_SELF, &after);
    us = (after.ru_utime.tv_sec - before.ru_utime.tv_sec + after.ru_stime.tv_sec - before.ru_stime.tv_sec) * 1000000 +
         after.ru_utime.tv_usec - before.ru_utime.tv_usec + after.ru_stime.tv_usec - before.ru_stime.tv_usec;
    print_message("8 idle connections: %lld us of CPU in one second, %ld context switches\n", (long long)us,
                  after.ru_nvcsw - before.ru_nvcsw);
    assert_true(us < 5000);             /* half a percent: sanitizers have threads of their own */
    for (int i = 0; i < 8; i++)
        client_close(c[i]);
    fixture_stop(f);
}

int main(void)
{
#define CASE(function) cmocka_unit_test_setup(function, set_up)
    const struct CMUnitTest tests[] = {
        CASE(handshake), CASE(bad_magic), CASE(slow_senders), CASE(framing_errors), CASE(frame_above_64k_before_hello),
        CASE(descriptors_nobody_wants), CASE(many_connections), CASE(many_connections_of_all), CASE(out_of_descriptors),
        CASE(loading), CASE(load_fails), CASE(drain), CASE(drain_deadline), CASE(drain_cuts_the_deaf),
        CASE(admin_drain), CASE(idle_costs_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
