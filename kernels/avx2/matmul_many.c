/* SPDX-License-Identifier: Apache-2.0 */

/*
 * K-quants times many tokens.  A segment of a row group is taken apart once: quants to bytes, scales to the operands of
 * a multiply-add.  Then all types are the same tile, which extracts nothing, and 16 rows share each broadcast.
 */

#include "kernels/avx2/avx2.h"
#include "kernels/avx2/scales.h"
#include "kernels/avx2/tile.h"

#define SEGMENT_RECORDS (KERNEL_SEGMENT / KERNEL_BLOCK)

/* One block of 256 k of 16 rows. */
struct open_record {
    uint8_t q[64][LINE];                /* [quad]: unsigned, before their offset */
    int16_t scale[16][2][ROWS];         /* [sub-block][h]: each scale twice */
    int16_t sums[8][2][ROWS];           /* [pair of sub-blocks][h]: factors of the S16: -offset * scale, or the mins */
    float d[ROWS], dmin[ROWS];
} __attribute__((aligned(64)));

/* --- taking apart --- */

INLINE void store_line(uint8_t *line, int h, __m256i v) { _mm256_store_si256((__m256i *)(line + 32 * h), v); }
INLINE void store_pairs(int16_t pairs[ROWS], __m256i v) { _mm256_store_si256((__m256i *)pairs, v); }

INLINE void open_floats(struct open_record *ret, const uint16_t *d, const uint16_t *dmin)
{
    for (int h = 0; h < 2; h++) {
        _mm256_store_ps(ret->d + 8 * h, load_f16(d + 8 * h));
        if (dmin)
            _mm256_store_ps(ret->dmin + 8 * h, load_f16(dmin + 8 * h));
    }
}

/* Signed scales of all sub-blocks, and what the offset 2^log2_offset adds too much, to be taken off. */
INLINE void open_signed_scales(struct open_record *ret, const int8_t scales[16][ROWS], int log2_offset)
{
    for (int j = 0; j < 16; j++)
        for (int h = 0; h < 2; h++)
            store_pairs(ret->scale[j][h], scale_pairs_s8(scales[j] + 8 * h));
    for (int j = 0; j < 16; j += 2) {
        for (int h = 0; h < 2; h++) {
            __m256i both = _mm256_cvtepi8_epi16(interleaved(scales[j] + 8 * h, scales[j + 1] + 8 * h));
            both = _mm256_slli_epi16(both, log2_offset);
            store_pairs(ret->sums[j / 2][h], _mm256_sub_epi16(_mm256_setzero_si256(), both));
        }
    }
}

INLINE void open_q2_k(const struct packed_q2_k *p, struct open_record *ret)
{
    for (int j = 0; j < 16; j++) {
        const uint8_t *scales = p->part[j / 4].scales[j % 4];
        for (int h = 0; h < 2; h++) {
            __m256i pairs = load_line(p->part[j / 4].pairs[j % 4], h);
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++)
                store_line(ret->q[4 * j + i], h, bits_moved(pairs, 2 * i, 0, 3));
            store_pairs(ret->scale[j][h], nibble(scale_pairs_u8(scales + 8 * h), 0));
            if (j % 2 == 0)
                store_pairs(ret->sums[j / 2][h], min_pairs_q2_k(scales + 8 * h));
        }
    }
    open_floats(ret, p->d, p->dmin);
}

INLINE void open_q3_k(const struct packed_q3_k *p, struct open_record *ret)
{
    int8_t scales[16][ROWS] __attribute__((aligned(32)));
    unpack_scales_q3_k(p, scales);
    open_signed_scales(ret, scales, 2);
    for (int s = 0; s < 8; s++) {
        for (int h = 0; h < 2; h++) {
            __m256i third = load_line(p->part[s / 2].bits[s % 2], h);
#pragma GCC unroll 8
            for (int i = 0; i < 8; i++) {
                __m256i pairs = load_line(p->part[s / 2].pairs[2 * (s % 2) + i / 4], h);
                __m256i q = _mm256_or_si256(bits_moved(pairs, 2 * (i % 4), 0, 3), bits_moved(third, i, 2, 4));
                store_line(ret->q[8 * s + i], h, q);
            }
        }
    }
    open_floats(ret, p->d, NULL);
}

/* A scale and a min of Q5_K serve two sub-blocks of 16. */
INLINE void open_scales_q5_k(const struct packed_q5_k *p, struct open_record *ret)
{
    const __m256i first = _mm256_set1_epi32(0xffff);
    for (int part = 0; part < 4; part++) {
        for (int h = 0; h < 2; h++) {
            __m256i mins = _mm256_cvtepu8_epi16(_mm_load_si128((const __m128i *)p->part[part].mins[8 * h]));
            for (int half = 0; half < 2; half++) {
                __m256i scale = scale_pairs_u8(p->part[part].scales[half] + 8 * h);
                store_pairs(ret->scale[4 * part + 2 * half][h], scale);
                store_pairs(ret->scale[4 * part + 2 * half + 1][h], scale);
                __m256i min = half ? _mm256_srli_epi32(mins, 16) : _mm256_and_si256(mins, first);
                store_pairs(ret->sums[2 * part + half][h], _mm256_or_si256(min, _mm256_slli_epi32(min, 16)));
            }
        }
    }
}

