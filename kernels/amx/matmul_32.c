/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Q4_0, Q4_1, Q5_0, Q5_1, Q8_0 times many columns.  Quants are signed bytes, their offset taken off when a segment is
 * taken apart.  A block of 32 k is one product of tiles and then leaves them, for its float step.
 */

#include "kernels/amx/amx.h"
#include "kernels/amx/tile.h"
#include "kernels/levels.h"
#include "kernels/vnni/blocks.inc"

#define CHUNK 2u                        /* blocks whose results wait for their float step together */

/* A segment of 16 rows, by blocks of 32 k. */
struct open_segment {
    int8_t q[SEGMENT_BLOCKS][8][LINE];          /* B tiles */
    float d[SEGMENT_BLOCKS][ROWS], m[SEGMENT_BLOCKS][ROWS];
} __attribute__((aligned(64)));

/* What a block of columns has of one chunk, [block][row group]. */
struct results {
    int32_t sum[CHUNK][2][BLOCK_COLUMNS][ROWS];
} __attribute__((aligned(64)));

/* A block of columns of one segment. */
struct block {
    float s[2][BLOCK_COLUMNS][ROWS];    /* [row group][token] */
    float joined[BLOCK_COLUMNS][SEGMENT_BLOCKS];        /* what m multiplies, by token */
    struct columns x;                   /* at its first column, at the segment's first k */
    uint32_t columns, tokens;
} __attribute__((aligned(64)));

/* --- taking apart --- */

