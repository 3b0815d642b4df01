/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A level that computes wrong bits, or does not survive its self-test, is not used: the next lower one is, and it is
 * told.  The self-test and the tables of kernels are wrapped; the first of them runs in a child.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "kernels/selftest.h"
#include "src/engine/crossover.h"
#include "src/engine/level.h"
#include "src/engine/trial.h"

#define TYPES (1u << TENSOR_Q4_K | 1u << TENSOR_F32)
#define HIGHEST ((enum kernel_level)(KERNEL_LEVEL_COUNT - 1))

static uint32_t broken;                 /* bit l: level l computes wrong bits */
static uint32_t illegal;                /* likewise: one of its functions is no instruction of this CPU */
static bool childless;                  /* no process can be had */
static struct {
    uint32_t asked;                     /* bit l: the self-test of level l ran */
    uint32_t failed;                    /* ... and found something, or was asked something else */
    uint32_t here;                      /* ... in this process */
} *seen;                                /* shared with children */
static struct kernel_ops measured;      /* the table whose crossover was measured */
static uint32_t measurements;

const char *__real_kernel_selftest(const struct kernel_ops *ops, uint32_t types, void *work, char *now);
const char *__wrap_kernel_selftest(const struct kernel_ops *ops, uint32_t types, void *work, char *now);
enum kernel_level __real_kernel_ops_init(struct kernel_ops *ops, enum kernel_level highest);
enum kernel_level __wrap_kernel_ops_init(struct kernel_ops *ops, enum kernel_level highest);
int __real_trial_run(void (*what)(void *), void *arg, uint32_t limit_ms);
int __wrap_trial_run(void (*what)(void *), void *arg, uint32_t limit_ms);
void __wrap_crossover_measure(struct kernel_ops *ops, uint32_t types, const struct crossover_clock *clock);

static pid_t parent;

/* No assertions here: their long jump would leave the child running the tests that follow. */
const char *__wrap_kernel_selftest(const struct kernel_ops *ops, uint32_t types, void *work, char *now)
{
    const uint32_t bit = 1u << ops->level;

    seen->asked |= bit;
    seen->here |= getpid() == parent ? bit : 0;
    if (types != TYPES || __real_kernel_selftest(ops, types, work, now))
        seen->failed |= bit;
    return broken & bit ? "attend" : NULL;
}

static void matmul_that_is_illegal(const uint8_t *packed, uint32_t groups, const struct kernel_act *x,
                                   uint32_t token_first, uint32_t tokens, float *y, size_t y_stride)
{
    (void)packed, (void)groups, (void)x, (void)token_first, (void)tokens, (void)y, (void)y_stride;
    __asm__ volatile("ud2");
}

enum kernel_level __wrap_kernel_ops_init(struct kernel_ops *ops, enum kernel_level highest)
{
    enum kernel_level reached = __real_kernel_ops_init(ops, highest);

    if (illegal >> reached & 1)
        ops->matmul[TENSOR_Q4_K] = matmul_that_is_illegal;
    return reached;
}

int __wrap_trial_run(void (*what)(void *), void *arg, uint32_t limit_ms)
{
    return childless ? -EAGAIN : __real_trial_run(what, arg, limit_ms);
}

void __wrap_crossover_measure(struct kernel_ops *ops, uint32_t types, const struct crossover_clock *clock)
{
    assert_int_equal(types, TYPES);
    assert_ptr_equal(clock, &crossover_monotonic);
    measurements++;
    measured = *ops;
    ops->many_columns[TENSOR_Q8_0] = 99;
}

static enum kernel_level best(void)
{
    struct kernel_ops ops;

    return __real_kernel_ops_init(&ops, HIGHEST);
}

static enum kernel_level second_best(void)
{
    struct kernel_ops ops;

    return __real_kernel_ops_init(&ops, (enum kernel_level)(best() - 1));
}

static int reset(void **s)
{
    (void)s;
    broken = illegal = measurements = 0;
    childless = false;
    memset(seen, 0, sizeof(*seen));
    return 0;
}

static struct level_choice choose(void)
{
    struct level_request q = { .highest = HIGHEST, .types = TYPES };
    struct level_choice c;

    assert_int_equal(level_choose(&q, &c, NULL), 0);
    assert_int_equal(seen->failed, 0);
    assert_int_equal(seen->asked & 1, 0);       /* ref is what the others are compared with */
    return c;
}

