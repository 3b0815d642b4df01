/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/matmul.h"
#include "src/graph/internal.h"

/* True for the arrival that completes the unit.  The counter is zero again for the next phase. */
bool graph_arrive(_Atomic uint32_t *counter, uint32_t share, uint32_t whole)
{
    /* acq_rel: the last arriver sees the sums of all the others */
    if (atomic_fetch_add_explicit(counter, share, memory_order_acq_rel) + share != whole)
        return false;
    atomic_store_explicit(counter, 0, memory_order_relaxed);
    return true;
}

void graph_fail(struct graph *g, uint32_t token)
{
    atomic_store_explicit(&g->failed[token], 1, memory_order_relaxed);
}

/* Values in a 256-block of an n-value vector; only the last may be short. */
uint32_t graph_block_values(uint32_t n, uint32_t block)
{
    return (uint32_t)min_u64(KERNEL_BLOCK, n - (uint64_t)block * KERNEL_BLOCK);
}

/* Quantises one 256-block of a token's vector into every format that its consumers read. */
void graph_put(struct graph *g, enum act_input input, uint8_t formats, const float *x, const float *gain, uint32_t n,
               uint32_t token, uint32_t row, uint32_t k_first)
{
    for (uint32_t f = 0; f < ACT_FORMAT_COUNT; f++) {
        if (!(formats & 1u << f))
            continue;
        if (g->c.ops->quantise(x, gain, n, &g->acts[input][f], row, k_first) == 0)
            continue;
        graph_fail(g, token);           /* the others in the batch go on: this one computes with zeros */
        if (g->c.ops->quantise(g->zeros, NULL, n, &g->acts[input][f], row, k_first) != 0)
            check(false);
    }
}

/* The residual stream has a finished block: its sum of squares, and the input of the matmuls that read it next. */
void graph_put_stream(struct graph *g, enum act_input input, uint32_t layer, uint32_t token, uint32_t block)
{
    const struct model *m = g->c.model;
    uint32_t n = graph_block_values(g->h->n_embd, block), first = block * KERNEL_BLOCK;
    const float *x = g->x + (size_t)token * g->h->n_embd + first;
    uint32_t vector = input == ACT_OUTPUT ? m->output_norm
                    : input == ACT_QKV ? m->layers[layer].attn_norm : m->layers[layer].ffn_norm;
    uint32_t row = input == ACT_OUTPUT ? g->b.rows[token] : token;

    g->ss[(size_t)token * g->n_blocks + block] = g->c.ops->sumsq(x, n);
    if (row != GRAPH_NO_LOGITS)
        graph_put(g, input, g->formats[layer].mask[input], x, weights_vector(g->c.weights, vector) + first, n, token,
                  row, first);
}

float graph_inv_rms(const struct graph *g, const float *ss, uint32_t token)
{
    const float *s = ss + (size_t)token * g->n_blocks;
    float sum = s[0];

    for (uint32_t b = 1; b < g->n_blocks; b++)
        sum = sum + s[b];
    return kernel_inv_rms(sum, g->h->n_embd, g->h->norm_eps);
}

/* Row groups that lie behind one another in memory go in one call. */
void graph_matmul(struct lane *lane, uint32_t matrix, uint32_t group, uint32_t count, enum act_input input,
                  uint32_t token_first, uint32_t tokens, float *y, size_t y_stride)
{
    const struct graph *g = lane->g;
    const struct model_matrix *m = &g->c.model->matrices[matrix];
    const struct kernel_act *act = &g->acts[input][tensor_types[m->type].act];

    while (count) {
        const uint8_t *packed = weights_group(g->c.weights, matrix, group, lane->node);
        uint32_t run = 1;

        while (run < count &&
               weights_group(g->c.weights, matrix, group + run, lane->node) == packed + run * m->group_bytes)
            run++;
        kernel_matmul(g->c.ops, m->type, packed, run, act, token_first, tokens, y, y_stride);
        y += run * KERNEL_GROUP_ROWS;
        group += run;
        count -= run;
    }
}
