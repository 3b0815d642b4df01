/* SPDX-License-Identifier: Apache-2.0 */
/* The matmuls whose outputs finish by 256-blocks: output and down projection, gate and up, the head. */
#include <string.h>

#include "src/graph/internal.h"

#define HEAD_GRAIN 8u

static bool is_down(const struct lane *lane, uint32_t matrix)
{
    return matrix == lane->g->c.model->layers[lane->layer].down;
}

/* A block of the residual stream's increment is there: add it, or keep it for the post norm. */
static void finish_stream(struct lane *lane, bool after_ffn, uint32_t block, uint32_t token_first, uint32_t tokens,
                          const float *y, size_t stride)
{
    struct graph *g = lane->g;
    uint32_t n = graph_block_values(g->h->n_embd, block), first = block * KERNEL_BLOCK;
    bool last = after_ffn && lane->layer + 1 == g->h->n_layer;
    enum act_input input = last ? ACT_OUTPUT : after_ffn ? ACT_QKV : ACT_GATE_UP;

    for (uint32_t i = 0; i < tokens; i++, y += stride) {
        size_t at = (size_t)(token_first + i) * g->h->n_embd + first;

        if (g->h->arch->post_norms) {
            memcpy(g->hidden + at, y, n * sizeof(*y));
            g->ss_hidden[(size_t)(token_first + i) * g->n_blocks + block] = g->c.ops->sumsq(y, n);
            continue;
        }
        g->c.ops->add(g->x + at, y, n);
        graph_put_stream(g, input, lane->layer + (after_ffn && !last), token_first + i, block);
    }
}

/* Gate and up of a block are there: r, activation, input of the down projection. */
static void finish_gated(struct lane *lane, uint32_t block, uint32_t token_first, uint32_t tokens, float *gate,
                         float *up, size_t stride)
{
    struct graph *g = lane->g;
    uint32_t n = graph_block_values(g->h->n_ff, block);

    for (uint32_t i = 0; i < tokens; i++, gate += stride, up += stride) {
        g->c.ops->epilogue(gate, n, 1, lane->r[i], NULL);
        g->c.ops->epilogue(up, n, 1, lane->r[i], NULL);
        if (g->h->arch->activation == ARCH_SILU)
            g->c.ops->gated_silu(gate, up, gate, n);
        else
            g->c.ops->gated_gelu(gate, up, gate, n);
        graph_put(g, ACT_FFN_DOWN, g->formats[lane->layer].mask[ACT_FFN_DOWN], gate, NULL, n, token_first + i,
                  token_first + i, block * KERNEL_BLOCK);
    }
}

/* Groups of the block that @group is in, from there on; and how many the whole block has. */
static uint32_t run_in_block(uint32_t group, uint32_t count, uint32_t all_groups, uint32_t *ret_whole)
{
    uint32_t begin = group / UNIT_GROUPS * UNIT_GROUPS;

    *ret_whole = (uint32_t)min_u64(UNIT_GROUPS, all_groups - begin);
    return (uint32_t)min_u64(count, begin + *ret_whole - group);
}

static void stream_narrow(struct lane *lane, uint32_t matrix, uint32_t task, uint32_t count)
{
    struct graph *g = lane->g;
    bool down = is_down(lane, matrix);

    while (count) {
        uint32_t whole, run = run_in_block(task, count, g->c.model->matrices[matrix].groups, &whole);
        uint32_t block = task / UNIT_GROUPS;

        graph_matmul(lane, matrix, task, run, down ? ACT_FFN_DOWN : ACT_ATTN_OUTPUT, 0, g->b.tokens,
                     g->shared + (size_t)task * KERNEL_GROUP_ROWS, g->shared_stride);
        if (graph_arrive(&g->arrived[block], run, whole))
            finish_stream(lane, down, block, 0, g->b.tokens, g->shared + (size_t)block * KERNEL_BLOCK,
                          g->shared_stride);
        task += run;
        count -= run;
    }
}

static void out_narrow(struct lane *lane, uint32_t task, uint32_t count)
{
    stream_narrow(lane, lane->g->c.model->layers[lane->layer].o, task, count);
}

static void down_narrow(struct lane *lane, uint32_t task, uint32_t count)
{
    stream_narrow(lane, lane->g->c.model->layers[lane->layer].down, task, count);
}

/* Tile of a wide task; block-major, so that a block's weights stay in the cache over the tiles. */
static uint32_t tile_of(const struct graph *g, uint32_t task, uint32_t *ret_first, uint32_t *ret_tokens)
{
    uint32_t tiles = graph_tiles(g);

    *ret_first = task % tiles * g->tile_tokens;
    *ret_tokens = (uint32_t)min_u64(g->tile_tokens, g->b.tokens - *ret_first);
    return task / tiles;
}

static void stream_wide(struct lane *lane, uint32_t matrix, uint32_t task, uint32_t count)
{
    struct graph *g = lane->g;
    bool down = is_down(lane, matrix);

    for (; count; task++, count--) {
        uint32_t first, tokens, whole, block = tile_of(g, task, &first, &tokens);

        run_in_block(block * UNIT_GROUPS, UNIT_GROUPS, g->c.model->matrices[matrix].groups, &whole);
        graph_matmul(lane, matrix, block * UNIT_GROUPS, whole, down ? ACT_FFN_DOWN : ACT_ATTN_OUTPUT, first, tokens,
                     lane->tile, TILE_STRIDE);
        finish_stream(lane, down, block, first, tokens, lane->tile, TILE_STRIDE);
    }
}

static void out_wide(struct lane *lane, uint32_t task, uint32_t count)
{
    stream_wide(lane, lane->g->c.model->layers[lane->layer].o, task, count);
}

