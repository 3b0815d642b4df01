/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/invented.h"

#include "kernels/layout.h"

/* Where a block has its f16 scales, which must be finite; 255: none. */
static const uint8_t scales_at[TENSOR_TYPE_COUNT][2] = {
    [TENSOR_Q4_0] = { 0, 255 },   [TENSOR_Q4_1] = { 0, 2 },   [TENSOR_Q5_0] = { 0, 255 }, [TENSOR_Q5_1] = { 0, 2 },
    [TENSOR_Q8_0] = { 0, 255 },   [TENSOR_Q2_K] = { 80, 82 }, [TENSOR_Q3_K] = { 108, 255 }, [TENSOR_Q4_K] = { 0, 2 },
    [TENSOR_Q5_K] = { 0, 2 },     [TENSOR_Q6_K] = { 208, 255 },
};

uint32_t kernel_invent(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

void kernel_invent_floats(uint32_t *seed, float *ret, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t r = kernel_invent(seed);
        const float f = ((float)r - 0x1p23f) * 0x1p-23f;
        ret[i] = r % 61 == 0 ? 40.0f * f : f;
    }
}

/* Any bytes are a block, but for its scales: their exponent loses a bit, so that none is infinite. */
static void invent_rows(uint32_t *seed, enum tensor_type type, uint32_t k, uint8_t *rows)
{
    const struct tensor_type_info *info = &tensor_types[type];
    const uint32_t bytes = ROWS * (k / info->block_values) * info->block_bytes;
    for (uint32_t i = 0; i < bytes; i++)
        rows[i] = (uint8_t)kernel_invent(seed);
    for (uint32_t at = 0; at < bytes; at += info->block_bytes) {
        if (info->act == ACT_F32)
            rows[at + info->block_bytes - 1] &= 0xbf;
        for (uint32_t i = 0; i < 2 && info->act != ACT_F32; i++)
            if (scales_at[type][i] != 255)
                rows[at + scales_at[type][i] + 1] &= 0xbf;
    }
}

void kernel_invent_groups(uint32_t *seed, enum tensor_type type, uint32_t k, uint32_t groups, uint8_t *rows,
                          uint8_t *ret_packed)
{
    const struct tensor_type_info *info = &tensor_types[type];
    const size_t row_bytes = (size_t)(k / info->block_values) * info->block_bytes;
    for (uint32_t g = 0; g < groups; g++) {
        invent_rows(seed, type, k, rows);
        kernel_pack_group(type, rows, row_bytes, ROWS, k, ret_packed + g * kernel_group_bytes(type, k));
    }
}

void kernel_invent_act(const struct kernel_ops *ops, const float *v, uint32_t tokens, const struct kernel_act *x)
{
    for (uint32_t token = 0; token < tokens; token++)
        for (uint32_t k = 0; k < x->k; k += KERNEL_BLOCK)
            ops->quantise(v + token * x->k + k, NULL, x->k - k < KERNEL_BLOCK ? x->k - k : KERNEL_BLOCK, x, token, k);
}
