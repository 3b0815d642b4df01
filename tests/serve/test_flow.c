/* SPDX-License-Identifier: Apache-2.0 */
/* Requests on their way: streams, cancel, clients that vanish or do not read, credits, quotas, many at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static void stream(void **state)
{
    struct answer a = { .done = false };
    struct client *c;

    (void)state;
    fixture_start(f);
    c = client_open(f->path);
    client_generate(c, 1, "hello", 50, 9, NULL, NULL);
    client_answer(c, 1, &a);
    assert_int_equal(a.reason, WIRE_REASON_LENGTH);
    assert_int_equal(a.end.generated_tokens, 50);
    answer_check(&a, "hello", 9, 50);
    answer_deinit(&a);
    client_close(c);
    fixture_stop(f);
}

/* More requests one after the other than there are places in the table. */
static void places_come_back(void **state)
{
    struct client *c;

    (void)state;
    fixture_start(f);
    c = client_open(f->path);
    for (uint64_t i = 1; i <= LIMIT_REQUESTS + 100; i++) {
        struct answer a = { .done = false };

        client_generate(c, i, "x", 1, 0, NULL, NULL);
        client_answer(c, i, &a);
        assert_true(a.done);
        answer_deinit(&a);
    }
    client_close(c);
    fixture_stop(f);
}

struct interleaved { struct answer answers[16]; uint32_t ended; };

static void collect(struct client *c, struct interleaved *all, uint32_t count)
{
    struct reply r;

    while (all->ended < count) {
        assert_true(client_receive(c, &r));
        assert_in_range(r.header.request, 1, count);
        all->ended += answer_add(&all->answers[r.header.request - 1], &r);
    }
}

static void many_on_one_connection(void **state)
{
    struct interleaved all = { .ended = 0 };
    struct client *c;

    (void)state;
    fake.queue = 64;
    fixture_start(f);
    c = client_open(f->path);
    for (uint64_t i = 1; i <= 16; i++)
        client_generate(c, i, i % 2 ? "odd" : "even", (uint32_t)i * 5, i, NULL, NULL);
    collect(c, &all, 16);
    for (uint64_t i = 1; i <= 16; i++) {
        answer_check(&all.answers[i - 1], i % 2 ? "odd" : "even", i, (uint32_t)i * 5);
        answer_deinit(&all.answers[i - 1]);
    }
    client_close(c);
    fixture_stop(f);
}

static void cancel_ends_the_right_one(void **state)
{
    struct interleaved all = { .ended = 0 };
    struct client *c;
    struct reply r;

    (void)state;
    fake.step_ns = NS_PER_MS;
    fixture_start(f);
    c = client_open(f->path);
    client_generate(c, 1, "one", 4000, 1, NULL, NULL);
    client_generate(c, 2, "two", 100, 2, NULL, NULL);
    while (all.answers[0].tokens < 3) {
        assert_true(client_receive(c, &r));
        answer_add(&all.answers[r.header.request - 1], &r);
    }
    client_send(c, &wire_cancel_message, &(struct wire_cancel){ .nothing = 0 }, 777);   /* unknown: nothing happens */
    client_send(c, &wire_cancel_message, &(struct wire_cancel){ .nothing = 0 }, 1);
    client_send(c, &wire_cancel_message, &(struct wire_cancel){ .nothing = 0 }, 1);
    collect(c, &all, 2);
    assert_int_equal(all.answers[0].reason, WIRE_REASON_CANCELLED);
    assert_true(all.answers[0].tokens < 100);
    answer_check(&all.answers[1], "two", 2, 100);
    assert_int_equal(fake.cancelled, 1);
    answer_deinit(&all.answers[0]);
    answer_deinit(&all.answers[1]);
    client_close(c);
    fixture_stop(f);
}

