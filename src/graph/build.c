/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the list of phases and lays out the scratch memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/graph/internal.h"

/* Hands out 64-byte aligned pieces of one range; with base NULL it only measures. */
struct carver {
    uint8_t *base;
    uint64_t used;
};

static void *carve(struct carver *c, uint64_t count, uint64_t size)
{
    uint8_t *piece = c->base ? c->base + c->used : NULL;

    c->used += align_up(count * size, CACHE_LINE);
    return piece;
}

static uint8_t format_bit(const struct model *m, uint32_t matrix)
{
    return (uint8_t)(1u << tensor_types[m->matrices[matrix].type].act);
}

static void layer_formats(const struct model *m, uint32_t layer, struct layer_formats *ret)
{
    const struct model_layer *l = &m->layers[layer];

    ret->mask[ACT_QKV] = format_bit(m, l->q) | format_bit(m, l->k) | format_bit(m, l->v);
    ret->mask[ACT_ATTN_OUTPUT] = format_bit(m, l->o);
    ret->mask[ACT_GATE_UP] = format_bit(m, l->gate) | format_bit(m, l->up);
    ret->mask[ACT_FFN_DOWN] = format_bit(m, l->down);
    ret->mask[ACT_OUTPUT] = format_bit(m, m->head);
}

static uint32_t input_size(const struct hparams *h, enum act_input input)
{
    switch (input) {
    case ACT_ATTN_OUTPUT: return h->n_head * h->head_dim;
    case ACT_FFN_DOWN: return h->n_ff;
    case ACT_QKV:
    case ACT_GATE_UP:
    case ACT_OUTPUT: return h->n_embd;
    case ACT_INPUT_COUNT: break;
    }
    check(false);
    return 0;
}

static void carve_act(struct carver *c, struct kernel_act *act, enum act_format format, uint32_t k, uint32_t columns,
                      uint32_t tokens)
{
    uint64_t values = (uint64_t)tokens * k;

    *act = (struct kernel_act){ .format = format, .k = k, .columns = columns };
    if (format == ACT_F32) {
        act->f = carve(c, values, sizeof(float));
        return;
    }
    act->q = carve(c, values * columns, 1);
    act->d = carve(c, values / (format == ACT_32 ? 32 : KERNEL_BLOCK), sizeof(float));
    act->s32 = carve(c, values * columns / 32, sizeof(int16_t));
    if (format == ACT_256)
        act->s16 = carve(c, values * columns / 16, sizeof(int16_t));
}

static void carve_acts(struct carver *c, const struct model *m, uint32_t wide_mask, uint32_t tokens,
                       struct kernel_act acts[ACT_INPUT_COUNT][ACT_FORMAT_COUNT])
{
    uint8_t masks[ACT_INPUT_COUNT] = { 0 };

    for (uint32_t l = 0; l < m->hparams.n_layer; l++) {
        struct layer_formats f;

        layer_formats(m, l, &f);
        for (uint32_t i = 0; i < ACT_INPUT_COUNT; i++)
            masks[i] |= f.mask[i];
    }
    for (uint32_t i = 0; i < ACT_INPUT_COUNT; i++)
        for (uint32_t f = 0; f < ACT_FORMAT_COUNT; f++)
            if (masks[i] & 1u << f)
                carve_act(c, &acts[i][f], f, input_size(&m->hparams, i), wide_mask & 1u << i ? 2 : 1, tokens);
}

static uint32_t narrow_width(const struct hparams *h)
{
    uint64_t qkv = (uint64_t)(h->n_head + 2 * h->n_kv_head) * h->head_dim;

    return (uint32_t)max_u64(max_u64(qkv, h->n_embd), 2 * (uint64_t)h->n_ff);
}

