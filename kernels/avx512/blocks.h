/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Types with one float step per block of 32 k: quants and scales in a record, sums of activations, floats. */

#include "kernels/avx512/tile.h"

#define SEGMENT_BLOCKS (KERNEL_SEGMENT / 32)

/*
 * What of a segment's activations is no integer product, with strides that are constant: scales, what an integer sum
 * starts from, and (joined, exact in f32) what m multiplies.
 */
struct sums_32 {
    float d[COLUMNS_MAX][SEGMENT_BLOCKS];
    union {
        int32_t start[COLUMNS_MAX][SEGMENT_BLOCKS];
        float joined[COLUMNS_MAX][SEGMENT_BLOCKS];
    };
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

/* Quad i of one half of a record: unsigned bytes, before their offset. */
INLINE __m512i quad_32(const enum tensor_type type, const uint8_t *record, int half, int i)
{
    if (type == TENSOR_Q8_0)
        return _mm512_xor_si512(load_line((const uint8_t *)((const struct packed_q8_0 *)record)->q[half][i]),
                                _mm512_set1_epi8((char)0x80));
    /* All four begin with the nibbles, those of 5 bits go on with the bits. */
    const struct packed_q5_0 *p = (const struct packed_q5_0 *)record;
    __m512i low = nibble(load_line(p->nibbles[i]), half);
    if (type == TENSOR_Q4_0 || type == TENSOR_Q4_1)
        return low;
    return with_bits(low, load_line(p->bits[half]), i, 4, 0x10);
}

/* A record's scales and mins: two arrays [half][row] one behind the other. */
INLINE const uint16_t *scales_of(const enum tensor_type type, const uint8_t *record)
{
    switch ((int)type) {
    case TENSOR_Q4_0: return ((const struct packed_q4_0 *)record)->d[0];
    case TENSOR_Q4_1: return ((const struct packed_q4_1 *)record)->d[0];
    case TENSOR_Q5_0: return ((const struct packed_q5_0 *)record)->d[0];
    case TENSOR_Q5_1: return ((const struct packed_q5_1 *)record)->d[0];
    default: return ((const struct packed_q8_0 *)record)->d[0];
    }
}

INLINE void copy_floats(const float *p, uint32_t n, float *ret)
{
    uint32_t i = 0;
    for (; i + 16 <= n; i += 16)
        _mm512_storeu_ps(ret + i, _mm512_loadu_ps(p + i));
    if (i < n)
        _mm512_storeu_ps(ret + i, _mm512_maskz_loadu_ps((__mmask16)((1u << (n - i)) - 1), p + i));
}

INLINE void join_sums(const int16_t *s, size_t column_stride, uint32_t blocks, int wide, float ret[SEGMENT_BLOCKS])
{
    for (uint32_t b = 0; b < blocks; b++)
        ret[b] = (float)(wide ? 128 * s[b] + s[column_stride + b] : s[b]);
}

/* @x is at the segment's first block. */
INLINE void read_sums(const struct columns *x, uint32_t blocks, int offset, int joined, int tokens, int wide,
                      struct sums_32 *ret)
{
    const size_t stride = x->k / 32;
    if (offset)
        times_sums(x->s32, stride, blocks, -offset, wide ? 2 * tokens : tokens, ret->start[0], SEGMENT_BLOCKS);
    for (int t = 0; t < tokens; t++) {
        copy_floats(x->d + (size_t)t * x->d_stride, blocks, ret->d[t]);
        if (joined)
            join_sums(x->s32 + (size_t)t * (wide ? 2 : 1) * stride, stride, blocks, wide, ret->joined[t]);
    }
}

INLINE void start_block(__m512i sum[COLUMNS_MAX], const struct sums_32 *sums, uint32_t block, int offset, int columns)
{
#pragma GCC unroll 12
    for (int c = 0; c < columns; c++)
        sum[c] = offset ? _mm512_set1_epi32(sums->start[c][block]) : _mm512_setzero_si512();
}

/* s = fma(d * dx, I, s) */
INLINE void add_floats(__m512 *s, __m512 d, const struct sums_32 *sums, uint32_t block,
                       const __m512i sum[COLUMNS_MAX], int tokens, int wide)
{
#pragma GCC unroll 12
    for (int t = 0; t < tokens; t++) {
        __m512i ints = wide ? _mm512_add_epi32(_mm512_slli_epi32(sum[2 * t], 7), sum[2 * t + 1]) : sum[t];
        __m512 f = _mm512_mul_ps(d, _mm512_set1_ps(sums->d[t][block]));
        s[t] = _mm512_fmadd_ps(f, _mm512_cvtepi32_ps(ints), s[t]);
    }
}

/* s = fma(m * dx, S, s) */
INLINE void add_mins(__m512 *s, __m512 m, const struct sums_32 *sums, uint32_t block, int tokens)
{
#pragma GCC unroll 12
    for (int t = 0; t < tokens; t++) {
        __m512 f = _mm512_mul_ps(m, _mm512_set1_ps(sums->d[t][block]));
        s[t] = _mm512_fmadd_ps(f, _mm512_set1_ps(sums->joined[t][block]), s[t]);
    }
}
