/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kern/emulate/tile.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TILES 8u
#define ROWS_MAX 16u
#define ROW_BYTES 64u

/* The operand of LDTILECFG. */
struct config {
    uint8_t palette, start_row, zero[14];
    uint16_t row_bytes[TILES], no_row_bytes[8];
    uint8_t rows[TILES], no_rows[8];
};

_Static_assert(sizeof(struct config) == 64, "as the CPU reads it");

static _Thread_local struct config tiles;       /* palette 0: not configured */
static _Thread_local uint8_t data[TILES][ROWS_MAX][ROW_BYTES];

void (*emulated_tile_fault)(const char *what);

_Noreturn static void fault(const char *what)
{
    if (emulated_tile_fault)
        emulated_tile_fault(what);
    fprintf(stderr, "emulated AMX: %s\n", what);
    abort();
}

static int all_zero(const void *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (((const uint8_t *)p)[i])
            return 0;
    return 1;
}

static void check_config(const struct config *c)
{
    if (c->palette > 1)
        fault("LDTILECFG: a palette above 1");
    if (c->start_row)
        fault("LDTILECFG: start_row is not 0");
    if (!all_zero(c->zero, sizeof c->zero) || !all_zero(c->no_row_bytes, sizeof c->no_row_bytes) ||
        !all_zero(c->no_rows, sizeof c->no_rows))
        fault("LDTILECFG: reserved bytes are not 0");
    for (unsigned t = 0; t < TILES; t++) {
        if (c->rows[t] > ROWS_MAX)
            fault("LDTILECFG: more than 16 rows");
        if (c->row_bytes[t] > ROW_BYTES)
            fault("LDTILECFG: more than 64 bytes in a row");
        if (!c->rows[t] != !c->row_bytes[t])
            fault("LDTILECFG: rows without columns, or columns without rows");
    }
}

void emulated_tile_release(void)
{
    memset(&tiles, 0, sizeof tiles);
    memset(data, 0, sizeof data);
}

/* Palette 0 releases, whatever follows it. */
void emulated_tile_loadconfig(const void *config)
{
    struct config c;
    memcpy(&c, config, sizeof c);
    if (c.palette)
        check_config(&c);
    emulated_tile_release();
    if (c.palette)
        tiles = c;
}

void emulated_tile_storeconfig(void *config) { memcpy(config, &tiles, sizeof tiles); }

static void check_tile(unsigned tile)
{
    if (!tiles.palette)
        fault("tiles are not configured");
    if (tile >= TILES || !tiles.rows[tile])
        fault("a tile that has no rows");
}

void emulated_tile_zero(unsigned tile)
{
    check_tile(tile);
    memset(data[tile], 0, sizeof data[tile]);
}

/* Bytes and rows behind the tile's size become 0. */
void emulated_tile_loadd(unsigned tile, const void *base, ptrdiff_t stride)
{
    check_tile(tile);
    memset(data[tile], 0, sizeof data[tile]);
    for (unsigned r = 0; r < tiles.rows[tile]; r++)
        memcpy(data[tile][r], (const uint8_t *)base + (ptrdiff_t)r * stride, tiles.row_bytes[tile]);
}

void emulated_tile_stored(unsigned tile, void *base, ptrdiff_t stride)
{
    check_tile(tile);
    for (unsigned r = 0; r < tiles.rows[tile]; r++)
        memcpy((uint8_t *)base + (ptrdiff_t)r * stride, data[tile][r], tiles.row_bytes[tile]);
}

static void check_product(unsigned to, unsigned a, unsigned b)
{
    check_tile(to);
    check_tile(a);
    check_tile(b);
    if (to == a || to == b || a == b)
        fault("TDP: a tile is two operands");
    if (tiles.row_bytes[to] % 4 || tiles.row_bytes[a] % 4 || tiles.row_bytes[b] % 4)
        fault("TDP: a row that is no whole number of dwords");
    if (tiles.rows[to] != tiles.rows[a])
        fault("TDP: rows of the result are not those of the first factor");
    if (tiles.row_bytes[to] != tiles.row_bytes[b])
        fault("TDP: columns of the result are not those of the second factor");
    if (tiles.row_bytes[a] / 4 != tiles.rows[b])
        fault("TDP: columns of the first factor are not rows of the second");
}

/* sum[n] += the products of the four bytes at @a with bytes 4n... of a row; unsigned: it wraps. */
#define ROW_PRODUCT(name, type_a, type_b)                                                                              \
    static void name(const uint8_t *a, const uint8_t *b, uint32_t *sum)                                                \
    {                                                                                                                  \
        const int32_t a0 = (type_a)a[0], a1 = (type_a)a[1], a2 = (type_a)a[2], a3 = (type_a)a[3];                      \
        for (unsigned n = 0; n < ROW_BYTES / 4; n++, b += 4)                                                           \
            sum[n] += (uint32_t)(a0 * (type_b)b[0] + a1 * (type_b)b[1] + a2 * (type_b)b[2] + a3 * (type_b)b[3]);       \
    }

ROW_PRODUCT(row_bssd, int8_t, int8_t)
ROW_PRODUCT(row_bsud, int8_t, uint8_t)
ROW_PRODUCT(row_busd, uint8_t, int8_t)
ROW_PRODUCT(row_buud, uint8_t, uint8_t)

/* Columns behind the result's are 0 in @b, rows behind it 0 everywhere. */
void emulated_tile_product(enum tile_product kind, unsigned to, unsigned a, unsigned b)
{
    static void (*const row_product[])(const uint8_t *, const uint8_t *, uint32_t *) = {
        [TILE_BSSD] = row_bssd, [TILE_BSUD] = row_bsud, [TILE_BUSD] = row_busd, [TILE_BUUD] = row_buud,
    };
    check_product(to, a, b);
    for (unsigned m = 0; m < tiles.rows[to]; m++) {
        uint32_t sum[ROW_BYTES / 4];
        memcpy(sum, data[to][m], sizeof sum);
        for (unsigned k = 0; k < tiles.rows[b]; k++)
            row_product[kind](&data[a][m][4 * k], data[b][k], sum);
        memcpy(data[to][m], sum, sizeof sum);
    }
}
