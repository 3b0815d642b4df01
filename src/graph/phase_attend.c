/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention.  Narrow: a task is (query heads that share keys, token, range); ranges wait in `parts`, the last one
 * merges them in ascending order, the last head of a unit quantises.  Wide: a task is (unit of heads, some tokens),
 * ranges one after another.  Keys and values are read once for all queries of a call: heads of a group, tokens of a
 * prompt.
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

static uint32_t group_size(const struct graph *g) { return g->h->n_head / g->h->n_kv_head; }

/* What @head of @token touches of a range; false: nothing. */
static bool query_of(struct lane *lane, uint32_t head, uint32_t token, uint32_t range, float *o,
                     struct kernel_query *ret_query)
{
    struct graph *g = lane->g;
    uint32_t begin = range * KERNEL_KV_RANGE, end = begin + KERNEL_KV_RANGE - 1;

    *ret_query = (struct kernel_query){
        .q = g->q + ((size_t)token * g->h->n_head + head) * g->h->head_dim, .o = o,
        .lo = (uint32_t)max_u64(first_position(lane, token), begin),
        .hi = (uint32_t)min_u64(g->b.positions[token], end),
    };
    return ret_query->lo <= ret_query->hi;
}

/* @queries of one sequence, whose blocks are @token's, and of one KV head. */
static void attend(struct lane *lane, uint32_t kv_head, uint32_t token, struct kernel_query *queries, uint32_t n)
{
    struct graph *g = lane->g;
    const uint8_t *blocks[KERNEL_KV_RANGE / KERNEL_KV_BLOCK] = { NULL };
    const uint16_t *halves[ARRAY_LENGTH(blocks)];

    for (uint32_t i = 0; i < n; i++)
        for (uint32_t b = queries[i].lo / KERNEL_KV_BLOCK; b <= queries[i].hi / KERNEL_KV_BLOCK; b++)
            blocks[b % ARRAY_LENGTH(blocks)] = kv_piece(g->c.kv, g->b.blocks[token][b], lane->layer, kv_head);
    if (g->c.kv->format == KV_Q8) {
        g->c.ops->attend_q8(queries, n, blocks, g->h->head_dim, 0, g->c.wide_mask & 1u << ACT_QKV ? 2 : 1);
        return;
    }
    for (size_t b = 0; b < ARRAY_LENGTH(blocks); b++)
        halves[b] = (const uint16_t *)(const void *)blocks[b];
    g->c.ops->attend(queries, n, halves, g->h->head_dim, 0);
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

#define WIDE_TOKENS 8u                  /* of a task at most: enough for the kernel's tiles */

/* Some heads of one KV head, and some tokens of one sequence. */
struct patch {
    uint32_t head, heads, token, tokens;
    float *values, *scratch;            /* [tokens][values_stride]: of these heads; [heads * tokens][head_dim] */
    size_t values_stride;
};

static void add_range(struct lane *lane, const struct patch *p, uint32_t range, float *m, float *l)
{
    struct graph *g = lane->g;
    struct kernel_query queries[KERNEL_QUERIES_MAX];
    uint32_t dim = g->h->head_dim, n = 0, at[KERNEL_QUERIES_MAX];
    float *values[KERNEL_QUERIES_MAX];

    for (uint32_t i = 0; i < p->heads * p->tokens; i++) {
        uint32_t token = p->token + i / p->heads, head = p->head + i % p->heads;
        bool is_first = range == first_position(lane, token) / KERNEL_KV_RANGE;

        values[n] = p->values + i / p->heads * p->values_stride + (size_t)(i % p->heads) * dim;
        at[n] = i;
        if (query_of(lane, head, token, range, is_first ? values[n] : p->scratch + (size_t)n * dim, &queries[n]))
            n++;
    }
    attend(lane, p->head / group_size(g), p->token, queries, n);
    for (uint32_t i = 0; i < n; i++) {
        if (queries[i].o == values[i]) {
            m[at[i]] = queries[i].m;
            l[at[i]] = queries[i].l;
        } else {
            g->c.ops->attend_merge(&m[at[i]], &l[at[i]], values[i], queries[i].m, queries[i].l, queries[i].o, dim);
        }
    }
}

static void attend_patch(struct lane *lane, const struct patch *p)
{
    struct graph *g = lane->g;
    uint32_t first = UINT32_MAX, last = 0;
    float m[KERNEL_QUERIES_MAX], l[KERNEL_QUERIES_MAX];

    for (uint32_t t = p->token; t < p->token + p->tokens; t++) {
        first = (uint32_t)min_u64(first, first_position(lane, t) / KERNEL_KV_RANGE);
        last = (uint32_t)max_u64(last, g->b.positions[t] / KERNEL_KV_RANGE);
    }
    for (uint32_t range = first; range <= last; range++)
        add_range(lane, p, range, m, l);
    for (uint32_t i = 0; i < p->heads * p->tokens; i++)
        g->c.ops->attend_finish(p->values + i / p->heads * p->values_stride +
                                    (size_t)(i % p->heads) * g->h->head_dim, l[i], g->h->head_dim);
}

/* A unit's heads of tokens of one sequence, KV head by KV head. */
static void attend_unit(struct lane *lane, uint32_t unit, uint32_t token, uint32_t tokens, float *values,
                        float *scratch)
{
    struct graph *g = lane->g;
    uint32_t first = unit * g->unit_heads, end = first + unit_size(g, unit), group = group_size(g);
    struct patch p = { .token = token, .tokens = tokens, .scratch = scratch,
                       .values_stride = (size_t)g->unit_heads * g->h->head_dim };

    for (p.head = first; p.head < end; p.head += p.heads) {
        p.heads = (uint32_t)min_u64(end, ((uint64_t)p.head / group + 1) * group) - p.head;
        p.heads = (uint32_t)min_u64(p.heads, KERNEL_QUERIES_MAX / tokens);
        p.values = values + (size_t)(p.head - first) * g->h->head_dim;
        attend_patch(lane, &p);
    }
}

/* Tokens of a wide task: as many as the tile holds, and such that every worker has some tasks. */
static uint32_t wide_tokens(const struct graph *g)
{
    uint64_t heads = g->unit_heads + min_u64(group_size(g), g->unit_heads);
    uint64_t most = min_u64(WIDE_TOKENS, TILE_FLOATS / (heads * g->h->head_dim));

    return (uint32_t)max_u64(1, min_u64(most, (uint64_t)g->b.tokens * g->attend_units / (4 * (uint64_t)g->n_workers)));
}

static uint32_t wide_chunks(const struct graph *g) { return (g->b.tokens + wide_tokens(g) - 1) / wide_tokens(g); }

static void wide_task(struct lane *lane, uint32_t task, uint32_t count)
{
    struct graph *g = lane->g;
    const uint32_t each = wide_tokens(g), chunks = wide_chunks(g);
    const size_t stride = (size_t)g->unit_heads * g->h->head_dim;

    for (; count; task++, count--) {
        uint32_t unit = task / chunks, token = task % chunks * each;
        uint32_t end = (uint32_t)min_u64(token + each, g->b.tokens), n;

        for (; token < end; token += n) {
            for (n = 1; token + n < end && g->b.blocks[token + n] == g->b.blocks[token]; n++)
                ;
            attend_unit(lane, unit, token, n, lane->tile, lane->tile + n * stride);
            for (uint32_t i = 0; i < n; i++)
                put_unit(lane, unit, token + i, lane->tile + i * stride);
        }
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

/* Query heads of a narrow task: all that share a KV head, or a part of them where there are many workers. */
static uint32_t narrow_heads(const struct graph *g, uint32_t ranges)
{
    uint32_t group = group_size(g), heads = (uint32_t)min_u64(group, KERNEL_QUERIES_MAX);

    while (heads > 1 && (group % heads || (uint64_t)g->b.tokens * ranges * g->h->n_head / heads < 2 * g->n_workers))
        heads--;
    return heads;
}

static void narrow_task(struct lane *lane, uint32_t task, uint32_t count)
{
    struct graph *g = lane->g;
    const uint32_t most = ranges_of_batch(lane), heads = narrow_heads(g, most);
    struct kernel_query queries[KERNEL_QUERIES_MAX];

    for (; count; task++, count--) {
        uint32_t index = task % most, token = task / most % g->b.tokens, head = task / most / g->b.tokens * heads;
        uint32_t first = first_position(lane, token) / KERNEL_KV_RANGE;
        uint32_t ranges = g->b.positions[token] / KERNEL_KV_RANGE - first + 1;

        if (index >= ranges)
            continue;
        for (uint32_t i = 0; i < heads; i++) {
            size_t slot = ((size_t)token * g->h->n_head + head + i) * most + index;

            query_of(lane, head + i, token, first + index, g->parts + slot * g->part_stride + KERNEL_GROUP_ROWS,
                     &queries[i]);
        }
        attend(lane, head / group_size(g), token, queries, heads);
        for (uint32_t i = 0; i < heads; i++) {
            uint32_t slot = (token * g->h->n_head + head + i) * most;
            float *part = queries[i].o - KERNEL_GROUP_ROWS;

            part[0] = queries[i].m;
            part[1] = queries[i].l;
            if (graph_arrive(&g->merged[token * g->h->n_head + head + i], 1, ranges))
                merge_parts(lane, head + i, token, slot, ranges);
        }
    }
}

void phase_attend(struct lane *lane, uint32_t parity)
{
    struct graph *g = lane->g;
    struct task_set set;
    uint32_t ranges = g->narrow ? ranges_of_batch(lane) : 0;
    uint64_t slots = (uint64_t)g->b.tokens * g->h->n_head * ranges;

    if (g->narrow && slots <= PART_SLOTS) {
        graph_even_tasks(g, (uint32_t)slots / narrow_heads(g, ranges), &set);
        graph_run_tasks(lane, &set, 1, parity, narrow_task);
    } else {
        graph_even_tasks(g, wide_chunks(g) * g->attend_units, &set);
        graph_run_tasks(lane, &set, 1, parity, wide_task);
    }
}
