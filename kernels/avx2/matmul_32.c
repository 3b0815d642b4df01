/* SPDX-License-Identifier: Apache-2.0 */

/* Q4_0, Q4_1, Q5_0, Q5_1, Q8_0: one float step per 32 k. */

#include "kernels/avx2/avx2.h"
#include "kernels/avx2/tiles.h"

#define SEGMENT_BLOCKS (KERNEL_SEGMENT / 32)

/*
 * A segment's sums of activations per token and block, the two columns of the int16 profile joined: exact in int32
 * and in f32.  Q4_0 and Q5_0 take offset * sum off the integers, Q4_1 and Q5_1 multiply m with it.
 */
union segment_sums {
    int32_t offset[TILE][SEGMENT_BLOCKS];
    float sum[TILE][SEGMENT_BLOCKS];
};

INLINE int32_t joined_sum(const int16_t *s, size_t column_stride, int wide)
{
    return wide ? 128 * s[0] + s[column_stride] : s[0];
}

INLINE __m256i joined_sums_8(const int16_t *s, size_t column_stride, int wide)
{
    __m256i high = _mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)s));
    if (!wide)
        return high;
    __m256i low = _mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)(s + column_stride)));
    return _mm256_add_epi32(_mm256_slli_epi32(high, 7), low);
}

INLINE void read_sums(const struct columns *x, uint32_t block, uint32_t blocks, int offset, int tokens, int wide,
                      union segment_sums *ret)
{
    const size_t stride = x->k / 32;
    for (int t = 0; t < tokens; t++) {
        const int16_t *s = x->s32 + (size_t)t * (wide ? 2 : 1) * stride + block;
        uint32_t b = 0;
        for (; b + 8 <= blocks; b += 8) {
            __m256i v = joined_sums_8(s + b, stride, wide);
            if (offset)
                _mm256_storeu_si256((__m256i *)&ret->offset[t][b], _mm256_slli_epi32(v, offset == 8 ? 3 : 4));
            else
                _mm256_storeu_ps(&ret->sum[t][b], _mm256_cvtepi32_ps(v));
        }
        for (; b < blocks; b++) {
            if (offset)
                ret->offset[t][b] = offset * joined_sum(s + b, stride, wide);
            else
                ret->sum[t][b] = (float)joined_sum(s + b, stride, wide);
        }
    }
}

/* The factor with which a 16-bit sum enters the joined int32: 128 for the high column. */
INLINE __m256i column_factor(int column, int wide) { return _mm256_set1_epi16(wide && column % 2 == 0 ? 128 : 1); }

/* sum[t] += or = a column's 16-bit sums, joined. */
INLINE void join_columns(__m256i sum[TILE], const __m256i pair[TILE], int columns, int wide)
{
#pragma GCC unroll 4
    for (int c = 0; c < columns; c++) {
        __m256i p = _mm256_madd_epi16(pair[c], column_factor(c, wide));
        if (wide)
            sum[c / 2] = c % 2 ? _mm256_add_epi32(sum[c / 2], p) : p;
        else
            sum[c] = p;
    }
}

/* Rows 8h .. 8h+7 of one half. */
INLINE void ints_q5(const uint8_t lines[8][LINE], const uint8_t bits[2][LINE], int half, int h, const int8_t *q,
                    size_t stride, int tokens, int wide, __m256i sum[TILE])
{
    const int columns = wide ? 2 * tokens : tokens;
#pragma GCC unroll 2
    for (int first = 0; first < 8; first += 4) {
        FORGET(lines);
        __m256i w[4], fifth = load_line(bits[half], h);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            w[i] = _mm256_or_si256(nibble(load_line(lines[first + i], h), half),
                                   bits_moved(fifth, first + i, 4, 0x10));
#pragma GCC unroll 4
        for (int c = 0; c < columns; c++) {
            int t = wide ? c / 2 : c, is_first = first == 0 && !(wide && c % 2);
            __m256i p = quads_16(w, q + (size_t)c * stride + 4 * first);
            p = _mm256_madd_epi16(p, column_factor(c, wide));
            sum[t] = is_first ? p : _mm256_add_epi32(sum[t], p);
        }
    }
}

