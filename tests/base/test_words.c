/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "src/base/words.h"

static const char *const names[] = { "auto", NULL, "uring" };
static const struct words words = WORDS(names);

static void test_known(void **state)
{
    uint32_t v = 9;

    (void)state;
    assert_int_equal(words_parse(&words, "auto", &v, NULL), 0);
    assert_int_equal(v, 0);
    assert_int_equal(words_parse(&words, "uring", &v, NULL), 0);
    assert_int_equal(v, 2);
}

static void test_unknown(void **state)
{
    static const char *const wrong[] = { "", "Auto", "aut", "auto ", "(null)" };
    struct error e = ERROR_NULL;
    uint32_t v = 9;

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++)
        assert_int_equal(words_parse(&words, wrong[i], &v, &e), -EINVAL);
    assert_string_equal(e.text, "\"(null)\" is not known; known are auto, uring");
    assert_int_equal(v, 9);
}

/* The list of what is known is bounded, whatever the table holds. */
static void test_long_list(void **state)
{
    static const char *many[100];
    struct words w = WORDS(many);
    struct error e = ERROR_NULL;
    uint32_t v;

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(many); i++)
        many[i] = "a-long-word";
    assert_int_equal(words_parse(&w, "x", &v, &e), -EINVAL);
    assert_true(strlen(e.text) < 160);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known), cmocka_unit_test(test_unknown), cmocka_unit_test(test_long_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
