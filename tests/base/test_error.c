/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "src/base/error.h"

static void test_set(void **state)
{
    struct error e = ERROR_NULL;

    (void)state;
    assert_int_equal(error_set(&e, -ENOENT, "%s: line %d", "file.gguf", 7), -ENOENT);
    assert_int_equal(e.code, -ENOENT);
    assert_string_equal(e.text, "file.gguf: line 7");
    assert_int_equal(error_set(NULL, -EIO, "nobody wants this"), -EIO);
    error_prefix(NULL, "nobody");
}

static void test_prefix(void **state)
{
    struct error e = ERROR_NULL;

    (void)state;
    (void)error_set(&e, -EINVAL, "bad shape");
    error_prefix(&e, "tensor %d", 3);
    error_prefix(&e, "model.gguf");
    assert_string_equal(e.text, "model.gguf: tensor 3: bad shape");
    assert_int_equal(e.code, -EINVAL);
}

/* Names from files end up in messages: nothing of them moves a cursor or begins a line. */
static void test_control_characters(void **state)
{
    struct error e = ERROR_NULL;

    (void)state;
    (void)error_set(&e, -EINVAL, "tensor \x1b[2J\n<0>\x7f\t");
    assert_string_equal(e.text, "tensor ?[2J?<0>??");
    (void)error_set(&e, -EINVAL, "\xc2\x9b" "31m \xe2\x80\xae \xff \xc3\xa9\xc3");
    assert_string_equal(e.text, "??31m ??? ? \xc3\xa9?");
    (void)error_set(&e, -EINVAL, "tensor \x1b[2J\n<0>\x7f\t");
    error_prefix(&e, "a\rb");
    assert_string_equal(e.text, "a?b: tensor ?[2J?<0>??");
}

static void test_long(void **state)
{
    struct error e = ERROR_NULL;
    char big[3 * ERROR_TEXT_MAX];

    (void)state;
    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = 0;
    (void)error_set(&e, -EINVAL, "%s", big);
    assert_int_equal(strlen(e.text), ERROR_TEXT_MAX - 1);
    error_prefix(&e, "prefix");
    assert_int_equal(strlen(e.text), ERROR_TEXT_MAX - 1);
    assert_memory_equal(e.text, "prefix: xxx", 11);
    error_prefix(&e, "%s", big);
    assert_int_equal(strlen(e.text), ERROR_TEXT_MAX - 1);
    assert_int_equal(e.text[0], 'x');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set), cmocka_unit_test(test_prefix), cmocka_unit_test(test_control_characters),
        cmocka_unit_test(test_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
