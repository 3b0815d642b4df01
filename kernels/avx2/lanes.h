/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Eight floats at a time: loads and stores that respect the end of a vector, and the functions of section 5. */

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

/* tree16() of kernels/scalar.h: lanes 0..7 and 8..15. */
INLINE float lanes_tree16(__m256 low, __m256 high)
{
    __m256 t = _mm256_add_ps(low, high);
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(t), _mm256_extractf128_ps(t, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_shuffle_ps(q, q, 1)));
}

/* kernel_exp() */
INLINE __m256 lanes_exp(__m256 x)
{
    const __m256 low = _mm256_set1_ps(-87.0f), magic = _mm256_set1_ps(0x1.8p23f), one = _mm256_set1_ps(1.0f);
    __m256 c = _mm256_min_ps(_mm256_max_ps(x, low), _mm256_set1_ps(88.0f));
    __m256 n = _mm256_sub_ps(_mm256_fmadd_ps(c, _mm256_set1_ps(0x1.715476p+0f), magic), magic);
    __m256 r = _mm256_fmadd_ps(n, _mm256_set1_ps(-0x1.62e4p-1f), c);
    r = _mm256_fmadd_ps(n, _mm256_set1_ps(-0x1.7f7d1cp-20f), r);
    __m256 p = _mm256_set1_ps(0x1.6a53ecp-10f);
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.123982p-7f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.5558aap-5f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.555492p-3f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.fffffcp-2f));
    p = _mm256_fmadd_ps(p, r, one);
    p = _mm256_fmadd_ps(p, r, one);
    __m256i bits = _mm256_add_epi32(_mm256_castps_si256(p), _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23));
    return _mm256_andnot_ps(_mm256_cmp_ps(x, low, _CMP_LT_OQ), _mm256_castsi256_ps(bits));
}

INLINE __m256 lanes_tanh(__m256 x)
{
    const __m256 sign = _mm256_set1_ps(-0.0f), one = _mm256_set1_ps(1.0f);
    __m256 a = magnitude(x), s = _mm256_mul_ps(a, a);
    __m256 p = _mm256_set1_ps(-0x1.828776p-8f);
    p = _mm256_fmadd_ps(p, s, _mm256_set1_ps(0x1.54c3c2p-6f));
    p = _mm256_fmadd_ps(p, s, _mm256_set1_ps(-0x1.b89abap-5f));
    p = _mm256_fmadd_ps(p, s, _mm256_set1_ps(0x1.1109bep-3f));
    p = _mm256_fmadd_ps(p, s, _mm256_set1_ps(-0x1.55553ep-2f));
    __m256 small = _mm256_fmadd_ps(_mm256_mul_ps(p, s), a, a);
    __m256 e = lanes_exp(_mm256_mul_ps(_mm256_set1_ps(-2.0f), a));
    __m256 large = _mm256_div_ps(_mm256_sub_ps(one, e), _mm256_add_ps(one, e));
    __m256 y = _mm256_blendv_ps(large, small, _mm256_cmp_ps(a, _mm256_set1_ps(0.6f), _CMP_LT_OQ));
    return _mm256_or_ps(y, _mm256_and_ps(x, sign));
}

/* kernel_softcap() */
INLINE __m256 lanes_softcap(__m256 x, float cap)
{
    __m256 c = _mm256_set1_ps(cap);
    return _mm256_mul_ps(c, lanes_tanh(_mm256_div_ps(x, c)));
}

/* x / (1 + exp(-z)) through exp(-|z|) */
INLINE __m256 lanes_gate(__m256 x, __m256 z)
{
    __m256 e = lanes_exp(_mm256_or_ps(z, _mm256_set1_ps(-0.0f)));
    __m256 negative = _mm256_cmp_ps(z, _mm256_setzero_ps(), _CMP_LT_OQ);
    __m256 numerator = _mm256_blendv_ps(x, _mm256_mul_ps(x, e), negative);
    return _mm256_div_ps(numerator, _mm256_add_ps(_mm256_set1_ps(1.0f), e));
}

INLINE __m256 lanes_gelu(__m256 x)
{
    __m256 z = _mm256_fmadd_ps(_mm256_mul_ps(x, x), _mm256_set1_ps(0x1.2444f2p-4f), _mm256_set1_ps(0x1.988454p+0f));
    return lanes_gate(x, _mm256_mul_ps(x, z));
}
