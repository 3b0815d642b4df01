/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What kernels/vnni asks for: 32 bytes of integers, eight of the 16 rows of a group. */

#include "kernels/avx2/ints.h"

INLINE void ints_store(void *p, ints v) { _mm256_store_si256(p, v); }
INLINE ints ints_bytes(int x) { return _mm256_set1_epi8((char)x); }
INLINE ints ints_left_16(ints v, int by) { return _mm256_slli_epi16(v, by); }
INLINE ints ints_right_16(ints v, int by) { return _mm256_srli_epi16(v, by); }
INLINE ints ints_product(ints a, ints b) { return _mm256_mullo_epi32(a, b); }
INLINE ints ints_most(ints a, ints b) { return _mm256_max_epi32(a, b); }
INLINE int32_t ints_largest(ints v) { return (int32_t)largest_u32(v); }
INLINE ints ints_or_and(ints a, ints b, ints c) { return a | (b & c); }

INLINE ints widen_u8(const void *p) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)); }
INLINE ints widen_s8(const void *p) { return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)); }
INLINE ints widen_s16(const void *p) { return _mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)p)); }
INLINE ints widen_u8_to_16(const void *p) { return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)p)); }

INLINE ints add_products(ints sum, ints w, ints q) { return _mm256_dpbusd_avx_epi32(sum, w, q); }
INLINE ints add_products_16(ints sum, ints a, ints b) { return _mm256_dpwssd_avx_epi32(sum, a, b); }
/* add_products() of the four bytes at @q in every lane. */
INLINE ints add_products_of(ints sum, ints w, const int8_t *q) { return add_products(sum, w, broadcast_u32(q)); }

/* Sums of the magnitudes of every 16 bytes. */
INLINE ints sums_of_16(const int8_t *q)
{
    __m256i magnitudes = _mm256_abs_epi8(_mm256_loadu_si256((const __m256i *)q));
    __m256i eights = _mm256_sad_epu8(magnitudes, _mm256_setzero_si256());
    return _mm256_add_epi32(eights, _mm256_shuffle_epi32(eights, 0x4e));
}

INLINE lanes lanes_fma_minus(lanes a, lanes b, lanes c) { return _mm256_fnmadd_ps(a, b, c); }
INLINE lanes lanes_read(const float *p) { return _mm256_loadu_ps(p); }
INLINE void lanes_write(float *p, lanes v) { _mm256_storeu_ps(p, v); }