/* A cancelled request that waits in the engine's queue never started: it ends with an error. */
static void cancel_while_waiting(void **state)
{
    struct client *c;

    (void)state;
    fake.sequences = 1;
    fake.step_ns = NS_PER_MS;
    fixture_start(f);
    c = client_open(f->path);
    client_generate(c, 1, "one", 30, 1, NULL, NULL);
    client_generate(c, 2, "two", 100, 2, NULL, NULL);
    client_send(c, &wire_cancel_message, &(struct wire_cancel){ .nothing = 0 }, 2);
    for (bool one = false, two = false; !one || !two;) {
        struct answer a = { .started = true };
        struct reply r;

        assert_true(client_receive(c, &r));
        if (r.message == &wire_started_message)
            continue;
        if (r.header.request == 1) {
            one |= r.message == &wire_done_message;
        } else {
            answer_add(&a, &r);
            assert_int_equal(a.error, WIRE_E_CANCELLED);
            two = true;
        }
    }
    client_close(c);
    fixture_stop(f);
}

/* A client that goes away frees its sequences at once: running, waiting and being read ones. */
static void vanished_client(void **state)
{
    struct client *c, *other;
    char *large = malloc(50001);

    (void)state;
    memset(large, 'x', 50000);
    large[50000] = '\0';
    fake.step_ns = NS_PER_MS;
    fake.context = 100000;
    fake.encode_ns_per_byte = 5000;
    fixture_start(f);
    other = client_open(f->path);
    c = client_open(f->path);
    for (uint64_t i = 1; i <= 8; i++)
        client_generate(c, i, "hello", 4000, i, NULL, NULL);
    assert_true(reaches_u32(&fake.live, 8));
    client_generate(c, 9, large, 4000, 9, NULL, NULL);
    client_close(c);
    assert_true(reaches_u32(&fake.live, 0));
    client_ping(other, 1);
    client_close(other);
    fixture_stop(f);
    free(large);
}

/* SHUT_WR alone is not going away: what was asked for is answered, then the server closes. */
static void half_closed_client(void **state)
{
    struct answer a = { .done = false };
    struct client *c;

    (void)state;
    fake.step_ns = NS_PER_MS;
    fixture_start(f);
    c = client_open(f->path);
    client_generate(c, 1, "hello", 50, 9, NULL, NULL);
    shutdown(c->fd, SHUT_WR);
    client_answer(c, 1, &a);
    answer_check(&a, "hello", 9, 50);
    answer_deinit(&a);
    client_expect_closed(c);
    client_close(c);

    c = client_open(f->path);           /* and one that then does go away */
    client_generate(c, 1, "hello", 4000, 9, NULL, NULL);
    assert_true(reaches_u32(&fake.live, 1));
    shutdown(c->fd, SHUT_WR);
    usleep(20000);
    assert_int_equal(fake.live, 1);
    client_close(c);
    assert_true(reaches_u32(&fake.live, 0));
    fixture_stop(f);
}

/* A reader that stops is parked and nothing is lost; others go on; CANCEL is seen though nothing is read. */
static void slow_reader_is_parked(void **state)
{
    struct answer a = { .done = false }, b = { .done = false };
    struct client *slow, *quick;

    (void)state;
    f->config.limits.output_queue = 16384;
    fake.context = 20000;
    fixture_start(f);
    slow = client_open(f->path);
    quick = client_open(f->path);
    client_generate(slow, 1, "slow", 15000, 1, NULL, NULL);
    assert_true(settles_u32(&fake.parked, 1));
    client_generate(quick, 1, "quick", 500, 2, NULL, NULL);
    client_answer(quick, 1, &b);
    answer_check(&b, "quick", 2, 500);
    assert_int_equal(fake.parked, 1);
    client_answer(slow, 1, &a);
    answer_check(&a, "slow", 1, 15000);
    assert_true(fake.parks >= 1);
    answer_deinit(&a);
    answer_deinit(&b);

    a = b = (struct answer){ .done = false };
    client_generate(slow, 2, "slow", 15000, 1, NULL, NULL);
    assert_true(settles_u32(&fake.parked, 1));
    client_send(slow, &wire_cancel_message, &(struct wire_cancel){ .nothing = 0 }, 2);
    assert_true(reaches_u32(&fake.live, 0));
    client_answer(slow, 2, &a);
    assert_int_equal(a.reason, WIRE_REASON_CANCELLED);
    answer_deinit(&a);
    client_close(slow);
    client_close(quick);
    fixture_stop(f);
}

