/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The copies of a tile by number of tokens, and the choice among them. */

#include "kernels/avx2/tile.h"

/* A tile over the whole of K, for @groups row groups that follow one another. */
typedef void tile_fn(const uint8_t *packed, uint32_t groups, const struct kernel_act *x, uint32_t token, float *y,
                     size_t y_stride);

/* Copies of one tile by number of tokens. */
struct tiles {
    tile_fn *narrow[TILE + 1];      /* one column to a token */
    tile_fn *wide[TILE / 2 + 1];    /* two columns to a token */
};

/* A few tokens: group after group.  Many: all tokens of a group, while its weights are in the nearest cache. */
INLINE void run_tiles(const struct tiles *tiles, size_t group_bytes, const uint8_t *packed, uint32_t groups,
                      const struct kernel_act *x, uint32_t token_first, uint32_t tokens, float *y, size_t y_stride)
{
    const int wide = x->columns == 2;
    const uint32_t most = wide ? TILE / 2 : TILE;
    tile_fn *const *fn = wide ? tiles->wide : tiles->narrow;
    if (tokens <= most) {
        fn[tokens](packed, groups, x, token_first, y, y_stride);
        return;
    }
    for (uint32_t g = 0; g < groups; g++, packed += group_bytes, y += ROWS) {
        for (uint32_t t = 0; t < tokens; t += most) {
            uint32_t n = tokens - t < most ? tokens - t : most;
            fn[n](packed, 1, x, token_first + t, y + (size_t)t * y_stride, y_stride);
        }
    }
}

/* The six copies of tile(type, ..., tokens, wide) and the function that chooses among them. */
#define TILE_COPY(tile, name, type, tokens, wide)                                                                      \
    static void tile_##name##_##tokens##_##wide(const uint8_t *packed, uint32_t groups, const struct kernel_act *x,    \
                                                uint32_t token, float *y, size_t y_stride)                             \
    {                                                                                                                  \
        tile(type, packed, groups, x, token, y, y_stride, tokens, wide);                                               \
    }
#define TILE_MATMUL(tile, name, type)                                                                                  \
    TILE_COPY(tile, name, type, 1, 0)                                                                                  \
    TILE_COPY(tile, name, type, 2, 0)                                                                                  \
    TILE_COPY(tile, name, type, 3, 0)                                                                                  \
    TILE_COPY(tile, name, type, 4, 0)                                                                                  \
    TILE_COPY(tile, name, type, 1, 1)                                                                                  \
    TILE_COPY(tile, name, type, 2, 1)                                                                                  \
    static const struct tiles tiles_##name = {                                                                         \
        { NULL, tile_##name##_1_0, tile_##name##_2_0, tile_##name##_3_0, tile_##name##_4_0 },                          \
        { NULL, tile_##name##_1_1, tile_##name##_2_1 },                                                                \
    };                                                                                                                 \
    static void matmul_##name(const uint8_t *packed, uint32_t groups, const struct kernel_act *x,                      \
                              uint32_t token_first, uint32_t tokens, float *y, size_t y_stride)                        \
    {                                                                                                                  \
        run_tiles(&tiles_##name, kernel_group_bytes(type, x->k), packed, groups, x, token_first, tokens, y, y_stride); \
    }
