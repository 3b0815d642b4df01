/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "src/base/utf8.h"

static bool is_scalar(uint32_t code) { return code < 0xd800 || (code > 0xdfff && code <= 0x10ffff); }

static void test_every_code_point(void **state)
{
    (void)state;
    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        uint8_t s[4];
        uint32_t back = UINT32_MAX;
        size_t n = utf8_encode(code, s);

        assert_int_equal(n, code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4);
        assert_int_equal(utf8_decode(s, n, &back), is_scalar(code) ? n : 0);
        if (is_scalar(code))
            assert_int_equal(back, code);
        for (size_t cut = 0; cut < n; cut++)
            assert_int_equal(utf8_decode(s, cut, &back), 0);
    }
}

/* Whatever is accepted is the one encoding of its code point: no overlong form, no surrogate gets through. */
static void test_every_sequence(void **state)
{
    uint32_t accepted = 0;

    (void)state;
    for (uint32_t bits = 0; bits < 1u << 24; bits++) {
        uint8_t s[4] = { (uint8_t)(0x80 | bits >> 17), (uint8_t)(bits >> 9), (uint8_t)(bits >> 1), 0x80 }, again[4];
        uint32_t code = UINT32_MAX;
        size_t n = utf8_decode(s, sizeof(s), &code);

        if (n == 0)
            continue;
        accepted++;
        assert_true(is_scalar(code));
        assert_int_equal(utf8_encode(code, again), n);
        assert_memory_equal(s, again, n);
    }
    assert_true(accepted > 0);
}

static void tail_is(const char *bytes, size_t wanted)
{
    assert_int_equal(utf8_incomplete_tail((const uint8_t *)bytes, strlen(bytes)), wanted);
}

static void test_tail(void **state)
{
    (void)state;
    tail_is("", 0);
    tail_is("abc", 0);
    tail_is("a\xc3", 1);
    tail_is("a\xc3\xa9", 0);
    tail_is("a\xe2", 1);
    tail_is("a\xe2\x82", 2);
    tail_is("a\xe2\x82\xac", 0);
    tail_is("\xf0", 1);
    tail_is("\xf0\x9f", 2);
    tail_is("\xf0\x9f\x99", 3);
    tail_is("\xf0\x9f\x99\x82", 0);
    tail_is("\x99\x82", 0);             /* bytes that follow nothing are not held */
    tail_is("\xff", 0);
    tail_is("\xe0\x80", 0);             /* can become nothing: overlong */
    tail_is("\xed\xa0", 0);             /* can become nothing: a surrogate */
    tail_is("\xf4\x90", 0);             /* can become nothing: beyond U+10FFFF */
    tail_is("\xc3\xc3", 1);
}

/* A text cut anywhere: what is not held is whole, what is held is the beginning of the next character. */
static void test_tail_at_every_cut(void **state)
{
    static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82z\xed\x9f\xbf\xf4\x8f\xbf\xbf";

    (void)state;
    for (size_t cut = 0; cut < sizeof(text); cut++) {
        const uint8_t *s = (const uint8_t *)text;
        size_t whole = cut - utf8_incomplete_tail(s, cut), at = 0;
        uint32_t code;

        while (at < whole) {
            size_t n = utf8_decode(s + at, whole - at, &code);

            assert_true(n > 0);
            at += n;
        }
        assert_int_equal(at, whole);
        assert_true(cut - whole <= 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_code_point), cmocka_unit_test(test_every_sequence), cmocka_unit_test(test_tail),
        cmocka_unit_test(test_tail_at_every_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