/* Parked for too long: cancelled, and told so when it reads at last. */
static void stalled_reader_is_cancelled(void **state)
{
    struct answer a = { .done = false };
    struct client *c;

    (void)state;
    f->config.limits.output_queue = 8192;
    f->config.limits.stall_ms = 300;
    fake.context = 20000;
    fixture_start(f);
    c = client_open(f->path);
    client_generate(c, 1, "slow", 15000, 1, NULL, NULL);
    assert_true(reaches_u32(&fake.live, 1));
    assert_true(reaches_u32(&fake.live, 0));
    assert_int_equal(fake.cancelled, 1);
    client_answer(c, 1, &a);
    assert_int_equal(a.reason, WIRE_REASON_CANCELLED);
    client_ping(c, 2);
    answer_deinit(&a);
    client_close(c);
    fixture_stop(f);
}

static void with_credits(struct wire_generate *g, void *arg)
{
    g->credits = *(uint32_t *)arg;
}

static void credits(void **state)
{
    uint32_t n = 10;
    struct answer a = { .done = false };
    struct client *c;
    struct reply r;

    (void)state;
    fixture_start(f);
    c = client_open(f->path);
    client_generate(c, 1, "hello", 30, 1, with_credits, &n);
    while (a.tokens < 10) {
        assert_true(client_receive(c, &r));
        answer_add(&a, &r);
    }
    assert_true(client_silent(c, 100));
    assert_true(settles_u32(&fake.parked, 1));
    client_send(c, &wire_grant_message, &(struct wire_grant){ .credits = 5 }, 1);
    while (a.tokens < 15) {
        assert_true(client_receive(c, &r));
        answer_add(&a, &r);
    }
    assert_true(client_silent(c, 100));
    client_send(c, &wire_grant_message, &(struct wire_grant){ .credits = UINT32_MAX }, 1);
    client_send(c, &wire_grant_message, &(struct wire_grant){ .credits = UINT32_MAX }, 1);
    client_answer(c, 1, &a);
    answer_check(&a, "hello", 1, 30);
    answer_deinit(&a);
    client_close(c);
    fixture_stop(f);
}

static void starved_of_credits(void **state)
{
    uint32_t n = 3;
    struct answer a = { .done = false };
    struct client *c;

    (void)state;
    f->config.limits.stall_ms = 100;
    fixture_start(f);
    c = client_open(f->path);
    client_generate(c, 1, "hello", 30, 1, with_credits, &n);
    client_answer(c, 1, &a);
    assert_int_equal(a.tokens, 3);
    assert_int_equal(a.reason, WIRE_REASON_CANCELLED);
    answer_deinit(&a);
    client_close(c);
    fixture_stop(f);
}

static void with_deadline(struct wire_generate *g, void *arg)
{
    g->deadline_ms = *(uint32_t *)arg;
}

static void with_both(struct wire_generate *g, void *arg)
{
    with_credits(g, arg);
    g->deadline_ms = 200;
}

