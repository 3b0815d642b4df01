/* SPDX-License-Identifier: Apache-2.0 */
/* Where tokens come in, and the join of a post norm with the residual stream (gemma). */
#include "src/graph/internal.h"

static void embed_token(struct lane *lane, uint32_t token)
{
    struct graph *g = lane->g;
    const struct model *m = g->c.model;
    uint32_t id = g->b.ids[token], n = g->h->n_embd;
    float *x = g->x + (size_t)token * n;

    kernel_unpack_row(m->matrices[m->embed].type,
                      weights_group(g->c.weights, m->embed, id / KERNEL_GROUP_ROWS, lane->node), id % KERNEL_GROUP_ROWS,
                      n, x);
    if (g->h->arch->embed_scale)
        g->c.ops->scale(x, g->h->embed_scale, n);
    kernel_rope_table(g->inv_freq, g->h->rope_dim, g->b.positions[token], g->rope + (size_t)token * g->h->rope_dim);
    if (g->rope_local)
        kernel_rope_table(g->inv_freq_local, g->h->rope_dim, g->b.positions[token],
                          g->rope_local + (size_t)token * g->h->rope_dim);
    for (uint32_t b = 0; b < g->n_blocks; b++)
        graph_put_stream(g, ACT_QKV, 0, token, b);
}

static void embed_task(struct lane *lane, uint32_t task, uint32_t count)
{
    for (; count; task++, count--)
        embed_token(lane, task);
}

void phase_embed(struct lane *lane, uint32_t parity)
{
    struct task_set set;

    graph_even_tasks(lane->g, lane->g->b.tokens, &set);
    graph_run_tasks(lane, &set, 1, parity, embed_task);
}

static void join_block(struct lane *lane, bool after_ffn, uint32_t token, uint32_t block)
{
    struct graph *g = lane->g;
    const struct model_layer *l = &g->c.model->layers[lane->layer];
    const float *gain = weights_vector(g->c.weights, after_ffn ? l->post_ffn_norm : l->post_attn_norm);
    bool last = after_ffn && lane->layer + 1 == g->h->n_layer;
    size_t first = (size_t)block * KERNEL_BLOCK, at = (size_t)token * g->h->n_embd + first;

    g->c.ops->norm_add(g->x + at, g->hidden + at, gain + first, graph_inv_rms(g, g->ss_hidden, token),
                       graph_block_values(g->h->n_embd, block));
    graph_put_stream(g,
                     last        ? ACT_OUTPUT
                     : after_ffn ? ACT_QKV
                                 : ACT_GATE_UP,
                     lane->layer + (after_ffn && !last), token, block);
}

static void join_out_task(struct lane *lane, uint32_t task, uint32_t count)
{
    for (; count; task++, count--)
        join_block(lane, false, task / lane->g->n_blocks, task % lane->g->n_blocks);
}

static void join_down_task(struct lane *lane, uint32_t task, uint32_t count)
{
    for (; count; task++, count--)
        join_block(lane, true, task / lane->g->n_blocks, task % lane->g->n_blocks);
}

void phase_join(struct lane *lane, uint32_t parity, bool after_ffn)
{
    struct task_set set;

    graph_even_tasks(lane->g, lane->g->b.tokens * lane->g->n_blocks, &set);
    graph_run_tasks(lane, &set, 1, parity, after_ffn ? join_down_task : join_out_task);
}