/* |w| is unsigned and the sign goes to the activation; one step fills 16 bits: 128 * 127 * 2 = 32512. */
INLINE void ints_q8(const int8_t lines[8][LINE], const int8_t *q, size_t stride, int tokens, int wide,
                    __m256i sum[2][TILE])
{
    const int columns = wide ? 2 * tokens : tokens;
    const __m256i one = _mm256_set1_epi16(1);
    __m256i each[2][TILE];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        __m256i w0 = load_line((const uint8_t *)lines[i], 0), w1 = load_line((const uint8_t *)lines[i], 1);
        __m256i a0 = _mm256_abs_epi8(w0), a1 = _mm256_abs_epi8(w1);
#pragma GCC unroll 4
        for (int c = 0; c < columns; c++) {
            __m256i x = broadcast_u32(q + (size_t)c * stride + 4 * i);
            __m256i p0 = _mm256_madd_epi16(_mm256_maddubs_epi16(a0, _mm256_sign_epi8(x, w0)), one);
            __m256i p1 = _mm256_madd_epi16(_mm256_maddubs_epi16(a1, _mm256_sign_epi8(x, w1)), one);
            each[0][c] = i ? _mm256_add_epi32(each[0][c], p0) : p0;
            each[1][c] = i ? _mm256_add_epi32(each[1][c], p1) : p1;
        }
    }
#pragma GCC unroll 4
    for (int t = 0; t < tokens; t++)
        for (int h = 0; h < 2; h++)
            sum[h][t] = wide ? _mm256_add_epi32(_mm256_slli_epi32(each[h][2 * t], 7), each[h][2 * t + 1]) : each[h][t];
}

/* s = fma(d * dx, I, s), and with mins s = fma(m * dx, S, s), for one block of all tokens, rows 8h .. 8h+7. */
INLINE void add_block(__m256 s[TILE], const uint16_t *d, const uint16_t *m, const float *dx, size_t dx_stride,
                      const __m256i sum[TILE], const union segment_sums *sums, uint32_t block, int offset, int tokens)
{
    const __m256 dh = load_f16(d), mh = m ? load_f16(m) : _mm256_setzero_ps();
#pragma GCC unroll 4
    for (int t = 0; t < tokens; t++) {
        __m256i ints = sum[t];
        __m256 x = _mm256_broadcast_ss(dx + (size_t)t * dx_stride);
        if (offset)
            ints = _mm256_sub_epi32(ints, broadcast_u32(&sums->offset[t][block]));
        s[t] = _mm256_fmadd_ps(_mm256_mul_ps(dh, x), _mm256_cvtepi32_ps(ints), s[t]);
        if (m)
            s[t] = _mm256_fmadd_ps(_mm256_mul_ps(mh, x), _mm256_broadcast_ss(&sums->sum[t][block]), s[t]);
    }
}

/* A record's scales and mins: two arrays [half][row] one behind the other. */
INLINE const uint16_t *scales_of(const enum tensor_type type, const uint8_t *record)
{
    switch ((int)type) {
    case TENSOR_Q4_0: return ((const struct packed_q4_0 *)record)->d[0];
    case TENSOR_Q4_1: return ((const struct packed_q4_1 *)record)->d[0];
    case TENSOR_Q5_0: return ((const struct packed_q5_0 *)record)->d[0];
    case TENSOR_Q5_1: return ((const struct packed_q5_1 *)record)->d[0];
    default: return ((const struct packed_q8_0 *)record)->d[0];
    }
}

INLINE int offset_of(const enum tensor_type type) { return type == TENSOR_Q4_0 ? 8 : type == TENSOR_Q5_0 ? 16 : 0; }

/* One segment's part of a row group, as it is walked. */
struct walk {
    const uint8_t *record;
    struct columns x;               /* at the record's first k */
    uint32_t block;                 /* of the segment */
    uint32_t fetch;                 /* records to fetch, a bit for each */
    union segment_sums sums;
};

/* Rows 8h .. 8h+7: the floats of one half. */
INLINE void add_rows(const enum tensor_type type, const struct walk *w, int half, int h, const __m256i sum[TILE],
                     int tokens, __m256 s[TILE])
{
    const uint16_t *d = scales_of(type, w->record) + half * ROWS + 8 * h;
    const uint16_t *m = type == TENSOR_Q4_1 || type == TENSOR_Q5_1 ? d + 2 * ROWS : NULL;
    add_block(s, d, m, w->x.d + half, w->x.d_stride, sum, &w->sums, w->block + half, offset_of(type), tokens);
}

