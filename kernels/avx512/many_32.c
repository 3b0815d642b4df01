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

INLINE void open_records(const enum tensor_type type, const uint8_t *record, uint32_t blocks, size_t ahead,
                         struct open_segment *ret)
{
    const uint32_t bytes = kernel_layouts[type].record_bytes;
    ret->offset = offset_of(type);
    for (uint32_t b = 0; b < blocks; b += 2, record += bytes) {
        fetch_ahead(record, bytes, ahead);
        open_record(type, record, ret, b);
    }
}

static void open_segment(enum tensor_type type, const uint8_t *packed, uint32_t blocks, size_t ahead,
                         struct open_segment *ret)
{
    switch ((int)type) {
    case TENSOR_Q4_0: open_records(TENSOR_Q4_0, packed, blocks, ahead, ret); break;
    case TENSOR_Q4_1: open_records(TENSOR_Q4_1, packed, blocks, ahead, ret); break;
    case TENSOR_Q5_0: open_records(TENSOR_Q5_0, packed, blocks, ahead, ret); break;
    case TENSOR_Q5_1: open_records(TENSOR_Q5_1, packed, blocks, ahead, ret); break;
    default: open_records(TENSOR_Q8_0, packed, blocks, ahead, ret); break;
    }
}

/* Block @b of one row group or of two. */
INLINE void add_block(const int with_m, const struct open_segment *open, uint32_t b, const struct quads *x,
                      const struct sums_32 *sums, __m512 s[2][COLUMNS_MAX], int groups, int tokens, int wide)
{
    const int columns = wide ? 2 * tokens : tokens;
    __m512i sum[2][COLUMNS_MAX];
#pragma GCC unroll 2
    for (int g = 0; g < groups; g++)
        start_block(sum[g], sums, b, !with_m, columns);
#pragma GCC unroll 8
    for (size_t i = 0; i < 8; i++) {
        if (groups == 2)
            add_quad_pair(sum, load_line(open[0].q[b][i]), load_line(open[1].q[b][i]), x, 4 * i, columns);
        else
            add_quad(sum[0], load_line(open->q[b][i]), x, 4 * i, columns);
    }
#pragma GCC unroll 2
    for (int g = 0; g < groups; g++) {
        add_floats(s[g], _mm512_load_ps(open[g].d[b]), sums, b, sum[g], tokens, wide);
        if (with_m)
            add_mins(s[g], _mm512_load_ps(open[g].m[b]), sums, b, tokens);
    }
}

/* @with_m: m and no offset; else an offset and no m. */
INLINE void segment(const int with_m, const struct open_segment *open, uint32_t k, const struct columns *first,
                    int is_first, float *y, size_t y_stride, const int groups, const int tokens, const int wide)
{
    const int columns = wide ? 2 * tokens : tokens;
    struct quads x = quads_of(first, columns);
    struct sums_32 sums;
    __m512 s[2][COLUMNS_MAX];
#pragma GCC unroll 2
    for (int g = 0; g < groups; g++)
#pragma GCC unroll 12
        for (int t = 0; t < tokens; t++)
            s[g][t] = _mm512_setzero_ps();
    read_sums(first, k / 32, open->offset, with_m, tokens, wide, &sums);
    for (uint32_t b = 0; b < k / 32; b++, step_quads(&x, 32, columns))
        add_block(with_m, open, b, &x, &sums, s, groups, tokens, wide);
#pragma GCC unroll 2
    for (int g = 0; g < groups; g++)
        merge_segment(s[g], tokens, is_first, y + g * (int)ROWS, y_stride);
}

#define SEGMENT_ONE(with_m, open, k, x, is_first, y, y_stride, tokens, wide)                                           \
    segment(with_m, open, k, x, is_first, y, y_stride, 1, tokens, wide)
#define SEGMENT_PAIR(with_m, open, k, x, is_first, y, y_stride, tokens, wide)                                          \
    segment(with_m, open, k, x, is_first, y, y_stride, 2, tokens, wide)

MANY_COPIES(SEGMENT_ONE, offset, 0)
MANY_COPIES(SEGMENT_ONE, m, 1)
PAIR_COPIES(SEGMENT_PAIR, pair_offset, 0)
PAIR_COPIES(SEGMENT_PAIR, pair_m, 1)

static const struct many *const copies[2][2] = {        /* [has_m][groups - 1] */
    { &many_offset, &many_pair_offset }, { &many_m, &many_pair_m },
};

/* Two row groups at a time, and one that is left. */
void kernel_avx512_many_32(enum tensor_type type, const uint8_t *packed, uint32_t groups, const struct kernel_act *x,
                           uint32_t token_first, uint32_t tokens, float *y, size_t y_stride, size_t ahead)
{
    const size_t group_bytes = kernel_group_bytes(type, x->k);
    struct open_segment open[2];
    for (uint32_t g = 0, n; g < groups; g += n, y += n * ROWS) {
        const uint8_t *p = packed + g * group_bytes;
        n = groups - g < 2 ? 1 : 2;
        for (uint32_t first = 0; first < x->k; first += KERNEL_SEGMENT) {
            uint32_t k = x->k - first < KERNEL_SEGMENT ? x->k - first : KERNEL_SEGMENT;
            size_t bytes = (size_t)(k + 63) / 64 * kernel_layouts[type].record_bytes;
            for (uint32_t i = 0; i < n; i++)
                open_segment(type, p + i * group_bytes, k / 32, ahead ? bytes : 0, &open[i]);
            run_segment(&copies[has_m(type)][n - 1], 0, open, x, first, k, token_first, tokens, y, y_stride);
            p += bytes;
        }
    }
}
