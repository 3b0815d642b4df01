/* SPDX-License-Identifier: Apache-2.0 */

/* Q4_0, Q4_1, Q5_0, Q5_1, Q8_0 times many tokens. */

#include "kernels/avx512/avx512.h"
#include "kernels/avx512/blocks.h"
#include "kernels/avx512/many.h"

/* A segment of 16 rows, by blocks of 32 k. */
struct open_segment {
    uint8_t q[SEGMENT_BLOCKS][8][LINE];         /* unsigned, before their offset */
    float d[SEGMENT_BLOCKS][ROWS], m[SEGMENT_BLOCKS][ROWS];
    int32_t offset;
} __attribute__((aligned(64)));

/* A whole record, of which the second half may lie behind the row's end. */
INLINE void open_record(const enum tensor_type type, const uint8_t *record, struct open_segment *ret, uint32_t block)
{
    const uint16_t *d = scales_of(type, record);
#pragma GCC unroll 2
    for (int half = 0; half < 2; half++) {
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++)
            _mm512_store_si512(ret->q[block + (uint32_t)half][i], quad_32(type, record, half, i));
        _mm512_store_ps(ret->d[block + (uint32_t)half], load_f16(d + half * ROWS));
        if (has_m(type))
            _mm512_store_ps(ret->m[block + (uint32_t)half], load_f16(d + (2 + half) * ROWS));
    }
}

INLINE void open_records(const enum tensor_type type, const uint8_t *record, uint32_t blocks, struct open_segment *ret)
{
    ret->offset = offset_of(type);
    for (uint32_t b = 0; b < blocks; b += 2, record += kernel_layouts[type].record_bytes)
        open_record(type, record, ret, b);
}

static void open_segment(enum tensor_type type, const uint8_t *packed, uint32_t blocks, struct open_segment *ret)
{
    switch ((int)type) {
    case TENSOR_Q4_0: open_records(TENSOR_Q4_0, packed, blocks, ret); break;
    case TENSOR_Q4_1: open_records(TENSOR_Q4_1, packed, blocks, ret); break;
    case TENSOR_Q5_0: open_records(TENSOR_Q5_0, packed, blocks, ret); break;
    case TENSOR_Q5_1: open_records(TENSOR_Q5_1, packed, blocks, ret); break;
    default: open_records(TENSOR_Q8_0, packed, blocks, ret); break;
    }
}

/* @with_m: m and no offset; else an offset and no m. */
INLINE void segment(const int with_m, const struct open_segment *open, uint32_t k, const struct columns *first,
                    int is_first, float *y, size_t y_stride, const int tokens, const int wide)
{
    const int columns = wide ? 2 * tokens : tokens;
    const uint32_t blocks = k / 32;
    struct quads x = quads_of(first, columns);
    struct sums_32 sums;
    __m512 s[COLUMNS_MAX];
#pragma GCC unroll 12
    for (int t = 0; t < tokens; t++)
        s[t] = _mm512_setzero_ps();
    read_sums(first, blocks, open->offset, with_m, tokens, wide, &sums);
    for (uint32_t b = 0; b < blocks; b++, step_quads(&x, 32, columns)) {
        __m512i sum[COLUMNS_MAX];
        start_block(sum, &sums, b, !with_m, columns);
#pragma GCC unroll 8
        for (size_t i = 0; i < 8; i++)
            add_quad(sum, load_line(open->q[b][i]), &x, 4 * i, columns);
        add_floats(s, _mm512_load_ps(open->d[b]), &sums, b, sum, tokens, wide);
        if (with_m)
            add_mins(s, _mm512_load_ps(open->m[b]), &sums, b, tokens);
    }
    merge_segment(s, tokens, is_first, y, y_stride);
}

MANY_COPIES(segment, offset, 0)
MANY_COPIES(segment, m, 1)

void kernel_avx512_many_32(enum tensor_type type, const uint8_t *packed, uint32_t groups, const struct kernel_act *x,
                           uint32_t token_first, uint32_t tokens, float *y, size_t y_stride)
{
    struct open_segment open;
    for (uint32_t g = 0; g < groups; g++, y += ROWS) {
        for (uint32_t first = 0; first < x->k; first += KERNEL_SEGMENT) {
            uint32_t k = x->k - first < KERNEL_SEGMENT ? x->k - first : KERNEL_SEGMENT;
            open_segment(type, packed, k / 32, &open);
            run_segment(has_m(type) ? &many_m : &many_offset, &open, x, first, k, token_first, tokens, y, y_stride);
            packed += (size_t)(k + 63) / 64 * kernel_layouts[type].record_bytes;
        }
    }
}
