/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * More columns than TILE: a segment is taken apart once, then tiles read it from the nearest cache.  A tile is one row
 * group by up to COLUMNS_MAX columns, or two by half as many, which loads less per product.  Twelve chains and two
 * vpdpbusd a cycle of five cycles' latency: no step waits for its own last one.  Columns are shared out evenly, so that
 * a tile has half of the most at least.
 */

#include "kernels/avx512/tile.h"

/* add_quad() for two row groups, which share each broadcast. */
INLINE void add_quad_pair(__m512i sum[2][COLUMNS_MAX], __m512i w0, __m512i w1, const struct quads *x, size_t at,
                          int columns)
{
#pragma GCC unroll 6
    for (int c = 0; c < columns; c++) {
        __m512i q = broadcast_u32(quad_of(x, c) + at);
        sum[0][c] = _mm512_dpbusd_epi32(sum[0][c], w0, q);
        sum[1][c] = _mm512_dpbusd_epi32(sum[1][c], w1, q);
    }
}

/* A segment times a few tokens; @x is at the segment's first k.  @open is what the type's file makes of weights. */
typedef void segment_fn(const void *open, uint32_t k, const struct columns *x, int is_first, float *y, size_t y_stride);

/* Copies of one tile by number of tokens, from half of the most on. */
struct many {
    uint32_t most;                              /* columns */
    segment_fn *narrow[COLUMNS_MAX + 1];        /* one column to a token */
    segment_fn *wide[COLUMNS_MAX / 2 + 1];      /* two columns to a token */
};

/* How tokens are shared out: in so many tiles, of which the next one takes so many of what is left. */
INLINE uint32_t parts_of(const struct many *many, const struct kernel_act *act, uint32_t tokens)
{
    uint32_t most = many->most / act->columns;
    return (tokens + most - 1) / most;
}

INLINE uint32_t next_part(uint32_t left, uint32_t parts) { return (left + parts - 1) / parts; }

/*
 * All tokens of one segment that is open: @k values from @first on.  @many[1] is for the tiles whose bit is set in
 * @second.
 */
INLINE void run_segment(const struct many *const many[2], uint64_t second, const void *open,
                        const struct kernel_act *act, uint32_t first, uint32_t k, uint32_t token_first, uint32_t tokens,
                        float *y, size_t y_stride)
{
    uint32_t parts = parts_of(many[0], act, tokens);
    for (uint32_t t = 0, n; t < tokens; t += n, parts--, second >>= 1) {
        const struct many *m = many[second & 1];
        struct columns x = columns_at(act, token_first + t, first);
        n = next_part(tokens - t, parts);
        (act->columns == 2 ? m->wide : m->narrow)[n](open, k, &x, first == 0, y + (size_t)t * y_stride, y_stride);
    }
}

/* The copies of segment(type, ..., tokens, wide). */
#define MANY_COPY(segment, name, type, tokens, wide)                                                                   \
    static void many_##name##_##tokens##_##wide(const void *open, uint32_t k, const struct columns *x, int is_first,   \
                                                float *y, size_t y_stride)                                             \
    {                                                                                                                  \
        segment(type, open, k, x, is_first, y, y_stride, tokens, wide);                                                \
    }
#define MANY_COPIES(segment, name, type)                                                                               \
    MANY_COPY(segment, name, type, 5, 0)                                                                               \
    MANY_COPY(segment, name, type, 6, 0)                                                                               \
    MANY_COPY(segment, name, type, 7, 0)                                                                               \
    MANY_COPY(segment, name, type, 8, 0)                                                                               \
    MANY_COPY(segment, name, type, 9, 0)                                                                               \
    MANY_COPY(segment, name, type, 10, 0)                                                                              \
    MANY_COPY(segment, name, type, 11, 0)                                                                              \
    MANY_COPY(segment, name, type, 12, 0)                                                                              \
    MANY_COPY(segment, name, type, 3, 1)                                                                               \
    MANY_COPY(segment, name, type, 4, 1)                                                                               \
    MANY_COPY(segment, name, type, 5, 1)                                                                               \
    MANY_COPY(segment, name, type, 6, 1)                                                                               \
    static const struct many many_##name = {                                                                           \
        12,                                                                                                            \
        { NULL, NULL, NULL, NULL, NULL, many_##name##_5_0, many_##name##_6_0, many_##name##_7_0, many_##name##_8_0,    \
          many_##name##_9_0, many_##name##_10_0, many_##name##_11_0, many_##name##_12_0 },                             \
        { NULL, NULL, NULL, many_##name##_3_1, many_##name##_4_1, many_##name##_5_1, many_##name##_6_1 },              \
    };

/* The same for two row groups: segment_pair(type, ..., tokens, wide). */
#define PAIR_COPIES(segment, name, type)                                                                               \
    MANY_COPY(segment, name, type, 3, 0)                                                                               \
    MANY_COPY(segment, name, type, 4, 0)                                                                               \
    MANY_COPY(segment, name, type, 5, 0)                                                                               \
    MANY_COPY(segment, name, type, 6, 0)                                                                               \
    MANY_COPY(segment, name, type, 2, 1)                                                                               \
    MANY_COPY(segment, name, type, 3, 1)                                                                               \
    static const struct many many_##name = {                                                                           \
        6,                                                                                                             \
        { NULL, NULL, NULL, many_##name##_3_0, many_##name##_4_0, many_##name##_5_0, many_##name##_6_0 },              \
        { NULL, NULL, many_##name##_2_1, many_##name##_3_1 },                                                          \
    };
