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

INLINE void open_records(const enum tensor_type type, const uint8_t *record, uint32_t records, size_t ahead,
                         struct open_record *ret)
{
    const uint32_t bytes = kernel_layouts[type].record_bytes;
    for (uint32_t r = 0; r < records; r++, record += bytes, ret++) {
        int8_t scales[16][ROWS] __attribute__((aligned(64)));
        const uint16_t *d = d_of(type, record);
        fetch_ahead(record, bytes, ahead);
        if (type == TENSOR_Q3_K)
            unpack_scales_q3_k((const struct packed_q3_k *)record, scales);
        for (int part = 0; part < 4; part++)
            open_part(type, record, scales, part, ret);
        _mm512_store_ps(ret->d, load_f16(d));
        if (has_mins(type))
            _mm512_store_ps(ret->dmin, load_f16(d + ROWS));
    }
}

static void open_segment(enum tensor_type type, const uint8_t *packed, uint32_t records, size_t ahead,
                         struct open_record *ret)
{
    switch ((int)type) {
    case TENSOR_Q2_K: open_records(TENSOR_Q2_K, packed, records, ahead, ret); break;
    case TENSOR_Q3_K: open_records(TENSOR_Q3_K, packed, records, ahead, ret); break;
    case TENSOR_Q4_K: open_records(TENSOR_Q4_K, packed, records, ahead, ret); break;
    case TENSOR_Q5_K: open_records(TENSOR_Q5_K, packed, records, ahead, ret); break;
    default: open_records(TENSOR_Q6_K, packed, records, ahead, ret); break;
    }
}

/* --- the tile --- */

INLINE __m512i line_of(const void *line) { return _mm512_load_si512(line); }

/* Q6_K keeps its scales for a multiplication of 32 bits. */
INLINE __m512i scale_of(const enum tensor_type type, const int in_16, const int32_t scale[ROWS])
{
    return type == TENSOR_Q6_K && in_16 ? lower_half(line_of(scale)) : line_of(scale);
}

/*
 * The integers of record @r; @x is at its first k and moves behind its last.  @in_16: the sums of sub-blocks fit 16
 * bits.
 */
INLINE void add_ints(const enum tensor_type type, const int in_16, const struct open_record *u, struct quads *x,
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
        add_scaled(in_16, sum, p, scale_of(type, in_16, u->scale[j]), columns);
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

INLINE void segment(const enum tensor_type type, const int in_16, const struct open_record *u, uint32_t k,
                    const struct columns *first, int is_first, float *y, size_t y_stride, const int tokens,
                    const int wide)
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
        add_ints(type, in_16, u, &x, &sums, r, columns, sum);
        add_joined(s, _mm512_load_ps(u->d), &sums, r, sum, 0, tokens, wide);
        if (has_mins(type)) {
            add_mins(type, u, &sums, r, columns, sum);
            add_joined(s, _mm512_load_ps(u->dmin), &sums, r, sum, 1, tokens, wide);
        }
    }
    merge_segment(s, tokens, is_first, y, y_stride);
}

#define SEGMENT_16(type, open, k, x, is_first, y, y_stride, tokens, wide)                                              \
    segment(type, 1, open, k, x, is_first, y, y_stride, tokens, wide)
#define SEGMENT_32(type, open, k, x, is_first, y, y_stride, tokens, wide)                                              \
    segment(type, 0, open, k, x, is_first, y, y_stride, tokens, wide)

MANY_COPIES(SEGMENT_16, q2_k, TENSOR_Q2_K)
MANY_COPIES(SEGMENT_16, q3_k, TENSOR_Q3_K)
MANY_COPIES(SEGMENT_16, q4_k, TENSOR_Q4_K)
MANY_COPIES(SEGMENT_16, q5_k, TENSOR_Q5_K)
MANY_COPIES(SEGMENT_16, q6_k_16, TENSOR_Q6_K)
MANY_COPIES(SEGMENT_32, q6_k, TENSOR_Q6_K)