/* Both halves of the rows of one half of a record: 4 and 8 bits. */
INLINE void add_half(const enum tensor_type type, const struct walk *w, const uint8_t *next, int half, int tokens,
                     int wide, __m256 s[2][TILE])
{
    const int columns = wide ? 2 * tokens : tokens;
    const int8_t *q = w->x.q + 32 * half;
    __m256i pair[2][TILE], sum[2][TILE];
    fetch_share(next, kernel_layouts[type].record_bytes, 2 * (uint32_t)half, 0, 1);
    fetch_share(next, kernel_layouts[type].record_bytes, 2 * (uint32_t)half + 1, 0, 1);
    if (type == TENSOR_Q8_0) {
        ints_q8(((const struct packed_q8_0 *)w->record)->q[half], q, w->x.k, tokens, wide, sum);
    } else {
        nibbles_32(((const struct packed_q4_0 *)w->record)->nibbles, half, q, w->x.k, columns, pair);
        join_columns(sum[0], pair[0], columns, wide);
        join_columns(sum[1], pair[1], columns, wide);
    }
#pragma GCC unroll 2
    for (int h = 0; h < 2; h++)
        add_rows(type, w, half, h, sum[h], tokens, s[h]);
}

/* Rows 8h .. 8h+7 of a whole record or of its first half: 5 bits. */
INLINE void add_halves_q5(const enum tensor_type type, const struct walk *w, const uint8_t *next, int halves, int h,
                          int tokens, int wide, __m256 s[TILE])
{
    const struct packed_q5_0 *p = (const struct packed_q5_0 *)w->record;
    const int8_t *q = w->x.q;
    FORGET(q);
#pragma GCC unroll 2
    for (int half = 0; half < halves; half++) {
        __m256i sum[TILE];
        fetch_share(next, kernel_layouts[type].record_bytes, (uint32_t)(2 * h + half), 0, 1);
        ints_q5(p->nibbles, p->bits, half, h, q + 32 * half, w->x.k, tokens, wide, sum);
        add_rows(type, w, half, h, sum, tokens, s);
    }
}

/* A record, or (@halves 1) what of it is inside the row; then on to the next. */
INLINE void add_record(const enum tensor_type type, struct walk *w, int halves, int tokens, int wide,
                       __m256 s[2][TILE])
{
    const uint8_t *next = fetched(w->record, w->fetch, w->block / 2);
    if (type == TENSOR_Q5_0 || type == TENSOR_Q5_1) {
        for (int h = 0, n = two(); h < n; h++)
            add_halves_q5(type, w, next, halves, h, tokens, wide, s[h]);
    } else {
#pragma GCC unroll 2
        for (int half = 0; half < halves; half++)
            add_half(type, w, next, half, tokens, wide, s);
    }
    w->record += kernel_layouts[type].record_bytes;
    w->x.q += 64;
    w->x.d += 2;
    w->block += 2;
}

INLINE void tile_32(const enum tensor_type type, const uint8_t *packed, uint32_t groups, const struct kernel_act *act,
                    uint32_t token, float *y, size_t y_stride, uint32_t fetch, const int tokens, const int wide)
{
    struct walk w;
    w.record = packed;
    w.fetch = fetch;
    for (uint32_t g = 0; g < groups; g++, y += ROWS) {
        w.x = columns_of(act, token);
        for (uint32_t k = 0; k < act->k; k += KERNEL_SEGMENT) {
            uint32_t blocks = (act->k - k < KERNEL_SEGMENT ? act->k - k : KERNEL_SEGMENT) / 32;
            __m256 s[2][TILE];
            for (int t = 0; t < tokens; t++)
                s[0][t] = s[1][t] = _mm256_setzero_ps();
            w.block = 0;
            if (type != TENSOR_Q8_0)
                read_sums(&w.x, k / 32, blocks, offset_of(type), tokens, wide, &w.sums);
            while (w.block + 2 <= blocks)
                add_record(type, &w, 2, tokens, wide, s);
            if (w.block < blocks)
                add_record(type, &w, 1, tokens, wide, s);
            merge_segment(s, tokens, k == 0, y, y_stride);
        }
    }
}

TILE_MATMUL(tile_32, q4_0, TENSOR_Q4_0, NULL, 0)
TILE_MATMUL(tile_32, q4_1, TENSOR_Q4_1, NULL, 0)
TILE_MATMUL(tile_32, q5_0, TENSOR_Q5_0, NULL, 0)
TILE_MATMUL(tile_32, q5_1, TENSOR_Q5_1, NULL, 0)
TILE_MATMUL(tile_32, q8_0, TENSOR_Q8_0, NULL, 0)

void kernel_avx2_init_matmul_32(struct kernel_ops *ops, unsigned traits)
{
    TILE_ENTRY(ops, TENSOR_Q4_0, q4_0, "a32", traits);
    TILE_ENTRY(ops, TENSOR_Q4_1, q4_1, "a32", traits);
    TILE_ENTRY(ops, TENSOR_Q5_0, q5_0, "a32", traits);
    TILE_ENTRY(ops, TENSOR_Q5_1, q5_1, "a32", traits);
    TILE_ENTRY(ops, TENSOR_Q8_0, q8_0, "a32", traits);
}