INLINE void open_records(const enum tensor_type type, const uint8_t *record, uint32_t blocks, struct open_segment *ret)
{
    for (uint32_t b = 0; b < blocks; b += 2, record += kernel_layouts[type].record_bytes) {
        const uint16_t *d = scales_of(type, record);
#pragma GCC unroll 2
        for (uint32_t half = 0; half < 2; half++) {
#pragma GCC unroll 8
            for (int i = 0; i < 8; i++)
                ints_store(ret->q[b + half][i],
                           _mm512_sub_epi8(quad_32(type, record, (int)half, i, 0), ints_bytes(offset_of(type))));
            _mm512_store_ps(ret->d[b + half], load_f16(d + half * ROWS));
            if (has_m(type))
                _mm512_store_ps(ret->m[b + half], load_f16(d + (2 + half) * ROWS));
        }
    }
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

/* --- integers in tiles --- */

/* One block of 32 k: each A meets both row groups, each B all columns. */
INLINE void multiply(const struct open_segment *open, uint32_t block, const int8_t *q, size_t k,
                     int32_t ret[2][BLOCK_COLUMNS][ROWS], const int groups, const int two)
{
    _tile_loadd(TILE_A0, q + 32 * block, k);
    _tile_loadd(TILE_B0, open[0].q[block], LINE);
    _tile_zero(TILE_C00);
    _tile_dpbssd(TILE_C00, TILE_A0, TILE_B0);
    if (two) {
        _tile_loadd(TILE_A1, q + 32 * block + TILE_COLUMNS * k, k);
        _tile_zero(TILE_C01);
        _tile_dpbssd(TILE_C01, TILE_A1, TILE_B0);
    }
    if (groups == 2) {
        _tile_loadd(TILE_B1, open[1].q[block], LINE);
        _tile_zero(TILE_C10);
        _tile_dpbssd(TILE_C10, TILE_A0, TILE_B1);
    }
    if (groups == 2 && two) {
        _tile_zero(TILE_C11);
        _tile_dpbssd(TILE_C11, TILE_A1, TILE_B1);
    }
    _tile_stored(TILE_C00, ret[0], LINE);
    if (two)
        _tile_stored(TILE_C01, ret[0][TILE_COLUMNS], LINE);
    if (groups == 2)
        _tile_stored(TILE_C10, ret[1], LINE);
    if (groups == 2 && two)
        _tile_stored(TILE_C11, ret[1][TILE_COLUMNS], LINE);
}

/* --- the float step --- */

/* s = fma(d * dx, I, s), then s = fma(m * dx, S, s): blocks @first to @end for @n tokens from @from on. */
INLINE void add_tokens(const int with_m, const struct open_segment *open, uint32_t g, uint32_t first, uint32_t end,
                       const struct results *c, struct block *b, uint32_t from, const uint32_t n, const int wide)
{
    __m512 s[TILE_COLUMNS];
#pragma GCC unroll 16
    for (uint32_t t = 0; t < n; t++)
        s[t] = _mm512_load_ps(b->s[g][from + t]);
    for (uint32_t i = first; i < end; i++) {
        const int32_t(*sum)[ROWS] = c->sum[i - first][g] + (wide ? 2 * from : from);
        const float *dx = b->x.d + (size_t)from * b->x.d_stride + i;
        const __m512 d = _mm512_load_ps(open[g].d[i]), m = _mm512_load_ps(open[g].m[i]);
#pragma GCC unroll 16
        for (uint32_t t = 0; t < n; t++, dx += b->x.d_stride) {
            ints v = ints_load(sum[wide ? 2 * t : t]);
            if (wide)
                v = ints_sum(ints_left(v, 7), ints_load(sum[2 * t + 1]));
            s[t] = _mm512_fmadd_ps(_mm512_mul_ps(d, _mm512_set1_ps(*dx)), lanes_of(v), s[t]);
            if (with_m)
                s[t] = _mm512_fmadd_ps(_mm512_mul_ps(m, _mm512_set1_ps(*dx)),
                                       _mm512_set1_ps(b->joined[from + t][i]), s[t]);
        }
    }
#pragma GCC unroll 16
    for (uint32_t t = 0; t < n; t++)
        _mm512_store_ps(b->s[g][from + t], s[t]);
}

/* Eights of tokens keep their sums in registers; what is left goes one by one. */
INLINE void add_chunk(const int with_m, const struct open_segment *open, uint32_t g, uint32_t first, uint32_t end,
                       const struct results *c, struct block *b, const int wide)
{
    uint32_t t = 0;
    for (; t + 8 <= b->tokens; t += 8)
        add_tokens(with_m, open, g, first, end, c, b, t, 8, wide);
    for (; t < b->tokens; t++)
        add_tokens(with_m, open, g, first, end, c, b, t, 1, wide);
}

/* --- the whole --- */

/* Floats of a chunk lie between the products of the next one, so that both kinds of units have work. */
INLINE void segment(const int with_m, const struct open_segment *open, uint32_t blocks, struct block *b,
                    const int groups, const int two, const int wide)
{
    struct results c[2];
    uint32_t done = 0;                  /* blocks whose products are there */
    for (int g = 0; g < groups; g++)
        for (uint32_t t = 0; t < b->tokens; t++)
            _mm512_store_ps(b->s[g][t], _mm512_setzero_ps());
    for (uint32_t t = 0; with_m && t < b->tokens; t++)
        join_sums(b->x.s32 + (size_t)t * (wide ? 2 : 1) * (b->x.k / 32), b->x.k / 32, blocks, wide, b->joined[t]);
    for (uint32_t first = 0; first < blocks; first += CHUNK) {
        const uint32_t n = blocks - first < CHUNK ? blocks - first : CHUNK, which = first / CHUNK % 2;
#pragma GCC unroll 1
        for (uint32_t i = 0; i < CHUNK; i++) {
            if (i < n)
                multiply(open, first + i, b->x.q, b->x.k, c[which].sum[i], groups, two);
            if (first && (int)i < groups)
                add_chunk(with_m, open, i, done, first, &c[1 - which], b, wide);
        }
        done = first;
    }
    for (int g = 0; g < groups; g++)
        add_chunk(with_m, open, (uint32_t)g, done, blocks, &c[done / CHUNK % 2], b, wide);
}

_Static_assert(CHUNK == 2, "a row group's floats follow each product of a chunk");

INLINE void segment_of(const int with_m, const struct open_segment *open, uint32_t blocks, struct block *b,
                       const int groups, const int wide)
{
    if (b->columns > TILE_COLUMNS)
        segment(with_m, open, blocks, b, groups, 1, wide);
    else
        segment(with_m, open, blocks, b, groups, 0, wide);
}

typedef void segment_fn(const struct open_segment *open, uint32_t blocks, struct block *b);

#define SEGMENT_COPY(name, with_m, groups, wide)                                                                       \
    static void segment_##name(const struct open_segment *open, uint32_t blocks, struct block *b)                      \
    {                                                                                                                  \
        segment_of(with_m, open, blocks, b, groups, wide);                                                             \
    }

SEGMENT_COPY(one, 0, 1, 0)
SEGMENT_COPY(one_wide, 0, 1, 1)
SEGMENT_COPY(pair, 0, 2, 0)
SEGMENT_COPY(pair_wide, 0, 2, 1)
SEGMENT_COPY(m_one, 1, 1, 0)
SEGMENT_COPY(m_one_wide, 1, 1, 1)
SEGMENT_COPY(m_pair, 1, 2, 0)
SEGMENT_COPY(m_pair_wide, 1, 2, 1)

static segment_fn *const segments[2][2][2] = {          /* [has_m][groups - 1][columns of a token - 1] */
    { { segment_one, segment_one_wide }, { segment_pair, segment_pair_wide } },
    { { segment_m_one, segment_m_one_wide }, { segment_m_pair, segment_m_pair_wide } },
};

/* Two row groups at a time, and one that is left. */
static void matmul(enum tensor_type type, const uint8_t *packed, uint32_t groups, const struct kernel_act *x,
                   uint32_t token_first, uint32_t tokens, float *y, size_t y_stride)
{
    const size_t group_bytes = kernel_group_bytes(type, x->k);
    const uint32_t most = BLOCK_COLUMNS / x->columns;
    struct tile_config config = { .palette = 0 };
    struct open_segment open[2];
    for (uint32_t g = 0, n; g < groups; g += n, y += n * ROWS) {
        const uint8_t *p = packed + g * group_bytes;
        n = groups - g < 2 ? 1 : 2;
        for (uint32_t first = 0; first < x->k; first += KERNEL_SEGMENT) {
            const uint32_t k = x->k - first < KERNEL_SEGMENT ? x->k - first : KERNEL_SEGMENT;
            for (uint32_t i = 0; i < n; i++)
                open_segment(type, p + i * group_bytes, k / 32, &open[i]);
            p += (size_t)(k + 63) / 64 * kernel_layouts[type].record_bytes;
            for (uint32_t t = 0; t < tokens; t += most) {
                struct block b;
                b.x = columns_at(x, token_first + t, first);
                b.tokens = tokens - t < most ? tokens - t : most;
                b.columns = b.tokens * x->columns;
                configure_tiles(b.columns, 32, &config);
                segments[has_m(type)][n - 1][x->columns - 1](open, k / 32, &b);
                for (uint32_t i = 0; i < n * b.tokens; i++)
                    merge_rows(b.s[i % n][i / n], first == 0, y + (t + i / n) * y_stride + i % n * ROWS);
            }
        }
    }
    _tile_release();
}

MATMUL(q4_0, TENSOR_Q4_0)
MATMUL(q4_1, TENSOR_Q4_1)
MATMUL(q5_0, TENSOR_Q5_0)
MATMUL(q5_1, TENSOR_Q5_1)
MATMUL(q8_0, TENSOR_Q8_0)

void kernel_amx_init_matmul_32(struct kernel_ops *ops)
{
    MANY_ENTRY(ops, TENSOR_Q4_0, q4_0, "a32");
    MANY_ENTRY(ops, TENSOR_Q4_1, q4_1, "a32");
    MANY_ENTRY(ops, TENSOR_Q5_0, q5_0, "a32");
    MANY_ENTRY(ops, TENSOR_Q5_1, q5_1, "a32");
    MANY_ENTRY(ops, TENSOR_Q8_0, q8_0, "a32");
}
