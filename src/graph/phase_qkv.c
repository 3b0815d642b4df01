/* SPDX-License-Identifier: Apache-2.0 */
/*
 * q, k, v: matmul, epilogue, head norm, rope, KV write.  A unit is one query head, or one KV head with both its key and
 * its value.  Tasks and the columns of `shared` go by KV head: its query heads' groups, then the key's, then the
 * value's.
 */
#include <string.h>

#include "src/graph/internal.h"

#define QUERY_LIMIT_BITS 0x58800000u    /* |q| < 2^50 keeps scores finite (NUMERICS.md section 0) */

struct heads {
    uint32_t dim, groups;               /* of one head */
    uint32_t share;                     /* query heads per KV head */
    uint32_t tasks;                     /* narrow tasks per KV head */
};

static struct heads heads_of(const struct graph *g)
{
    struct heads s = { .dim = g->h->head_dim, .groups = g->h->head_dim / KERNEL_GROUP_ROWS,
                       .share = g->h->n_head / g->h->n_kv_head };

    s.tasks = (s.share + 2) * s.groups;
    return s;
}

static void rope(const struct lane *lane, float *x, uint32_t token)
{
    const struct graph *g = lane->g;
    bool local = g->c.model->layers[lane->layer].local;
    const float *cs = (local ? g->rope_local : g->rope) + (size_t)token * g->h->rope_dim;

    if (g->h->arch->rope == ARCH_ROPE_ADJACENT)
        g->c.ops->rope_adjacent(x, cs, g->h->rope_dim);
    else
        g->c.ops->rope_halves(x, cs, g->h->rope_dim);
}

static void head_norm(const struct lane *lane, float *x, uint32_t vector)
{
    const struct graph *g = lane->g;
    const float *gain = weights_vector(g->c.weights, vector);
    uint32_t dim = g->h->head_dim;

    if (gain)
        g->c.ops->norm(x, gain, kernel_inv_rms(g->c.ops->sumsq(x, dim), dim, g->h->norm_eps), dim);
}

static bool query_finite(const float *q, uint32_t n)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t bits = load_u32(&q[i]) & 0x7fffffffu;

        most = bits > most ? bits : most;
    }
    return most < QUERY_LIMIT_BITS;
}

static const float *bias_of(const struct graph *g, uint32_t vector, uint32_t head)
{
    const float *b = weights_vector(g->c.weights, vector);

    return b ? b + (size_t)head * g->h->head_dim : NULL;
}

/* @y: the head's raw sums, [tokens] rows @stride apart; lane->r belongs to the same tokens. */
static void finish_query(struct lane *lane, uint32_t head, uint32_t token_first, uint32_t tokens, float *y,
                         size_t stride)
{
    struct graph *g = lane->g;
    const struct model_layer *l = &g->c.model->layers[lane->layer];
    uint32_t dim = g->h->head_dim;

    for (uint32_t i = 0; i < tokens; i++, y += stride) {
        uint32_t token = token_first + i;
        float *q = g->q + ((size_t)token * g->h->n_head + head) * dim;

        g->c.ops->epilogue(y, dim, 1, lane->r[i], bias_of(g, l->q_bias, head));
        head_norm(lane, y, l->q_norm);
        rope(lane, y, token);
        g->c.ops->scale(y, g->h->query_scale, dim);
        if (!query_finite(y, dim)) {
            graph_fail(g, token);
            memset(y, 0, dim * sizeof(*y));
        }
        memcpy(q, y, dim * sizeof(*q));
    }
}

static int put(struct graph *g, uint8_t *piece, uint32_t position, const float *k, const float *v)
{
    if (g->c.kv->format == KV_Q8)
        return g->c.ops->kv_store_q8(piece, g->h->head_dim, position % KERNEL_KV_BLOCK, k, v);
    return g->c.ops->kv_store((uint16_t *)(void *)piece, g->h->head_dim, position % KERNEL_KV_BLOCK, k, v);
}

static void store(struct graph *g, uint32_t layer, uint32_t head, uint32_t token, const float *k, const float *v)
{
    uint32_t position = g->b.positions[token];
    uint8_t *piece = kv_piece(g->c.kv, g->b.blocks[token][position / KERNEL_KV_BLOCK], layer, head);

    if (put(g, piece, position, k, v) == 0)
        return;
    graph_fail(g, token);
    if (put(g, piece, position, g->zeros, g->zeros) != 0)
        check(false);
}

