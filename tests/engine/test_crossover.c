/* SPDX-License-Identifier: Apache-2.0 */
/* Where two ways of multiplying cross, by kernels whose cost is known and a clock that only they move. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "src/base/clock.h"
#include "src/engine/crossover.h"

#define GUESS 12u
#define BIT(type) (1u << (type))

/* What a call takes: once, and for each column. */
struct cost { uint64_t call_ns, column_ns; };

static struct cost costs[2];            /* of the way for few, of the other */
static uint64_t extra_ns[2][33];        /* more for one number of columns */
static uint64_t time_ns;
static uint32_t calls[2];
static uint32_t noise;                  /* every so many calls, one takes ten times as long; 0: none does */
static uint32_t stands_after;           /* calls after which the clock stands; 0: it goes on */

static void take(uint32_t way, uint32_t columns)
{
    uint64_t ns = costs[way].call_ns + costs[way].column_ns * columns + extra_ns[way][columns];

    calls[way]++;
    if (noise && (calls[0] + calls[1]) % noise == 0)
        ns *= 10;
    if (!stands_after || calls[0] + calls[1] <= stands_after)
        time_ns += ns;
}

static void few(const uint8_t *packed, uint32_t groups, const struct kernel_act *x, uint32_t token_first,
                uint32_t tokens, float *y, size_t y_stride)
{
    (void)packed, (void)groups, (void)token_first, (void)y, (void)y_stride;
    take(0, tokens * x->columns);
}

static void many(const uint8_t *packed, uint32_t groups, const struct kernel_act *x, uint32_t token_first,
                 uint32_t tokens, float *y, size_t y_stride)
{
    (void)packed, (void)groups, (void)token_first, (void)y, (void)y_stride;
    take(1, tokens * x->columns);
}

static uint64_t now_ns(void *arg)
{
    (void)arg;
    return time_ns;
}

static const struct crossover_clock invented = { .now_ns = now_ns };

static int reset(void **s)
{
    (void)s;
    costs[0] = (struct cost){ 100, 100 };
    costs[1] = (struct cost){ 500, 20 };        /* crosses at 5 columns */
    memset(extra_ns, 0, sizeof(extra_ns));
    memset(calls, 0, sizeof(calls));
    time_ns = 1;
    noise = stands_after = 0;
    return 0;
}

static struct kernel_ops table(uint32_t types)
{
    struct kernel_ops ops;

    kernel_ops_init(&ops, KERNEL_LEVEL_COUNT - 1);
    for (unsigned t = 0; t < TENSOR_TYPE_COUNT; t++) {
        ops.matmul[t] = few;
        ops.matmul_many[t] = types >> t & 1 ? many : NULL;
        ops.many_columns[t] = types >> t & 1 ? GUESS : UINT32_MAX;
    }
    return ops;
}

static uint32_t crossing_of(enum tensor_type type)
{
    struct kernel_ops ops = table(BIT(type));

    crossover_measure(&ops, BIT(type), &invented);
    return ops.many_columns[type];
}

static void the_first_number_at_or_past_the_crossing(void **s)
{
    (void)s;
    assert_int_equal(crossing_of(TENSOR_Q4_K), 8);
    costs[1].call_ns = 420;                     /* exactly at 4: equal is not slower */
    assert_int_equal(crossing_of(TENSOR_Q4_K), 4);
    costs[1].call_ns = 421;
    assert_int_equal(crossing_of(TENSOR_Q4_0), 8);
    costs[1].call_ns = 100 + 80 * 24 + 1;       /* past 24 */
    assert_int_equal(crossing_of(TENSOR_Q8_0), 32);
}

static void never_and_always(void **s)
{
    (void)s;
    costs[1] = (struct cost){ 101, 100 };
    assert_int_equal(crossing_of(TENSOR_Q4_K), UINT32_MAX);
    costs[1] = (struct cost){ 100, 100 };
    assert_int_equal(crossing_of(TENSOR_Q4_K), 1);
    costs[1] = (struct cost){ 50, 10 };
    assert_int_equal(crossing_of(TENSOR_Q4_K), 1);
}

/* Faster at 8 and 12, slower at 16: what comes after counts. */
static void never_slower_from_there_on(void **s)
{
    (void)s;
    extra_ns[1][16] = 5000;
    assert_int_equal(crossing_of(TENSOR_Q4_K), 24);
    extra_ns[1][32] = 5000;
    assert_int_equal(crossing_of(TENSOR_Q4_K), UINT32_MAX);
}

static void slow_calls_are_not_believed(void **s)
{
    (void)s;
    for (noise = 2; noise < 8; noise++)
        if (noise % 2)                          /* ways take turns: every second call would be one way's */
            assert_int_equal(crossing_of(TENSOR_Q4_K), 8);
}

