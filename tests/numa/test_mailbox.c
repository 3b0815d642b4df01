/* SPDX-License-Identifier: Apache-2.0 */
#include "numa/mailbox.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "src/base/clock.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define RECORDS 100000
#else
#define RECORDS 1000000
#endif

static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* Record i: its size and bytes follow from i alone. */
static uint32_t record_make(uint64_t i, uint32_t size_max, uint8_t *bytes)
{
    uint64_t state = i;
    uint32_t size = (uint32_t)(random_next(&state) % (random_next(&state) % 4 ? 25 : size_max + 1));

    for (uint32_t at = 0; at < size; at += 8) {
        uint64_t word = random_next(&state);
        memcpy(bytes + at, &word, size - at < 8 ? size - at : 8);
    }
    return size;
}

static void test_one_thread(void **state)
{
    (void)state;
    static const uint32_t capacities[] = { 64, 128, 1024, 65536 };

    for (size_t c = 0; c < ARRAY_LENGTH(capacities); c++) {
        uint32_t capacity = capacities[c], size_max = capacity / 2 - 8;
        uint8_t *bytes = malloc(capacity);
        struct mailbox *m;
        struct span record;
        uint64_t put = 0, got = 0, seed = capacity, full = 0;

        assert_non_null(bytes);
        assert_int_equal(mailbox_new(capacity, &m), 0);
        assert_true(mailbox_empty(m));
        assert_false(mailbox_peek(m, &record));
        assert_int_equal(mailbox_room(m), size_max);
        assert_int_equal(mailbox_put(m, bytes, size_max + 1), -EMSGSIZE);
        assert_int_equal(mailbox_put(m, bytes, UINT32_MAX), -EMSGSIZE);
        while (got < 20000) {
            if (random_next(&seed) % 2) {
                uint32_t size = record_make(put, size_max, bytes), room = mailbox_room(m);
                int r = mailbox_put(m, bytes, size);
                /* What room says fits, fits, and no more. */
                assert_int_equal(r, size > 0 && size > room ? 1 : r);
                assert_true(r == 0 || (r == 1 && (size > room || room == 0)));
                put += r == 0;
                full += r == 1;
            } else if (mailbox_peek(m, &record)) {
                assert_false(mailbox_empty(m));
                assert_int_equal((uintptr_t)record.data % 8, 0);
                uint32_t size = record_make(got, size_max, bytes);
                assert_int_equal(record.size, size);
                assert_memory_equal(record.data, bytes, size);
                assert_true(mailbox_peek(m, &record));      /* looking twice is looking once */
                assert_int_equal(record.size, size);
                mailbox_drop(m);
                got++;
            } else {
                assert_int_equal(put, got);
                assert_true(mailbox_empty(m));
                assert_true(mailbox_room(m) > 0);
            }
        }
        assert_true(capacity > 1024 || full > 0);
        assert_null(mailbox_free(m));
        free(bytes);
    }
}

/* Whatever the position, an empty ring takes the largest record. */
static void test_largest(void **state)
{
    (void)state;
    uint8_t bytes[1024] = { 0 };
    struct mailbox *m;
    struct span record;

    assert_int_equal(mailbox_new(1024, &m), 0);
    for (int i = 0; i < 500; i++) {
        assert_int_equal(mailbox_put(m, bytes, (uint32_t)(i % 60)), 0);
        assert_true(mailbox_peek(m, &record));
        mailbox_drop(m);
        assert_int_equal(mailbox_put(m, bytes, 1024 / 2 - 8), 0);
        assert_true(mailbox_peek(m, &record));
        assert_int_equal(record.size, 1024 / 2 - 8);
        mailbox_drop(m);
    }
    mailbox_free(m);
}

static void test_refused(void **state)
{
    (void)state;
    static const uint32_t capacities[] = { 0, 1, 32, 63, 65, 96, 1000, UINT32_C(1) << 31, UINT32_MAX };

    for (size_t i = 0; i < ARRAY_LENGTH(capacities); i++) {
        struct mailbox *m = NULL;
        assert_int_equal(mailbox_new(capacities[i], &m), -EINVAL);
        assert_null(m);
    }
    assert_null(mailbox_free(NULL));
}

