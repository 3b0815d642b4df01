/* SPDX-License-Identifier: Apache-2.0 */

/* Q2_K, Q3_K, Q4_K, Q5_K, Q6_K: integers throughout a block of 256 k, one float step (two with mins) at its end. */

#include "kernels/avx2/avx2.h"
#include "kernels/avx2/scales.h"
#include "kernels/avx2/tiles.h"

/* Adds 16-bit sums of products times the scale of their sub-block. */
INLINE void add_scaled(__m256i sum[TILE], const __m256i pair[TILE], __m256i scale, int columns)
{
#pragma GCC unroll 4
    for (int c = 0; c < columns; c++)
        sum[c] = _mm256_add_epi32(sum[c], _mm256_madd_epi16(pair[c], scale));
}

/* --- integers of a block: sum over sub-blocks of scale times products --- */

/* @next: what to fetch.  Where rows 8h .. 8h+7 are walked it is their half of it. */
#define HALF_BYTES(type) (kernel_layouts[type].record_bytes / 2)

/* Both halves of the rows. */
INLINE void ints_q4_k(const struct packed_q4_k *p, const uint8_t *next, const struct columns *x, int columns,
                      __m256i sum[2][TILE])
{
    clear(sum[0], columns);
    clear(sum[1], columns);
    for (int part = 0; part < 4; part++) {
#pragma GCC unroll 2
        for (int half = 0; half < 2; half++) {
            __m256i pair[2][TILE];
            fetch_share(next, sizeof *p, (uint32_t)part, (uint32_t)half, 2);
            nibbles_32(p->part[part].nibbles, half, x->q + 64 * part + 32 * half, x->k, columns, pair);
            for (int h = 0; h < 2; h++)
                add_scaled(sum[h], pair[h], scale_pairs_u8(p->part[part].scales[half] + 8 * h), columns);
        }
    }
}

/* Four quads of weights (16 k) times all columns, scaled, into the sums. */
INLINE void add_quads(__m256i sum[TILE], const __m256i w[4], __m256i scale, const int8_t *q, size_t stride, int columns)
{
#pragma GCC unroll 4
    for (int c = 0; c < columns; c++) {
        __m256i pair = quads_16(w, q + (size_t)c * stride);
        sum[c] = _mm256_add_epi32(sum[c], _mm256_madd_epi16(pair, scale));
    }
}

INLINE void ints_q5_k(const struct packed_q5_k *p, const uint8_t *next, int h, const struct columns *x, int columns,
                      __m256i sum[TILE])
{
    clear(sum, columns);
    for (int part = 0; part < 4; part++) {
#pragma GCC unroll 4
        for (int sub = 0; sub < 4; sub++) {
            const int half = sub / 2, first = 4 * (sub % 2);
            fetch_share(next, HALF_BYTES(TENSOR_Q5_K), (uint32_t)part, (uint32_t)sub, 4);
            FORGET(p);
            __m256i w[4], fifth = load_line(p->part[part].bits[half], h);
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++)
                w[i] = _mm256_or_si256(nibble(load_line(p->part[part].nibbles[first + i], h), half),
                                       bits_moved(fifth, first + i, 4, 0x10));
            add_quads(sum, w, scale_pairs_u8(p->part[part].scales[half] + 8 * h), x->q + 64 * part + 16 * sub, x->k,
                      columns);
        }
    }
}

INLINE void ints_q2_k(const struct packed_q2_k *p, const uint8_t *next, int h, const struct columns *x, int columns,
                      __m256i sum[TILE])
{
    clear(sum, columns);
    for (int part = 0; part < 4; part++) {
#pragma GCC unroll 4
        for (int sub = 0; sub < 4; sub++) {
            fetch_share(next, HALF_BYTES(TENSOR_Q2_K), (uint32_t)part, (uint32_t)sub, 4);
            __m256i w[4], pairs = load_line(p->part[part].pairs[sub], h);
            __m256i scale = nibble(scale_pairs_u8(p->part[part].scales[sub] + 8 * h), 0);
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++)
                w[i] = bits_moved(pairs, 2 * i, 0, 3);
            add_quads(sum, w, scale, x->q + 64 * part + 16 * sub, x->k, columns);
        }
    }
}

/* Starts with -offset * sum over sub-blocks of scale * S16: what the offset of unsigned quants adds too much. */
INLINE void start_offset(__m256i sum[TILE], const int8_t scales[16][ROWS], int h, int log2_offset,
                         const struct columns *x, int columns)
{
    clear(sum, columns);
    for (int j = 0; j < 16; j += 2)
        add_sums(sum, _mm256_cvtepi8_epi16(interleaved(scales[j] + 8 * h, scales[j + 1] + 8 * h)), x->s16 + j,
                 x->k / 16, columns);
#pragma GCC unroll 4
    for (int c = 0; c < columns; c++)
        sum[c] = _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_slli_epi32(sum[c], log2_offset));
}

