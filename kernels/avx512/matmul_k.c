/* SPDX-License-Identifier: Apache-2.0 */

/* Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, weights taken apart for a few columns at a time. */

#include "kernels/avx512/avx512.h"
#include "kernels/avx512/scales.h"
#include "kernels/avx512/tiles.h"

/* Where the integers of a block start: from zero, and Q5_K from 16 * (sum of scale * S32).  @first: its first S32. */
INLINE void start_ints(const enum tensor_type type, const uint8_t *record, const struct sums_k *sums, uint32_t first,
                       int columns, __m512i sum[COLUMNS_MAX])
{
    clear(sum, columns);
    if (type != TENSOR_Q5_K)
        return;
    for (int part = 0; part < 4; part++)
        add_sums(sum, scale_pairs(type, record, part), sums, first + 2 * (uint32_t)part, columns);
    times_16(sum, columns);
}

/* sum over sub-blocks of scale times products; the record's first sub-block is @first of the segment. */
INLINE void add_ints(const enum tensor_type type, const uint8_t *record, const int8_t scales[16][ROWS],
                     struct quads *x, const struct sums_k *sums, uint32_t first, int columns,
                     __m512i sum[COLUMNS_MAX])
{
    for (int part = 0; part < 4; part++, step_quads(x, 64, columns)) {
#pragma GCC unroll 4
        for (int sub = 0; sub < 4; sub++) {
            __m512i p[COLUMNS_MAX];
            start_sub(type, p, sums, first + (uint32_t)(4 * part + sub), columns);
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++)
                add_quad(p, quad_k(type, record, part, sub, i), x, 16 * (size_t)sub + 4 * (size_t)i, columns);
            add_scaled(type != TENSOR_Q6_K, sum, p, scale_k(type, record, scales, part, sub), columns);
        }
    }
}

/* sum over sub-blocks of min times the sum of activations, of which the first is sum @first of the segment */
INLINE void mins(const enum tensor_type type, const uint8_t *record, const struct sums_k *sums, uint32_t first,
                 int columns, __m512i sum[COLUMNS_MAX])
{
    clear(sum, columns);
    for (int part = 0; part < 4; part++) {
        if (type == TENSOR_Q2_K) {
            add_sums(sum, min_pairs(type, record, part, 0), sums, first + 4 * (uint32_t)part, columns);
            add_sums(sum, min_pairs(type, record, part, 2), sums, first + 4 * (uint32_t)part + 2, columns);
        } else {
            add_sums(sum, min_pairs(type, record, part, 0), sums, first + 2 * (uint32_t)part, columns);
        }
    }
}

/* Record @r of the segment; @x is at its first k and moves behind its last. */
INLINE void add_record(const enum tensor_type type, const uint8_t *record, struct quads *x, const struct sums_k *sums,
                       uint32_t r, int tokens, int wide, __m512 s[TILE])
{
    const int columns = wide ? 2 * tokens : tokens;
    const uint16_t *d = d_of(type, record);
    int8_t scales[16][ROWS] __attribute__((aligned(64)));
    __m512i sum[COLUMNS_MAX];
    if (type == TENSOR_Q3_K)
        unpack_scales_q3_k((const struct packed_q3_k *)record, scales);
    start_ints(type, record, sums, 8 * r, columns, sum);
    add_ints(type, record, scales, x, sums, 16 * r, columns, sum);
    add_joined(s, load_f16(d), sums, r, sum, 0, tokens, wide);
    if (has_mins(type)) {
        mins(type, record, sums, type == TENSOR_Q2_K ? 16 * r : 8 * r, columns, sum);
        add_joined(s, load_f16(d + ROWS), sums, r, sum, 1, tokens, wide);
    }
}

INLINE void tile_k(const enum tensor_type type, const uint8_t *packed, uint32_t groups, const struct kernel_act *act,
                   uint32_t token, float *y, size_t y_stride, size_t ahead, const int tokens, const int wide)
{
    const uint32_t record_bytes = kernel_layouts[type].record_bytes;
    struct sums_k sums;
    for (uint32_t g = 0; g < groups; g++, y += ROWS) {
        for (uint32_t first = 0; first < act->k; first += KERNEL_SEGMENT) {
            struct columns x = columns_at(act, token, first);
            struct quads q = quads_of(&x, wide ? 2 * tokens : tokens);
            uint32_t k = act->k - first < KERNEL_SEGMENT ? act->k - first : KERNEL_SEGMENT;
            __m512 s[TILE];
#pragma GCC unroll 4
            for (int t = 0; t < tokens; t++)
                s[t] = _mm512_setzero_ps();
            read_sums(type, &x, k, tokens, wide, &sums);
            for (uint32_t r = 0; r < k / KERNEL_BLOCK; r++, packed += record_bytes) {
                fetch_ahead(packed, record_bytes, ahead);
                add_record(type, packed, &q, &sums, r, tokens, wide, s);
            }
            merge_segment(s, tokens, first == 0, y, y_stride);
        }
    }
}

TILE_MATMUL(tile_k, q2_k, TENSOR_Q2_K, kernel_avx512_many_k, FEW_DEAR)
TILE_MATMUL(tile_k, q3_k, TENSOR_Q3_K, kernel_avx512_many_k, FEW_DEAR)
TILE_MATMUL(tile_k, q4_k, TENSOR_Q4_K, kernel_avx512_many_k, FEW_CHEAP)
TILE_MATMUL(tile_k, q5_k, TENSOR_Q5_K, kernel_avx512_many_k, FEW_CHEAP)
TILE_MATMUL(tile_k, q6_k, TENSOR_Q6_K, kernel_avx512_many_k, FEW_DEAR)

void kernel_avx512_init_matmul_k(struct kernel_ops *ops, unsigned traits)
{
    TILE_ENTRY(ops, TENSOR_Q2_K, q2_k, "a256", traits);
    TILE_ENTRY(ops, TENSOR_Q3_K, q3_k, "a256", traits);
    TILE_ENTRY(ops, TENSOR_Q4_K, q4_k, "a256", traits);
    TILE_ENTRY(ops, TENSOR_Q5_K, q5_k, "a256", traits);
    TILE_ENTRY(ops, TENSOR_Q6_K, q6_k, "a256", traits);
}
