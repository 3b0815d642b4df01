/* SPDX-License-Identifier: Apache-2.0 */

/* Q2_K, Q3_K, Q4_K, Q5_K, Q6_K times many tokens. */

#include "kernels/avx512/avx512.h"
#include "kernels/avx512/many.h"
#include "kernels/avx512/scales.h"

/* A block of 256 k of 16 rows. */
struct open_record {
    uint8_t q[64][LINE];                        /* [quad]: unsigned, before their offset */
    int32_t scale[16][ROWS];                    /* [sub-block] */
    int32_t mins[8][ROWS];                      /* pairs: Q2_K of sub-blocks of 16, Q4_K and Q5_K (four) of 32 */
    int32_t start[4][ROWS];                     /* Q5_K: pairs of the scales of sub-blocks of 32 */
    float d[ROWS], dmin[ROWS];
} __attribute__((aligned(64)));

/* --- taking apart --- */

INLINE void store_line(void *line, __m512i v) { _mm512_store_si512(line, v); }

INLINE void open_part(const enum tensor_type type, const uint8_t *record, const int8_t scales[16][ROWS], int part,
                      struct open_record *ret)
{
#pragma GCC unroll 4
    for (int sub = 0; sub < 4; sub++) {
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            store_line(ret->q[16 * part + 4 * sub + i], quad_k(type, record, part, sub, i));
        store_line(ret->scale[4 * part + sub], scale_k(type, record, scales, part, sub));
    }
    if (type == TENSOR_Q2_K) {
        store_line(ret->mins[2 * part], min_pairs(type, record, part, 0));
        store_line(ret->mins[2 * part + 1], min_pairs(type, record, part, 2));
    } else if (has_mins(type)) {
        store_line(ret->mins[part], min_pairs(type, record, part, 0));
    }
    if (type == TENSOR_Q5_K)
        store_line(ret->start[part], scale_pairs(type, record, part));
}

INLINE void open_records(const enum tensor_type type, const uint8_t *record, uint32_t records, struct open_record *ret)
{
    for (uint32_t r = 0; r < records; r++, record += kernel_layouts[type].record_bytes, ret++) {
        int8_t scales[16][ROWS] __attribute__((aligned(64)));
        const uint16_t *d = d_of(type, record);
        if (type == TENSOR_Q3_K)
            unpack_scales_q3_k((const struct packed_q3_k *)record, scales);
        for (int part = 0; part < 4; part++)
            open_part(type, record, scales, part, ret);
        _mm512_store_ps(ret->d, load_f16(d));
        if (has_mins(type))
            _mm512_store_ps(ret->dmin, load_f16(d + ROWS));
    }
}

static void open_segment(enum tensor_type type, const uint8_t *packed, uint32_t records, struct open_record *ret)
{
    switch ((int)type) {
    case TENSOR_Q2_K: open_records(TENSOR_Q2_K, packed, records, ret); break;
    case TENSOR_Q3_K: open_records(TENSOR_Q3_K, packed, records, ret); break;
    case TENSOR_Q4_K: open_records(TENSOR_Q4_K, packed, records, ret); break;
    case TENSOR_Q5_K: open_records(TENSOR_Q5_K, packed, records, ret); break;
    default: open_records(TENSOR_Q6_K, packed, records, ret); break;
    }
}

/* --- the tile --- */

INLINE __m512i line_of(const void *line) { return _mm512_load_si512(line); }

/* The integers of record @r; @x is at its first k and moves behind its last. */
INLINE void add_ints(const enum tensor_type type, const struct open_record *u, struct quads *x,
                     const struct sums_k *sums, uint32_t r, int columns, __m512i sum[COLUMNS_MAX])
{
    clear(sum, columns);
    if (type == TENSOR_Q5_K) {
#pragma GCC unroll 1
        for (uint32_t i = 0; i < 4; i++)
            add_sums(sum, line_of(u->start[i]), sums, 8 * r + 2 * i, columns);
        times_16(sum, columns);
    }
    for (uint32_t j = 0; j < 16; j++, step_quads(x, 16, columns)) {
        __m512i p[COLUMNS_MAX];
        start_sub(type, p, sums, 16 * r + j, columns);
#pragma GCC unroll 4
        for (size_t i = 0; i < 4; i++)
            add_quad(p, line_of(u->q[4 * j + i]), x, 4 * i, columns);
        add_scaled(type, sum, p, line_of(u->scale[j]), columns);
    }
}

INLINE void add_mins(const enum tensor_type type, const struct open_record *u, const struct sums_k *sums, uint32_t r,
                     int columns, __m512i sum[COLUMNS_MAX])
{
    const uint32_t pairs = type == TENSOR_Q2_K ? 8 : 4;
    clear(sum, columns);
#pragma GCC unroll 1
    for (uint32_t i = 0; i < pairs; i++)
        add_sums(sum, line_of(u->mins[i]), sums, 2 * (pairs * r + i), columns);
}

INLINE void segment(const enum tensor_type type, const struct open_record *u, uint32_t k, const struct columns *first,
                    int is_first, float *y, size_t y_stride, const int tokens, const int wide)
{
    const int columns = wide ? 2 * tokens : tokens;
    struct quads x = quads_of(first, columns);
    struct sums_k sums;
    __m512 s[COLUMNS_MAX];
#pragma GCC unroll 12
    for (int t = 0; t < tokens; t++)
        s[t] = _mm512_setzero_ps();
    read_sums(type, first, k, tokens, wide, &sums);
    for (uint32_t r = 0; r < k / KERNEL_BLOCK; r++, u++) {
        __m512i sum[COLUMNS_MAX];
        add_ints(type, u, &x, &sums, r, columns, sum);
        add_joined(s, _mm512_load_ps(u->d), &sums, r, sum, 0, tokens, wide);
        if (has_mins(type)) {
            add_mins(type, u, &sums, r, columns, sum);
            add_joined(s, _mm512_load_ps(u->dmin), &sums, r, sum, 1, tokens, wide);
        }
    }
    merge_segment(s, tokens, is_first, y, y_stride);
}

MANY_COPIES(segment, q2_k, TENSOR_Q2_K)
MANY_COPIES(segment, q3_k, TENSOR_Q3_K)
MANY_COPIES(segment, q4_k, TENSOR_Q4_K)
MANY_COPIES(segment, q5_k, TENSOR_Q5_K)
MANY_COPIES(segment, q6_k, TENSOR_Q6_K)

INLINE const struct many *many_of(enum tensor_type type)
{
    switch ((int)type) {
    case TENSOR_Q2_K: return &many_q2_k;
    case TENSOR_Q3_K: return &many_q3_k;
    case TENSOR_Q4_K: return &many_q4_k;
    case TENSOR_Q5_K: return &many_q5_k;
    default: return &many_q6_k;
    }
}

void kernel_avx512_many_k(enum tensor_type type, const uint8_t *packed, uint32_t groups, const struct kernel_act *x,
                          uint32_t token_first, uint32_t tokens, float *y, size_t y_stride)
{
    struct open_record open[SEGMENT_RECORDS];
    for (uint32_t g = 0; g < groups; g++, y += ROWS) {
        for (uint32_t first = 0; first < x->k; first += KERNEL_SEGMENT) {
            uint32_t k = x->k - first < KERNEL_SEGMENT ? x->k - first : KERNEL_SEGMENT;
            open_segment(type, packed, k / KERNEL_BLOCK, open);
            run_segment(many_of(type), open, x, first, k, token_first, tokens, y, y_stride);
            packed += (size_t)(k / KERNEL_BLOCK) * kernel_layouts[type].record_bytes;
        }
    }
}