/* Sets every size that follows from the model; then every buffer, in one order for measuring and for carving. */
static void lay_out(struct graph *g, struct carver *c)
{
    const struct model *m = g->c.model;
    const struct hparams *h = &m->hparams;
    uint64_t tokens = g->c.max_tokens, narrow = min_u64(tokens, NARROW_TOKENS);

    g->h = h;
    g->n_blocks = (h->n_embd + KERNEL_BLOCK - 1) / KERNEL_BLOCK;
    g->unit_heads = KERNEL_BLOCK % h->head_dim == 0 ? KERNEL_BLOCK / h->head_dim : h->n_head;
    g->attend_units = (h->n_head + g->unit_heads - 1) / g->unit_heads;
    g->part_stride = KERNEL_GROUP_ROWS + h->head_dim;
    g->tile_most = g->n_workers <= TILE_WORKERS ? TILE_TOKENS_MOST : TILE_TOKENS;
    g->tile_floats = g->tile_most * TILE_STRIDE;
    g->shared_stride = narrow_width(h);
    g->logits_stride = m->matrices[m->head].groups * KERNEL_GROUP_ROWS;
    g->r_stride = (uint32_t)align_up(max_u64(g->c.max_rows, g->tile_most), KERNEL_GROUP_ROWS);
    g->x = carve(c, tokens * h->n_embd, sizeof(float));
    g->hidden = h->arch->post_norms ? carve(c, tokens * h->n_embd, sizeof(float)) : NULL;
    g->ss = carve(c, tokens * g->n_blocks, sizeof(float));
    g->ss_hidden = carve(c, tokens * g->n_blocks, sizeof(float));
    g->q = carve(c, tokens * h->n_head * h->head_dim, sizeof(float));
    g->attn = carve(c, narrow * h->n_head * h->head_dim, sizeof(float));
    g->rope = carve(c, tokens * h->rope_dim, sizeof(float));
    g->rope_local = h->window ? carve(c, tokens * h->rope_dim, sizeof(float)) : NULL;
    g->shared = carve(c, narrow * g->shared_stride, sizeof(float));
    g->parts = carve(c, (uint64_t)PART_SLOTS * g->part_stride, sizeof(float));
    g->logits = carve(c, (uint64_t)g->c.max_rows * g->logits_stride, sizeof(float));
    g->tiles = carve(c, (uint64_t)g->n_workers * g->tile_floats, sizeof(float));
    g->rs = carve(c, (uint64_t)g->n_workers * g->r_stride, sizeof(float));
    carve_acts(c, m, g->c.wide_mask, g->c.max_tokens, g->acts);
}

uint64_t graph_scratch_bytes(const struct model *model, uint32_t wide_mask, uint32_t max_tokens, uint32_t max_rows,
                             uint32_t workers)
{
    struct graph g = { .c = { .model = model, .wide_mask = wide_mask, .max_tokens = max_tokens, .max_rows = max_rows },
                       .n_workers = workers };
    struct carver c = { .base = NULL };

    lay_out(&g, &c);
    return c.used;
}

/* Tables that are small or of other types than floats live on the heap. */
static int make_tables(struct graph *g)
{
    const struct hparams *h = g->h;
    uint32_t units = (uint32_t)max_u64(max_u64(h->n_head + h->n_kv_head, (h->n_ff + KERNEL_BLOCK - 1) / KERNEL_BLOCK),
                                       max_u64(g->n_blocks, NARROW_TOKENS * (uint64_t)g->attend_units));
    uint32_t phases = h->n_layer * 7 + 2;

    g->phases = calloc(phases, sizeof(*g->phases));
    g->formats = calloc(h->n_layer, sizeof(*g->formats));
    g->inv_freq = calloc(h->rope_dim, sizeof(double));
    g->inv_freq_local = calloc(h->rope_dim, sizeof(double));
    g->zeros = aligned_alloc(CACHE_LINE, KERNEL_BLOCK * sizeof(float));
    g->row_token = calloc(g->c.max_tokens, sizeof(uint32_t));
    g->failed = calloc(g->c.max_tokens, sizeof(*g->failed));
    g->arrived = calloc(units, sizeof(*g->arrived));
    g->merged = calloc((size_t)NARROW_TOKENS * h->n_head, sizeof(*g->merged));
    for (uint32_t p = 0; p < 2; p++) {
        g->cursors[p] = aligned_alloc(CACHE_LINE, g->n_workers * sizeof(struct cursor_line));
        if (!g->cursors[p])
            return -ENOMEM;
        memset(g->cursors[p], 0, g->n_workers * sizeof(struct cursor_line));
    }
    if (!g->phases || !g->formats || !g->inv_freq || !g->inv_freq_local || !g->zeros || !g->row_token || !g->failed ||
        !g->arrived || !g->merged)
        return -ENOMEM;
    memset(g->zeros, 0, KERNEL_BLOCK * sizeof(float));
    return 0;
}