INLINE void ints_q3_k(const struct packed_q3_k *p, const uint8_t *next, const int8_t scales[16][ROWS], int h,
                      const struct columns *x, int columns, __m256i sum[TILE])
{
    start_offset(sum, scales, h, 2, x, columns);
    for (int part = 0; part < 4; part++) {
#pragma GCC unroll 4
        for (int sub = 0; sub < 4; sub++) {
            fetch_share(next, HALF_BYTES(TENSOR_Q3_K), (uint32_t)part, (uint32_t)sub, 4);
            __m256i w[4], pairs = load_line(p->part[part].pairs[sub], h);
            __m256i third = load_line(p->part[part].bits[sub / 2], h);
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++)
                w[i] = _mm256_or_si256(bits_moved(pairs, 2 * i, 0, 3), bits_moved(third, 4 * (sub % 2) + i, 2, 4));
            add_quads(sum, w, scale_pairs_s8(scales[4 * part + sub] + 8 * h), x->q + 64 * part + 16 * sub, x->k,
                      columns);
        }
    }
}

/* Two steps fill 16 bits: 2 * 63 * 127 * 2 = 32004. */
INLINE void add_quads_q6(__m256i sum[TILE], const __m256i w[4], __m256i scale, const int8_t *q, size_t stride,
                         int columns)
{
#pragma GCC unroll 4
    for (int c = 0; c < columns; c++) {
        const int8_t *x = q + (size_t)c * stride;
        __m256i a = _mm256_add_epi16(_mm256_maddubs_epi16(w[0], broadcast_u32(x)),
                                     _mm256_maddubs_epi16(w[1], broadcast_u32(x + 4)));
        __m256i b = _mm256_add_epi16(_mm256_maddubs_epi16(w[2], broadcast_u32(x + 8)),
                                     _mm256_maddubs_epi16(w[3], broadcast_u32(x + 12)));
        sum[c] = _mm256_add_epi32(sum[c], _mm256_madd_epi16(a, scale));
        sum[c] = _mm256_add_epi32(sum[c], _mm256_madd_epi16(b, scale));
    }
}

INLINE void ints_q6_k(const struct packed_q6_k *p, const uint8_t *next, const int8_t scales[16][ROWS], int h,
                      const struct columns *x, int columns, __m256i sum[TILE])
{
    start_offset(sum, scales, h, 5, x, columns);
    for (int part = 0; part < 4; part++) {
#pragma GCC unroll 4
        for (int sub = 0; sub < 4; sub++) {
            const int half = sub / 2, first = 4 * (sub % 2);
            fetch_share(next, HALF_BYTES(TENSOR_Q6_K), (uint32_t)part, (uint32_t)sub, 4);
            FORGET(p);
            __m256i w[4], pairs = load_line(p->part[part].pairs[sub], h);
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++)
                w[i] = _mm256_or_si256(nibble(load_line(p->part[part].nibbles[first + i], h), half),
                                       bits_moved(pairs, 2 * i, 4, 0x30));
            add_quads_q6(sum, w, scale_pairs_s8(scales[4 * part + sub] + 8 * h), x->q + 64 * part + 16 * sub, x->k,
                         columns);
        }
    }
}

/* --- mins of a block: sum over sub-blocks of min times the sum of activations --- */

/* Q4_K, Q5_K: the mins of a part are pairs already; parts are @stride bytes apart. */
INLINE void mins_q45(const uint8_t (*mins)[2], size_t stride, int h, const struct columns *x, int columns,
                     __m256i sum[TILE])
{
    const uint8_t *pairs = mins[8 * h];
    clear(sum, columns);
#pragma GCC unroll 4
    for (int part = 0; part < 4; part++, pairs += stride)
        add_sums(sum, _mm256_cvtepu8_epi16(_mm_load_si128((const __m128i *)pairs)), x->s32 + 2 * part, x->k / 32,
                 columns);
}

INLINE void mins_q2_k(const struct packed_q2_k *p, int h, const struct columns *x, int columns, __m256i sum[TILE])
{
    clear(sum, columns);
#pragma GCC unroll 4
    for (int part = 0; part < 4; part++) {
#pragma GCC unroll 2
        for (int sub = 0; sub < 4; sub += 2) {
            const uint8_t *scales = p->part[part].scales[sub] + 8 * h;
            add_sums(sum, min_pairs_q2_k(scales), x->s16 + 4 * part + sub, x->k / 16, columns);
        }
    }
}

/* --- records --- */

