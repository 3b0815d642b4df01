/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/avx2/avx2.h"
#include "kernels/avx2/lanes.h"
#include "kernels/lanes/limits.inc"

#define STEPS 8u                        /* that a 16-bit sum of 4-bit weights holds */
#define SUMS 5u

/* vpmaddubsw into 16-bit sums, which vpmaddwd widens after eight steps: 4-bit weights, the fastest there are. */
static uint64_t limit_int8(uint32_t rounds)
{
    __m256i wide[SUMS], w = _mm256_setzero_si256(), x = w, all;
    __m256i ones = _mm256_set1_epi16(1);
    HOLD(x);
    HOLD(ones);
    for (uint32_t j = 0; j < SUMS; j++)
        wide[j] = _mm256_setzero_si256();
    for (uint32_t i = 0; i < rounds; i++) {
        __m256i sum[SUMS];
        for (uint32_t j = 0; j < SUMS; j++)
            sum[j] = _mm256_setzero_si256();
        for (uint32_t s = 0; s < STEPS; s++) {
            for (uint32_t j = 0; j < SUMS; j++) {
                HOLD(w);
                sum[j] = _mm256_add_epi16(sum[j], _mm256_maddubs_epi16(w, x));
            }
        }
        for (uint32_t j = 0; j < SUMS; j++)
            wide[j] = _mm256_add_epi32(wide[j], _mm256_madd_epi16(sum[j], ones));
    }
    for (uint32_t j = 1; j < SUMS; j++)
        wide[0] = _mm256_add_epi32(wide[0], wide[j]);
    all = wide[0];
    HOLD(all);
    return (uint64_t)rounds * STEPS * SUMS * 32;
}

void kernel_avx2_init_limits(struct kernel_ops *ops)
{
    static const struct kernel_limits limits = { limit_int8, limit_f32, limit_read };
    ops->limits = &limits;
}
