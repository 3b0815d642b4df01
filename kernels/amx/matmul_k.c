/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Q2_K, Q3_K, Q4_K, Q5_K, Q6_K times many columns.  A weight is multiplied with its sub-block's scale when a segment
 * is taken apart, so that a block of 256 k stays in tiles.  The product does not fit a byte: it is split exactly into
 * two, I = low + join * high.
 *   Q4_K Q5_K   0..1953          low unsigned, high 0..7, join 256
 *   Q6_K        -4064..4096      low unsigned, high -16..16, join 256
 *   Q3_K        s * low2 (-96..93) and s * (h - 1) (-31..32), both signed, join 4
 *   Q2_K        0..45            one byte
 */

#include "kernels/amx/amx.h"
#include "kernels/amx/tile.h"
#include "kernels/levels.h"
#include "kernels/vnni/scales.inc"

#define STEPS 4                         /* of 64 k: a product of tiles each */

/* A block of 256 k of 16 rows. */
struct open_record {
    uint8_t low[STEPS][16][LINE], high[STEPS][16][LINE];        /* B tiles */
    int32_t mins[8][ROWS];                                      /* pairs, operands of vpdpwssd */
    float d[ROWS], dmin[ROWS];
} __attribute__((aligned(64)));

/* What a block of columns has of one record: the two results, which lie as TILESTORED leaves them. */
struct results {
    int32_t low[BLOCK_COLUMNS][ROWS], high[BLOCK_COLUMNS][ROWS];
} __attribute__((aligned(64)));

/* A block of columns of one segment. */
struct block {
    float s[BLOCK_COLUMNS][ROWS];       /* by token */
    struct columns x;                   /* at its first column, at the segment's first k */
    uint32_t columns, tokens;
} __attribute__((aligned(64)));

INLINE int has_high(const enum tensor_type type) { return type != TENSOR_Q2_K; }

/* --- taking apart --- */

/* A scale of each row in both halves of its lane, as 16 bits. */
INLINE ints scale_words(const enum tensor_type type, const uint8_t *record, const int8_t scales[16][ROWS], int part,
                        int sub)
{
    ints s = lower_half(scale_k(type, record, scales, part, sub, 0));
    return side_by_side(s, s);
}

/* Lower bytes of @even, upper bytes of @odd_moved, whose lower ones are 0. */
INLINE ints bytes_of(ints even, ints odd_moved) { return ints_or_and(odd_moved, even, ints_all(0x00ff00ff)); }

/* Q3_K: s where the third bit is not set, negated, else 0: s * (h - 1). */
INLINE ints minus_scale_where_low(ints w, ints s)
{
    ints bytes = bytes_of(s, ints_left_16(s, 8)), minus = _mm512_sub_epi8(ints_all(0), bytes);
    ints mask = _mm512_sub_epi8(ints_right_16(w, 2) & ints_bytes(1), ints_bytes(1));
    return minus & mask;
}

/* A line of 4 k: unsigned quants @w times scales @s. */
INLINE void fold(const enum tensor_type type, ints w, ints s, uint8_t low[LINE], uint8_t high[LINE])
{
    ints even = w & ints_all(type == TENSOR_Q3_K ? 0x00030003 : 0x00ff00ff), odd = ints_right_16(w, 8);
    if (type == TENSOR_Q3_K)
        odd = odd & ints_all(0x00030003);
    if (type == TENSOR_Q6_K) {
        const ints offset = _mm512_set1_epi16(32);
        even = _mm512_sub_epi16(even, offset);
        odd = _mm512_sub_epi16(odd, offset);
    }
    even = _mm512_mullo_epi16(even, s);
    odd = _mm512_mullo_epi16(odd, s);
    ints_store(low, bytes_of(even, ints_left_16(odd, 8)));
    if (type == TENSOR_Q3_K)
        ints_store(high, minus_scale_where_low(w, s));
    else if (has_high(type))
        ints_store(high, ints_or_and(ints_right_16(even, 8), odd, ints_all((int)0xff00ff00)));
}

INLINE void open_part(const enum tensor_type type, const uint8_t *record, const int8_t scales[16][ROWS], int part,
                      struct open_record *ret)
{
#pragma GCC unroll 4
    for (int sub = 0; sub < 4; sub++) {
        ints s = scale_words(type, record, scales, part, sub);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            fold(type, quad_k(type, record, part, sub, i, 0), s, ret->low[part][4 * sub + i],
                 ret->high[part][4 * sub + i]);
    }
    if (type == TENSOR_Q2_K) {
        ints_store(ret->mins[2 * part], min_pairs(type, record, part, 0, 0));
        ints_store(ret->mins[2 * part + 1], min_pairs(type, record, part, 2, 0));
    } else if (has_mins(type)) {
        ints_store(ret->mins[part], min_pairs(type, record, part, 0, 0));
    }
}