INLINE void open_q5_k(const struct packed_q5_k *p, struct open_record *ret)
{
    for (int part = 0; part < 4; part++) {
        for (int h = 0; h < 2; h++) {
            __m256i first = load_line(p->part[part].bits[0], h), second = load_line(p->part[part].bits[1], h);
#pragma GCC unroll 8
            for (int i = 0; i < 8; i++) {
                __m256i both = load_line(p->part[part].nibbles[i], h);
                store_line(ret->q[16 * part + i], h,
                           _mm256_or_si256(nibble(both, 0), bits_moved(first, i, 4, 0x10)));
                store_line(ret->q[16 * part + 8 + i], h,
                           _mm256_or_si256(nibble(both, 1), bits_moved(second, i, 4, 0x10)));
            }
        }
    }
    open_scales_q5_k(p, ret);
    open_floats(ret, p->d, p->dmin);
}

INLINE void open_q6_k(const struct packed_q6_k *p, struct open_record *ret)
{
    int8_t scales[16][ROWS] __attribute__((aligned(32)));
    gather_scales_q6_k(p, scales);
    open_signed_scales(ret, scales, 5);
    for (int j = 0; j < 16; j++) {
        const int half = j / 2 % 2, first = 4 * (j % 2);
        for (int h = 0; h < 2; h++) {
            __m256i pairs = load_line(p->part[j / 4].pairs[j % 4], h);
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++) {
                __m256i both = load_line(p->part[j / 4].nibbles[first + i], h);
                __m256i low = half ? nibble(both, 1) : nibble(both, 0);
                store_line(ret->q[4 * j + i], h, _mm256_or_si256(low, bits_moved(pairs, 2 * i, 4, 0x30)));
            }
        }
    }
    open_floats(ret, p->d, NULL);
}

static void open_record(enum tensor_type type, const uint8_t *record, struct open_record *ret)
{
    if (type == TENSOR_Q2_K)
        open_q2_k((const struct packed_q2_k *)record, ret);
    else if (type == TENSOR_Q3_K)
        open_q3_k((const struct packed_q3_k *)record, ret);
    else if (type == TENSOR_Q5_K)
        open_q5_k((const struct packed_q5_k *)record, ret);
    else
        open_q6_k((const struct packed_q6_k *)record, ret);
}

/* --- the tile --- */

/* Two steps fill 16 bits with 6-bit quants (2 * 63 * 127 * 2 = 32004), so every two quads are scaled and added. */
INLINE void add_products(__m256i sum[2][TILE], const struct open_record *u, const struct columns *x, int columns)
{
    for (int j = 0; j < 16; j++) {
#pragma GCC unroll 2
        for (int i = 0; i < 4; i += 2) {
            const uint8_t(*lines)[LINE] = &u->q[4 * j + i];
            __m256i w00 = load_line(lines[0], 0), w01 = load_line(lines[1], 0);
            __m256i w10 = load_line(lines[0], 1), w11 = load_line(lines[1], 1);
#pragma GCC unroll 4
            for (int c = 0; c < columns; c++) {
                const int8_t *q = x->q + (size_t)c * x->k + 16 * j + 4 * i;
                __m256i a = broadcast_u32(q), b = broadcast_u32(q + 4);
                __m256i p0 = _mm256_add_epi16(_mm256_maddubs_epi16(w00, a), _mm256_maddubs_epi16(w01, b));
                __m256i p1 = _mm256_add_epi16(_mm256_maddubs_epi16(w10, a), _mm256_maddubs_epi16(w11, b));
                p0 = _mm256_madd_epi16(p0, _mm256_load_si256((const __m256i *)u->scale[j][0]));
                p1 = _mm256_madd_epi16(p1, _mm256_load_si256((const __m256i *)u->scale[j][1]));
                sum[0][c] = _mm256_add_epi32(sum[0][c], p0);
                sum[1][c] = _mm256_add_epi32(sum[1][c], p1);
            }
        }
    }
}

/* What the sums of 16 activations add: the offset's correction, or the mins. */
INLINE void start_sums(__m256i sum[2][TILE], const struct open_record *u, const struct columns *x, int columns)
{
    for (int h = 0; h < 2; h++) {
        clear(sum[h], columns);
        for (int j = 0; j < 8; j++)
            add_sums(sum[h], _mm256_load_si256((const __m256i *)u->sums[j][h]), x->s16 + 2 * j, x->k / 16, columns);
    }
}

