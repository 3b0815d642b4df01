/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The copies of a tile by number of tokens, and the choice among them. */

#include "kernels/avx512/avx512.h"
#include "kernels/avx512/tile.h"
#include "kernels/levels.h"

/* How far ahead of the record that is computed with weights are fetched into the second cache, where that pays. */
#define AHEAD_BYTES 8192

/* A tile over the whole of K, for @groups row groups that follow one another; @ahead: AHEAD_BYTES or 0. */
typedef void tile_fn(const uint8_t *packed, uint32_t groups, const struct kernel_act *x, uint32_t token, float *y,
                     size_t y_stride, size_t ahead);

typedef void many_fn(enum tensor_type type, const uint8_t *packed, uint32_t groups, const struct kernel_act *x,
                     uint32_t token_first, uint32_t tokens, float *y, size_t y_stride, size_t ahead);

/* Copies of one tile by number of tokens. */
struct tiles {
    enum tensor_type type;
    many_fn *many;                  /* for more than @few columns */
    uint32_t few;
    tile_fn *narrow[TILE + 1];      /* one column to a token */
    tile_fn *wide[TILE / 2 + 1];    /* two columns to a token */
};

/*
 * A few tokens: group after group, each read from memory.  Many: all tokens of a group, while its weights are in the
 * nearest cache.
 */
INLINE void run_tiles(const struct tiles *tiles, size_t group_bytes, const uint8_t *packed, uint32_t groups,
                      const struct kernel_act *x, uint32_t token_first, uint32_t tokens, float *y, size_t y_stride,
                      size_t ahead)
{
    const int wide = x->columns == 2;
    if (tokens * x->columns > tiles->few) {
        tiles->many(tiles->type, packed, groups, x, token_first, tokens, y, y_stride, ahead);
        return;
    }
    const uint32_t most = wide ? TILE / 2 : TILE;
    tile_fn *const *fn = wide ? tiles->wide : tiles->narrow;
    if (tokens <= most) {
        fn[tokens](packed, groups, x, token_first, y, y_stride, ahead);
        return;
    }
    for (uint32_t g = 0; g < groups; g++, packed += group_bytes, y += ROWS) {
        for (uint32_t t = 0; t < tokens; t += most) {
            uint32_t n = tokens - t < most ? tokens - t : most;
            fn[n](packed, 1, x, token_first + t, y + (size_t)t * y_stride, y_stride, t ? 0 : ahead);
        }
    }
}

/* Up to so many columns weights are taken apart as they are used, twice if need be; 2-bit planes make that dear. */
#define FEW_CHEAP (2 * TILE)
#define FEW_DEAR TILE

/* The six copies of tile(type, ..., tokens, wide) and the two functions that choose among them. */
#define TILE_COPY(tile, name, type, tokens, wide)                                                                      \
    static void tile_##name##_##tokens##_##wide(const uint8_t *packed, uint32_t groups, const struct kernel_act *x,    \
                                                uint32_t token, float *y, size_t y_stride, size_t ahead)               \
    {                                                                                                                  \
        tile(type, packed, groups, x, token, y, y_stride, ahead, tokens, wide);                                        \
    }
#define TILE_MATMUL_AHEAD(name, tiles, type, ahead)                                                                    \
    static void name(const uint8_t *packed, uint32_t groups, const struct kernel_act *x, uint32_t token_first,         \
                     uint32_t tokens, float *y, size_t y_stride)                                                       \
    {                                                                                                                  \
        run_tiles(&tiles, kernel_group_bytes(type, x->k), packed, groups, x, token_first, tokens, y, y_stride, ahead); \
    }
#define TILE_MATMUL(tile, name, type, many, few)                                                                       \
    TILE_COPY(tile, name, type, 1, 0)                                                                                  \
    TILE_COPY(tile, name, type, 2, 0)                                                                                  \
    TILE_COPY(tile, name, type, 3, 0)                                                                                  \
    TILE_COPY(tile, name, type, 4, 0)                                                                                  \
    TILE_COPY(tile, name, type, 1, 1)                                                                                  \
    TILE_COPY(tile, name, type, 2, 1)                                                                                  \
    static const struct tiles tiles_##name = {                                                                         \
        type, many, few,                                                                                               \
        { NULL, tile_##name##_1_0, tile_##name##_2_0, tile_##name##_3_0, tile_##name##_4_0 },                          \
        { NULL, tile_##name##_1_1, tile_##name##_2_1 },                                                                \
    };                                                                                                                 \
    TILE_MATMUL_AHEAD(matmul_##name, tiles_##name, type, 0)                                                            \
    TILE_MATMUL_AHEAD(matmul_##name##_ahead, tiles_##name, type, AHEAD_BYTES)

/* One line of an init. */
#define TILE_ENTRY(ops, type, name, format, traits)                                                                    \
    do {                                                                                                               \
        int ahead = ((traits) & KERNEL_TRAIT_AHEAD) != 0;                                                              \
        (ops)->matmul[type] = ahead ? matmul_##name##_ahead : matmul_##name;                                           \
        (ops)->matmul_name[type] = ahead ? "matmul_" #name "_" format "_f32__avx512_16x12_ahead"                       \
                                         : "matmul_" #name "_" format "_f32__avx512_16x12";                            \
    } while (0)
