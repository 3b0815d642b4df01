/* SPDX-License-Identifier: Apache-2.0 */

/* Q4_0, Q4_1, Q5_0, Q5_1, Q8_0: one float step per 32 k. */

#include "kernels/avx512/avx512.h"
#include "kernels/avx512/blocks.h"
#include "kernels/avx512/tiles.h"

/* One half of a record (a block of 32 k), block @block of its segment. */
INLINE void add_half(const enum tensor_type type, const uint8_t *record, int half, const struct quads *x,
                     const struct sums_32 *sums, uint32_t block, int tokens, int wide, __m512 s[TILE])
{
    const int columns = wide ? 2 * tokens : tokens;
    const uint16_t *d = scales_of(type, record) + half * ROWS;
    __m512i sum[COLUMNS_MAX];
    start_block(sum, sums, block, offset_of(type), columns);
#pragma GCC unroll 8
    for (size_t i = 0; i < 8; i++)
        add_quad(sum, quad_32(type, record, half, (int)i), x, 32 * (size_t)half + 4 * i, columns);
    add_floats(s, load_f16(d), sums, block, sum, tokens, wide);
    if (has_m(type))
        add_mins(s, load_f16(d + 2 * ROWS), sums, block, tokens);
}

/* A segment of a row group: @blocks blocks of 32 k. */
INLINE const uint8_t *add_segment(const enum tensor_type type, const uint8_t *record, uint32_t blocks,
                                  const struct columns *first, const struct sums_32 *sums, size_t ahead, int tokens,
                                  int wide, __m512 s[TILE])
{
    const uint32_t record_bytes = kernel_layouts[type].record_bytes;
    const int columns = wide ? 2 * tokens : tokens;
    struct quads x = quads_of(first, columns);
    for (uint32_t b = 0; b < blocks; b += 2, record += record_bytes, step_quads(&x, 64, columns)) {
        fetch_ahead(record, record_bytes, ahead);
        add_half(type, record, 0, &x, sums, b, tokens, wide, s);
        if (b + 1 < blocks)
            add_half(type, record, 1, &x, sums, b + 1, tokens, wide, s);
    }
    return record;
}

INLINE void tile_32(const enum tensor_type type, const uint8_t *packed, uint32_t groups, const struct kernel_act *act,
                    uint32_t token, float *y, size_t y_stride, size_t ahead, const int tokens, const int wide)
{
    struct sums_32 sums;
    for (uint32_t g = 0; g < groups; g++, y += ROWS) {
        for (uint32_t k = 0; k < act->k; k += KERNEL_SEGMENT) {
            struct columns x = columns_at(act, token, k);
            uint32_t blocks = (act->k - k < KERNEL_SEGMENT ? act->k - k : KERNEL_SEGMENT) / 32;
            __m512 s[TILE];
#pragma GCC unroll 4
            for (int t = 0; t < tokens; t++)
                s[t] = _mm512_setzero_ps();
            read_sums(&x, blocks, offset_of(type), has_m(type), tokens, wide, &sums);
            packed = add_segment(type, packed, blocks, &x, &sums, ahead, tokens, wide, s);
            merge_segment(s, tokens, k == 0, y, y_stride);
        }
    }
}

TILE_MATMUL(tile_32, q4_0, TENSOR_Q4_0, kernel_avx512_many_32, FEW_CHEAP)
TILE_MATMUL(tile_32, q4_1, TENSOR_Q4_1, kernel_avx512_many_32, FEW_CHEAP)
TILE_MATMUL(tile_32, q5_0, TENSOR_Q5_0, kernel_avx512_many_32, FEW_CHEAP)
TILE_MATMUL(tile_32, q5_1, TENSOR_Q5_1, kernel_avx512_many_32, FEW_CHEAP)
TILE_MATMUL(tile_32, q8_0, TENSOR_Q8_0, kernel_avx512_many_32, FEW_CHEAP)

void kernel_avx512_init_matmul_32(struct kernel_ops *ops, unsigned traits)
{
    TILE_ENTRY(ops, TENSOR_Q4_0, q4_0, "a32", traits);
    TILE_ENTRY(ops, TENSOR_Q4_1, q4_1, "a32", traits);
    TILE_ENTRY(ops, TENSOR_Q5_0, q5_0, "a32", traits);
    TILE_ENTRY(ops, TENSOR_Q5_1, q5_1, "a32", traits);
    TILE_ENTRY(ops, TENSOR_Q8_0, q8_0, "a32", traits);
}
