/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the matmuls of this level share.  The first factor of a product of tiles (A) is activations, a column to a row;
 * the second one (B) is weights, of which a line of 64 bytes, 4 k of 16 rows, is a row; the result has 16 rows of
 * weights side by side, so that what follows is AVX-512's float step.  Columns are taken in blocks of up to two A
 * tiles.
 *
 * Tiles are configured by the function that uses them, and released before it returns: they cost a switch of threads
 * 8 KiB otherwise, and the numbers of columns differ from call to call.
 */

#include "kernels/avx512/tile.h"

#define TILE_COLUMNS 16u
#define BLOCK_COLUMNS (2 * TILE_COLUMNS)

/* By number, which the instructions hold: A; B of low and high bytes, or of two row groups; the results, [B][A]. */
#define TILE_A0 0
#define TILE_A1 1
#define TILE_B0 2
#define TILE_B1 3
#define TILE_C00 4
#define TILE_C01 5
#define TILE_C10 6
#define TILE_C11 7

struct tile_config {                    /* the operand of LDTILECFG */
    uint8_t palette, start_row, zero[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct tile_config) == 64, "as the CPU reads it");

/* Tiles for a block of @columns columns, @k values to a product; tiles that are not used have no size. */
INLINE void configure_tiles(uint32_t columns, uint32_t k, struct tile_config *current)
{
    const uint8_t first = (uint8_t)(columns < TILE_COLUMNS ? columns : TILE_COLUMNS);
    const uint8_t second = (uint8_t)(columns - first);
    if (current->palette && current->rows[TILE_A0] == first && current->rows[TILE_A1] == second)
        return;
    *current = (struct tile_config){ .palette = 1 };
    for (uint32_t t = TILE_A0; t <= TILE_C11; t++) {
        const int is_b = t == TILE_B0 || t == TILE_B1;
        const uint8_t rows = is_b ? (uint8_t)(k / 4) : t % 2 ? second : first;
        current->rows[t] = rows;
        current->row_bytes[t] = (uint16_t)(!rows ? 0 : t <= TILE_A1 ? k : LINE);
    }
    _tile_loadconfig(current);
}

/* s of one token at @y, or added to what is there. */
INLINE void merge_rows(const float s[ROWS], int is_first, float *y)
{
    __m512 sum = _mm512_load_ps(s);
    _mm512_storeu_ps(y, is_first ? sum : _mm512_add_ps(_mm512_loadu_ps(y), sum));
}
