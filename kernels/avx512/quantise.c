/* SPDX-License-Identifier: Apache-2.0 */

/* NUMERICS.md section 2, and the sums of squares of section 4. */

#include "kernels/avx512/avx512.h"
#include "kernels/avx512/lanes.h"
#include "kernels/ops.h"

static uint32_t largest_magnitude(const float *v, uint32_t n)
{
    __m512i largest = _mm512_setzero_si512();
    for (uint32_t i = 0; i < n; i += 16)
        largest = _mm512_max_epu32(largest, magnitude_bits(lanes_load(v + i, n - i)));
    return _mm512_reduce_max_epu32(largest);
}

/* 16 integers that fit 8 bits. */
INLINE void store_16(int8_t *p, __m512i q) { _mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8(q)); }

#define QUANTISED 16u

INLINE void quantise_some(const float *v, __m512 inv, int8_t *hi, int8_t *lo)
{
    __m512i q = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(v), inv));
    if (lo) {
        __m512i high = _mm512_srai_epi32(_mm512_add_epi32(q, _mm512_set1_epi32(64)), 7);
        store_16(lo, _mm512_sub_epi32(q, _mm512_slli_epi32(high, 7)));
        q = high;
    }
    store_16(hi, q);
}

#include "kernels/lanes/quantise.inc"

/* An absent lane adds 0 * 0 to its +0. */
static float sumsq(const float *x, uint32_t n)
{
    __m512 sum = _mm512_setzero_ps();
    for (uint32_t i = 0; i < n; i += 16) {
        __m512 v = lanes_load(x + i, n - i);
        sum = _mm512_fmadd_ps(v, v, sum);
    }
    return lanes_tree16(sum);
}

void kernel_avx512_init_quantise(struct kernel_ops *ops)
{
    ops->quantise = quantise;
    ops->sumsq = sumsq;
}