static void add_phase(struct graph *g, enum phase_kind kind, uint32_t layer)
{
    g->phases[g->phase_count++] = (struct phase){ .kind = kind, .layer = layer };
}

static void build_phases(struct graph *g)
{
    bool post = g->h->arch->post_norms;

    add_phase(g, PHASE_EMBED, 0);
    for (uint32_t l = 0; l < g->h->n_layer; l++) {
        layer_formats(g->c.model, l, &g->formats[l]);
        add_phase(g, PHASE_QKV, l);
        add_phase(g, PHASE_ATTEND, l);
        add_phase(g, PHASE_OUT, l);
        if (post)
            add_phase(g, PHASE_JOIN_OUT, l);
        add_phase(g, PHASE_GATE_UP, l);
        add_phase(g, PHASE_DOWN, l);
        if (post)
            add_phase(g, PHASE_JOIN_DOWN, l);
    }
    add_phase(g, PHASE_HEAD, g->h->n_layer - 1);
}

static void make_freqs(struct graph *g)
{
    const struct hparams *h = g->h;

    kernel_rope_freqs(h->rope_base, h->rope_dim, h->rope_scale, weights_vector(g->c.weights, g->c.model->rope_factors),
                      g->inv_freq);
    if (h->window)
        kernel_rope_freqs(h->rope_base_local, h->rope_dim, 1, NULL, g->inv_freq_local);
}

static int make_scratch(struct graph *g, struct error *error)
{
    struct carver c = { .base = NULL };
    struct arena_spec spec = { .name = "tenon:scratch", .os_node = g->c.plan->nodes[0].os_node,
                               .policy = g->c.memory, .lock = true };
    int r;

    lay_out(g, &c);
    spec.bytes = c.used;
    r = arena_new(&spec, &g->arena, error);
    if (r == 0)
        r = arena_populate(g->arena, 0, g->arena->bytes, error);
    if (r < 0)
        return r;
    c = (struct carver){ .base = g->arena->base };
    lay_out(g, &c);
    return 0;
}

int graph_new(const struct graph_config *config, struct graph **ret_graph, struct error *error)
{
    const struct hparams *h = &config->model->hparams;
    struct graph *g;
    int r;

    if (KERNEL_BLOCK % h->head_dim && ((uint64_t)h->n_head + h->n_head / h->n_kv_head) * h->head_dim > TILE_FLOATS)
        return error_set(error, -ENOTSUP, "%u heads of %u values do not fit this build's attention unit", h->n_head,
                         h->head_dim);
    g = calloc(1, sizeof(*g));
    if (!g)
        return error_set(error, -ENOMEM, "no memory for the graph");
    g->c = *config;
    g->n_workers = config->plan->worker_count;
    r = make_scratch(g, error);
    if (r == 0) {
        r = make_tables(g);
        if (r < 0)
            error_set(error, r, "no memory for the graph's tables");
    }
    if (r < 0) {
        graph_free(g);
        return r;
    }
    build_phases(g);
    make_freqs(g);
    *ret_graph = g;
    return 0;
}

struct graph *graph_free(struct graph *g)
{
    if (!g)
        return NULL;
    arena_free(g->arena);
    free(g->phases);
    free(g->formats);
    free(g->inv_freq);
    free(g->inv_freq_local);
    free(g->zeros);
    free(g->row_token);
    free((void *)g->failed);
    free((void *)g->arrived);
    free((void *)g->merged);
    free(g->cursors[0]);
    free(g->cursors[1]);
    free(g);
    return NULL;
}

const struct arena *graph_arena(const struct graph *g) { return g->arena; }