INLINE void add_floats(__m256 s[2][TILE], const float *d, const struct columns *x, const __m256i sum[2][TILE],
                       int minus, int tokens, int wide)
{
    for (int h = 0; h < 2; h++)
        add_joined(s[h], _mm256_load_ps(d + 8 * h), x, sum[h], minus, tokens, wide);
}

/* A segment of a row group times a few tokens, whose @x is at the segment's first k. */
INLINE void segment(const struct open_record *u, uint32_t records, const struct columns *first, int is_first, float *y,
                    size_t y_stride, int has_m, int tokens, int wide)
{
    const int columns = wide ? 2 * tokens : tokens;
    struct columns x = *first;
    __m256 s[2][TILE];
    for (int t = 0; t < tokens; t++)
        s[0][t] = s[1][t] = _mm256_setzero_ps();
    for (uint32_t r = 0; r < records; r++, u++) {
        __m256i sum[2][TILE];
        if (has_m) {
            clear(sum[0], columns);
            clear(sum[1], columns);
        } else {
            start_sums(sum, u, &x, columns);
        }
        add_products(sum, u, &x, columns);
        add_floats(s, u->d, &x, sum, 0, tokens, wide);
        if (has_m) {
            start_sums(sum, u, &x, columns);
            add_floats(s, u->dmin, &x, sum, 1, tokens, wide);
        }
        step_columns(&x, KERNEL_BLOCK);
    }
    merge_segment(s, tokens, is_first, y, y_stride);
}

typedef void segment_fn(const struct open_record *u, uint32_t records, const struct columns *first, int is_first,
                        float *y, size_t y_stride);

#define SEGMENT(has_m, tokens, wide)                                                                                   \
    static void segment_##has_m##_##tokens##_##wide(const struct open_record *u, uint32_t records,                     \
                                                    const struct columns *first, int is_first, float *y,               \
                                                    size_t y_stride)                                                   \
    {                                                                                                                  \
        segment(u, records, first, is_first, y, y_stride, has_m, tokens, wide);                                        \
    }
SEGMENT(0, 1, 0)
SEGMENT(0, 2, 0)
SEGMENT(0, 3, 0)
SEGMENT(0, 4, 0)
SEGMENT(0, 1, 1)
SEGMENT(0, 2, 1)
SEGMENT(1, 1, 0)
SEGMENT(1, 2, 0)
SEGMENT(1, 3, 0)
SEGMENT(1, 4, 0)
SEGMENT(1, 1, 1)
SEGMENT(1, 2, 1)

static segment_fn *const segments[2][2][TILE + 1] = {       /* [has_m][wide][tokens] */
    { { NULL, segment_0_1_0, segment_0_2_0, segment_0_3_0, segment_0_4_0 }, { NULL, segment_0_1_1, segment_0_2_1 } },
    { { NULL, segment_1_1_0, segment_1_2_0, segment_1_3_0, segment_1_4_0 }, { NULL, segment_1_1_1, segment_1_2_1 } },
};

/* --- the whole --- */

static void group(enum tensor_type type, const uint8_t *packed, const struct kernel_act *act, uint32_t token_first,
                  uint32_t tokens, float *y, size_t y_stride)
{
    const uint32_t most = act->columns == 2 ? TILE / 2 : TILE;
    segment_fn *const *fn = segments[type == TENSOR_Q2_K || type == TENSOR_Q5_K][act->columns == 2];
    struct open_record open[SEGMENT_RECORDS];
    for (uint32_t k = 0; k < act->k; k += KERNEL_SEGMENT) {
        uint32_t records = (act->k - k < KERNEL_SEGMENT ? act->k - k : KERNEL_SEGMENT) / KERNEL_BLOCK;
        for (uint32_t r = 0; r < records; r++, packed += kernel_layouts[type].record_bytes)
            open_record(type, packed, &open[r]);
        for (uint32_t t = 0; t < tokens; t += most) {
            struct columns x = columns_of(act, token_first + t);
            step_columns(&x, k);
            fn[tokens - t < most ? tokens - t : most](open, records, &x, k == 0, y + (size_t)t * y_stride, y_stride);
        }
    }
}

void kernel_avx2_matmul_many(enum tensor_type type, const uint8_t *packed, uint32_t groups, const struct kernel_act *x,
                             uint32_t token_first, uint32_t tokens, float *y, size_t y_stride, int fetch)
{
    (void)fetch;                        /* a record is used for long enough to fetch the next one behind it */
    for (uint32_t g = 0; g < groups; g++, packed += kernel_group_bytes(type, x->k), y += ROWS)
        group(type, packed, x, token_first, tokens, y, y_stride);
}
