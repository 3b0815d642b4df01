/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the matmuls of this level share.  A lane is a row: the 16 rows of a group are one vector, and a line of packed
 * weights is the unsigned operand of vpdpbusd, which adds to each row the products of four k.  The 16-bit sums of the
 * AVX2 level and their limits do not exist here, but for K-quants (matmul_k.c).
 *
 * A *tile* is 16 rows by a number of columns that is a constant in each copy of the inlined body.
 *
 * Where quants have an offset the sum starts from what the offset adds too much, -offset * (sum of the activations),
 * so that it ends as the sum over signed quants.
 */

#include "kernels/avx512/lanes.h"
#include "kernels/columns.h"
#include "kernels/layout.h"

#define TILE 4                          /* columns at most while weights are taken apart */
#define COLUMNS_MAX 12                  /* columns at most in any tile */

INLINE __m512i load_line(const uint8_t *line) { return _mm512_load_si512(line); }

/* A nibble of each byte: the low ones, or the high ones. */
INLINE __m512i nibble(__m512i bytes, int high)
{
    return _mm512_and_si512(high ? _mm512_srli_epi16(bytes, 4) : bytes, _mm512_set1_epi8(15));
}

/* Bits at @from of each byte brought to @to. */
INLINE __m512i moved(__m512i bytes, int from, int to)
{
    if (from > to)
        return _mm512_srli_epi16(bytes, (unsigned)(from - to));
    return from < to ? _mm512_slli_epi16(bytes, (unsigned)(to - from)) : bytes;
}

INLINE __m512i bits_moved(__m512i bytes, int from, int to, int mask)
{
    return _mm512_and_si512(moved(bytes, from, to), _mm512_set1_epi8((char)mask));
}

#define A_OR_B_AND_C 0xf8               /* vpternlog's table */

/* @low, and the bits of @bytes that @mask cuts out after they were moved. */
INLINE __m512i with_bits(__m512i low, __m512i bytes, int from, int to, int mask)
{
    return _mm512_ternarylogic_epi64(low, moved(bytes, from, to), _mm512_set1_epi8((char)mask), A_OR_B_AND_C);
}

/*
 * sum += four products per row, of weights and the four bytes at @q in every lane.  GCC 12 knows no broadcasting
 * memory operand for this instruction; a separate broadcast is half as many instructions again.
 */
INLINE __m512i add_products(__m512i sum, __m512i w, const int8_t *q)
{
    struct quad { int8_t of[4]; };
    __asm__("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(w), "m"(*(const struct quad *)q));
    return sum;
}

/*
 * The quads of a tile's columns, addressed from three places with 1, 2 and 3 strides as an index: twelve pointers
 * would fill the registers.  OPAQUE keeps GCC from making them again.
 */
struct quads {
    const int8_t *at[COLUMNS_MAX / 4];
    size_t stride, three_strides;
};

#define OPAQUE(variable) __asm__("" : "+r"(variable))

INLINE struct quads quads_of(const struct columns *x, int columns)
{
    struct quads ret = { .stride = x->k, .three_strides = 3 * x->k };
#pragma GCC unroll 3
    for (int i = 0; 4 * i < columns; i++)
        ret.at[i] = x->q + 4 * (size_t)i * x->k;
    OPAQUE(ret.stride);
    OPAQUE(ret.three_strides);
    return ret;
}

INLINE void step_quads(struct quads *x, size_t k, int columns)
{
#pragma GCC unroll 3
    for (int i = 0; 4 * i < columns; i++) {
        x->at[i] += k;
        OPAQUE(x->at[i]);
    }
    OPAQUE(x->stride);
    OPAQUE(x->three_strides);
}

INLINE const int8_t *quad_of(const struct quads *x, int column)
{
    size_t strides = column % 4 == 3 ? x->three_strides : column % 4 == 2 ? 2 * x->stride : column % 4 * x->stride;
    return x->at[column / 4] + strides;
}

/* sum[c] += four products per row: of weights and of the quad @at bytes on. */
INLINE void add_quad(__m512i sum[COLUMNS_MAX], __m512i w, const struct quads *x, size_t at, int columns)
{
#pragma GCC unroll 12
    for (int c = 0; c < columns; c++)
        sum[c] = add_products(sum[c], w, quad_of(x, c) + at);
}

/* A prefetch does not fault, so the end of the weights needs no care. */
INLINE void fetch_ahead(const uint8_t *record, uint32_t record_bytes, size_t ahead)
{
    for (uint32_t i = 0; ahead && i < record_bytes; i += LINE)
        _mm_prefetch((const char *)record + ahead + i, _MM_HINT_T1);
}

/* Sixteen sums of activations times @factor, as 32-bit integers. */
INLINE void times_sums_16(const int16_t *s, int32_t factor, int32_t ret[16])
{
    __m512i v = _mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)s));
    _mm512_storeu_si512(ret, _mm512_mullo_epi32(v, _mm512_set1_epi32(factor)));
}

/* ret[c][i] = factor * s[c][i], for i < n. */
INLINE void times_sums(const int16_t *s, size_t stride, uint32_t n, int32_t factor, int columns, int32_t *ret,
                       size_t ret_stride)
{
    for (int c = 0; c < columns; c++, s += stride, ret += ret_stride) {
        uint32_t i = 0;
        for (; i + 16 <= n; i += 16)
            times_sums_16(s + i, factor, ret + i);
        for (; i < n; i++)
            ret[i] = factor * s[i];
    }
}

/* Adds a segment's sums to y, or puts the first ones there. */
INLINE void merge_segment(const __m512 *s, int tokens, int is_first, float *y, size_t y_stride)
{
#pragma GCC unroll 12
    for (int t = 0; t < tokens; t++) {
        float *out = y + (size_t)t * y_stride;
        _mm512_storeu_ps(out, is_first ? s[t] : _mm512_add_ps(_mm512_loadu_ps(out), s[t]));
    }
}