static void every_type_has_its_own(void **s)
{
    struct kernel_ops ops = table(BIT(TENSOR_Q4_K) | BIT(TENSOR_Q6_K) | BIT(TENSOR_F16));

    (void)s;
    crossover_measure(&ops, BIT(TENSOR_Q4_K) | BIT(TENSOR_Q8_0) | BIT(TENSOR_F16), &invented);
    assert_int_equal(ops.many_columns[TENSOR_Q4_K], 8);
    assert_int_equal(ops.many_columns[TENSOR_F16], 8);
    assert_int_equal(ops.many_columns[TENSOR_Q6_K], GUESS);             /* the model has none */
    assert_int_equal(ops.many_columns[TENSOR_Q8_0], UINT32_MAX);        /* it has no other way */
}

static void without_another_way_nothing_runs(void **s)
{
    struct kernel_ops ops = table(0);

    (void)s;
    crossover_measure(&ops, ~0u, &(const struct crossover_clock){ .now_ns = NULL });
    assert_int_equal(calls[0] + calls[1], 0);
}

/* Time runs out before every number was seen three times, or just after. */
static void what_was_not_measured_stays(void **s)
{
    const uint64_t round = 2 * 99 * 1000, warm = 2 * 32 * 1000;

    (void)s;
    costs[0] = (struct cost){ 0, 1000 };
    costs[1] = (struct cost){ 0, 999 };
    assert_int_equal(crossing_of(TENSOR_Q4_K), 1);
    costs[0].column_ns = costs[1].column_ns = 1000 * CROSSOVER_BUDGET_NS / (3 * round + warm) + 1;
    assert_int_equal(crossing_of(TENSOR_Q4_K), GUESS);
    costs[0].column_ns = costs[1].column_ns -= 2;
    assert_int_equal(crossing_of(TENSOR_Q4_K), 1);
    costs[0].call_ns = 2 * CROSSOVER_BUDGET_NS;
    assert_int_equal(crossing_of(TENSOR_Q4_K), GUESS);
}

static void all_types_together_stay_within_the_budget(void **s)
{
    struct kernel_ops ops = table(~0u);

    (void)s;
    for (uint64_t ns = 1; ns < 100 * NS_PER_MS; ns *= 10) {
        costs[0] = (struct cost){ ns, ns };
        costs[1] = (struct cost){ ns, 2 * ns };
        time_ns = 0;
        crossover_measure(&ops, (1u << TENSOR_TYPE_COUNT) - 1, &invented);
        assert_true(time_ns <= CROSSOVER_BUDGET_NS + 65 * ns);          /* and the call that was running */
    }
}

static void a_clock_that_stands_measures_nothing(void **s)
{
    (void)s;
    stands_after = UINT32_MAX;
    costs[0] = costs[1] = (struct cost){ 0, 0 };
    assert_int_equal(crossing_of(TENSOR_Q4_K), GUESS);
    assert_true(calls[0] + calls[1] <= 2);
    reset(NULL);
    stands_after = 20;
    assert_int_equal(crossing_of(TENSOR_Q4_K), GUESS);
    assert_int_equal(calls[0] + calls[1], 21);
}

/* Real kernels of every type on the real clock: they read and write what they were promised (sanitizers look). */
static void real_kernels_run_on_the_made_up_input(void **s)
{
    struct kernel_ops ops;
    uint64_t begun;
    uint32_t n = 0;

    (void)s;
    kernel_thread_init();
    kernel_ops_init(&ops, KERNEL_LEVEL_COUNT - 1);
    for (unsigned t = 0; t < TENSOR_TYPE_COUNT; t++) {
        ops.matmul_many[t] = ops.matmul[t];
        ops.many_columns[t] = GUESS - 1;        /* no number that is measured */
    }
    begun = clock_now_ns();
    crossover_measure(&ops, (1u << TENSOR_TYPE_COUNT) - 1, &crossover_monotonic);
    for (unsigned t = 0; t < TENSOR_TYPE_COUNT; t++)
        n += ops.many_columns[t] != GUESS - 1;
    print_message("          %u types in %.1f ms\n", n, (double)(clock_now_ns() - begun) * 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_first_number_at_or_past_the_crossing, reset),
        cmocka_unit_test_setup(never_and_always, reset),
        cmocka_unit_test_setup(never_slower_from_there_on, reset),
        cmocka_unit_test_setup(slow_calls_are_not_believed, reset),
        cmocka_unit_test_setup(every_type_has_its_own, reset),
        cmocka_unit_test_setup(without_another_way_nothing_runs, reset),
        cmocka_unit_test_setup(what_was_not_measured_stays, reset),
        cmocka_unit_test_setup(all_types_together_stay_within_the_budget, reset),
        cmocka_unit_test_setup(a_clock_that_stands_measures_nothing, reset),
        cmocka_unit_test_setup(real_kernels_run_on_the_made_up_input, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
