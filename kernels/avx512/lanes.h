/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Sixteen lanes at a time: loads and stores that respect the end of a vector, and the functions of section 5. */

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

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

/* tree16() of kernels/scalar.h */
INLINE float lanes_tree16(__m512 l)
{
    __m256 t = _mm256_add_ps(_mm512_castps512_ps256(l), _mm512_extractf32x8_ps(l, 1));
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(t), _mm256_extractf128_ps(t, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_shuffle_ps(q, q, 1)));
}

/* kernel_exp() */
INLINE __m512 lanes_exp(__m512 x)
{
    const __m512 low = _mm512_set1_ps(-87.0f), magic = _mm512_set1_ps(0x1.8p23f), one = _mm512_set1_ps(1.0f);
    __m512 c = _mm512_min_ps(_mm512_max_ps(x, low), _mm512_set1_ps(88.0f));
    __m512 n = _mm512_sub_ps(_mm512_fmadd_ps(c, _mm512_set1_ps(0x1.715476p+0f), magic), magic);
    __m512 r = _mm512_fmadd_ps(n, _mm512_set1_ps(-0x1.62e4p-1f), c);
    r = _mm512_fmadd_ps(n, _mm512_set1_ps(-0x1.7f7d1cp-20f), r);
    __m512 p = _mm512_set1_ps(0x1.6a53ecp-10f);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0x1.123982p-7f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0x1.5558aap-5f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0x1.555492p-3f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0x1.fffffcp-2f));
    p = _mm512_fmadd_ps(p, r, one);
    p = _mm512_fmadd_ps(p, r, one);
    __m512i bits = _mm512_add_epi32(_mm512_castps_si512(p), _mm512_slli_epi32(_mm512_cvtps_epi32(n), 23));
    return _mm512_castsi512_ps(_mm512_maskz_mov_epi32(_mm512_cmp_ps_mask(x, low, _CMP_NLT_UQ), bits));
}

INLINE __m512 lanes_tanh(__m512 x)
{
    const __m512 one = _mm512_set1_ps(1.0f);
    __m512 a = magnitude(x), s = _mm512_mul_ps(a, a);
    __m512 p = _mm512_set1_ps(-0x1.828776p-8f);
    p = _mm512_fmadd_ps(p, s, _mm512_set1_ps(0x1.54c3c2p-6f));
    p = _mm512_fmadd_ps(p, s, _mm512_set1_ps(-0x1.b89abap-5f));
    p = _mm512_fmadd_ps(p, s, _mm512_set1_ps(0x1.1109bep-3f));
    p = _mm512_fmadd_ps(p, s, _mm512_set1_ps(-0x1.55553ep-2f));
    __m512 small = _mm512_fmadd_ps(_mm512_mul_ps(p, s), a, a);
    __m512 e = lanes_exp(_mm512_mul_ps(_mm512_set1_ps(-2.0f), a));
    __m512 large = _mm512_div_ps(_mm512_sub_ps(one, e), _mm512_add_ps(one, e));
    __m512 y = _mm512_mask_mov_ps(large, _mm512_cmp_ps_mask(a, _mm512_set1_ps(0.6f), _CMP_LT_OQ), small);
    return _mm512_or_ps(y, _mm512_and_ps(x, _mm512_set1_ps(-0.0f)));
}

/* kernel_softcap() */
INLINE __m512 lanes_softcap(__m512 x, float cap)
{
    __m512 c = _mm512_set1_ps(cap);
    return _mm512_mul_ps(c, lanes_tanh(_mm512_div_ps(x, c)));
}

/* x / (1 + exp(-z)) through exp(-|z|) */
INLINE __m512 lanes_gate(__m512 x, __m512 z)
{
    __m512 e = lanes_exp(_mm512_or_ps(z, _mm512_set1_ps(-0.0f)));
    __mmask16 negative = _mm512_cmp_ps_mask(z, _mm512_setzero_ps(), _CMP_LT_OQ);
    return _mm512_div_ps(_mm512_mask_mul_ps(x, negative, x, e), _mm512_add_ps(_mm512_set1_ps(1.0f), e));
}

INLINE __m512 lanes_gelu(__m512 x)
{
    __m512 z = _mm512_fmadd_ps(_mm512_mul_ps(x, x), _mm512_set1_ps(0x1.2444f2p-4f), _mm512_set1_ps(0x1.988454p+0f));
    return lanes_gate(x, _mm512_mul_ps(x, z));
}
