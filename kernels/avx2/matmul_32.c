/* SPDX-License-Identifier: Apache-2.0 */

/* Q4_0, Q4_1, Q5_0, Q5_1, Q8_0: one float step per 32 k. */

#include "kernels/avx2/avx2.h"
#include "kernels/avx2/tile.h"

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

INLINE void ints_q4(const uint8_t lines[8][LINE], int half, const int8_t *q, size_t stride, int tokens, int wide,
                    __m256i sum[2][TILE])
{
    const int columns = wide ? 2 * tokens : tokens;
    __m256i pair[2][TILE];
    nibbles_32(lines, half, q, stride, columns, pair);
#pragma GCC unroll 4
    for (int c = 0; c < columns; c++) {
        for (int h = 0; h < 2; h++) {
            __m256i p = _mm256_madd_epi16(pair[h][c], column_factor(c, wide));
            if (wide)
                sum[h][c / 2] = c % 2 ? _mm256_add_epi32(sum[h][c / 2], p) : p;
            else
                sum[h][c] = p;
        }
    }
}

INLINE void ints_q5(const uint8_t lines[8][LINE], const uint8_t *bits, int half, const int8_t *q, size_t stride,
                    int tokens, int wide, __m256i sum[2][TILE])
{
    const int columns = wide ? 2 * tokens : tokens;
#pragma GCC unroll 2
    for (int first = 0; first < 8; first += 4) {
#pragma GCC unroll 2
        for (int h = 0; h < 2; h++) {
            __m256i w[4], fifth = load_line(bits, h);
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++)
                w[i] = _mm256_or_si256(nibble(load_line(lines[first + i], h), half),
                                       bits_moved(fifth, first + i, 4, 0x10));
#pragma GCC unroll 4
            for (int c = 0; c < columns; c++) {
                int t = wide ? c / 2 : c, is_first = first == 0 && !(wide && c % 2);
                __m256i p = quads_16(w, q + (size_t)c * stride + 4 * first);
                p = _mm256_madd_epi16(p, column_factor(c, wide));
                sum[h][t] = is_first ? p : _mm256_add_epi32(sum[h][t], p);
            }
        }
    }
}

/* |w| is unsigned and the sign goes to the activation; one step fills 16 bits: 128 * 127 * 2 = 32512. */
INLINE void ints_q8(const int8_t lines[8][LINE], const int8_t *q, size_t stride, int tokens, int wide,
                    __m256i sum[2][TILE])
{
    const int columns = wide ? 2 * tokens : tokens;
    const __m256i one = _mm256_set1_epi16(1);
    __m256i column_sum[2][TILE];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        __m256i w0 = load_line((const uint8_t *)lines[i], 0), w1 = load_line((const uint8_t *)lines[i], 1);
        __m256i a0 = _mm256_abs_epi8(w0), a1 = _mm256_abs_epi8(w1);
#pragma GCC unroll 4
        for (int c = 0; c < columns; c++) {
            __m256i x = broadcast_u32(q + (size_t)c * stride + 4 * i);
            __m256i p0 = _mm256_madd_epi16(_mm256_maddubs_epi16(a0, _mm256_sign_epi8(x, w0)), one);
            __m256i p1 = _mm256_madd_epi16(_mm256_maddubs_epi16(a1, _mm256_sign_epi8(x, w1)), one);
            column_sum[0][c] = i ? _mm256_add_epi32(column_sum[0][c], p0) : p0;
            column_sum[1][c] = i ? _mm256_add_epi32(column_sum[1][c], p1) : p1;
        }
    }
    for (int t = 0; t < tokens; t++)
        for (int h = 0; h < 2; h++)
            sum[h][t] = wide ? _mm256_add_epi32(_mm256_slli_epi32(column_sum[h][2 * t], 7), column_sum[h][2 * t + 1])
                             : column_sum[h][t];
}

/* s = fma(d * dx, I, s), and with mins s = fma(m * dx, S, s), for one block of all tokens. */
INLINE void add_block(__m256 s[2][TILE], const uint16_t *d, const uint16_t *m, const float *dx, size_t dx_stride,
                      const __m256i sum[2][TILE], const union segment_sums *sums, uint32_t block, int offset,
                      int tokens)
{
#pragma GCC unroll 2
    for (int h = 0; h < 2; h++) {
        __m256 dh = load_f16(d + 8 * h), mh = m ? load_f16(m + 8 * h) : _mm256_setzero_ps();
#pragma GCC unroll 4
        for (int t = 0; t < tokens; t++) {
            __m256i ints = sum[h][t];
            __m256 x = _mm256_broadcast_ss(dx + (size_t)t * dx_stride);
            if (offset)
                ints = _mm256_sub_epi32(ints, broadcast_u32(&sums->offset[t][block]));
            s[h][t] = _mm256_fmadd_ps(_mm256_mul_ps(dh, x), _mm256_cvtepi32_ps(ints), s[h][t]);
            if (m)
                s[h][t] = _mm256_fmadd_ps(_mm256_mul_ps(mh, x), _mm256_broadcast_ss(&sums->sum[t][block]), s[h][t]);
        }
    }
}