/* Q6_K: the second one is for sums that fit 16 bits. */
static const struct many *const copies[TENSOR_TYPE_COUNT][2] = {
    [TENSOR_Q2_K] = { &many_q2_k }, [TENSOR_Q3_K] = { &many_q3_k }, [TENSOR_Q4_K] = { &many_q4_k },
    [TENSOR_Q5_K] = { &many_q5_k }, [TENSOR_Q6_K] = { &many_q6_k, &many_q6_k_16 },
};

/* --- when sums of Q6_K fit 16 bits --- */

/* Looking costs a fifth of a row group's products, and pays where many of them follow. */
#define LOOK_GROUPS 4u
#define LOOK_SEGMENTS 64u
#define LOOK_PARTS 64u

/*
 * A Q6_K sum of 16 k is at most 32 * (sum of 16 magnitudes).  65024 could occur; where every 16 magnitudes of a segment
 * sum to 1023 at most, which they do unless values are as large as the largest of their 256, it fits.
 */
static int sums_fit(const int8_t *q, size_t stride, uint32_t columns, uint32_t k)
{
    __m512i largest = _mm512_setzero_si512();
    for (uint32_t c = 0; c < columns; c++, q += stride) {
        for (uint32_t i = 0; i < k; i += 64) {
            __m512i magnitudes = _mm512_abs_epi8(_mm512_loadu_si512(q + i));
            __m512i eights = _mm512_sad_epu8(magnitudes, _mm512_setzero_si512());
            __m512i sixteens = _mm512_add_epi32(eights, _mm512_shuffle_epi32(eights, _MM_PERM_BADC));
            largest = _mm512_max_epi32(largest, sixteens);
        }
    }
    return _mm512_reduce_max_epi32(largest) <= 1023;
}

/* For each segment a bit for each tile of the first 64. */
static void look(const struct kernel_act *x, uint32_t token_first, uint32_t tokens, uint64_t ret_fit[LOOK_SEGMENTS])
{
    for (uint32_t i = 0; i < LOOK_SEGMENTS && i * KERNEL_SEGMENT < x->k; i++) {
        uint32_t first = i * KERNEL_SEGMENT, k = x->k - first < KERNEL_SEGMENT ? x->k - first : KERNEL_SEGMENT;
        uint32_t parts = parts_of(&many_q6_k, x, tokens), left = tokens, n;
        uint64_t fit = 0;
        for (uint32_t p = 0; left && p < LOOK_PARTS; p++, parts--, left -= n) {
            struct columns at = columns_at(x, token_first + tokens - left, first);
            n = next_part(left, parts);
            fit |= (uint64_t)sums_fit(at.q, at.k, n * x->columns, k) << p;
        }
        ret_fit[i] = fit;
    }
}

/* --- the whole --- */

void kernel_avx512_many_k(enum tensor_type type, const uint8_t *packed, uint32_t groups, const struct kernel_act *x,
                          uint32_t token_first, uint32_t tokens, float *y, size_t y_stride, size_t ahead)
{
    const int looked = type == TENSOR_Q6_K && groups >= LOOK_GROUPS;
    struct open_record open[SEGMENT_RECORDS];
    uint64_t fit[LOOK_SEGMENTS];
    if (looked)
        look(x, token_first, tokens, fit);
    for (uint32_t g = 0; g < groups; g++, y += ROWS) {
        for (uint32_t first = 0; first < x->k; first += KERNEL_SEGMENT) {
            uint32_t k = x->k - first < KERNEL_SEGMENT ? x->k - first : KERNEL_SEGMENT, i = first / KERNEL_SEGMENT;
            size_t bytes = (size_t)(k / KERNEL_BLOCK) * kernel_layouts[type].record_bytes;
            open_segment(type, packed, k / KERNEL_BLOCK, ahead ? bytes : 0, open);
            run_segment(copies[type], looked && i < LOOK_SEGMENTS ? fit[i] : 0, open, x, first, k, token_first, tokens,
                        y, y_stride);
            packed += bytes;
        }
    }
}
