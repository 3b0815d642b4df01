/* SPDX-License-Identifier: Apache-2.0 */

/* NUMERICS.md section 7 with keys and values in 8 bits, and their store, which every level above takes too. */

#include "kernels/avx2/avx2.h"
#include "kernels/avx2/ints.h"

#define AT_ONCE 2u
#define KEY_OFFSET 0

INLINE ints key_form(ints k) { return k; }

/* Two products of 127 * 127 fit 16 bits. */
INLINE ints add_value(ints sum, ints v, ints u)
{
    return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(u, v), _mm256_set1_epi16(1)));
}

INLINE ints add_key(ints sum, ints k, ints q) { return add_value(sum, _mm256_sign_epi8(q, k), _mm256_abs_epi8(k)); }

#include "kernels/lanes/softmax.inc"
#include "kernels/lanes/q8.inc"
#include "kernels/lanes/attend_q8.inc"

static int kv_store_q8(uint8_t *block, uint32_t hd, uint32_t position, const float *k, const float *v)
{
    int8_t *keys = (int8_t *)KEYS_AT(block) + (size_t)(position / 16) * hd * 16 + 4 * (position % 16);
    int8_t *values = (int8_t *)VALUES_AT(block, hd) + 64 * (position / 4) + position % 4;
    float *scales = (float *)(void *)(block + (size_t)POSITIONS * hd * 2) + position;
    int16_t q[2][KERNEL_HEAD_DIM_MAX];
    float d[2];
    if (quantise_head(k, hd, ACT_TOP_INT8, KV_Q8_LIMIT, q[0], &d[0]) < 0 ||
        quantise_head(v, hd, ACT_TOP_INT8, KV_Q8_LIMIT, q[1], &d[1]) < 0)
        return -1;
    for (uint32_t i = 0; i < hd; i++) {
        keys[16 * (i & ~3u) + i % 4] = (int8_t)q[0][i];
        values[(size_t)64 * (i & ~15u) + 4 * (i % 16)] = (int8_t)q[1][i];
    }
    scales[0] = d[0];
    scales[POSITIONS] = d[1];
    return 0;
}

void kernel_avx2_init_attend_q8(struct kernel_ops *ops)
{
    ops->kv_store_q8 = kv_store_q8;
    ops->attend_q8 = attend_q8;
}
