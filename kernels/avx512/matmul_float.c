/* SPDX-License-Identifier: Apache-2.0 */

/*
 * F32, F16, BF16: one chain of fma per row, k ascending.  A chain waits for its own last step, so a tile runs eight at
 * once: eight tokens of one row group, one token of eight.
 */

#include "kernels/avx512/avx512.h"
#include "kernels/avx512/lanes.h"
#include "kernels/layout.h"
#include "kernels/levels.h"

#define CHAINS 8u
#define TILE_GROUPS 8
#define TILE_TOKENS 8

/* The 16 rows of column k. */
INLINE __m512 load_weights(const enum tensor_type type, const uint8_t *packed, size_t k)
{
    if (type == TENSOR_F32)
        return _mm512_loadu_ps((const float *)packed + ROWS * k);
    const uint16_t *halves = (const uint16_t *)packed + ROWS * k;
    if (type == TENSOR_F16)
        return load_f16(halves);
    __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)halves));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}

INLINE void store_or_add(float *y, __m512 s, int is_first)
{
    _mm512_storeu_ps(y, is_first ? s : _mm512_add_ps(_mm512_loadu_ps(y), s));
}

/* @groups * @tokens is at most CHAINS. */
INLINE void tile(const enum tensor_type type, const uint8_t *packed, size_t group_bytes, const float *x, size_t n_k,
                 float *y, size_t y_stride, const int groups, const int tokens)
{
    for (size_t first = 0; first < n_k; first += KERNEL_SEGMENT) {
        size_t end = n_k - first < KERNEL_SEGMENT ? n_k : first + KERNEL_SEGMENT;
        __m512 s[TILE_GROUPS][TILE_TOKENS];
#pragma GCC unroll 8
        for (int g = 0; g < groups; g++)
#pragma GCC unroll 8
            for (int t = 0; t < tokens; t++)
                s[g][t] = _mm512_setzero_ps();
        for (size_t k = first; k < end; k++) {
#pragma GCC unroll 8
            for (int g = 0; g < groups; g++) {
                __m512 w = load_weights(type, packed + g * group_bytes, k);
#pragma GCC unroll 8
                for (int t = 0; t < tokens; t++)
                    s[g][t] = _mm512_fmadd_ps(w, _mm512_set1_ps(x[t * n_k + k]), s[g][t]);
            }
        }
#pragma GCC unroll 8
        for (int g = 0; g < groups; g++)
#pragma GCC unroll 8
            for (int t = 0; t < tokens; t++)
                store_or_add(y + t * y_stride + ROWS * g, s[g][t], first == 0);
    }
}

/*
 * @tokens tokens of all groups: as many groups at a time as 8 chains hold, then half as many, down to one.  Weights are
 * read once.
 */
INLINE void all_groups(const enum tensor_type type, const uint8_t *packed, uint32_t groups, const float *x, size_t k,
                       float *y, size_t y_stride, const int tokens)
{
    const size_t group_bytes = kernel_group_bytes(type, (uint32_t)k);
    uint32_t g = 0;
#pragma GCC unroll 4
    for (uint32_t at_once = TILE_GROUPS; at_once > 0; at_once /= 2)
        for (; at_once * (uint32_t)tokens <= CHAINS && g + at_once <= groups; g += at_once)
            tile(type, packed + g * group_bytes, group_bytes, x, k, y + ROWS * g, y_stride, (int)at_once, tokens);
}

INLINE void matmul(const enum tensor_type type, const uint8_t *packed, uint32_t groups, const struct kernel_act *act,
                   uint32_t token_first, uint32_t tokens, float *y, size_t y_stride)
{
    const size_t group_bytes = kernel_group_bytes(type, act->k), k = act->k;
    const uint32_t eights = tokens / TILE_TOKENS * TILE_TOKENS;
    const float *x = act->f + token_first * k;
    for (uint32_t g = 0; g < groups; g++)
        for (uint32_t t = 0; t < eights; t += TILE_TOKENS)
            tile(type, packed + g * group_bytes, group_bytes, x + t * k, k, y + t * y_stride + ROWS * g, y_stride, 1,
                 TILE_TOKENS);
    x += eights * k;
    y += eights * y_stride;
    switch (tokens % TILE_TOKENS) {
    case 1: all_groups(type, packed, groups, x, k, y, y_stride, 1); break;
    case 2: all_groups(type, packed, groups, x, k, y, y_stride, 2); break;
    case 3: all_groups(type, packed, groups, x, k, y, y_stride, 3); break;
    case 4: all_groups(type, packed, groups, x, k, y, y_stride, 4); break;
    case 5: all_groups(type, packed, groups, x, k, y, y_stride, 5); break;
    case 6: all_groups(type, packed, groups, x, k, y, y_stride, 6); break;
    case 7: all_groups(type, packed, groups, x, k, y, y_stride, 7); break;
    default: break;
    }
}

MATMUL(f32, TENSOR_F32)
MATMUL(f16, TENSOR_F16)
MATMUL(bf16, TENSOR_BF16)

void kernel_avx512_init_matmul_float(struct kernel_ops *ops)
{
    ops->matmul[TENSOR_F32] = matmul_f32;
    ops->matmul[TENSOR_F16] = matmul_f16;
    ops->matmul[TENSOR_BF16] = matmul_bf16;
    ops->matmul_name[TENSOR_F32] = "matmul_f32_f32_f32__avx512_16x8";
    ops->matmul_name[TENSOR_F16] = "matmul_f16_f32_f32__avx512_16x8";
    ops->matmul_name[TENSOR_BF16] = "matmul_bf16_f32_f32__avx512_16x8";
}
