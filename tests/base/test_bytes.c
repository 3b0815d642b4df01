/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/base/bytes.h"

static void test_reads(void **state)
{
    static const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 0, 0x80, 0x3f, 0x7f };
    struct cursor c = cursor_of(bytes, sizeof(bytes));
    uint8_t a;
    uint16_t b;
    uint32_t d;
    uint64_t e;
    float f;

    (void)state;
    assert_true(cursor_u8(&c, &a) && cursor_u16(&c, &b) && cursor_u32(&c, &d) && cursor_u64(&c, &e));
    assert_int_equal(a, 0x01);
    assert_int_equal(b, 0x0302);
    assert_int_equal(d, 0x07060504);
    assert_true(e == UINT64_C(0x0f0e0d0c0b0a0908));
    assert_true(cursor_f32(&c, &f));
    assert_true(f == 1.0f);
    assert_int_equal(cursor_left(&c), 1);
    assert_true(cursor_u8(&c, &a));
    assert_int_equal(a, 0x7f);
    assert_int_equal(cursor_left(&c), 0);
}

/* A read past the end gives zero and spoils the cursor, also for reads that would fit. */
static void test_past_the_end(void **state)
{
    static const uint8_t bytes[7] = { 9, 9, 9, 9, 9, 9, 9 };
    struct cursor c = cursor_of(bytes, sizeof(bytes));
    uint64_t wide = 77;
    uint8_t narrow = 77;
    struct span s;

    (void)state;
    assert_false(cursor_u64(&c, &wide));
    assert_true(wide == 0);
    assert_false(cursor_u8(&c, &narrow));
    assert_int_equal(narrow, 0);
    assert_int_equal(cursor_left(&c), 0);
    assert_false(cursor_take(&c, 0, &s));
    assert_null(s.data);
}

static void test_take(void **state)
{
    static const uint8_t bytes[5] = { 1, 2, 3, 4, 5 };
    struct cursor c = cursor_of(bytes, sizeof(bytes)), empty = cursor_of(NULL, 0);
    struct span s;

    (void)state;
    assert_true(cursor_take(&c, 2, &s));
    assert_ptr_equal(s.data, bytes);
    assert_int_equal(s.size, 2);
    assert_true(cursor_skip(&c, 1));
    assert_true(cursor_take(&c, 2, &s));
    assert_ptr_equal(s.data, bytes + 3);
    assert_true(cursor_take(&c, 0, &s));
    assert_false(cursor_take(&c, SIZE_MAX, &s));    /* position + size would wrap */
    assert_true(cursor_take(&empty, 0, &s));
    assert_false(cursor_skip(&empty, 1));
}

static void test_buffer(void **state)
{
    struct buffer b = BUFFER_NULL;
    struct cursor c;
    uint32_t v;

    (void)state;
    for (uint32_t i = 0; i < 10000; i++)
        buffer_put_u32(&b, i * 2654435761u);
    assert_true(buffer_ok(&b));
    assert_int_equal(b.size, 40000);
    c = cursor_of(b.data, b.size);
    for (uint32_t i = 0; i < 10000; i++) {
        assert_true(cursor_u32(&c, &v));
        assert_int_equal(v, i * 2654435761u);
    }
    buffer_deinit(&b);
    assert_null(b.data);
    buffer_deinit(&b);
}

static void test_buffer_limit(void **state)
{
    struct buffer b = { .limit = 10 };

    (void)state;
    buffer_put(&b, "12345678", 8);
    buffer_put_u16(&b, 0x4142);
    assert_true(buffer_ok(&b));
    buffer_put_u8(&b, 1);
    assert_false(buffer_ok(&b));
    assert_int_equal(b.size, 10);
    buffer_put(&b, NULL, 0);
    assert_false(buffer_ok(&b));
    buffer_deinit(&b);
}

static void test_buffer_wrap(void **state)
{
    struct buffer b = BUFFER_NULL;

    (void)state;
    buffer_put_u8(&b, 1);
    buffer_put(&b, "x", SIZE_MAX);                  /* the sum wraps: refused before a byte is read */
    assert_false(buffer_ok(&b));
    assert_int_equal(b.size, 1);
    buffer_deinit(&b);
}

static void test_buffer_printf(void **state)
{
    struct buffer b = BUFFER_NULL;
    char big[500];

    (void)state;
    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = 0;
    buffer_printf(&b, "%d,%s,", -5, "text");
    buffer_printf(&b, "%s", big);
    assert_int_equal(b.size, 8 + 499);
    assert_memory_equal(b.data, "-5,text,xxxx", 12);
    buffer_deinit(&b);
}

static void test_checked(void **state)
{
    uint64_t v;
    uint8_t narrow;

    (void)state;
    assert_true(ckd_add(&v, UINT64_MAX, 1));
    assert_true(ckd_mul(&v, UINT64_C(1) << 42, UINT64_C(1) << 22));
    assert_false(ckd_mul(&v, UINT64_C(1) << 41, UINT64_C(1) << 22));
    assert_true(ckd_sub(&v, 1, 2));
    assert_true(ckd_add(&narrow, 200, 56));
    assert_false(ckd_add(&narrow, 200, 55));
    assert_true(align_up(4097, 4096) == 8192 && align_up(4096, 4096) == 4096 && align_down(4097, 4096) == 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads),        cmocka_unit_test(test_past_the_end), cmocka_unit_test(test_take),
        cmocka_unit_test(test_buffer),       cmocka_unit_test(test_buffer_limit), cmocka_unit_test(test_buffer_wrap),
        cmocka_unit_test(test_buffer_printf), cmocka_unit_test(test_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
