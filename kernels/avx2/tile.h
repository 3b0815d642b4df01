/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the matmuls of this level share.  A *tile* is 16 rows by up to TILE columns.  GEMV and GEMM are the same tile
 * with another number of columns, which is a constant in each copy of the inlined body: 1, 2, 3 or 4 tokens of one
 * column, 1 or 2 tokens of two.
 *
 * A vector is eight rows, rows 8h .. 8h+7.  Where weights are cheap to extract (4 and 8 bits) both halves of the rows
 * share each broadcast of activations; the other types walk a record twice, for h = 0 and 1, so that the sums of all
 * columns and four weights stay in registers.
 *
 * Weights are unsigned bytes and activations signed, so _mm256_maddubs_epi16() gives for each row the sums of two
 * products; two of them belong to a row.  NUMERICS.md section 3 says how many may be added in 16 bits.
 */

#include "kernels/avx2/lanes.h"
#include "kernels/columns.h"
#include "kernels/layout.h"

#define TILE 4

/*
 * Words to GCC's register allocator.  FORGET(pointer): what was loaded through it is not worth keeping (both nibbles of
 * a line are used, some way apart; a spill costs a store more than a second load).  two(): a 2 that it does not know,
 * so that the walk over h stays a loop.
 */
#define FORGET(pointer) __asm__("" : "+r"(pointer))

INLINE int two(void)
{
    int n = 2;
    __asm__("" : "+r"(n));
    return n;
}

INLINE __m256i load_line(const uint8_t *line, int h) { return _mm256_load_si256((const __m256i *)(line + 32 * h)); }

/* A nibble of each byte: the low ones, or the high ones. */
INLINE __m256i nibble(__m256i bytes, int high)
{
    return _mm256_and_si256(high ? _mm256_srli_epi16(bytes, 4) : bytes, _mm256_set1_epi8(15));
}

/* Bits at @from of each byte brought to @to, and cut out by @mask (which stands at @to). */
INLINE __m256i bits_moved(__m256i bytes, int from, int to, int mask)
{
    __m256i moved = from > to ? _mm256_srli_epi16(bytes, from - to) : _mm256_slli_epi16(bytes, to - from);
    return _mm256_and_si256(from == to ? bytes : moved, _mm256_set1_epi8((char)mask));
}

/*
 * Eight quads of 4-bit weights (32 k, the low nibbles or the high ones) against @columns columns:
 * 8 * 15 * 127 * 2 = 30480 fits 16 bits.
 */
INLINE void nibbles_32(const uint8_t lines[8][LINE], int high, const int8_t *q, size_t stride, int columns,
                       __m256i sum[2][TILE])
{
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        __m256i w0 = nibble(load_line(lines[i], 0), high), w1 = nibble(load_line(lines[i], 1), high);
#pragma GCC unroll 4
        for (int c = 0; c < columns; c++) {
            __m256i x = broadcast_u32(q + (size_t)c * stride + 4 * i);
            __m256i p0 = _mm256_maddubs_epi16(w0, x), p1 = _mm256_maddubs_epi16(w1, x);
            sum[0][c] = i ? _mm256_add_epi16(sum[0][c], p0) : p0;
            sum[1][c] = i ? _mm256_add_epi16(sum[1][c], p1) : p1;
        }
    }
}

/* Four quads (16 k) against one column; 5-bit weights: 4 * 31 * 127 * 2 = 31496 fits. */
INLINE __m256i quads_16(const __m256i w[4], const int8_t *q)
{
    __m256i a = _mm256_add_epi16(_mm256_maddubs_epi16(w[0], broadcast_u32(q)),
                                 _mm256_maddubs_epi16(w[1], broadcast_u32(q + 4)));
    __m256i b = _mm256_add_epi16(_mm256_maddubs_epi16(w[2], broadcast_u32(q + 8)),
                                 _mm256_maddubs_epi16(w[3], broadcast_u32(q + 12)));
    return _mm256_add_epi16(a, b);
}

/* Adds a segment's sums to y, or puts the first ones there: 16 rows of @tokens tokens. */
INLINE void merge_segment(const __m256 s[2][TILE], int tokens, int is_first, float *y, size_t y_stride)
{
#pragma GCC unroll 4
    for (int t = 0; t < tokens; t++) {
        for (int h = 0; h < 2; h++) {
            float *out = y + (size_t)t * y_stride + 8 * h;
            _mm256_storeu_ps(out, is_first ? s[h][t] : _mm256_add_ps(_mm256_loadu_ps(out), s[h][t]));
        }
    }
}
