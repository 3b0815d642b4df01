/* SPDX-License-Identifier: Apache-2.0 */

/* The emulated tiles against values computed by hand, and every fault. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/kern/emulate/tile.h"

static jmp_buf after_fault;
static const char *volatile said;

static void on_fault(const char *what)
{
    said = what;
    longjmp(after_fault, 1);
}

/* The statement faults, and says so. */
#define assert_faults(statement, words)                                                                                \
    do {                                                                                                               \
        said = NULL;                                                                                                   \
        if (setjmp(after_fault) == 0) {                                                                                \
            statement;                                                                                                 \
        }                                                                                                              \
        assert_non_null(said);                                                                                         \
        assert_non_null(strstr(said, words));                                                                          \
    } while (0)

/* Tiles 0, 3, 4: 2 x 3 dwords; 1: 2 rows of 2 dwords; 2: 2 rows of 3 dwords; 5: 16 x 64; 6: 2 x 6 bytes; 7: none. */
static void configure(uint8_t c[64])
{
    static const uint8_t rows[8] = { 2, 2, 2, 2, 2, 16, 2, 0 }, row_bytes[8] = { 12, 8, 12, 12, 12, 64, 6, 0 };
    memset(c, 0, 64);
    c[0] = 1;
    for (unsigned t = 0; t < 8; t++) {
        c[16 + 2 * t] = row_bytes[t];
        c[48 + t] = rows[t];
    }
}

static int setup(void **state)
{
    uint8_t c[64];
    (void)state;
    emulated_tile_fault = on_fault;
    configure(c);
    emulated_tile_loadconfig(c);
    return 0;
}

static void config_is_kept(void **state)
{
    uint8_t c[64], got[64];
    (void)state;
    configure(c);
    emulated_tile_storeconfig(got);
    assert_memory_equal(c, got, 64);
    emulated_tile_release();
    emulated_tile_storeconfig(got);
    memset(c, 0, 64);
    assert_memory_equal(c, got, 64);
    c[3] = 5;                                   /* palette 0: whatever follows */
    emulated_tile_loadconfig(c);
    emulated_tile_storeconfig(got);
    assert_int_equal(got[3], 0);
}

static void config_faults(void **state)
{
    static const struct {
        unsigned at, value;
        const char *words;
    } bad[] = {
        { 0, 2, "palette" },    { 1, 1, "start_row" },      { 2, 1, "reserved" },           { 15, 1, "reserved" },
        { 32, 1, "reserved" },  { 47, 128, "reserved" },    { 56, 1, "reserved" },          { 63, 1, "reserved" },
        { 48, 17, "16 rows" },  { 16, 65, "64 bytes" },     { 17, 1, "64 bytes" },          { 55, 1, "columns" },
        { 48, 0, "without rows" }, { 30, 4, "without rows" },
    };
    uint8_t c[64], before[64], after[64];
    (void)state;
    emulated_tile_storeconfig(before);
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        configure(c);
        c[bad[i].at] = (uint8_t)bad[i].value;
        assert_faults(emulated_tile_loadconfig(c), bad[i].words);
        emulated_tile_storeconfig(after);
        assert_memory_equal(before, after, 64);
    }
}

static void not_configured_faults(void **state)
{
    uint8_t b[64] = { 0 };
    (void)state;
    assert_faults(emulated_tile_zero(7), "no rows");
    assert_faults(emulated_tile_zero(8), "no rows");
    assert_faults(emulated_tile_loadd(7, b, 0), "no rows");
    assert_faults(emulated_tile_product(TILE_BSSD, 0, 1, 7), "no rows");
    emulated_tile_release();
    assert_faults(emulated_tile_zero(0), "not configured");
    assert_faults(emulated_tile_loadd(0, b, 8), "not configured");
    assert_faults(emulated_tile_stored(0, b, 8), "not configured");
    assert_faults(emulated_tile_product(TILE_BSUD, 0, 1, 2), "not configured");
}

static void product_faults(void **state)
{
    (void)state;
    assert_faults(emulated_tile_product(TILE_BSSD, 0, 0, 2), "two operands");
    assert_faults(emulated_tile_product(TILE_BSSD, 0, 1, 0), "two operands");
    assert_faults(emulated_tile_product(TILE_BSSD, 0, 2, 2), "two operands");
    assert_faults(emulated_tile_product(TILE_BSSD, 0, 6, 2), "whole number");
    assert_faults(emulated_tile_product(TILE_BSSD, 6, 1, 2), "whole number");
    assert_faults(emulated_tile_product(TILE_BSSD, 0, 1, 6), "whole number");
    assert_faults(emulated_tile_product(TILE_BSSD, 5, 1, 2), "rows of the result");
    assert_faults(emulated_tile_product(TILE_BSSD, 1, 0, 2), "columns of the result");
    assert_faults(emulated_tile_product(TILE_BSSD, 0, 3, 2), "rows of the second");
}

