/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What kernels/vnni asks for: 64 bytes of integers, the 16 rows of a group in one vector. */

#include "kernels/avx512/lanes.h"

typedef __m512i ints;

INLINE ints ints_load(const void *p) { return _mm512_load_si512(p); }
INLINE void ints_store(void *p, ints v) { _mm512_store_si512(p, v); }
INLINE ints ints_all(int32_t x) { return _mm512_set1_epi32(x); }
INLINE ints ints_bytes(int x) { return _mm512_set1_epi8((char)x); }
INLINE ints ints_left_16(ints v, int by) { return _mm512_slli_epi16(v, (unsigned)by); }
INLINE ints ints_right_16(ints v, int by) { return _mm512_srli_epi16(v, (unsigned)by); }
INLINE ints ints_left(ints v, int by) { return _mm512_slli_epi32(v, (unsigned)by); }
INLINE ints ints_right(ints v, int by) { return _mm512_srli_epi32(v, (unsigned)by); }
INLINE ints ints_sum(ints a, ints b) { return _mm512_add_epi32(a, b); }
INLINE ints ints_product(ints a, ints b) { return _mm512_mullo_epi32(a, b); }
INLINE ints ints_most(ints a, ints b) { return _mm512_max_epi32(a, b); }
INLINE int32_t ints_largest(ints v) { return _mm512_reduce_max_epi32(v); }

#define A_OR_B_AND_C 0xf8               /* vpternlog's table */

INLINE ints ints_or_and(ints a, ints b, ints c) { return _mm512_ternarylogic_epi64(a, b, c, A_OR_B_AND_C); }

INLINE ints widen_u8(const void *p) { return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p)); }
INLINE ints widen_s8(const void *p) { return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)); }
INLINE ints widen_s16(const void *p) { return _mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)p)); }
INLINE ints widen_u8_to_16(const void *p) { return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)p)); }

INLINE ints add_products(ints sum, ints w, ints q) { return _mm512_dpbusd_epi32(sum, w, q); }
INLINE ints add_products_16(ints sum, ints a, ints b) { return _mm512_dpwssd_epi32(sum, a, b); }

/*
 * add_products() of the four bytes at @q in every lane.  GCC 12 knows no broadcasting memory operand for this
 * instruction; a separate broadcast is half as many instructions again.
 */
INLINE ints add_products_of(ints sum, ints w, const int8_t *q)
{
#ifdef KERNEL_EMULATE
    return add_products(sum, w, broadcast_u32(q));
#else
    struct quad { int8_t of[4]; };
    __asm__("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(w), "m"(*(const struct quad *)q));
    return sum;
#endif
}

/* Sums of the magnitudes of every 16 bytes. */
INLINE ints sums_of_16(const int8_t *q)
{
    __m512i eights = _mm512_sad_epu8(_mm512_abs_epi8(_mm512_loadu_si512(q)), _mm512_setzero_si512());
    return _mm512_add_epi32(eights, _mm512_shuffle_epi32(eights, _MM_PERM_BADC));
}

INLINE lanes lanes_of(ints v) { return _mm512_cvtepi32_ps(v); }
INLINE ints ints_of(lanes x) { return _mm512_cvtps_epi32(x); }
INLINE lanes lanes_fma_minus(lanes a, lanes b, lanes c) { return _mm512_fnmadd_ps(a, b, c); }
INLINE lanes lanes_read(const float *p) { return _mm512_loadu_ps(p); }
INLINE void lanes_write(float *p, lanes v) { _mm512_storeu_ps(p, v); }