INLINE void open_records(const enum tensor_type type, const uint8_t *record, uint32_t records, struct open_record *ret)
{
    const uint32_t bytes = kernel_layouts[type].record_bytes;
    for (uint32_t r = 0; r < records; r++, record += bytes, ret++) {
        int8_t scales[16][ROWS] __attribute__((aligned(64)));
        const uint16_t *d = d_of(type, record);
        if (type == TENSOR_Q3_K)
            unpack_scales_q3_k((const struct packed_q3_k *)record, scales);
        for (int part = 0; part < STEPS; part++)
            open_part(type, record, scales, part, ret);
        _mm512_store_ps(ret->d, load_f16(d));
        if (has_mins(type))
            _mm512_store_ps(ret->dmin, load_f16(d + ROWS));
    }
}

/* --- integers in tiles --- */

INLINE void clear_results(const enum tensor_type type, int two)
{
    _tile_zero(TILE_C00);
    if (two)
        _tile_zero(TILE_C01);
    if (has_high(type))
        _tile_zero(TILE_C10);
    if (two && has_high(type))
        _tile_zero(TILE_C11);
}

/* 64 k: each A meets both bytes of the weights, each B all columns. */
INLINE void add_step(const enum tensor_type type, const struct open_record *u, int step, const int8_t *q, size_t k,
                     int two)
{
    _tile_loadd(TILE_A0, q, k);
    _tile_loadd(TILE_B0, u->low[step], LINE);
    if (two)
        _tile_loadd(TILE_A1, q + TILE_COLUMNS * k, k);
    if (has_high(type))
        _tile_loadd(TILE_B1, u->high[step], LINE);
    if (type == TENSOR_Q3_K)
        _tile_dpbssd(TILE_C00, TILE_A0, TILE_B0);
    else
        _tile_dpbsud(TILE_C00, TILE_A0, TILE_B0);
    if (has_high(type))
        _tile_dpbssd(TILE_C10, TILE_A0, TILE_B1);
    if (two && type == TENSOR_Q3_K)
        _tile_dpbssd(TILE_C01, TILE_A1, TILE_B0);
    else if (two)
        _tile_dpbsud(TILE_C01, TILE_A1, TILE_B0);
    if (two && has_high(type))
        _tile_dpbssd(TILE_C11, TILE_A1, TILE_B1);
}

INLINE void store_results(const enum tensor_type type, struct results *ret, int two)
{
    _tile_stored(TILE_C00, ret->low, LINE);
    if (two)
        _tile_stored(TILE_C01, ret->low[TILE_COLUMNS], LINE);
    if (has_high(type))
        _tile_stored(TILE_C10, ret->high, LINE);
    if (two && has_high(type))
        _tile_stored(TILE_C11, ret->high[TILE_COLUMNS], LINE);
}

/* --- the float step --- */

INLINE __m512 integers(const enum tensor_type type, const struct results *c, uint32_t column)
{
    ints low = ints_load(c->low[column]);
    if (!has_high(type))
        return lanes_of(low);
    return lanes_of(ints_sum(low, ints_left(ints_load(c->high[column]), type == TENSOR_Q3_K ? 2 : 8)));
}

/* sum over sub-blocks of min times sum of activations; @s: a column's sums of the record */
INLINE __m512 mins_of(const enum tensor_type type, const struct open_record *u, const int16_t *s)
{
    const int pairs = type == TENSOR_Q2_K ? 8 : 4;
    ints sum = ints_all(0);
#pragma GCC unroll 8
    for (int i = 0; i < pairs; i++)
        sum = add_products_16(sum, ints_load(u->mins[i]), broadcast_u32(s + 2 * i));
    return lanes_of(sum);
}

INLINE __m512 join(__m512 high, __m512 low) { return _mm512_fmadd_ps(_mm512_set1_ps(128.0f), high, low); }

