/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention.  Narrow: a task is (head, token, range); ranges wait in `parts`, the last one merges them in ascending
 * order, the last head of a unit quantises.  Wide: a task is (unit of heads, token), ranges one after another.
 */
#include <string.h>

#include "src/graph/internal.h"

static uint32_t first_position(const struct lane *lane, uint32_t token)
{
    const struct graph *g = lane->g;
    uint32_t position = g->b.positions[token];

    if (!g->c.model->layers[lane->layer].local || position < g->h->window)
        return 0;
    return position - g->h->window + 1;
}

static void attend_range(struct lane *lane, uint32_t head, uint32_t token, uint32_t range, float *ret_m, float *ret_l,
                         float *ret_o)
{
    struct graph *g = lane->g;
    uint32_t position = g->b.positions[token], begin = range * KERNEL_KV_RANGE, end = begin + KERNEL_KV_RANGE - 1;
    uint32_t lo = (uint32_t)max_u64(first_position(lane, token), begin), hi = (uint32_t)min_u64(position, end);
    uint32_t kv_head = head / (g->h->n_head / g->h->n_kv_head);
    const uint16_t *blocks[KERNEL_KV_RANGE / KERNEL_KV_BLOCK] = { NULL };

    for (uint32_t b = lo / KERNEL_KV_BLOCK; b <= hi / KERNEL_KV_BLOCK; b++)
        blocks[b - begin / KERNEL_KV_BLOCK] = kv_piece(g->c.kv, g->b.blocks[token][b], lane->layer, kv_head);
    g->c.ops->attend(g->q + ((size_t)token * g->h->n_head + head) * g->h->head_dim, blocks, g->h->head_dim, lo, hi, 0,
                     ret_m, ret_l, ret_o);
}

/* Heads unit * unit_heads .. of a token are in @values: quantise their 256-blocks. */
static void put_unit(struct lane *lane, uint32_t unit, uint32_t token, const float *values)
{
    struct graph *g = lane->g;
    uint32_t all = g->h->n_head * g->h->head_dim, first = unit * g->unit_heads * g->h->head_dim;
    uint32_t end = (uint32_t)min_u64((uint64_t)first + (uint64_t)g->unit_heads * g->h->head_dim, all);

    for (uint32_t k = first; k < end; k += KERNEL_BLOCK)
        graph_put(g, ACT_ATTN_OUTPUT, g->formats[lane->layer].mask[ACT_ATTN_OUTPUT], values + (k - first), NULL,
                  (uint32_t)min_u64(KERNEL_BLOCK, end - k), token, token, k);
}

static uint32_t unit_size(const struct graph *g, uint32_t unit)
{
    return (uint32_t)min_u64(g->unit_heads, g->h->n_head - (uint64_t)unit * g->unit_heads);
}

/* --- wide --- */

static void attend_head(struct lane *lane, uint32_t head, uint32_t token, float *o, float *scratch)
{
    struct graph *g = lane->g;
    uint32_t range = first_position(lane, token) / KERNEL_KV_RANGE, last = g->b.positions[token] / KERNEL_KV_RANGE;
    float m, l, m_r, l_r;

    attend_range(lane, head, token, range, &m, &l, o);
    while (++range <= last) {
        attend_range(lane, head, token, range, &m_r, &l_r, scratch);
        g->c.ops->attend_merge(&m, &l, o, m_r, l_r, scratch, g->h->head_dim);
    }
    g->c.ops->attend_finish(o, l, g->h->head_dim);
}

static void wide_task(struct lane *lane, uint32_t task, uint32_t count)
{
    struct graph *g = lane->g;
    float *scratch = lane->tile, *values = lane->tile + KERNEL_HEAD_DIM_MAX;

    for (; count; task++, count--) {
        uint32_t unit = task / g->b.tokens, token = task % g->b.tokens;

        for (uint32_t i = 0; i < unit_size(g, unit); i++)
            attend_head(lane, unit * g->unit_heads + i, token, values + (size_t)i * g->h->head_dim, scratch);
        put_unit(lane, unit, token, values);
    }
}

/* --- narrow --- */

/* The most ranges that a token of this batch touches in this layer. */
static uint32_t ranges_of_batch(const struct lane *lane)
{
    uint32_t most = 1;

    for (uint32_t t = 0; t < lane->g->b.tokens; t++) {
        uint32_t n = lane->g->b.positions[t] / KERNEL_KV_RANGE - first_position(lane, t) / KERNEL_KV_RANGE + 1;

        most = n > most ? n : most;
    }
    return most;
}

static void merge_parts(struct lane *lane, uint32_t head, uint32_t token, uint32_t slot, uint32_t ranges)
{
    struct graph *g = lane->g;
    uint32_t dim = g->h->head_dim, unit = head / g->unit_heads;
    float *part = g->parts + (size_t)slot * g->part_stride, *o = part + KERNEL_GROUP_ROWS;
    float *values = g->attn + (size_t)token * g->h->n_head * dim;

    for (uint32_t i = 1; i < ranges; i++) {
        float *next = part + (size_t)i * g->part_stride;

        g->c.ops->attend_merge(&part[0], &part[1], o, next[0], next[1], next + KERNEL_GROUP_ROWS, dim);
    }
    g->c.ops->attend_finish(o, part[1], dim);
    memcpy(values + (size_t)head * dim, o, dim * sizeof(*o));
    if (graph_arrive(&g->arrived[token * g->attend_units + unit], 1, unit_size(g, unit)))
        put_unit(lane, unit, token, values + (size_t)unit * g->unit_heads * dim);
}

static void narrow_task(struct lane *lane, uint32_t task, uint32_t count)
{
    struct graph *g = lane->g;
    uint32_t most = ranges_of_batch(lane);

    for (; count; task++, count--) {
        uint32_t index = task % most, token = task / most % g->b.tokens, head = task / most / g->b.tokens;
        uint32_t first = first_position(lane, token) / KERNEL_KV_RANGE;
        uint32_t ranges = g->b.positions[token] / KERNEL_KV_RANGE - first + 1;
        uint32_t slot = (token * g->h->n_head + head) * most;
        float *part = g->parts + (size_t)(slot + index) * g->part_stride;

        if (index >= ranges)
            continue;
        attend_range(lane, head, token, first + index, &part[0], &part[1], part + KERNEL_GROUP_ROWS);
        if (graph_arrive(&g->merged[token * g->h->n_head + head], 1, ranges))
            merge_parts(lane, head, token, slot, ranges);
    }
}

void phase_attend(struct lane *lane, uint32_t parity)
{
    struct graph *g = lane->g;
    struct task_set set;
    uint64_t narrow = g->narrow ? (uint64_t)g->b.tokens * g->h->n_head * ranges_of_batch(lane) : UINT64_MAX;

    if (narrow <= PART_SLOTS) {
        graph_even_tasks(g, (uint32_t)narrow, &set);
        graph_run_tasks(lane, &set, 1, parity, narrow_task);
    } else {
        graph_even_tasks(g, g->b.tokens * g->attend_units, &set);
        graph_run_tasks(lane, &set, 1, parity, wide_task);
    }
}
