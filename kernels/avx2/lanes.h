/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Eight floats at a time: loads and stores that respect the end of a vector. */

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* All ones in the first @left of eight lanes; @left in 0..8. */
INLINE __m256i lanes_mask(uint32_t left)
{
    static const int32_t ones[16] = { -1, -1, -1, -1, -1, -1, -1, -1 };
    return _mm256_loadu_si256((const __m256i *)(ones + 8 - left));
}

/* Up to eight floats of which @left remain; absent lanes are +0 and are not touched. */
INLINE __m256 lanes_load(const float *p, uint32_t left)
{
    return left >= 8 ? _mm256_loadu_ps(p) : _mm256_maskload_ps(p, lanes_mask(left));
}

INLINE void lanes_store(float *p, uint32_t left, __m256 v)
{
    if (left >= 8)
        _mm256_storeu_ps(p, v);
    else
        _mm256_maskstore_ps(p, lanes_mask(left), v);
}

INLINE __m256 load_f16(const uint16_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)); }

INLINE __m256i broadcast_u32(const void *p)
{
    int32_t v;
    memcpy(&v, p, sizeof v);
    return _mm256_set1_epi32(v);
}

INLINE __m256 magnitude(__m256 x) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x); }

/* The largest of eight unsigned integers. */
INLINE uint32_t largest_u32(__m256i v)
{
    __m128i m = _mm_max_epu32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0x4e));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(m);
}

/* The low bytes of eight integers of 0..255. */
INLINE void lanes_bytes(uint8_t *p, __m256i v)
{
    const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    _mm_storel_epi64((__m128i *)p, _mm_packus_epi16(words, words));
}

/* tree16() of kernels/scalar.h: lanes 0..7 and 8..15. */
INLINE float lanes_tree16(__m256 low, __m256 high)
{
    __m256 t = _mm256_add_ps(low, high);
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(t), _mm256_extractf128_ps(t, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_shuffle_ps(q, q, 1)));
}

/* --- what kernels/lanes/math.inc asks for --- */

typedef __m256 lanes;
#define LANES 8u

INLINE lanes lanes_all(float x) { return _mm256_set1_ps(x); }
INLINE lanes lanes_fma(lanes a, lanes b, lanes c) { return _mm256_fmadd_ps(a, b, c); }
INLINE lanes lanes_least(lanes a, lanes b) { return _mm256_min_ps(a, b); }
INLINE lanes lanes_most(lanes a, lanes b) { return _mm256_max_ps(a, b); }

INLINE lanes lanes_below(lanes a, lanes b, lanes x, lanes y)
{
    return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
}

INLINE lanes lanes_sign(lanes x, lanes s) { return _mm256_or_ps(x, _mm256_and_ps(s, _mm256_set1_ps(-0.0f))); }

INLINE lanes lanes_times_2n(lanes x, lanes n)
{
    __m256i exponent = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(x), exponent));
}

/* --- kernels/lanes/softmax.inc --- */

INLINE lanes lanes_touched(lanes s, uint32_t v, uint32_t first, uint32_t last)
{
    __m256i at = _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32((int)(8 * v)));
    __m256i before = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)first), at);
    __m256i behind = _mm256_cmpgt_epi32(at, _mm256_set1_epi32((int)last));
    __m256 out = _mm256_castsi256_ps(_mm256_or_si256(before, behind));
    return _mm256_blendv_ps(s, lanes_all(-__builtin_inff()), out);
}

INLINE float lanes_largest(lanes m)
{
    __m128 q = _mm_max_ps(_mm256_castps256_ps128(m), _mm256_extractf128_ps(m, 1));
    q = _mm_max_ps(q, _mm_movehl_ps(q, q));
    q = _mm_max_ss(q, _mm_shuffle_ps(q, q, 1));
    return _mm_cvtss_f32(q);
}

INLINE float lanes_tree(const lanes l[2]) { return lanes_tree16(l[0], l[1]); }
