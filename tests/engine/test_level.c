/* SPDX-License-Identifier: Apache-2.0 */
/* A level that computes wrong bits is not used: the next lower one is, and it is told.  The self-test is wrapped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/selftest.h"
#include "src/engine/level.h"

#define TYPES (1u << TENSOR_Q4_K | 1u << TENSOR_F32)

static uint32_t broken;                 /* bit l: level l computes wrong bits */
static uint32_t asked;                  /* likewise: its self-test ran */

const char *__real_kernel_selftest(const struct kernel_ops *ops, uint32_t types, void *work);
const char *__wrap_kernel_selftest(const struct kernel_ops *ops, uint32_t types, void *work);

const char *__wrap_kernel_selftest(const struct kernel_ops *ops, uint32_t types, void *work)
{
    asked |= 1u << ops->level;
    assert_int_equal(types, TYPES);
    assert_null(__real_kernel_selftest(ops, types, work));
    return broken >> ops->level & 1 ? "attend" : NULL;
}

static enum kernel_level best(void)
{
    struct kernel_ops ops;

    return kernel_ops_init(&ops, KERNEL_LEVEL_COUNT - 1);
}

static struct level_choice choose(uint32_t broken_levels)
{
    struct level_request q = { .highest = KERNEL_LEVEL_COUNT - 1, .types = TYPES };
    struct level_choice c;

    broken = broken_levels;
    asked = 0;
    assert_int_equal(level_choose(&q, &c, NULL), 0);
    return c;
}

static void a_right_level_is_taken_after_its_self_test(void **s)
{
    struct level_choice c = choose(0);

    (void)s;
    assert_int_equal(c.ops.level, best());
    assert_int_equal(c.failed, 0);
    assert_string_equal(c.note, "");
    assert_int_equal(asked, best() == KERNEL_REF ? 0 : 1u << best());
}

static void a_wrong_level_gives_way_to_the_next(void **s)
{
    struct kernel_ops lower;
    struct level_choice c;

    (void)s;
    if (best() == KERNEL_REF)
        skip();
    c = choose(1u << best());
    assert_int_equal(c.ops.level, kernel_ops_init(&lower, (enum kernel_level)(best() - 1)));
    assert_int_equal(c.failed, 1);
    assert_non_null(strstr(c.note, kernel_level_name(best())));
    assert_non_null(strstr(c.note, "attend"));
}

static void where_all_are_wrong_ref_computes(void **s)
{
    struct level_choice c = choose(~0u);

    (void)s;
    assert_int_equal(c.ops.level, KERNEL_REF);
    assert_int_equal(c.failed, __builtin_popcount(asked));
    assert_int_equal(asked & 1, 0);
}

static void a_required_level_that_is_wrong_is_an_error(void **s)
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
    assert_int_equal(level_choose(&q, &c, &e), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_level_is_taken_after_its_self_test),
        cmocka_unit_test(a_wrong_level_gives_way_to_the_next),
        cmocka_unit_test(where_all_are_wrong_ref_computes),
        cmocka_unit_test(a_required_level_that_is_wrong_is_an_error),
    };

    kernel_thread_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
