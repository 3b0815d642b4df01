/* SPDX-License-Identifier: Apache-2.0 */

/* NUMERICS.md section 7 at this width, and the store of keys and values. */

#include "kernels/avx2/avx2.h"
#include "kernels/avx2/lanes.h"

#define AT_ONCE 2u

#include "kernels/lanes/softmax.inc"
#include "kernels/lanes/attend.inc"

/* Eight floats as f16, clamped; their magnitudes go into *largest. */
INLINE __m128i kv_f16(const float *p, __m256i *largest)
{
    __m256 v = _mm256_loadu_ps(p);
    *largest = _mm256_max_epu32(*largest, _mm256_castps_si256(magnitude(v)));
    v = _mm256_max_ps(_mm256_min_ps(v, _mm256_set1_ps(F16_MAX)), _mm256_set1_ps(-F16_MAX));
    return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT);
}

static int kv_store(uint16_t *block, uint32_t hd, uint32_t position, const float *k, const float *v)
{
    uint16_t *keys = block + (size_t)(position / 16) * hd * 16 + position % 16;
    uint16_t *values = block + (size_t)POSITIONS * hd + (size_t)position * hd;
    uint16_t halves[2][KERNEL_HEAD_DIM_MAX];
    __m256i largest = _mm256_setzero_si256();
    for (uint32_t d = 0; d < hd; d += 8) {
        _mm_storeu_si128((__m128i *)(halves[0] + d), kv_f16(k + d, &largest));
        _mm_storeu_si128((__m128i *)(halves[1] + d), kv_f16(v + d, &largest));
    }
    if (largest_u32(largest) >= FLOAT_INFINITY)
        return -1;
    for (uint32_t d = 0; d < hd; d++)
        keys[16 * d] = halves[0][d];
    memcpy(values, halves[1], hd * sizeof *values);
    return 0;
}

void kernel_avx2_init_attend(struct kernel_ops *ops)
{
    ops->kv_store = kv_store;
    ops->attend = attend;
}
