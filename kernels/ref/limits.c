/* SPDX-License-Identifier: Apache-2.0 */

/* Plain C has no instruction of its own: its limits are what the compiler makes of the shortest loops. */

#include <math.h>

#include "kernels/level_limits.h"
#include "kernels/ref/ref.h"

#define VALUES 512u

/* Integers of 16 bits, which plain x86-64 multiplies and adds in pairs; what ref widens its bytes to. */
static uint64_t limit_int8(uint32_t rounds)
{
    static const int16_t zeros[VALUES] __attribute__((aligned(64)));
    const int16_t *w = zeros, *x = zeros;
    for (uint32_t i = 0; i < rounds; i++) {
        int32_t sum = 0;
        __asm__ volatile("" : "+r"(w), "+r"(x));
        for (uint32_t k = 0; k < VALUES; k++)
            sum += w[k] * x[k];
        __asm__ volatile("" : "+r"(sum));
    }
    return (uint64_t)rounds * VALUES;
}

static uint64_t limit_f32(uint32_t rounds)
{
    float sum[8] = { 0 }, w = 0.0f, x = 1.0f;
    __asm__ volatile("" : "+x"(w), "+x"(x));
    for (uint32_t i = 0; i < rounds; i++)
        for (uint32_t j = 0; j < 8; j++)
            sum[j] = fmaf(w, x, sum[j]);
    for (uint32_t j = 0; j < 8; j++)
        __asm__ volatile("" : "+x"(sum[j]));
    return (uint64_t)rounds * 8;
}

typedef uint64_t lanes __attribute__((vector_size(16)));

static void limit_read(const uint8_t *from, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += 4 * sizeof(lanes)) {
        for (uint32_t j = 0; j < 4; j++) {
            lanes v = *(const lanes *)(const void *)(from + at + j * sizeof(lanes));
            __asm__ volatile("" : "+x"(v));
        }
    }
}

void kernel_ref_init_limits(struct kernel_ops *ops)
{
    static const struct kernel_limits limits = { limit_int8, limit_f32, limit_read };
    ops->limits = &limits;
}
