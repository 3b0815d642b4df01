/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What lies where in a record of a K-quant, as operands: quants, scales, mins.  A part is 64 k, a sub-block 16. */

#include "kernels/avx512/tile.h"

INLINE __m512i lower_half(__m512i v) { return _mm512_and_si512(v, _mm512_set1_epi32(0xffff)); }

INLINE __m512i bytes_u32(const void *rows) { return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)rows)); }
INLINE __m512i bytes_s32(const void *rows) { return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)rows)); }

/* Two sub-blocks' factors (not negative) side by side: an operand of vpdpwssd. */
INLINE __m512i side_by_side(__m512i first, __m512i second)
{
    return _mm512_or_si512(first, _mm512_slli_epi32(second, 16));
}

INLINE void unpack_scales_q3_k(const struct packed_q3_k *p, int8_t scales[16][ROWS])
{
#pragma GCC unroll 16
    for (int j = 0; j < 16; j++) {
        __m128i low = _mm_load_si128((const __m128i *)p->scales_low[j % 8]);
        __m128i high = _mm_load_si128((const __m128i *)p->scales_high[j % 4]);
        low = _mm_and_si128(_mm_srli_epi16(low, 4 * (j / 8)), _mm_set1_epi8(15));
        high = _mm_and_si128(_mm_slli_epi16(_mm_srli_epi16(high, 2 * (j / 4)), 4), _mm_set1_epi8(0x30));
        _mm_store_si128((__m128i *)scales[j], _mm_sub_epi8(_mm_or_si128(low, high), _mm_set1_epi8(32)));
    }
}

/* The scale of sub-block @sub of a part; @scales: those of Q3_K. */
INLINE __m512i scale_k(const enum tensor_type type, const uint8_t *record, const int8_t scales[16][ROWS], int part,
                       int sub)
{
    switch ((int)type) {
    case TENSOR_Q2_K:
        return _mm512_and_si512(bytes_u32(((const struct packed_q2_k *)record)->part[part].scales[sub]),
                                _mm512_set1_epi32(15));
    case TENSOR_Q3_K:
        return lower_half(bytes_s32(scales[4 * part + sub]));
    case TENSOR_Q4_K: return bytes_u32(((const struct packed_q4_k *)record)->part[part].scales[sub / 2]);
    case TENSOR_Q5_K: return bytes_u32(((const struct packed_q5_k *)record)->part[part].scales[sub / 2]);
    default: return bytes_s32(((const struct packed_q6_k *)record)->part[part].scales[sub]);
    }
}

/* Quad i of sub-block @sub of a part: unsigned bytes. */
INLINE __m512i quad_k(const enum tensor_type type, const uint8_t *record, int part, int sub, int i)
{
    const int line = 4 * (sub % 2) + i, half = sub / 2;
    if (type == TENSOR_Q2_K) {
        const struct packed_q2_k *p = (const struct packed_q2_k *)record;
        return bits_moved(load_line(p->part[part].pairs[sub]), 2 * i, 0, 3);
    }
    if (type == TENSOR_Q3_K) {
        const struct packed_q3_k *p = (const struct packed_q3_k *)record;
        __m512i low = bits_moved(load_line(p->part[part].pairs[sub]), 2 * i, 0, 3);
        return with_bits(low, load_line(p->part[part].bits[half]), line, 2, 4);
    }
    if (type == TENSOR_Q4_K)
        return nibble(load_line(((const struct packed_q4_k *)record)->part[part].nibbles[line]), half);
    if (type == TENSOR_Q5_K) {
        const struct packed_q5_k *p = (const struct packed_q5_k *)record;
        __m512i low = nibble(load_line(p->part[part].nibbles[line]), half);
        return with_bits(low, load_line(p->part[part].bits[half]), line, 4, 0x10);
    }
    const struct packed_q6_k *p = (const struct packed_q6_k *)record;
    __m512i low = nibble(load_line(p->part[part].nibbles[line]), half);
    return with_bits(low, load_line(p->part[part].pairs[sub]), 2 * i, 4, 0x30);
}

/* Mins of sub-blocks 4 * part + sub and the next one (Q2_K), or of the two of 32 k (Q4_K, Q5_K; sub is 0). */
INLINE __m512i min_pairs(const enum tensor_type type, const uint8_t *record, int part, int sub)
{
    if (type == TENSOR_Q2_K) {
        const uint8_t *scales = ((const struct packed_q2_k *)record)->part[part].scales[sub];
        return side_by_side(_mm512_srli_epi32(bytes_u32(scales), 4), _mm512_srli_epi32(bytes_u32(scales + ROWS), 4));
    }
    const void *mins = type == TENSOR_Q4_K ? (const void *)((const struct packed_q4_k *)record)->part[part].mins
                                           : (const void *)((const struct packed_q5_k *)record)->part[part].mins;
    return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)mins));
}

/* Scales of a part's two sub-blocks of 32 k. */
INLINE __m512i scale_pairs(const enum tensor_type type, const uint8_t *record, int part)
{
    return side_by_side(scale_k(type, record, NULL, part, 0), scale_k(type, record, NULL, part, 2));
}

INLINE const uint16_t *d_of(const enum tensor_type type, const uint8_t *record)
{
    switch ((int)type) {
    case TENSOR_Q2_K: return ((const struct packed_q2_k *)record)->d;
    case TENSOR_Q3_K: return ((const struct packed_q3_k *)record)->d;
    case TENSOR_Q4_K: return ((const struct packed_q4_k *)record)->d;
    case TENSOR_Q5_K: return ((const struct packed_q5_k *)record)->d;
    default: return ((const struct packed_q6_k *)record)->d;
    }
}