/* A load takes the rows and bytes that the tile has, at any stride, and a store gives no more. */
static void load_and_store(void **state)
{
    uint8_t from[64], to[64];
    (void)state;
    for (unsigned i = 0; i < 64; i++) {
        from[i] = (uint8_t)(i + 1);
        to[i] = 0xee;
    }
    emulated_tile_loadd(0, from, 20);
    emulated_tile_stored(0, to, 32);
    assert_memory_equal(to, from, 12);
    assert_memory_equal(to + 32, from + 20, 12);
    for (unsigned i = 12; i < 32; i++)
        assert_int_equal(to[i], 0xee);
    for (unsigned i = 44; i < 64; i++)
        assert_int_equal(to[i], 0xee);
    emulated_tile_loadd(0, from + 20, -20);
    emulated_tile_stored(0, to, 12);
    assert_memory_equal(to, from + 20, 12);
    assert_memory_equal(to + 12, from, 12);
    emulated_tile_zero(0);
    emulated_tile_stored(0, to, 12);
    for (unsigned i = 0; i < 24; i++)
        assert_int_equal(to[i], 0);
}

/*
 * a: rows (1 2 3 4 | -1 0 0 0), (0 0 0 1 | 200 0 0 0 as bytes); b: row 0 (10 20 30 40 | 255 0 0 0 | 0 0 0 2),
 * row 1 (128 0 0 0 | 1 1 1 1 | 7 0 0 0).  200 = -56 signed, 255 = -1, 128 = -128.
 */
static void products(void **state)
{
    static const uint8_t a[2][8] = { { 1, 2, 3, 4, 255, 0, 0, 0 }, { 0, 0, 0, 1, 200, 0, 0, 0 } };
    static const uint8_t b[2][12] = { { 10, 20, 30, 40, 255, 0, 0, 0, 0, 0, 0, 2 },
                                      { 128, 0, 0, 0, 1, 1, 1, 1, 7, 0, 0, 0 } };
    static const int32_t due[4][2][3] = {
        [TILE_BSSD] = { { 300 + 128, -1 - 1, 8 - 7 }, { 40 + 56 * 128, -56, 2 - 56 * 7 } },
        [TILE_BSUD] = { { 300 - 128, 255 - 1, 8 - 7 }, { 40 - 56 * 128, -56, 2 - 56 * 7 } },
        [TILE_BUSD] = { { 300 - 255 * 128, -1 + 255, 8 + 255 * 7 }, { 40 - 200 * 128, 200, 2 + 1400 } },
        [TILE_BUUD] = { { 300 + 255 * 128, 255 + 255, 8 + 255 * 7 }, { 40 + 200 * 128, 200, 2 + 1400 } },
    };
    (void)state;
    emulated_tile_loadd(1, a, 8);
    emulated_tile_loadd(2, b, 12);
    for (unsigned kind = 0; kind < 4; kind++) {
        int32_t start[2][3] = { { 5, -7, INT32_MAX }, { 0, 1, INT32_MIN } }, got[2][3];
        emulated_tile_loadd(0, start, 12);
        emulated_tile_product((enum tile_product)kind, 0, 1, 2);
        emulated_tile_stored(0, got, 12);
        for (unsigned i = 0; i < 6; i++)
            assert_int_equal(got[i / 3][i % 3],
                             (int32_t)((uint32_t)start[i / 3][i % 3] + (uint32_t)due[kind][i / 3][i % 3]));
    }
}

/* The largest tiles: every dword of the result has 64 products of the extreme values. */
static void largest(void **state)
{
    uint8_t c[64], low[16][64], high[16][64];
    int32_t got[16][16];
    (void)state;
    configure(c);
    for (unsigned t = 0; t < 8; t++) {
        c[16 + 2 * t] = 64;
        c[48 + t] = 16;
    }
    emulated_tile_loadconfig(c);
    memset(low, 0x80, sizeof low);
    memset(high, 0xff, sizeof high);
    emulated_tile_loadd(6, low, 64);
    emulated_tile_loadd(7, high, 64);
    emulated_tile_product(TILE_BSUD, 5, 6, 7);
    emulated_tile_product(TILE_BSSD, 5, 6, 7);
    emulated_tile_stored(5, got, 64);
    for (unsigned i = 0; i < 256; i++)
        assert_int_equal(got[i / 16][i % 16], 64 * -128 * 255 + 64 * 128);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(config_is_kept, setup), cmocka_unit_test_setup(config_faults, setup),
        cmocka_unit_test_setup(not_configured_faults, setup), cmocka_unit_test_setup(product_faults, setup),
        cmocka_unit_test_setup(load_and_store, setup), cmocka_unit_test_setup(products, setup),
        cmocka_unit_test_setup(largest, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