static void down_wide(struct lane *lane, uint32_t task, uint32_t count)
{
    stream_wide(lane, lane->g->c.model->layers[lane->layer].down, task, count);
}

static void block_tasks(const struct graph *g, uint32_t matrix, struct task_set *ret_set)
{
    uint32_t groups = g->c.model->matrices[matrix].groups;

    if (g->narrow) {
        graph_split_tasks(g, matrix, groups, 1, 1, ret_set);
    } else {
        uint32_t tiles = graph_tiles(g);

        graph_split_tasks(g, matrix, (groups + UNIT_GROUPS - 1) / UNIT_GROUPS * tiles, tiles, UNIT_GROUPS, ret_set);
    }
}

/* How many row groups a worker takes at once: few enough to share the end of a phase, more where there are many. */
static uint32_t grain_of(const struct graph *g, const struct task_set *set)
{
    uint32_t each = set->count / g->n_workers / 16;

    return !g->narrow || each < 1 ? 1 : each > HEAD_GRAIN ? HEAD_GRAIN : each;
}

void phase_stream(struct lane *lane, uint32_t parity, bool after_ffn)
{
    struct graph *g = lane->g;
    const struct model_layer *l = &g->c.model->layers[lane->layer];
    struct task_set set;

    block_tasks(g, after_ffn ? l->down : l->o, &set);
    graph_run_tasks(lane, &set, grain_of(g, &set), parity,
                    g->narrow ? (after_ffn ? down_narrow : out_narrow) : (after_ffn ? down_wide : out_wide));
}

static void gate_up_narrow(struct lane *lane, uint32_t task, uint32_t count)
{
    struct graph *g = lane->g;
    const struct model_layer *l = &g->c.model->layers[lane->layer];
    float *gate = g->shared, *up = g->shared + g->h->n_ff;

    while (count) {
        uint32_t whole, run = run_in_block(task, count, g->c.model->matrices[l->gate].groups, &whole);
        uint32_t block = task / UNIT_GROUPS;
        size_t at = (size_t)task * KERNEL_GROUP_ROWS, from = (size_t)block * KERNEL_BLOCK;

        graph_matmul(lane, l->gate, task, run, ACT_GATE_UP, 0, g->b.tokens, gate + at, g->shared_stride);
        graph_matmul(lane, l->up, task, run, ACT_GATE_UP, 0, g->b.tokens, up + at, g->shared_stride);
        if (graph_arrive(&g->arrived[block], run, whole))
            finish_gated(lane, block, 0, g->b.tokens, gate + from, up + from, g->shared_stride);
        task += run;
        count -= run;
    }
}

static void gate_up_wide(struct lane *lane, uint32_t task, uint32_t count)
{
    struct graph *g = lane->g;
    const struct model_layer *l = &g->c.model->layers[lane->layer];

    for (; count; task++, count--) {
        uint32_t first, tokens, whole, block = tile_of(g, task, &first, &tokens);

        run_in_block(block * UNIT_GROUPS, UNIT_GROUPS, g->c.model->matrices[l->gate].groups, &whole);
        for (uint32_t i = 0; i < tokens; i++)
            lane->r[i] = graph_inv_rms(g, g->ss, first + i);
        graph_matmul(lane, l->gate, block * UNIT_GROUPS, whole, ACT_GATE_UP, first, tokens, lane->tile, TILE_STRIDE);
        graph_matmul(lane, l->up, block * UNIT_GROUPS, whole, ACT_GATE_UP, first, tokens, lane->tile + KERNEL_BLOCK,
                     TILE_STRIDE);
        finish_gated(lane, block, first, tokens, lane->tile, lane->tile + KERNEL_BLOCK, TILE_STRIDE);
    }
}

void phase_gate_up(struct lane *lane, uint32_t parity)
{
    struct graph *g = lane->g;
    struct task_set set;

    block_tasks(g, g->c.model->layers[lane->layer].gate, &set);
    for (uint32_t t = 0; g->narrow && t < g->b.tokens; t++)
        lane->r[t] = graph_inv_rms(g, g->ss, t);
    graph_run_tasks(lane, &set, grain_of(g, &set), parity, g->narrow ? gate_up_narrow : gate_up_wide);
}

static bool all_finite(const float *y, uint32_t n)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t bits = load_u32(&y[i]) & 0x7fffffffu;

        most = bits > most ? bits : most;
    }
    return most < 0x7f800000u;
}

static void head_task(struct lane *lane, uint32_t task, uint32_t count)
{
    struct graph *g = lane->g;
    float *y = g->logits + (size_t)task * KERNEL_GROUP_ROWS;

    graph_matmul(lane, g->c.model->head, task, count, ACT_OUTPUT, g->head_first, g->head_rows, y, g->logits_stride);
    for (uint32_t i = 0; i < g->head_rows; i++, y += g->logits_stride) {
        g->c.ops->epilogue(y, count * KERNEL_GROUP_ROWS, 1, lane->r[i], NULL);
        if (!all_finite(y, count * KERNEL_GROUP_ROWS))
            graph_fail(g, g->row_token[g->head_first + i]);
    }
}

void phase_head(struct lane *lane, uint32_t parity)
{
    struct graph *g = lane->g;
    struct task_set set;

    for (uint32_t i = 0; i < g->head_rows; i++)
        lane->r[i] = graph_inv_rms(g, g->ss, g->row_token[g->head_first + i]);
    graph_split_tasks(g, g->c.model->head, g->c.model->matrices[g->c.model->head].groups, 1, 1, &set);
    graph_run_tasks(lane, &set, HEAD_GRAIN, parity, head_task);
}