static void deadlines(void **state)
{
    uint32_t ms = 80, sooner = 40, n = 2;
    struct interleaved all = { .ended = 0 };
    struct client *c;

    (void)state;
    fake.sequences = 1;
    fake.step_ns = NS_PER_MS;
    fixture_start(f);
    c = client_open(f->path);
    client_generate(c, 1, "hello", 4000, 1, with_deadline, &ms);
    client_generate(c, 2, "never", 4000, 1, with_deadline, &sooner);
    collect(c, &all, 2);
    assert_int_equal(all.answers[0].reason, WIRE_REASON_DEADLINE);
    assert_true(all.answers[0].tokens > 0);
    assert_int_equal(all.answers[1].error, WIRE_E_DEADLINE);
    answer_deinit(&all.answers[0]);

    all = (struct interleaved){ .ended = 0 };   /* also one that is parked: nothing else wakes the engine */
    client_generate(c, 1, "hello", 4000, 1, with_both, &n);
    collect(c, &all, 1);
    assert_int_equal(all.answers[0].reason, WIRE_REASON_DEADLINE);
    assert_int_equal(all.answers[0].tokens, 2);
    answer_deinit(&all.answers[0]);
    client_close(c);
    fixture_stop(f);
}

static void busy_and_quotas(void **state)
{
    struct client *c, *d;
    struct wire_error e;

    (void)state;
    f->config.limits.in_flight = 4;
    f->config.limits.in_flight_uid = 6;
    fake.step_ns = 20 * NS_PER_MS;
    fixture_start(f);
    c = client_open(f->path);
    d = client_open(f->path);
    for (uint64_t i = 1; i <= 4; i++)
        client_send(c, &wire_subscribe_message, &(struct wire_subscribe){ .mask = WIRE_FLAG_EVENT_RELOAD }, i);
    client_generate(c, 5, "hello", 10, 1, NULL, NULL);
    e = client_expect_error(c, 5, WIRE_E_LIMIT);
    assert_int_equal(e.detail, 4);
    client_send(c, &wire_subscribe_message, &(struct wire_subscribe){ .mask = 0 }, 4);      /* in use */
    client_expect_error(c, 4, WIRE_E_INVALID);
    client_ping(c, 6);
    for (uint64_t i = 1; i <= 2; i++)
        client_send(d, &wire_subscribe_message, &(struct wire_subscribe){ .mask = WIRE_FLAG_EVENT_RELOAD }, i);
    client_generate(d, 3, "hello", 10, 1, NULL, NULL);
    e = client_expect_error(d, 3, WIRE_E_BUSY);
    assert_true(e.retry_after_ms >= 100);
    client_close(d);
    client_close(c);
    fixture_stop(f);
}

static void queue_full(void **state)
{
    struct client *c;

    (void)state;
    f->config.limits.queue = 3;
    fake.step_ns = 20 * NS_PER_MS;
    fixture_start(f);
    c = client_open(f->path);
    for (uint64_t i = 1; i <= 4; i++)
        client_generate(c, i, "hello", 4000, 1, NULL, NULL);
    for (bool refused = false; !refused;) {
        struct reply r;

        assert_true(client_receive(c, &r));
        refused = r.header.request == 4;
        if (refused)
            assert_ptr_equal(r.message, &wire_error_message);
    }
    client_close(c);
    assert_true(reaches_u32(&fake.live, 0));
    fixture_stop(f);
}

/* The engine's own queue: its verdict comes back as BUSY too. */
static void engine_queue_full(void **state)
{
    struct client *c;
    uint32_t busy = 0, ended = 0;

    (void)state;
    fake.sequences = 1;
    fake.queue = 1;
    fake.step_ns = NS_PER_MS;
    fixture_start(f);
    c = client_open(f->path);
    for (uint64_t i = 1; i <= 10; i++)
        client_generate(c, i, "hello", 20, 1, NULL, NULL);
    while (ended < 10) {
        struct wire_error e;
        struct wire_fault fault;
        struct reply r;

        assert_true(client_receive(c, &r));
        ended += r.header.flags & FRAME_END ? 1 : 0;
        if (r.message != &wire_error_message)
            continue;
        assert_int_equal(wire_error_decode(r.payload, &e, &fault), 0);
        assert_int_equal(e.code, WIRE_E_BUSY);
        assert_true(e.retry_after_ms > 0);
        busy++;
    }
    assert_in_range(busy, 1, 9);
    client_close(c);
    fixture_stop(f);
}