static void a_right_level_is_taken_after_its_self_test(void **s)
{
    struct level_choice c = choose();

    (void)s;
    assert_int_equal(c.ops.level, best());
    assert_int_equal(c.failed, 0);
    assert_string_equal(c.note, "");
    assert_int_equal(seen->asked, best() == KERNEL_REF ? 0 : 1u << best());
    assert_int_equal(seen->here, 0);
}

static void a_wrong_level_gives_way_to_the_next(void **s)
{
    struct level_choice c;

    (void)s;
    if (best() == KERNEL_REF)
        skip();
    broken = 1u << best();
    c = choose();
    assert_int_equal(c.ops.level, second_best());
    assert_int_equal(c.failed, 1);
    assert_non_null(strstr(c.note, kernel_level_name(best())));
    assert_non_null(strstr(c.note, "attend computes wrong bits"));
    assert_int_equal(seen->here, 0);
}

static void a_level_that_does_not_survive_gives_way_too(void **s)
{
    struct kernel_ops ops;
    struct level_choice c;

    (void)s;
    if (best() == KERNEL_REF)
        skip();
    illegal = 1u << best();
    c = choose();
    __real_kernel_ops_init(&ops, best());
    assert_int_equal(c.ops.level, second_best());
    assert_int_equal(c.failed, 1);
    assert_non_null(strstr(c.note, kernel_level_name(best())));
    assert_non_null(strstr(c.note, ops.matmul_name[TENSOR_Q4_K]));
    assert_non_null(strstr(c.note, " ends with SIGILL on this CPU"));
}

static void where_all_are_wrong_ref_computes(void **s)
{
    struct level_choice c;

    (void)s;
    broken = ~0u;
    c = choose();
    assert_int_equal(c.ops.level, KERNEL_REF);
    assert_int_equal(c.failed, __builtin_popcount(seen->asked));
}

/* A container may forbid processes: wrong bits are found nevertheless. */
static void without_a_child_it_runs_here(void **s)
{
    struct level_choice c;

    (void)s;
    childless = true;
    c = choose();
    assert_int_equal(c.ops.level, best());
    assert_string_equal(c.note, "");
    assert_int_equal(seen->here, seen->asked);
    if (best() == KERNEL_REF)
        return;
    broken = 1u << best();
    c = choose();
    assert_int_equal(c.ops.level, second_best());
    assert_non_null(strstr(c.note, "attend computes wrong bits"));
}

static void a_required_level_that_fails_is_an_error(void **s)
{
    struct level_request q = { .highest = best(), .required = true, .types = TYPES };
    struct level_choice c;
    struct error e = ERROR_NULL;

    (void)s;
    if (best() == KERNEL_REF)
        skip();
    broken = 1u << best();
    assert_int_equal(level_choose(&q, &c, &e), -ENOTSUP);
    assert_non_null(strstr(e.text, kernel_level_name(best())));
    broken = 0;
    illegal = 1u << best();
    assert_int_equal(level_choose(&q, &c, &e), -ENOTSUP);
    assert_non_null(strstr(e.text, "SIGILL"));
    assert_int_equal(measurements, 0);
    illegal = 0;
    assert_int_equal(level_choose(&q, &c, &e), 0);
}

static void the_level_that_is_taken_is_measured(void **s)
{
    struct level_choice c;

    (void)s;
    broken = 1u << best();
    c = choose();
    assert_int_equal(measurements, 1);
    assert_int_equal(measured.level, c.ops.level);
    assert_int_equal(c.ops.many_columns[TENSOR_Q8_0], 99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_right_level_is_taken_after_its_self_test, reset),
        cmocka_unit_test_setup(a_wrong_level_gives_way_to_the_next, reset),
        cmocka_unit_test_setup(a_level_that_does_not_survive_gives_way_too, reset),
        cmocka_unit_test_setup(where_all_are_wrong_ref_computes, reset),
        cmocka_unit_test_setup(without_a_child_it_runs_here, reset),
        cmocka_unit_test_setup(a_required_level_that_fails_is_an_error, reset),
        cmocka_unit_test_setup(the_level_that_is_taken_is_measured, reset),
    };

    kernel_thread_init();
    parent = getpid();
    seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return seen == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
