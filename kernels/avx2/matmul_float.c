/* SPDX-License-Identifier: Apache-2.0 */

/*
 * F32, F16, BF16: one chain of fma per row, k ascending.  A chain waits for its own last step, so a tile runs several
 * at once (a group's 16 rows are two vectors, hence two chains): four tokens of one row group, one token of four.
 */

#include "kernels/avx2/avx2.h"
#include "kernels/avx2/lanes.h"
#include "kernels/layout.h"
#include "kernels/levels.h"

#define TILE_GROUPS 4
#define TILE_TOKENS 4

/* Rows 8h..8h+7 of column k. */
INLINE __m256 load_weights(const enum tensor_type type, const uint8_t *packed, size_t k, int h)
{
    size_t at = ROWS * k + 8 * h;
    if (type == TENSOR_F32)
        return _mm256_load_ps((const float *)packed + at);
    const uint16_t *halves = (const uint16_t *)packed + at;
    if (type == TENSOR_F16)
        return load_f16(halves);
    __m256i wide = _mm256_cvtepu16_epi32(_mm_load_si128((const __m128i *)halves));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

INLINE void store_or_add(float *y, __m256 s, int is_first)
{
    _mm256_storeu_ps(y, is_first ? s : _mm256_add_ps(_mm256_loadu_ps(y), s));
}

INLINE void tile(const enum tensor_type type, const uint8_t *packed, size_t group_bytes, const float *x, size_t n_k,
                 float *y, size_t y_stride, const int groups, const int tokens)
{
    for (size_t first = 0; first < n_k; first += KERNEL_SEGMENT) {
        size_t end = n_k - first < KERNEL_SEGMENT ? n_k : first + KERNEL_SEGMENT;
        __m256 s[TILE_GROUPS][TILE_TOKENS][2];
        for (int g = 0; g < groups; g++)
            for (int t = 0; t < tokens; t++)
                s[g][t][0] = s[g][t][1] = _mm256_setzero_ps();
        for (size_t k = first; k < end; k++) {
#pragma GCC unroll 4
            for (int g = 0; g < groups; g++) {
                __m256 w0 = load_weights(type, packed + g * group_bytes, k, 0);
                __m256 w1 = load_weights(type, packed + g * group_bytes, k, 1);
#pragma GCC unroll 4
                for (int t = 0; t < tokens; t++) {
                    __m256 v = _mm256_broadcast_ss(x + t * n_k + k);
                    s[g][t][0] = _mm256_fmadd_ps(w0, v, s[g][t][0]);
                    s[g][t][1] = _mm256_fmadd_ps(w1, v, s[g][t][1]);
                }
            }
        }
        for (int g = 0; g < groups; g++)
            for (int t = 0; t < tokens; t++)
                for (int h = 0; h < 2; h++)
                    store_or_add(y + t * y_stride + ROWS * g + 8 * h, s[g][t][h], first == 0);
    }
}

/* @tokens tokens of all groups, @at_once groups at a time and what is left one by one: weights are read once. */
INLINE void all_groups(const enum tensor_type type, const uint8_t *packed, uint32_t groups, const float *x, size_t k,
                       float *y, size_t y_stride, const int at_once, const int tokens)
{
    const size_t group_bytes = kernel_group_bytes(type, (uint32_t)k);
    uint32_t g = 0;
    for (; g + (uint32_t)at_once <= groups; g += (uint32_t)at_once)
        tile(type, packed + g * group_bytes, group_bytes, x, k, y + ROWS * g, y_stride, at_once, tokens);
    for (; g < groups; g++)
        tile(type, packed + g * group_bytes, group_bytes, x, k, y + ROWS * g, y_stride, 1, tokens);
}

INLINE void matmul(const enum tensor_type type, const uint8_t *packed, uint32_t groups, const struct kernel_act *act,
                   uint32_t token_first, uint32_t tokens, float *y, size_t y_stride)
{
    const size_t group_bytes = kernel_group_bytes(type, act->k), k = act->k;
    const uint32_t fours = tokens / TILE_TOKENS * TILE_TOKENS;
    const float *x = act->f + token_first * k;
    for (uint32_t g = 0; g < groups; g++)
        for (uint32_t t = 0; t < fours; t += TILE_TOKENS)
            tile(type, packed + g * group_bytes, group_bytes, x + t * k, k, y + t * y_stride + ROWS * g, y_stride, 1,
                 TILE_TOKENS);
    x += fours * k;
    y += fours * y_stride;
    if (tokens % TILE_TOKENS == 1)
        all_groups(type, packed, groups, x, k, y, y_stride, 4, 1);
    else if (tokens % TILE_TOKENS == 2)
        all_groups(type, packed, groups, x, k, y, y_stride, 2, 2);
    else if (tokens % TILE_TOKENS == 3)
        all_groups(type, packed, groups, x, k, y, y_stride, 1, 3);
}

MATMUL(f32, TENSOR_F32)
MATMUL(f16, TENSOR_F16)
MATMUL(bf16, TENSOR_BF16)

void kernel_avx2_init_matmul_float(struct kernel_ops *ops)
{
    ops->matmul[TENSOR_F32] = matmul_f32;
    ops->matmul[TENSOR_F16] = matmul_f16;
    ops->matmul[TENSOR_BF16] = matmul_bf16;
    ops->matmul_name[TENSOR_F32] = "matmul_f32_f32_f32__avx2_16x4";
    ops->matmul_name[TENSOR_F16] = "matmul_f16_f32_f32__avx2_16x4";
    ops->matmul_name[TENSOR_BF16] = "matmul_bf16_f32_f32__avx2_16x4";
}
