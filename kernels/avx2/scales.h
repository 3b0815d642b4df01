/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Scales and mins of K-quants as operands of a multiply-add, and the sums that are made with them. */

#include "kernels/avx2/tile.h"
#include "kernels/lanes/scales_q3_k.inc"

/* One byte per row becomes both 16-bit halves of the row's 32 bits. */
INLINE __m256i eight_rows(const void *rows)
{
    long long eight;
    memcpy(&eight, rows, sizeof eight);
    return _mm256_set1_epi64x(eight);
}

INLINE __m256i scale_pairs_u8(const uint8_t *rows)
{
    const char z = (char)0x80;
    const __m256i order = _mm256_setr_epi8(0, z, 0, z, 1, z, 1, z, 2, z, 2, z, 3, z, 3, z,
                                           4, z, 4, z, 5, z, 5, z, 6, z, 6, z, 7, z, 7, z);
    return _mm256_shuffle_epi8(eight_rows(rows), order);
}

INLINE __m256i scale_pairs_s8(const int8_t *rows)
{
    const char z = (char)0x80;
    const __m256i order = _mm256_setr_epi8(z, 0, z, 0, z, 1, z, 1, z, 2, z, 2, z, 3, z, 3,
                                           z, 4, z, 4, z, 5, z, 5, z, 6, z, 6, z, 7, z, 7);
    return _mm256_srai_epi16(_mm256_shuffle_epi8(eight_rows(rows), order), 8);
}

/* Two sub-blocks' bytes of eight rows side by side. */
INLINE __m128i interleaved(const void *first, const void *second)
{
    return _mm_unpacklo_epi8(_mm_loadl_epi64((const __m128i *)first), _mm_loadl_epi64((const __m128i *)second));
}

/* Two sub-blocks' mins of Q2_K, the high nibbles of scales ROWS apart. */
INLINE __m256i min_pairs_q2_k(const uint8_t *scales)
{
    __m128i both = _mm_srli_epi16(interleaved(scales, scales + ROWS), 4);
    return _mm256_cvtepu8_epi16(_mm_and_si128(both, _mm_set1_epi8(15)));
}

INLINE void gather_scales_q6_k(const struct packed_q6_k *p, int8_t scales[16][ROWS])
{
    for (int part = 0; part < 4; part++)
        memcpy(scales[4 * part], p->part[part].scales, 4 * sizeof *scales);
}

INLINE void clear(__m256i sum[TILE], int columns)
{
#pragma GCC unroll 4
    for (int c = 0; c < columns; c++)
        sum[c] = _mm256_setzero_si256();
}

/* Adds factor pairs (of two sub-blocks) times the sums of activations of these two sub-blocks. */
INLINE void add_sums(__m256i sum[TILE], __m256i factors, const int16_t *s, size_t stride, int columns)
{
#pragma GCC unroll 4
    for (int c = 0; c < columns; c++)
        sum[c] = _mm256_add_epi32(sum[c], _mm256_madd_epi16(factors, broadcast_u32(s + (size_t)c * stride)));
}

/* s = fma(d * dx, join(sum), s), or with a minus sign before d * dx, of the eight rows whose d are @d. */
INLINE void add_joined(__m256 s[TILE], __m256 d, const struct columns *x, const __m256i sum[TILE], int minus,
                       int tokens, int wide)
{
#pragma GCC unroll 4
    for (int t = 0; t < tokens; t++) {
        __m256 f = _mm256_mul_ps(d, _mm256_broadcast_ss(x->d + (size_t)t * x->d_stride));
        __m256 joined = _mm256_cvtepi32_ps(sum[wide ? 2 * t : t]);
        if (wide)
            joined = _mm256_fmadd_ps(_mm256_set1_ps(128.0f), joined, _mm256_cvtepi32_ps(sum[2 * t + 1]));
        s[t] = minus ? _mm256_fnmadd_ps(f, joined, s[t]) : _mm256_fmadd_ps(f, joined, s[t]);
    }
}
