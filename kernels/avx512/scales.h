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

/*
 * What of a segment's activations is no product, with strides that are constant: scales, sums (for Q2_K of 16, else of
 * 32; pairs of them are operands), and what the sums of sub-blocks start from.
 */
struct sums_k {
    float d[COLUMNS_MAX][SEGMENT_RECORDS];
    int16_t s[COLUMNS_MAX][SEGMENT_SUBS];
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

/* Adds two sub-blocks' factors times their sums of activations, of which the first is sum @i of the segment. */
INLINE void add_sums(__m512i sum[COLUMNS_MAX], __m512i factors, const struct sums_k *sums, uint32_t i, int columns)
{
#pragma GCC unroll 12
    for (int c = 0; c < columns; c++)
        sum[c] = _mm512_dpwssd_epi32(sum[c], factors, broadcast_u32(&sums->s[c][i]));
}

INLINE void times_16(__m512i sum[COLUMNS_MAX], int columns)
{
#pragma GCC unroll 12
    for (int c = 0; c < columns; c++)
        sum[c] = _mm512_slli_epi32(sum[c], 4);
}

/* sum += p * scale; @in_16: p fits 16 bits, and the upper halves of @scale are zero. */
INLINE void add_scaled(const int in_16, __m512i sum[COLUMNS_MAX], const __m512i p[COLUMNS_MAX],
                       __m512i scale, int columns)
{
#pragma GCC unroll 12
    for (int c = 0; c < columns; c++)
        sum[c] = in_16 ? _mm512_dpwssd_epi32(sum[c], p[c], scale)
                       : _mm512_add_epi32(sum[c], _mm512_mullo_epi32(p[c], scale));
}

/* @k values from @x on, which is at the segment's first. */
INLINE void read_sums(const enum tensor_type type, const struct columns *x, uint32_t k, int tokens, int wide,
                      struct sums_k *ret)
{
    const int columns = wide ? 2 * tokens : tokens;
    const uint32_t each = type == TENSOR_Q2_K ? 16 : 32;
    const int16_t *s = type == TENSOR_Q2_K ? x->s16 : x->s32;
    for (int t = 0; t < tokens; t++)
        for (uint32_t r = 0; r < k / KERNEL_BLOCK; r++)
            ret->d[t][r] = x->d[(size_t)t * x->d_stride + r];
    for (int c = 0; has_mins(type) && c < columns; c++)
        memcpy(ret->s[c], s + (size_t)c * (x->k / each), k / each * sizeof *s);
    if (offset_k(type))
        times_sums(x->s16, x->k / 16, k / 16, -offset_k(type), columns, ret->start[0], SEGMENT_SUBS);
}

/* What the sums of sub-block @sub of the segment start from. */
INLINE void start_sub(const enum tensor_type type, __m512i p[COLUMNS_MAX], const struct sums_k *sums, uint32_t sub,
                      int columns)
{
#pragma GCC unroll 12
    for (int c = 0; c < columns; c++)
        p[c] = offset_k(type) ? _mm512_set1_epi32(sums->start[c][sub]) : _mm512_setzero_si512();
}

/* s = fma(d * dx, join(sum), s), or with a minus sign before d * dx; dx is that of record @record of the segment. */
INLINE void add_joined(__m512 *s, __m512 d, const struct sums_k *sums, uint32_t record,
                       const __m512i sum[COLUMNS_MAX], int minus, int tokens, int wide)
{
#pragma GCC unroll 12
    for (int t = 0; t < tokens; t++) {
        __m512 f = _mm512_mul_ps(d, _mm512_set1_ps(sums->d[t][record]));
        __m512 joined = _mm512_cvtepi32_ps(sum[wide ? 2 * t : t]);
        if (wide)
            joined = _mm512_fmadd_ps(_mm512_set1_ps(128.0f), joined, _mm512_cvtepi32_ps(sum[2 * t + 1]));
        s[t] = minus ? _mm512_fnmadd_ps(f, joined, s[t]) : _mm512_fmadd_ps(f, joined, s[t]);
    }
}
