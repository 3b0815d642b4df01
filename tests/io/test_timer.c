/* SPDX-License-Identifier: Apache-2.0 */
/* The heap of deadlines against a sorted list of the same operations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/timer.h"

#define COUNT 200u

static uint64_t seed = 1;

static uint64_t draw(uint64_t below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (seed >> 33) % below;
}

static void test_order(void **state)
{
    struct timer list[COUNT] = { 0 };
    struct timers timers;

    (void)state;
    assert_int_equal(timers_init(&timers, COUNT), 0);
    assert_int_equal(timers_next(&timers), UINT64_MAX);
    for (int round = 0; round < 2000; round++) {
        struct timer *t = &list[draw(COUNT)], *got, *best = NULL;
        uint64_t now = draw(60);

        if (draw(4) == 0)
            timers_unset(&timers, t);
        else
            assert_true(timers_set(&timers, t, draw(64)));
        for (uint32_t i = 0; i < COUNT; i++) {
            struct timer *o = &list[i];

            if (o->place && (!best || o->deadline_ns < best->deadline_ns ||
                             (o->deadline_ns == best->deadline_ns && o->sequence < best->sequence)))
                best = o;
        }
        assert_int_equal(timers_next(&timers), best ? best->deadline_ns : UINT64_MAX);
        if (draw(3))
            continue;
        got = timers_expire(&timers, now);
        assert_ptr_equal(got, best && best->deadline_ns <= now ? best : NULL);
        if (got)
            assert_int_equal(got->place, 0);
    }
    timers_deinit(&timers);
}

static void test_full(void **state)
{
    struct timer a = TIMER_NULL, b = TIMER_NULL, c = TIMER_NULL;
    struct timers timers;

    (void)state;
    assert_int_equal(timers_init(&timers, 2), 0);
    assert_true(timers_set(&timers, &a, 5));
    assert_true(timers_set(&timers, &b, 4));
    assert_false(timers_set(&timers, &c, 3));
    assert_true(timers_set(&timers, &a, 1));        /* moving takes no place */
    assert_ptr_equal(timers_expire(&timers, 9), &a);
    timers_unset(&timers, &a);
    assert_ptr_equal(timers_expire(&timers, 9), &b);
    assert_null(timers_expire(&timers, 9));
    timers_deinit(&timers);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_order), cmocka_unit_test(test_full) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
