/* SPDX-License-Identifier: Apache-2.0 */

/*
 * NUMERICS.md section 7 with keys and values in 8 bits, by tiles.  The lines of a block (kv.h) are rows of B: four
 * elements of 16 positions for the scores, four positions of 16 elements for the values.  A is up to 16 queries, or
 * their weights of the values; what is between the two products stays AVX-512's.
 */

#include "kernels/amx/amx.h"
#include "kernels/amx/tile.h"

#define AT_ONCE 4u

#undef VECTORS                          /* of a row group; from here on of a block of positions */
#include "kernels/lanes/softmax.inc"
#include "kernels/vnni/attend_q8.inc"

#define RUN 16u                         /* queries in a tile */
#define RUN_WORTH 6u                    /* fewer are AVX-512's, until somebody measures */
#define LINES_MAX 4u                    /* groups of 16 positions or elements in one product */

/* Queries that touch a block and follow one another. */
struct run {
    int32_t sum[2][LINES_MAX][RUN][16];         /* by column */
    uint8_t u[RUN][2][POSITIONS];
    float a[RUN], unit[RUN];
} __attribute__((aligned(64)));

/* As tile.h has them: queries are A0, lines by turns B0 and B1, the four results C. */
INLINE void configure_run(uint32_t queries, struct tile_config *current)
{
    if (current->palette && current->rows[TILE_A0] == queries)
        return;
    *current = (struct tile_config){ .palette = 1 };
    for (uint32_t t = TILE_A0; t <= TILE_C11; t++)
        if (t != TILE_A1) {
            current->rows[t] = t == TILE_B0 || t == TILE_B1 ? 16 : (uint8_t)queries;
            current->row_bytes[t] = LINE;
        }
    _tile_loadconfig(current);
}

#define ADD_PRODUCT(group, to, by)                                                                                     \
    do {                                                                                                               \
        if ((group) < groups) {                                                                                        \
            _tile_loadd(by, lines + (group) * group_bytes + (size_t)i * 16 * LINE, LINE);                              \
            _tile_dpbssd(to, TILE_A0, by);                                                                             \
        }                                                                                                              \
    } while (0)

/*
 * Sums of @groups groups for every query: @bytes of @a, one row of it @stride behind another, times the lines.  A's
 * rows are zero behind @bytes as far as a multiple of 64; the lines that meet them are other numbers of the block.
 */
static void sum_run(const void *a, size_t stride, uint32_t bytes, const uint8_t *lines, size_t group_bytes,
                    uint32_t groups, int32_t (*sum)[RUN][16])
{
    _tile_zero(TILE_C00);
    _tile_zero(TILE_C01);
    _tile_zero(TILE_C10);
    _tile_zero(TILE_C11);
    for (uint32_t i = 0; i < (bytes + LINE - 1) / LINE; i++) {
        _tile_loadd(TILE_A0, (const uint8_t *)a + (size_t)i * LINE, stride);
        ADD_PRODUCT(0, TILE_C00, TILE_B0);
        ADD_PRODUCT(1, TILE_C01, TILE_B1);
        ADD_PRODUCT(2, TILE_C10, TILE_B0);
        ADD_PRODUCT(3, TILE_C11, TILE_B1);
    }
    _tile_stored(TILE_C00, sum[0], LINE);
    _tile_stored(TILE_C01, sum[1], LINE);
    _tile_stored(TILE_C10, sum[2], LINE);
    _tile_stored(TILE_C11, sum[3], LINE);
}

/* One group's sums of query @i over both columns. */
INLINE lanes joined(const struct run *t, uint32_t group, uint32_t i, uint32_t columns)
{
    const ints first = ints_load(t->sum[0][group][i]);
    return lanes_of(columns == 2 ? ints_sum(ints_left(first, 7), ints_load(t->sum[1][group][i])) : first);
}

static void weigh_run(struct run *t, struct online_q8 *r, uint32_t i, const float *scales, uint32_t base, float softcap,
                      uint32_t columns)
{
    const struct kernel_query *q = r->base.query;
    lanes s[VECTORS];
    for (uint32_t v = 0; v < VECTORS; v++)
        s[v] = lanes_all(r->d) * lanes_load(scales + LANES * v, LANES) * joined(t, v, i, columns);
    t->a[i] = weigh(&r->base, base, first_touched(q, base), last_touched(q, base), s, softcap);
    t->unit[i] = weigh_values(s, scales + POSITIONS, t->u[i], columns);
}

static void add_run(struct online_q8 *r, uint32_t n, const uint8_t *block, uint32_t hd, uint32_t base, float softcap,
                    uint32_t columns)
{
    const size_t line_group = (size_t)VALUE_LINES * LINE;
    struct run t;
    for (uint32_t c = 0; c < columns; c++)
        sum_run(r->q[c], sizeof *r, hd, KEYS_AT(block), (size_t)hd * 16, LINES_MAX, t.sum[c]);
    for (uint32_t i = 0; i < n; i++)
        weigh_run(&t, &r[i], i, SCALES_AT(block, hd), base, softcap, columns);
    for (uint32_t d = 0; d < hd; d += 16 * LINES_MAX) {
        const uint32_t groups = hd - d < 16 * LINES_MAX ? (hd - d) / 16 : LINES_MAX;
        for (uint32_t c = 0; c < columns; c++)
            sum_run(t.u[0][c], sizeof t.u[0], POSITIONS, VALUES_AT(block, hd) + d / 16 * line_group, line_group, groups,
                    t.sum[c]);
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t g = 0; g < groups; g++) {
                float *o = r[i].base.query->o + d + 16 * g;
                const lanes before = lanes_read(o) * lanes_all(t.a[i]);
                lanes_write(o, lanes_fma(lanes_all(t.unit[i]), joined(&t, g, i, columns), before));
            }
    }
}

/* Queries that touch the block, run by run. */
static void add_block_by_runs(struct online_q8 *r, uint32_t n, const uint8_t *block, uint32_t hd, uint32_t base,
                              float softcap, uint32_t columns, struct tile_config *config)
{
    for (uint32_t first = 0, end; first < n; first = end) {
        for (end = first; end < n && end - first < RUN && touches(r[end].base.query, base); end++)
            ;
        if (end == first) {
            end++;                      /* this one does not touch it */
            continue;
        }
        if (end - first < RUN_WORTH) {
            add_block(r + first, end - first, block, hd, base, softcap, columns);
            continue;
        }
        configure_run(end - first, config);
        add_run(r + first, end - first, block, hd, base, softcap, columns);
    }
}

static void attend_q8_by_tiles(struct kernel_query *queries, uint32_t n, const uint8_t *const blocks[8], uint32_t hd,
                               float softcap, uint32_t columns)
{
    struct online_q8 r[KERNEL_QUERIES_MAX];
    struct tile_config config = { .palette = 0 };
    if (n < RUN_WORTH) {
        attend_q8(queries, n, blocks, hd, softcap, columns);
        return;
    }
    const struct block_span span = span_of(queries, n);
    for (uint32_t i = 0; i < n; i++)
        online_q8_start(&r[i], &queries[i], hd, columns);
    for (uint32_t b = span.first; b < span.end; b++)
        if (blocks[b % 8])
            add_block_by_runs(r, n, blocks[b % 8], hd, b * POSITIONS, softcap, columns, &config);
    for (uint32_t i = 0; i < n; i++)
        queries[i].l = lanes_tree(r[i].base.l);
    if (config.palette)
        _tile_release();
}

void kernel_amx_init_attend_q8(struct kernel_ops *ops) { ops->attend_q8 = attend_q8_by_tiles; }
