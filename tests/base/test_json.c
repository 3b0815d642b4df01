/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "src/base/json.h"

static void expect(struct buffer *b, const char *wanted)
{
    assert_true(buffer_ok(b));
    buffer_put_u8(b, 0);
    assert_string_equal((char *)b->data, wanted);
    buffer_deinit(b);
}

static void test_nesting(void **state)
{
    struct buffer b = BUFFER_NULL;
    struct json j = json_to(&b);

    (void)state;
    json_object(&j);
    json_key(&j, "list");
    json_array(&j);
    json_u64(&j, UINT64_MAX);
    json_i64(&j, INT64_MIN);
    json_array(&j);
    json_end(&j, ']');
    json_object(&j);
    json_end(&j, '}');
    json_bool(&j, true);
    json_end(&j, ']');
    json_key(&j, "next");
    json_text(&j, "x");
    json_end(&j, '}');
    expect(&b, "{\"list\":[18446744073709551615,-9223372036854775808,[],{},true],\"next\":\"x\"}");
}

static void test_numbers(void **state)
{
    struct buffer b = BUFFER_NULL;
    struct json j = json_to(&b);

    (void)state;
    json_array(&j);
    json_f64(&j, 0.5);
    json_f64(&j, -1e300);
    json_f64(&j, NAN);
    json_f64(&j, INFINITY);
    json_end(&j, ']');
    expect(&b, "[0.5,-1e+300,null,null]");
}

static void string_is(const void *text, size_t size, const char *wanted)
{
    struct buffer b = BUFFER_NULL;
    struct json j = json_to(&b);

    json_string(&j, text, size);
    expect(&b, wanted);
}

static void test_strings(void **state)
{
    (void)state;
    string_is("", 0, "\"\"");
    string_is("a\"b\\c\nd\te\0f", 11, "\"a\\\"b\\\\c\\nd\\u0009e\\u0000f\"");
    string_is("\xc3\xa9\xf0\x9f\x99\x82", 6, "\"\xc3\xa9\xf0\x9f\x99\x82\"");
    string_is("\xff" "a\xe2\x82", 4, "\"\\ufffda\\ufffd\\ufffd\"");     /* a byte that is none, a character cut short */
    string_is("\xed\xa0\x80", 3, "\"\\ufffd\\ufffd\\ufffd\"");           /* a surrogate */
    string_is("\x7f</script>", 10, "\"\\u007f</script>\"");
    string_is("\xc2\x9b" "31m\xe2\x80\xae", 8, "\"\\u009b31m\\u202e\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nesting), cmocka_unit_test(test_numbers), cmocka_unit_test(test_strings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
