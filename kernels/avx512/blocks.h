/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Types with one float step per block of 32 k: the sums of activations, and the floats. */

#include "kernels/avx512/tile.h"

#define SEGMENT_BLOCKS (KERNEL_SEGMENT / 32)

/* A segment's sums of activations: what an integer sum starts from, and (joined, exact in f32) what m multiplies. */
struct sums_32 {
    int32_t start[COLUMNS_MAX][SEGMENT_BLOCKS];
    float joined[COLUMNS_MAX][SEGMENT_BLOCKS];
} __attribute__((aligned(64)));

INLINE int offset_of(const enum tensor_type type)
{
    switch ((int)type) {
    case TENSOR_Q4_0: return 8;
    case TENSOR_Q5_0: return 16;
    case TENSOR_Q8_0: return 128;       /* bit 7 is flipped */
    default: return 0;
    }
}

INLINE int has_m(const enum tensor_type type) { return type == TENSOR_Q4_1 || type == TENSOR_Q5_1; }

/* @x is at the segment's first block. */
INLINE void read_sums(const struct columns *x, uint32_t blocks, int offset, int joined, int tokens, int wide,
                      struct sums_32 *ret)
{
    const size_t stride = x->k / 32;
    if (offset)
        times_sums(x->s32, stride, blocks, -offset, wide ? 2 * tokens : tokens, ret->start[0], SEGMENT_BLOCKS);
    for (int t = 0; joined && t < tokens; t++) {
        const int16_t *s = x->s32 + (size_t)t * (wide ? 2 : 1) * stride;
        for (uint32_t b = 0; b < blocks; b++)
            ret->joined[t][b] = (float)(wide ? 128 * s[b] + s[stride + b] : s[b]);
    }
}

INLINE void start_block(__m512i sum[COLUMNS_MAX], const struct sums_32 *sums, uint32_t block, int offset, int columns)
{
#pragma GCC unroll 12
    for (int c = 0; c < columns; c++)
        sum[c] = offset ? _mm512_set1_epi32(sums->start[c][block]) : _mm512_setzero_si512();
}

/* s = fma(d * dx, I, s) */
INLINE void add_floats(__m512 *s, __m512 d, const float *dx, size_t dx_stride, const __m512i sum[COLUMNS_MAX],
                       int tokens, int wide)
{
#pragma GCC unroll 12
    for (int t = 0; t < tokens; t++) {
        __m512i ints = wide ? _mm512_add_epi32(_mm512_slli_epi32(sum[2 * t], 7), sum[2 * t + 1]) : sum[t];
        __m512 f = _mm512_mul_ps(d, _mm512_set1_ps(dx[(size_t)t * dx_stride]));
        s[t] = _mm512_fmadd_ps(f, _mm512_cvtepi32_ps(ints), s[t]);
    }
}

/* s = fma(m * dx, S, s) */
INLINE void add_mins(__m512 *s, __m512 m, const float *dx, size_t dx_stride, const struct sums_32 *sums, uint32_t block,
                     int tokens)
{
#pragma GCC unroll 12
    for (int t = 0; t < tokens; t++) {
        __m512 f = _mm512_mul_ps(m, _mm512_set1_ps(dx[(size_t)t * dx_stride]));
        s[t] = _mm512_fmadd_ps(f, _mm512_set1_ps(sums->joined[t][block]), s[t]);
    }
}

/* On by @blocks blocks of 32 k. */
INLINE void step_blocks(struct columns *x, uint32_t blocks)
{
    x->q += 32 * (size_t)blocks;
    x->s32 += blocks;
    x->d += blocks;
}