/* @y: the key's raw sums, the value's behind them. */
static void finish_kv(struct lane *lane, uint32_t head, uint32_t token_first, uint32_t tokens, float *y, size_t stride)
{
    struct graph *g = lane->g;
    const struct model_layer *l = &g->c.model->layers[lane->layer];
    uint32_t dim = g->h->head_dim;

    for (uint32_t i = 0; i < tokens; i++, y += stride) {
        g->c.ops->epilogue(y, dim, 1, lane->r[i], bias_of(g, l->k_bias, head));
        g->c.ops->epilogue(y + dim, dim, 1, lane->r[i], bias_of(g, l->v_bias, head));
        head_norm(lane, y, l->k_norm);
        rope(lane, y, token_first + i);
        store(g, lane->layer, head, token_first + i, y, y + dim);
    }
}

static void project(struct lane *lane, const struct heads *s, uint32_t kv_head, uint32_t part, uint32_t group,
                    uint32_t count, uint32_t token_first, uint32_t tokens, float *y, size_t stride)
{
    const struct model_layer *l = &lane->g->c.model->layers[lane->layer];
    uint32_t matrix = part < s->share ? l->q : part == s->share ? l->k : l->v;
    uint32_t head = part < s->share ? kv_head * s->share + part : kv_head;

    graph_matmul(lane, matrix, head * s->groups + group, count, ACT_QKV, token_first, tokens, y, stride);
}

static void narrow_run(struct lane *lane, const struct heads *s, uint32_t task, uint32_t count)
{
    struct graph *g = lane->g;
    uint32_t kv_head = task / s->tasks, rest = task % s->tasks, part = rest / s->groups;
    bool query = part < s->share;
    uint32_t unit = kv_head * (s->share + 1) + (query ? part : s->share);
    float *base = g->shared + (size_t)kv_head * s->tasks * KERNEL_GROUP_ROWS;

    project(lane, s, kv_head, part, rest % s->groups, count, 0, g->b.tokens, base + rest * KERNEL_GROUP_ROWS,
            g->shared_stride);
    if (!graph_arrive(&g->arrived[unit], count, query ? s->groups : 2 * s->groups))
        return;
    if (query)
        finish_query(lane, kv_head * s->share + part, 0, g->b.tokens, base + (size_t)part * s->dim, g->shared_stride);
    else
        finish_kv(lane, kv_head, 0, g->b.tokens, base + (size_t)s->share * s->dim, g->shared_stride);
}

static void narrow_task(struct lane *lane, uint32_t task, uint32_t count)
{
    struct heads s = heads_of(lane->g);

    while (count) {                     /* runs end at the border of a head */
        uint32_t run = (uint32_t)min_u64(count, s.groups - task % s.groups);

        narrow_run(lane, &s, task, run);
        task += run;
        count -= run;
    }
}

static void wide_unit(struct lane *lane, uint32_t unit, uint32_t token_first, uint32_t tokens)
{
    struct heads s = heads_of(lane->g);
    uint32_t kv_head = unit / (s.share + 1), part = unit % (s.share + 1);

    for (uint32_t i = 0; i < tokens; i++)
        lane->r[i] = graph_inv_rms(lane->g, lane->g->ss, token_first + i);
    project(lane, &s, kv_head, part, 0, s.groups, token_first, tokens, lane->tile, TILE_STRIDE);
    if (part < s.share) {
        finish_query(lane, kv_head * s.share + part, token_first, tokens, lane->tile, TILE_STRIDE);
        return;
    }
    project(lane, &s, kv_head, part + 1, 0, s.groups, token_first, tokens, lane->tile + s.dim, TILE_STRIDE);
    finish_kv(lane, kv_head, token_first, tokens, lane->tile, TILE_STRIDE);
}

static void wide_task(struct lane *lane, uint32_t task, uint32_t count)
{
    const struct graph *g = lane->g;
    uint32_t tiles = graph_tiles(g);

    for (; count; task++, count--) {
        uint32_t first = task % tiles * g->tile_tokens;

        wide_unit(lane, task / tiles, first, (uint32_t)min_u64(g->tile_tokens, g->b.tokens - first));
    }
}

void phase_qkv(struct lane *lane, uint32_t parity)
{
    struct graph *g = lane->g;
    struct heads s = heads_of(g);
    uint32_t matrix = g->c.model->layers[lane->layer].k;
    struct task_set set;

    if (g->narrow) {
        for (uint32_t t = 0; t < g->b.tokens; t++)
            lane->r[t] = graph_inv_rms(g, g->ss, t);
        graph_split_tasks(g, matrix, g->h->n_kv_head * s.tasks, s.tasks, s.groups, &set);
        graph_run_tasks(lane, &set, 2, parity, narrow_task);
    } else {
        uint32_t tiles = graph_tiles(g), per_head = (s.share + 1) * tiles;

        graph_split_tasks(g, matrix, g->h->n_kv_head * per_head, per_head, s.groups, &set);
        graph_run_tasks(lane, &set, 1, parity, wide_task);
    }
}
