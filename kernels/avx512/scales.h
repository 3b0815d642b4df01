/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * K-quants: integers throughout a block of 256 k, one float step (two with mins) at its end.  The sums of a sub-block
 * of 16 k are multiplied with its scale and added.  Where they fit 16 bits one vpdpwssd does both: its other operand
 * has the scale in the lower half of a lane and zero in the upper one.  They fit without their offset for Q2_K
 * (16 * 3 * 127), Q4_K (16 * 15 * 127 = 30480), with it for Q3_K (16 * 4 * 127) and Q5_K (16 * 16 * 127 = 32512).
 * Q6_K's (16 * 32 * 127) do not, and vpmulld takes two steps where vpdpwssd takes half of one.
 *
 * The file's Q5_K has no offset: the sum of the block starts from 16 * (sum over sub-blocks of scale * S).
 */

#include "kernels/avx512/records.h"

#define SEGMENT_SUBS (KERNEL_SEGMENT / 16)
#define SEGMENT_RECORDS (KERNEL_SEGMENT / KERNEL_BLOCK)

/* What the sums of a segment's sub-blocks start from. */
struct sums_k {
    int32_t start[COLUMNS_MAX][SEGMENT_SUBS];
} __attribute__((aligned(64)));

INLINE int offset_k(const enum tensor_type type)
{
    switch ((int)type) {
    case TENSOR_Q3_K: return 4;
    case TENSOR_Q5_K: return 16;
    case TENSOR_Q6_K: return 32;
    default: return 0;
    }
}

INLINE int has_mins(const enum tensor_type type)
{
    return type == TENSOR_Q2_K || type == TENSOR_Q4_K || type == TENSOR_Q5_K;
}

INLINE void clear(__m512i sum[COLUMNS_MAX], int columns)
{
#pragma GCC unroll 12
    for (int c = 0; c < columns; c++)
        sum[c] = _mm512_setzero_si512();
}

/* Adds two sub-blocks' factors times their sums of activations. */
INLINE void add_sums(__m512i sum[COLUMNS_MAX], __m512i factors, const int16_t *s, size_t stride, int columns)
{
#pragma GCC unroll 12
    for (int c = 0; c < columns; c++)
        sum[c] = _mm512_dpwssd_epi32(sum[c], factors, broadcast_u32(s + (size_t)c * stride));
}

/* sum += p * scale */
INLINE void add_scaled(const enum tensor_type type, __m512i sum[COLUMNS_MAX], const __m512i p[COLUMNS_MAX],
                       __m512i scale, int columns)
{
#pragma GCC unroll 12
    for (int c = 0; c < columns; c++)
        sum[c] = type == TENSOR_Q6_K ? _mm512_add_epi32(sum[c], _mm512_mullo_epi32(p[c], scale))
                                     : _mm512_dpwssd_epi32(sum[c], p[c], scale);
}

/* What the sums of sub-block @sub of the segment start from. */
INLINE void start_sub(const enum tensor_type type, __m512i p[COLUMNS_MAX], const struct sums_k *sums, uint32_t sub,
                      int columns)
{
#pragma GCC unroll 12
    for (int c = 0; c < columns; c++)
        p[c] = offset_k(type) ? _mm512_set1_epi32(sums->start[c][sub]) : _mm512_setzero_si512();
}

/* s = fma(d * dx, join(sum), s), or with a minus sign before d * dx. */
INLINE void add_joined(__m512 *s, __m512 d, const struct columns *x, const __m512i sum[COLUMNS_MAX], int minus,
                       int tokens, int wide)
{
#pragma GCC unroll 12
    for (int t = 0; t < tokens; t++) {
        __m512 f = _mm512_mul_ps(d, _mm512_set1_ps(x->d[(size_t)t * x->d_stride]));
        __m512 joined = _mm512_cvtepi32_ps(sum[wide ? 2 * t : t]);
        if (wide)
            joined = _mm512_fmadd_ps(_mm512_set1_ps(128.0f), joined, _mm512_cvtepi32_ps(sum[2 * t + 1]));
        s[t] = minus ? _mm512_fnmadd_ps(f, joined, s[t]) : _mm512_fmadd_ps(f, joined, s[t]);
    }
}
