/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/base/clock.h"
#include "src/serve/bridge.h"

static _Atomic uint32_t wakes;

static void wake(void *arg)
{
    (void)arg;
    wakes++;
}

static struct bridge *make(void)
{
    struct bridge *b;

    assert_int_equal(bridge_new(wake, NULL, &b), 0);
    return b;
}

static void commands(void **state)
{
    struct bridge *b = make();
    struct bridge_command c = { .kind = BRIDGE_GRANT, .value = 5, .key = 77 }, got;
    uint32_t n = 0;

    (void)state;
    assert_false(bridge_take(b, &got));
    while (bridge_command(b, &c) == 0)
        n++;
    assert_true(n > 1000);              /* then it is full, and says so */
    assert_true(bridge_take(b, &got));
    assert_memory_equal(&got, &c, sizeof(c));
    assert_int_equal(bridge_command(b, &c), 0);
    assert_int_equal(bridge_command(b, &c), 1);
    bridge_free(b);
}

static void tokens_with_alternatives(void **state)
{
    struct bridge *b = make();
    struct engine_alternative best[3] = { { 7, -0.25f }, { 9, -1.5f }, { 1, -8 } };
    struct engine_token t = { .id = 7, .logprob = -0.25f, .text_offset = 100, .text = (const uint8_t *)"hello",
                              .text_size = 5, .alternatives = best, .alternative_count = 3 };
    struct bridge_token got;
    struct bridge_event e;

    (void)state;
    bridge_emit_token(b, 42, &t);
    assert_true(bridge_peek(b, &e));
    assert_int_equal(e.kind, BRIDGE_TOKEN);
    assert_int_equal(e.key, 42);
    memcpy(&got, e.body.data, sizeof(got));
    assert_int_equal(got.id, 7);
    assert_int_equal(got.text_offset, 100);
    assert_int_equal(got.alternative_count, 3);
    assert_memory_equal(e.alternatives, best, sizeof(best));
    assert_int_equal(e.text.size, 5);
    assert_memory_equal(e.text.data, "hello", 5);
    bridge_drop(b);
    assert_false(bridge_peek(b, &e));
    bridge_free(b);
}

/* Text of any length comes over whole, in order, DONE last. */
static void long_texts(void **state)
{
    struct bridge *b = make();
    uint32_t size = BRIDGE_TEXT_MAX + 17, seen = 0, offset = 0;
    uint8_t *text = malloc(size);
    struct engine_token t = { .id = 1, .text = text, .text_size = size };
    struct engine_done d = { .reason = ENGINE_LENGTH, .text = text, .text_size = size, .text_offset = size };
    struct bridge_event e;

    (void)state;
    for (uint32_t i = 0; i < size; i++)
        text[i] = (uint8_t)(i * 31);
    bridge_emit_token(b, 1, &t);
    bridge_emit_done(b, 1, &d);
    for (uint32_t events = 0; bridge_peek(b, &e); events++) {
        assert_true(events > 0 || e.kind == BRIDGE_TOKEN);
        if (e.kind == BRIDGE_DONE) {
            struct bridge_done done;

            memcpy(&done, e.body.data, sizeof(done));
            assert_int_equal(done.text_size, e.text.size);
            offset = done.text_offset;
            assert_int_equal(offset, seen);
        }
        for (size_t i = 0; i < e.text.size; i++, seen++)
            assert_int_equal(e.text.data[i], (uint8_t)(seen % size * 31));
        bridge_drop(b);
    }
    assert_int_equal(seen, 2 * size);
    assert_true(offset > size);
    free(text);
    bridge_free(b);
}

#define MANY 100000u

static void *produce(void *arg)
{
    struct bridge *b = arg;
    uint8_t text[64] = "some text of a token";

    for (uint32_t i = 0; i < MANY; i++) {
        struct engine_token t = { .id = i, .text = text, .text_size = i % sizeof(text) };

        bridge_emit_token(b, i, &t);
    }
    return NULL;
}

/* A mailbox that fills up loses nothing: the engine's side waits. */
static void full_mailbox_waits(void **state)
{
    struct bridge *b = make();
    struct bridge_event e;
    pthread_t thread;

    (void)state;
    wakes = 0;
    assert_int_equal(pthread_create(&thread, NULL, produce, b), 0);
    nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
    for (uint32_t i = 0; i < MANY;) {
        struct bridge_token t;

        if (!bridge_peek(b, &e))
            continue;
        memcpy(&t, e.body.data, sizeof(t));
        assert_int_equal(e.key, i);
        assert_int_equal(t.id, i);
        assert_int_equal(e.text.size, i % 64);
        bridge_drop(b);
        i++;
    }
    pthread_join(thread, NULL);
    assert_true(wakes >= MANY);
    bridge_free(b);
}

static void *sleep_long(void *arg)
{
    struct bridge_command c;

    while (!bridge_take(arg, &c))
        bridge_sleep(arg, UINT64_MAX);
    return (void *)(uintptr_t)c.key;
}

static void a_command_wakes(void **state)
{
    (void)state;
    for (uint64_t i = 1; i < 200; i++) {
        struct bridge *b = make();
        struct bridge_command c = { .kind = BRIDGE_CANCEL, .key = i };
        pthread_t thread;
        void *got;

        assert_int_equal(pthread_create(&thread, NULL, sleep_long, b), 0);
        nanosleep(&(struct timespec){ .tv_nsec = (long)(i % 7) * 50000 }, NULL);
        assert_int_equal(bridge_command(b, &c), 0);
        pthread_join(thread, &got);
        assert_int_equal((uintptr_t)got, i);
        bridge_free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands), cmocka_unit_test(tokens_with_alternatives), cmocka_unit_test(long_texts),
        cmocka_unit_test(full_mailbox_waits), cmocka_unit_test(a_command_wakes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