struct lane {
    struct mailbox *mailbox;
    struct doze consumer, producer;
    bool dozes;
    uint32_t size_max;
    uint64_t records;
    uint64_t wrong;                 /* the consumer's, read after the join */
};

static void *produce(void *arg)
{
    struct lane *lane = arg;
    uint8_t *bytes = malloc(lane->size_max + 8);

    for (uint64_t i = 0; bytes && i < lane->records;) {
        uint32_t size = record_make(i, lane->size_max, bytes);
        uint32_t begun = doze_begin(&lane->producer);
        if (mailbox_put(lane->mailbox, bytes, size) == 0) {
            i++;
            if (lane->dozes)
                doze_wake(&lane->consumer);
        } else if (lane->dozes) {
            doze_sleep(&lane->producer, begun, UINT64_MAX);
        } else {
            sched_yield();
        }
    }
    free(bytes);
    return NULL;
}

static void *consume(void *arg)
{
    struct lane *lane = arg;
    uint8_t *bytes = malloc(lane->size_max + 8);

    for (uint64_t i = 0; bytes && i < lane->records;) {
        struct span record;
        uint32_t begun = doze_begin(&lane->consumer);
        if (mailbox_peek(lane->mailbox, &record)) {
            uint32_t size = record_make(i++, lane->size_max, bytes);
            lane->wrong += record.size != size || memcmp(record.data, bytes, size) != 0;
            mailbox_drop(lane->mailbox);
            if (lane->dozes)
                doze_wake(&lane->producer);
        } else if (lane->dozes) {
            doze_sleep(&lane->consumer, begun, UINT64_MAX);
        } else {
            sched_yield();
        }
    }
    lane->wrong += bytes == NULL;
    free(bytes);
    return NULL;
}

static void run_lane(uint32_t capacity, bool dozes)
{
    struct lane lane = { .dozes = dozes, .size_max = capacity / 2 - 8,
                         .records = dozes ? RECORDS / 4 : RECORDS };
    pthread_t producer, consumer;

    assert_int_equal(mailbox_new(capacity, &lane.mailbox), 0);
    alarm(100);                     /* a lost wake-up would hang */
    assert_int_equal(pthread_create(&producer, NULL, produce, &lane), 0);
    assert_int_equal(pthread_create(&consumer, NULL, consume, &lane), 0);
    pthread_join(producer, NULL);
    pthread_join(consumer, NULL);
    alarm(0);
    assert_int_equal(lane.wrong, 0);
    assert_true(mailbox_empty(lane.mailbox));
    mailbox_free(lane.mailbox);
}

static void test_two_threads(void **state) { (void)state; run_lane(4096, false); }
static void test_two_threads_tight(void **state) { (void)state; run_lane(64, true); }
static void test_two_threads_doze(void **state) { (void)state; run_lane(1024, true); }

static void test_doze_timeout(void **state)
{
    (void)state;
    struct doze doze = { 0 };
    uint64_t begin_ns = clock_now_ns();
    struct rusage before, after;

    getrusage(RUSAGE_THREAD, &before);
    doze_sleep(&doze, doze_begin(&doze), 50 * NS_PER_MS);
    assert_true(clock_now_ns() - begin_ns >= 49 * NS_PER_MS);
    getrusage(RUSAGE_THREAD, &after);
    assert_true(after.ru_utime.tv_sec - before.ru_utime.tv_sec < 1);

    uint32_t begun = doze_begin(&doze);
    doze_wake(&doze);
    begin_ns = clock_now_ns();
    doze_sleep(&doze, begun, UINT64_MAX);       /* a wake since: no sleep */
    doze_sleep(&doze, doze_begin(&doze), 0);
    assert_true(clock_now_ns() - begin_ns < 2 * NS_PER_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_thread),        cmocka_unit_test(test_largest),
        cmocka_unit_test(test_refused),           cmocka_unit_test(test_two_threads),
        cmocka_unit_test(test_two_threads_tight), cmocka_unit_test(test_two_threads_doze),
        cmocka_unit_test(test_doze_timeout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