/* Record @r of the segment: tokens @from to @to of the block. */
INLINE void add_floats(const enum tensor_type type, const struct open_record *u, uint32_t r, const struct results *c,
                       struct block *b, uint32_t from, uint32_t to, const int wide)
{
    const uint32_t each = type == TENSOR_Q2_K ? 16 : 32;
    const int16_t *sums = (type == TENSOR_Q2_K ? b->x.s16 : b->x.s32) + (size_t)r * (KERNEL_BLOCK / each);
    const size_t stride = b->x.k / each;
    const __m512 d = _mm512_load_ps(u->d), dmin = _mm512_load_ps(u->dmin);
    for (uint32_t t = from; t < to; t++) {
        const uint32_t column = wide ? 2 * t : t;
        const __m512 dx = _mm512_set1_ps(b->x.d[(size_t)t * b->x.d_stride + r]);
        __m512 i = integers(type, c, column), s = _mm512_load_ps(b->s[t]);
        if (wide)
            i = join(i, integers(type, c, column + 1));
        s = _mm512_fmadd_ps(_mm512_mul_ps(d, dx), i, s);
        if (has_mins(type)) {
            __m512 m = mins_of(type, u, sums + column * stride);
            if (wide)
                m = join(m, mins_of(type, u, sums + (column + 1) * stride));
            s = _mm512_fnmadd_ps(_mm512_mul_ps(dmin, dx), m, s);
        }
        _mm512_store_ps(b->s[t], s);
    }
}

/* --- the whole --- */

/*
 * A segment of @records records times a block of columns.  Floats of a record lie between the products of the next one,
 * so that both kinds of units have work.
 */
INLINE void segment(const enum tensor_type type, const struct open_record *u, uint32_t records, struct block *b,
                    const int two, const int wide)
{
    struct results c[2];
    const uint32_t n = b->tokens;
    for (uint32_t t = 0; t < n; t++)
        _mm512_store_ps(b->s[t], _mm512_setzero_ps());
    for (uint32_t r = 0; r < records; r++) {
        clear_results(type, two);
#pragma GCC unroll 1
        for (int step = 0; step < STEPS; step++) {
            add_step(type, &u[r], step, b->x.q + KERNEL_BLOCK * r + 64 * step, b->x.k, two);
            if (r)
                add_floats(type, &u[r - 1], r - 1, &c[(r - 1) % 2], b, n * (uint32_t)step / STEPS,
                           n * (uint32_t)(step + 1) / STEPS, wide);
        }
        store_results(type, &c[r % 2], two);
    }
    add_floats(type, &u[records - 1], records - 1, &c[(records - 1) % 2], b, 0, n, wide);
}

INLINE void segment_of(const enum tensor_type type, const struct open_record *u, uint32_t records, struct block *b,
                       const int wide)
{
    if (b->columns > TILE_COLUMNS)
        segment(type, u, records, b, 1, wide);
    else
        segment(type, u, records, b, 0, wide);
}

INLINE void matmul(const enum tensor_type type, const uint8_t *packed, uint32_t groups, const struct kernel_act *x,
                   uint32_t token_first, uint32_t tokens, float *y, size_t y_stride)
{
    const uint32_t most = BLOCK_COLUMNS / x->columns;
    struct tile_config config = { .palette = 0 };
    struct open_record open[SEGMENT_RECORDS];
    for (uint32_t g = 0; g < groups; g++, y += ROWS) {
        for (uint32_t first = 0; first < x->k; first += KERNEL_SEGMENT) {
            const uint32_t k = x->k - first < KERNEL_SEGMENT ? x->k - first : KERNEL_SEGMENT;
            open_records(type, packed, k / KERNEL_BLOCK, open);
            packed += (size_t)(k / KERNEL_BLOCK) * kernel_layouts[type].record_bytes;
            for (uint32_t t = 0; t < tokens; t += most) {
                struct block b;
                b.x = columns_at(x, token_first + t, first);
                b.tokens = tokens - t < most ? tokens - t : most;
                b.columns = b.tokens * x->columns;
                configure_tiles(b.columns, 64, &config);
                if (x->columns == 2)
                    segment_of(type, open, k / KERNEL_BLOCK, &b, 1);
                else
                    segment_of(type, open, k / KERNEL_BLOCK, &b, 0);
                for (uint32_t i = 0; i < b.tokens; i++)
                    merge_rows(b.s[i], first == 0, y + (t + i) * y_stride);
            }
        }
    }
    _tile_release();
}

MATMUL(q2_k, TENSOR_Q2_K)
MATMUL(q3_k, TENSOR_Q3_K)
MATMUL(q4_k, TENSOR_Q4_K)
MATMUL(q5_k, TENSOR_Q5_K)
MATMUL(q6_k, TENSOR_Q6_K)

void kernel_amx_init_matmul_k(struct kernel_ops *ops)
{
    MANY_ENTRY(ops, TENSOR_Q2_K, q2_k, "a256");
    MANY_ENTRY(ops, TENSOR_Q3_K, q3_k, "a256");
    MANY_ENTRY(ops, TENSOR_Q4_K, q4_k, "a256");
    MANY_ENTRY(ops, TENSOR_Q5_K, q5_k, "a256");
    MANY_ENTRY(ops, TENSOR_Q6_K, q6_k, "a256");
}