static void *one_client(void *arg)
{
    struct client *c = client_open(f->path);
    uint64_t number = (uint64_t)(uintptr_t)arg;
    char prompt[32];

    snprintf(prompt, sizeof(prompt), "client %llu", (unsigned long long)number);
    for (uint64_t i = 1; i <= 3; i++) {
        struct answer a = { .done = false };

        client_generate(c, i, prompt, 40, number + i, NULL, NULL);
        client_answer(c, i, &a);
        answer_check(&a, prompt, number + i, 40);
        answer_deinit(&a);
    }
    client_close(c);
    return NULL;
}

static void hundred_clients(void **state)
{
    pthread_t threads[100];

    (void)state;
    f->config.limits.connections_uid = 100;
    fake.queue = 200;
    fixture_start(f);
    for (uintptr_t i = 0; i < 100; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, one_client, (void *)i), 0);
    for (int i = 0; i < 100; i++)
        pthread_join(threads[i], NULL);
    fixture_stop(f);
}

static void small_frames(struct client **ret_client)
{
    struct reply r;

    *ret_client = client_connect(f->path);
    client_hello(*ret_client, 1, 1, 4096);
    assert_true(client_receive(*ret_client, &r));
}

/* Tokens that stand for more text than a frame of this client holds: the rest comes with later frames. */
static void long_tokens_small_frames(void **state)
{
    struct answer a = { .done = false };
    struct client *c;

    (void)state;
    fixture_start(f);
    small_frames(&c);
    fake.long_token = 3700;
    client_generate(c, 1, "x", 5, 1, NULL, NULL);
    client_answer(c, 1, &a);
    assert_true(a.done);
    assert_int_equal(a.text.size, 5 * 3700);
    answer_deinit(&a);

    a = (struct answer){ .done = false };
    fake.long_token = 70000;            /* longer than any frame: it goes on in frames of text alone */
    client_generate(c, 2, "x", 2, 1, NULL, NULL);
    client_answer(c, 2, &a);
    assert_true(a.done);
    assert_int_equal(a.text.size, 2 * 70000);
    answer_deinit(&a);
    client_ping(c, 3);
    client_close(c);
    fixture_stop(f);
}

/* Asks and asks and never reads: in the end it is closed, not stored. */
static void flood(void **state)
{
    struct frame_out out = { .capacity = 64, .data = (uint8_t[64]){ 0 } };
    struct client *c, *other;
    size_t sent = 0;

    (void)state;
    f->config.limits.output_queue = 16384;
    fixture_start(f);
    other = client_open(f->path);
    c = client_open(f->path);
    assert_int_equal(wire_encode(&wire_ping_message, &(struct wire_ping){ .opaque = 1 },
                                 (struct frame_header){ .request = 1 }, &out, NULL), 0);
    for (;;) {
        ssize_t n = send(c->fd, out.data, out.size, MSG_NOSIGNAL);

        if (n < 0)
            break;
        sent += (size_t)n;
        assert_true(sent < 100000000);
    }
    client_ping(other, 1);
    client_close(c);
    client_close(other);
    fixture_stop(f);
}

int main(void)
{
#define CASE(function) cmocka_unit_test_setup(function, set_up)
    const struct CMUnitTest tests[] = {
        CASE(stream), CASE(places_come_back), CASE(many_on_one_connection), CASE(cancel_ends_the_right_one),
        CASE(cancel_while_waiting), CASE(vanished_client), CASE(half_closed_client), CASE(slow_reader_is_parked),
        CASE(stalled_reader_is_cancelled), CASE(credits), CASE(starved_of_credits), CASE(deadlines),
        CASE(busy_and_quotas), CASE(queue_full), CASE(engine_queue_full), CASE(hundred_clients),
        CASE(long_tokens_small_frames), CASE(flood),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
