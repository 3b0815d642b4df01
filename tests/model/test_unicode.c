/* SPDX-License-Identifier: Apache-2.0 */
/* The Unicode tables at known places, and what must hold everywhere.  Whether they are fresh: model/unicode_fresh. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "src/base/utf8.h"
#include "src/model/unicode.h"

static void test_class(void **state)
{
    static const struct {
        uint32_t code, class;
    } known[] = {
        {'a', UNICODE_LETTER}, {'Z', UNICODE_LETTER}, {'7', UNICODE_NUMBER}, {'!', UNICODE_PUNCTUATION},
        {'_', UNICODE_PUNCTUATION}, {'$', UNICODE_SYMBOL}, {'`', UNICODE_SYMBOL}, {' ', UNICODE_SPACE},
        {'\n', UNICODE_SPACE}, {0x85, UNICODE_SPACE}, {0xa0, UNICODE_SPACE}, {0x2028, UNICODE_SPACE},
        {0x3000, UNICODE_SPACE}, {0x1b, UNICODE_CONTROL}, {0xad, UNICODE_CONTROL}, {0x200d, UNICODE_CONTROL},
        {0xe000, UNICODE_CONTROL}, {0xd800, UNICODE_CONTROL}, {0x301, UNICODE_MN}, {0x93e, UNICODE_MARK},
        {0x20dd, UNICODE_MARK}, {0xb2, UNICODE_NUMBER}, {0x2167, UNICODE_NUMBER}, {0x664, UNICODE_ND},
        {0xe9, UNICODE_LETTER}, {0x4e00, UNICODE_LETTER}, {0x9fff, UNICODE_LETTER}, {0xac00, UNICODE_LETTER},
        {0xd7a3, UNICODE_LETTER}, {0x20000, UNICODE_LETTER}, {0x1f600, UNICODE_SYMBOL}, {0x378, UNICODE_CN},
        {0xfffe, UNICODE_CN}, {0x1fffe, UNICODE_CN}, {0x20001, UNICODE_LETTER}, {0x10fffd, UNICODE_CONTROL},
        {0x10ffff, UNICODE_CN}, {0x110000, UNICODE_CN}, {UINT32_MAX, UNICODE_CN}, {0x180e, UNICODE_CONTROL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(known); i++) {
        if (!(unicode_class(known[i].code) & known[i].class))
            fail_msg("U+%04X is %x, not %x", known[i].code, unicode_class(known[i].code), known[i].class);
    }
    assert_false(unicode_class(0x180e) & UNICODE_SPACE);
    assert_false(unicode_class(0xb2) & UNICODE_ND);
    for (uint32_t code = 0; code < 0x110000; code++) {
        uint32_t class = unicode_class(code) & ~(uint32_t)UNICODE_SPACE;

        assert_true(class != 0 && (class & (class - 1)) == 0);
        if (class & UNICODE_SEPARATOR)
            assert_true(unicode_class(code) & UNICODE_SPACE);
    }
}

static void test_lower(void **state)
{
    (void)state;
    assert_int_equal(unicode_lower('A'), 'a');
    assert_int_equal(unicode_lower('['), '[');
    assert_int_equal(unicode_lower(0xc4), 0xe4);
    assert_int_equal(unicode_lower(0xd7), 0xd7);
    assert_int_equal(unicode_lower(0x100), 0x101);
    assert_int_equal(unicode_lower(0x101), 0x101);
    assert_int_equal(unicode_lower(0x130), 'i');
    assert_int_equal(unicode_lower(0x3a9), 0x3c9);
    assert_int_equal(unicode_lower(0x416), 0x436);
    assert_int_equal(unicode_lower(0x1e9e), 0xdf);
    assert_int_equal(unicode_lower(0x10400), 0x10428);
    assert_int_equal(unicode_lower(0x4e00), 0x4e00);
    assert_int_equal(unicode_lower(UINT32_MAX), UINT32_MAX);
    for (uint32_t code = 0; code < 0x110000; code++)
        assert_int_equal(unicode_lower(unicode_lower(code)), unicode_lower(code));
}

static void expect_decomposed(uint32_t code, size_t count, const uint32_t *expected)
{
    uint32_t found[UNICODE_DECOMPOSED_MAX];

    assert_int_equal(unicode_decompose(code, found), count);
    assert_memory_equal(found, expected, count * sizeof(*found));
}

static void test_decompose(void **state)
{
    (void)state;
    expect_decomposed('a', 1, (uint32_t[]){'a'});
    expect_decomposed(0xe9, 2, (uint32_t[]){'e', 0x301});
    expect_decomposed(0x1ed9, 3, (uint32_t[]){'o', 0x323, 0x302});
    expect_decomposed(0x1f82, 4, (uint32_t[]){0x3b1, 0x313, 0x300, 0x345});
    expect_decomposed(0xac00, 2, (uint32_t[]){0x1100, 0x1161});
    expect_decomposed(0xd7a3, 3, (uint32_t[]){0x1112, 0x1175, 0x11c2});
    expect_decomposed(0x212b, 2, (uint32_t[]){'A', 0x30a});
    expect_decomposed(0xf900, 1, (uint32_t[]){0x8c48});
    expect_decomposed(0x2fa1d, 1, (uint32_t[]){0x2a600});
    expect_decomposed(0xfb01, 1, (uint32_t[]){0xfb01});     /* only compatible with "fi" */
    expect_decomposed(UINT32_MAX, 1, (uint32_t[]){UINT32_MAX});
    /* Nothing decomposes further, nor into more characters (marks apart) than the code has bytes. */
    for (uint32_t code = 0; code < 0x110000; code++) {
        uint32_t once[UNICODE_DECOMPOSED_MAX], twice[UNICODE_DECOMPOSED_MAX];
        size_t count = unicode_decompose(code, once), kept = 0;
        uint8_t bytes[4];

        for (size_t i = 0; i < count; i++) {
            assert_int_equal(unicode_decompose(once[i], twice), 1);
            kept += unicode_class(once[i]) & UNICODE_MN ? 0 : 1;
        }
        assert_true(kept <= utf8_encode(code, bytes));
    }
}

static void test_ideographs(void **state)
{
    (void)state;
    assert_true(unicode_is_ideograph(0x4e00) && unicode_is_ideograph(0x9fff) && unicode_is_ideograph(0xf900));
    assert_true(unicode_is_ideograph(0x20000) && unicode_is_ideograph(0x2fa1f));
    assert_false(unicode_is_ideograph(0x3042) || unicode_is_ideograph(0xac00) || unicode_is_ideograph('a'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_class), cmocka_unit_test(test_lower), cmocka_unit_test(test_decompose),
        cmocka_unit_test(test_ideographs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