/* Rows 8h .. 8h+7 of one record; @at is at its first k; @scales: those of Q3_K and Q6_K. */
INLINE void add_rows(const enum tensor_type type, const uint8_t *record, const uint8_t *next,
                     const int8_t scales[16][ROWS], int h, const struct columns *at, int tokens, int wide,
                     __m256 s[TILE])
{
    const int columns = wide ? 2 * tokens : tokens;
    struct columns own = *at, *x = &own;
    __m256i sum[TILE];
    FORGET(own.q);
    if (type == TENSOR_Q2_K) {
        const struct packed_q2_k *p = (const struct packed_q2_k *)record;
        ints_q2_k(p, next, h, x, columns, sum);
        add_joined(s, load_f16(p->d + 8 * h), x, sum, 0, tokens, wide);
        mins_q2_k(p, h, x, columns, sum);
        add_joined(s, load_f16(p->dmin + 8 * h), x, sum, 1, tokens, wide);
    } else if (type == TENSOR_Q3_K) {
        const struct packed_q3_k *p = (const struct packed_q3_k *)record;
        ints_q3_k(p, next, scales, h, x, columns, sum);
        add_joined(s, load_f16(p->d + 8 * h), x, sum, 0, tokens, wide);
    } else if (type == TENSOR_Q5_K) {
        const struct packed_q5_k *p = (const struct packed_q5_k *)record;
        ints_q5_k(p, next, h, x, columns, sum);
        add_joined(s, load_f16(p->d + 8 * h), x, sum, 0, tokens, wide);
        mins_q45(p->part[0].mins, sizeof p->part[0], h, x, columns, sum);
        add_joined(s, load_f16(p->dmin + 8 * h), x, sum, 1, tokens, wide);
    } else {
        const struct packed_q6_k *p = (const struct packed_q6_k *)record;
        ints_q6_k(p, next, scales, h, x, columns, sum);
        add_joined(s, load_f16(p->d + 8 * h), x, sum, 0, tokens, wide);
    }
}

INLINE void add_record_q4_k(const struct packed_q4_k *p, const uint8_t *next, const struct columns *x, int tokens,
                            int wide, __m256 s[2][TILE])
{
    const int columns = wide ? 2 * tokens : tokens;
    __m256i sum[2][TILE];
    ints_q4_k(p, next, x, columns, sum);
    for (int h = 0; h < 2; h++) {
        add_joined(s[h], load_f16(p->d + 8 * h), x, sum[h], 0, tokens, wide);
        mins_q45(p->part[0].mins, sizeof p->part[0], h, x, columns, sum[h]);
        add_joined(s[h], load_f16(p->dmin + 8 * h), x, sum[h], 1, tokens, wide);
    }
}

/* One record of 16 rows. */
INLINE void add_record(const enum tensor_type type, const uint8_t *record, const uint8_t *next,
                       const struct columns *x, int tokens, int wide, __m256 s[2][TILE])
{
    if (type == TENSOR_Q4_K) {
        add_record_q4_k((const struct packed_q4_k *)record, next, x, tokens, wide, s);
        return;
    }
    int8_t scales[16][ROWS] __attribute__((aligned(32)));
    if (type == TENSOR_Q3_K)
        unpack_scales_q3_k((const struct packed_q3_k *)record, scales);
    if (type == TENSOR_Q6_K)
        gather_scales_q6_k((const struct packed_q6_k *)record, scales);
    for (int h = 0, n = two(); h < n; h++)
        add_rows(type, record, next ? next + h * HALF_BYTES(type) : NULL, scales, h, x, tokens, wide, s[h]);
}

INLINE void tile_k(const enum tensor_type type, const uint8_t *packed, uint32_t groups, const struct kernel_act *act,
                   uint32_t token, float *y, size_t y_stride, uint32_t fetch, const int tokens, const int wide)
{
    const uint32_t record_bytes = kernel_layouts[type].record_bytes;
    for (uint32_t g = 0; g < groups; g++, y += ROWS) {
        struct columns x = columns_of(act, token);
        for (uint32_t k = 0; k < act->k; k += KERNEL_SEGMENT) {
            uint32_t records = (act->k - k < KERNEL_SEGMENT ? act->k - k : KERNEL_SEGMENT) / KERNEL_BLOCK;
            __m256 s[2][TILE];
            for (int t = 0; t < tokens; t++)
                s[0][t] = s[1][t] = _mm256_setzero_ps();
            for (uint32_t r = 0; r < records; r++, packed += record_bytes) {
                add_record(type, packed, fetched(packed, fetch, r), &x, tokens, wide, s);
                step_columns(&x, KERNEL_BLOCK);
            }
            merge_segment(s, tokens, k == 0, y, y_stride);
        }
    }
}

TILE_MATMUL(tile_k, q2_k, TENSOR_Q2_K, kernel_avx2_matmul_many, FEW)
TILE_MATMUL(tile_k, q3_k, TENSOR_Q3_K, kernel_avx2_matmul_many, FEW)
TILE_MATMUL(tile_k, q4_k, TENSOR_Q4_K, NULL, 0)
TILE_MATMUL(tile_k, q5_k, TENSOR_Q5_K, kernel_avx2_matmul_many, FEW)
TILE_MATMUL(tile_k, q6_k, TENSOR_Q6_K, kernel_avx2_matmul_many, FEW)

void kernel_avx2_init_matmul_k(struct kernel_ops *ops, unsigned traits)
{
    TILE_ENTRY(ops, TENSOR_Q2_K, q2_k, "a256", traits);
    TILE_ENTRY(ops, TENSOR_Q3_K, q3_k, "a256", traits);
    TILE_ENTRY(ops, TENSOR_Q4_K, q4_k, "a256", traits);
    TILE_ENTRY(ops, TENSOR_Q5_K, q5_k, "a256", traits);
    TILE_ENTRY(ops, TENSOR_Q6_K, q6_k, "a256", traits);
}