/* Half @half of a record: block @block of its segment, @x at the block's first k. */
INLINE void add_half(const enum tensor_type type, const uint8_t *record, int half, const struct columns *x,
                     const union segment_sums *sums, uint32_t block, int tokens, int wide, __m256 s[2][TILE])
{
    __m256i sum[2][TILE];
    if (type == TENSOR_Q4_0) {
        const struct packed_q4_0 *p = (const struct packed_q4_0 *)record;
        ints_q4(p->nibbles, half, x->q, x->k, tokens, wide, sum);
        add_block(s, p->d[half], NULL, x->d, x->d_stride, sum, sums, block, 8, tokens);
    } else if (type == TENSOR_Q4_1) {
        const struct packed_q4_1 *p = (const struct packed_q4_1 *)record;
        ints_q4(p->nibbles, half, x->q, x->k, tokens, wide, sum);
        add_block(s, p->d[half], p->m[half], x->d, x->d_stride, sum, sums, block, 0, tokens);
    } else if (type == TENSOR_Q5_0) {
        const struct packed_q5_0 *p = (const struct packed_q5_0 *)record;
        ints_q5(p->nibbles, p->bits[half], half, x->q, x->k, tokens, wide, sum);
        add_block(s, p->d[half], NULL, x->d, x->d_stride, sum, sums, block, 16, tokens);
    } else if (type == TENSOR_Q5_1) {
        const struct packed_q5_1 *p = (const struct packed_q5_1 *)record;
        ints_q5(p->nibbles, p->bits[half], half, x->q, x->k, tokens, wide, sum);
        add_block(s, p->d[half], p->m[half], x->d, x->d_stride, sum, sums, block, 0, tokens);
    } else {
        const struct packed_q8_0 *p = (const struct packed_q8_0 *)record;
        ints_q8(p->q[half], x->q, x->k, tokens, wide, sum);
        add_block(s, p->d[half], NULL, x->d, x->d_stride, sum, sums, block, 0, tokens);
    }
}

INLINE void step_block(struct columns *x)
{
    x->q += 32;
    x->d += 1;
}

INLINE void tile_32(const enum tensor_type type, const uint8_t *packed, uint32_t groups, const struct kernel_act *act,
                    uint32_t token, float *y, size_t y_stride, const int tokens, const int wide)
{
    const uint32_t record_bytes = kernel_layouts[type].record_bytes;
    const int offset = type == TENSOR_Q4_0 ? 8 : type == TENSOR_Q5_0 ? 16 : 0;
    for (uint32_t g = 0; g < groups; g++, y += ROWS) {
        struct columns x = columns_of(act, token);
        for (uint32_t k = 0; k < act->k; k += KERNEL_SEGMENT) {
            uint32_t blocks = (act->k - k < KERNEL_SEGMENT ? act->k - k : KERNEL_SEGMENT) / 32;
            union segment_sums sums;
            __m256 s[2][TILE];
            for (int t = 0; t < tokens; t++)
                s[0][t] = s[1][t] = _mm256_setzero_ps();
            if (type != TENSOR_Q8_0)
                read_sums(&x, k / 32, blocks, offset, tokens, wide, &sums);
            for (uint32_t b = 0; b < blocks; b += 2, packed += record_bytes) {
                add_half(type, packed, 0, &x, &sums, b, tokens, wide, s);
                step_block(&x);
                if (b + 1 == blocks)
                    continue;
                add_half(type, packed, 1, &x, &sums, b + 1, tokens, wide, s);
                step_block(&x);
            }
            merge_segment(s, tokens, k == 0, y, y_stride);
        }
    }
}

TILE_MATMUL(tile_32, q4_0, TENSOR_Q4_0)
TILE_MATMUL(tile_32, q4_1, TENSOR_Q4_1)
TILE_MATMUL(tile_32, q5_0, TENSOR_Q5_0)
TILE_MATMUL(tile_32, q5_1, TENSOR_Q5_1)
TILE_MATMUL(tile_32, q8_0, TENSOR_Q8_0)

void kernel_avx2_init_matmul_32(struct kernel_ops *ops)
{
    ops->matmul[TENSOR_Q4_0] = matmul_q4_0;
    ops->matmul[TENSOR_Q4_1] = matmul_q4_1;
    ops->matmul[TENSOR_Q5_0] = matmul_q5_0;
    ops->matmul[TENSOR_Q5_1] = matmul_q5_1;
    ops->matmul[TENSOR_Q8_0] = matmul_q8_0;
    ops->matmul_name[TENSOR_Q4_0] = "matmul_q4_0_a32_f32__avx2_16x4";
    ops->matmul_name[TENSOR_Q4_1] = "matmul_q4_1_a32_f32__avx2_16x4";
    ops->matmul_name[TENSOR_Q5_0] = "matmul_q5_0_a32_f32__avx2_16x4";
    ops->matmul_name[TENSOR_Q5_1] = "matmul_q5_1_a32_f32__avx2_16x4";
    ops->matmul_name[TENSOR_Q8_0] = "matmul_q8_0_a32_f32__avx2_16x4";
}
