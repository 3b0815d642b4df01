/* SPDX-License-Identifier: Apache-2.0 */

/* NUMERICS.md section 2, and the sums of squares of section 4. */

#include "kernels/avx2/avx2.h"
#include "kernels/avx2/lanes.h"

/* Bits of the magnitudes, as unsigned integers: their maximum sees a NaN. */
INLINE __m256i magnitude_bits(__m256 v) { return _mm256_castps_si256(magnitude(v)); }

static uint32_t largest_magnitude(const float *v, uint32_t n)
{
    __m256i largest = _mm256_setzero_si256();
    for (uint32_t i = 0; i < n; i += 8)
        largest = _mm256_max_epu32(largest, magnitude_bits(lanes_load(v + i, n - i)));
    return largest_u32(largest);
}

/* 32 integers that fit 8 bits, in order. */
INLINE void store_32(int8_t *p, const __m256i q[4])
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i a = _mm256_packs_epi32(q[0], q[1]), b = _mm256_packs_epi32(q[2], q[3]);
    _mm256_storeu_si256((__m256i *)p, _mm256_permutevar8x32_epi32(_mm256_packs_epi16(a, b), order));
}

#define QUANTISED 32u

INLINE void quantise_some(const float *v, __m256 inv, int8_t *hi, int8_t *lo)
{
    __m256i q[4];
    for (int i = 0; i < 4; i++)
        q[i] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(v + 8 * i), inv));
    if (lo) {
        __m256i low[4];
        for (int i = 0; i < 4; i++) {
            __m256i high = _mm256_srai_epi32(_mm256_add_epi32(q[i], _mm256_set1_epi32(64)), 7);
            low[i] = _mm256_sub_epi32(q[i], _mm256_slli_epi32(high, 7));
            q[i] = high;
        }
        store_32(lo, low);
    }
    store_32(hi, q);
}

#include "kernels/lanes/quantise.inc"

/* Lanes 0..7 and 8..15; an absent lane adds 0 * 0 to its +0. */
static float sumsq(const float *x, uint32_t n)
{
    __m256 low = _mm256_setzero_ps(), high = low;
    for (uint32_t i = 0; i < n; i += 16) {
        __m256 a = lanes_load(x + i, n - i), b = n - i > 8 ? lanes_load(x + i + 8, n - i - 8) : _mm256_setzero_ps();
        low = _mm256_fmadd_ps(a, a, low);
        high = _mm256_fmadd_ps(b, b, high);
    }
    return lanes_tree16(low, high);
}

void kernel_avx2_init_quantise(struct kernel_ops *ops)
{
    ops->quantise = quantise;
    ops->sumsq = sumsq;
}
