/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Sixteen lanes at a time: loads and stores that respect the end of a vector. */

#include <stdint.h>
#include <string.h>

#include "kernels/lanes/simd.h"

#define INLINE static inline __attribute__((always_inline))

/* The first @left of sixteen lanes, or all. */
INLINE __mmask16 lanes_mask(uint32_t left) { return (__mmask16)(left >= 16 ? 0xffffu : (1u << left) - 1); }

/* Up to sixteen floats of which @left remain; absent lanes are +0 and are not touched. */
INLINE __m512 lanes_load(const float *p, uint32_t left) { return _mm512_maskz_loadu_ps(lanes_mask(left), p); }
INLINE void lanes_store(float *p, uint32_t left, __m512 v) { _mm512_mask_storeu_ps(p, lanes_mask(left), v); }

INLINE __m512 load_f16(const uint16_t *p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p)); }

/* Four bytes or two 16-bit integers, in every lane. */
INLINE __m512i broadcast_u32(const void *p)
{
    int32_t v;
    memcpy(&v, p, sizeof v);
    return _mm512_set1_epi32(v);
}

/* Bits of the magnitudes, as unsigned integers: their maximum sees a NaN. */
INLINE __m512i magnitude_bits(__m512 x)
{
    return _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff));
}

INLINE __m512 magnitude(__m512 x) { return _mm512_castsi512_ps(magnitude_bits(x)); }

/* The low bytes of sixteen integers. */
INLINE void lanes_bytes(uint8_t *p, __m512i v) { _mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8(v)); }

/* tree16() of kernels/scalar.h */
INLINE float lanes_tree16(__m512 l)
{
    __m256 t = _mm256_add_ps(_mm512_castps512_ps256(l), _mm512_extractf32x8_ps(l, 1));
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(t), _mm256_extractf128_ps(t, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_shuffle_ps(q, q, 1)));
}

/* --- what kernels/lanes/math.inc asks for --- */

typedef __m512 lanes;
#define LANES 16u

INLINE lanes lanes_all(float x) { return _mm512_set1_ps(x); }
INLINE lanes lanes_fma(lanes a, lanes b, lanes c) { return _mm512_fmadd_ps(a, b, c); }
INLINE lanes lanes_least(lanes a, lanes b) { return _mm512_min_ps(a, b); }
INLINE lanes lanes_most(lanes a, lanes b) { return _mm512_max_ps(a, b); }

INLINE lanes lanes_below(lanes a, lanes b, lanes x, lanes y)
{
    return _mm512_mask_mov_ps(y, _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), x);
}

INLINE lanes lanes_sign(lanes x, lanes s) { return _mm512_or_ps(x, _mm512_and_ps(s, _mm512_set1_ps(-0.0f))); }

INLINE lanes lanes_times_2n(lanes x, lanes n)
{
    __m512i exponent = _mm512_slli_epi32(_mm512_cvtps_epi32(n), 23);
    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(x), exponent));
}

/* --- kernels/lanes/softmax.inc --- */

INLINE lanes lanes_touched(lanes s, uint32_t v, uint32_t first, uint32_t last)
{
    uint64_t upto = last == 63 ? ~0ull : (1ull << (last + 1)) - 1;
    __mmask16 in = (__mmask16)((upto & ~0ull << first) >> (16 * v));
    return _mm512_mask_mov_ps(lanes_all(-__builtin_inff()), in, s);
}

INLINE float lanes_largest(lanes m)
{
    __m256 h = _mm256_max_ps(_mm512_castps512_ps256(m), _mm512_extractf32x8_ps(m, 1));
    __m128 q = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_max_ps(q, _mm_movehl_ps(q, q));
    q = _mm_max_ss(q, _mm_shuffle_ps(q, q, 1));
    return _mm_cvtss_f32(q);
}

INLINE float lanes_tree(const lanes l[1]) { return lanes_tree16(l[0]); }
