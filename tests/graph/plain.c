/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/graph/plain.h"

#include <stdlib.h>
#include <string.h>

struct plain {
    const struct instance *in;
    const struct model *m;
    const struct hparams *h;
    struct kernel_ops ref;
    uint32_t wide_mask, position, positions;
    uint8_t *kv;                        /* [layer][kv head][block] pieces */
    float *x, *h1, *h2, *q, *k, *v, *logits;
    struct kernel_act act;              /* big enough for any input */
};

static float *floats(uint64_t n)
{
    return calloc(n + KERNEL_BLOCK, sizeof(float));
}

int plain_new(const struct instance *in, uint32_t wide_mask, uint32_t positions, struct plain **ret_plain)
{
    struct plain *p = calloc(1, sizeof(*p));
    const struct hparams *h = &in->model->hparams;
    uint64_t most = max_u64(max_u64(h->n_ff, h->n_embd), (uint64_t)h->n_head * h->head_dim);
    uint64_t blocks = kv_blocks_for(positions);

    check(p != NULL);
    p->in = in;
    p->m = in->model;
    p->h = h;
    p->wide_mask = wide_mask;
    p->positions = positions;
    kernel_ops_init(&p->ref, KERNEL_REF);
    p->kv = aligned_alloc(64, h->n_layer * h->n_kv_head * blocks * kernel_kv_bytes(in->kv->format, h->head_dim));
    check(p->kv != NULL);
    memset(p->kv, 0, h->n_layer * h->n_kv_head * blocks * kernel_kv_bytes(in->kv->format, h->head_dim));
    p->x = floats(most);
    p->h1 = floats(most);
    p->h2 = floats(most);
    p->q = floats(most);
    p->k = floats(most);
    p->v = floats(most);
    p->logits = floats((uint64_t)h->n_vocab + KERNEL_GROUP_ROWS);
    p->act = (struct kernel_act){ .q = calloc(2, most), .d = (float *)calloc(most, 4), .s32 = calloc(most, 2),
                                  .s16 = calloc(most, 2), .f = floats(most) };
    *ret_plain = p;
    return 0;
}

struct plain *plain_free(struct plain *p)
{
    if (!p)
        return NULL;
    free(p->kv);
    free(p->x);
    free(p->h1);
    free(p->h2);
    free(p->q);
    free(p->k);
    free(p->v);
    free(p->logits);
    free(p->act.q);
    free(p->act.d);
    free(p->act.s32);
    free(p->act.s16);
    free(p->act.f);
    free(p);
    return NULL;
}

static float inv_rms(const struct plain *p, const float *x)
{
    float sum = 0;

    for (uint32_t k = 0; k < p->h->n_embd; k += KERNEL_BLOCK) {
        float s = p->ref.sumsq(x + k, (uint32_t)min_u64(KERNEL_BLOCK, p->h->n_embd - k));

        sum = k ? sum + s : s;
    }
    return kernel_inv_rms(sum, p->h->n_embd, p->h->norm_eps);
}

/* y = W v, with v = x * gain quantised for W's type; raw sums, one row group after another. */
static void matmul(struct plain *p, uint32_t matrix, enum act_input input, const float *x, uint32_t gain, float *y)
{
    const struct model_matrix *w = &p->m->matrices[matrix];
    const float *g = weights_vector(p->in->weights, gain);
    struct kernel_act act = p->act;
    float group[KERNEL_GROUP_ROWS];

    act.format = tensor_types[w->type].act;
    act.k = w->k;
    act.columns = p->wide_mask & 1u << input ? 2 : 1;
    for (uint32_t k = 0; k < w->k; k += KERNEL_BLOCK)
        check(p->ref.quantise(x + k, g ? g + k : NULL, (uint32_t)min_u64(KERNEL_BLOCK, w->k - k), &act, 0, k) == 0);
    for (uint32_t i = 0; i < w->groups; i++) {
        p->ref.matmul[w->type](weights_group(p->in->weights, matrix, i, 0), 1, &act, 0, 1, group, KERNEL_GROUP_ROWS);
        memcpy(y + (size_t)i * KERNEL_GROUP_ROWS, group,
               min_u64(KERNEL_GROUP_ROWS, w->rows - (uint64_t)i * KERNEL_GROUP_ROWS) * sizeof(float));
    }
}

static uint8_t *piece(const struct plain *p, uint32_t layer, uint32_t head, uint32_t block)
{
    uint64_t index = ((uint64_t)layer * p->h->n_kv_head + head) * kv_blocks_for(p->positions) + block;

    return p->kv + index * kernel_kv_bytes(p->in->kv->format, p->h->head_dim);
}

static void rope(const struct plain *p, uint32_t layer, float *x)
{
    bool local = p->m->layers[layer].local;
    double freq[KERNEL_HEAD_DIM_MAX / 2];
    float cs[KERNEL_HEAD_DIM_MAX];

    kernel_rope_freqs(local ? p->h->rope_base_local : p->h->rope_base, p->h->rope_dim, local ? 1 : p->h->rope_scale,
                      local ? NULL : weights_vector(p->in->weights, p->m->rope_factors), freq);
    kernel_rope_table(freq, p->h->rope_dim, p->position, cs);
    if (p->h->arch->rope == ARCH_ROPE_ADJACENT)
        p->ref.rope_adjacent(x, cs, p->h->rope_dim);
    else
        p->ref.rope_halves(x, cs, p->h->rope_dim);
}

static void head_norm(const struct plain *p, float *x, uint32_t vector)
{
    const float *gain = weights_vector(p->in->weights, vector);

    if (gain)
        p->ref.norm(x, gain, kernel_inv_rms(p->ref.sumsq(x, p->h->head_dim), p->h->head_dim, p->h->norm_eps),
                    p->h->head_dim);
}

static void store(struct plain *p, uint32_t layer, uint32_t head, const float *k, const float *v)
{
    uint8_t *at = piece(p, layer, head, p->position / 64);
    uint32_t dim = p->h->head_dim, position = p->position % 64;

    if (p->in->kv->format == KV_Q8)
        check(p->ref.kv_store_q8(at, dim, position, k, v) == 0);
    else
        check(p->ref.kv_store((uint16_t *)(void *)at, dim, position, k, v) == 0);
}

static void project_qkv(struct plain *p, uint32_t layer)
{
    const struct model_layer *l = &p->m->layers[layer];
    const struct weights *w = p->in->weights;
    uint32_t dim = p->h->head_dim;
    float r = inv_rms(p, p->x);

    matmul(p, l->q, ACT_QKV, p->x, l->attn_norm, p->q);
    matmul(p, l->k, ACT_QKV, p->x, l->attn_norm, p->k);
    matmul(p, l->v, ACT_QKV, p->x, l->attn_norm, p->v);
    p->ref.epilogue(p->q, p->h->n_head * dim, 1, r, weights_vector(w, l->q_bias));
    p->ref.epilogue(p->k, p->h->n_kv_head * dim, 1, r, weights_vector(w, l->k_bias));
    p->ref.epilogue(p->v, p->h->n_kv_head * dim, 1, r, weights_vector(w, l->v_bias));
    for (uint32_t i = 0; i < p->h->n_head; i++) {
        head_norm(p, p->q + i * dim, l->q_norm);
        rope(p, layer, p->q + i * dim);
        p->ref.scale(p->q + i * dim, p->h->query_scale, dim);
    }
    for (uint32_t i = 0; i < p->h->n_kv_head; i++) {
        head_norm(p, p->k + i * dim, l->k_norm);
        rope(p, layer, p->k + i * dim);
        store(p, layer, i, p->k + i * dim, p->v + i * dim);
    }
}

static void attend_head(struct plain *p, uint32_t layer, uint32_t head, float *o)
{
    uint32_t dim = p->h->head_dim, kv_head = head / (p->h->n_head / p->h->n_kv_head);
    uint32_t lo = p->m->layers[layer].local && p->position >= p->h->window ? p->position - p->h->window + 1 : 0;
    float m = 0, l = 0, o_r[KERNEL_HEAD_DIM_MAX];
    struct kernel_query q;

    for (uint32_t range = lo / 512; range <= p->position / 512; range++) {
        uint32_t first = (uint32_t)max_u64(lo, range * 512), last = (uint32_t)min_u64(p->position, range * 512 + 511);
        const uint16_t *halves[8] = { NULL };
        const uint8_t *blocks[8] = { NULL };

        for (uint32_t b = first / 64; b <= last / 64; b++)
            halves[b % 8] = (const void *)(blocks[b % 8] = piece(p, layer, kv_head, b));
        q = (struct kernel_query){ .q = p->q + head * dim, .o = o_r, .lo = first, .hi = last };
        if (p->in->kv->format == KV_Q8)
            p->ref.attend_q8(&q, 1, blocks, dim, 0, p->wide_mask & 1u << ACT_QKV ? 2 : 1);
        else
            p->ref.attend(&q, 1, halves, dim, 0);
        if (range == lo / 512) {
            m = q.m;
            l = q.l;
            memcpy(o, o_r, dim * sizeof(float));
        } else {
            p->ref.attend_merge(&m, &l, o, q.m, q.l, o_r, dim);
        }
    }
    p->ref.attend_finish(o, l, dim);
}

/* x = x + h, or the post norm's sum. */
static void add_residual(struct plain *p, float *h, uint32_t post_norm)
{
    const float *gain = weights_vector(p->in->weights, post_norm);

    if (gain)
        p->ref.norm_add(p->x, h, gain, inv_rms(p, h), p->h->n_embd);
    else
        p->ref.add(p->x, h, p->h->n_embd);
}

static void layer(struct plain *p, uint32_t i)
{
    const struct model_layer *l = &p->m->layers[i];
    float r;

    project_qkv(p, i);
    for (uint32_t head = 0; head < p->h->n_head; head++)
        attend_head(p, i, head, p->h1 + head * p->h->head_dim);
    matmul(p, l->o, ACT_ATTN_OUTPUT, p->h1, MODEL_NONE, p->h2);
    add_residual(p, p->h2, l->post_attn_norm);
    r = inv_rms(p, p->x);
    matmul(p, l->gate, ACT_GATE_UP, p->x, l->ffn_norm, p->h1);
    matmul(p, l->up, ACT_GATE_UP, p->x, l->ffn_norm, p->h2);
    p->ref.epilogue(p->h1, p->h->n_ff, 1, r, NULL);
    p->ref.epilogue(p->h2, p->h->n_ff, 1, r, NULL);
    if (p->h->arch->activation == ARCH_SILU)
        p->ref.gated_silu(p->h1, p->h2, p->h1, p->h->n_ff);
    else
        p->ref.gated_gelu(p->h1, p->h2, p->h1, p->h->n_ff);
    matmul(p, l->down, ACT_FFN_DOWN, p->h1, MODEL_NONE, p->h2);
    add_residual(p, p->h2, l->post_ffn_norm);
}

const float *plain_token(struct plain *p, uint32_t id)
{
    check(p->position < p->positions);
    kernel_unpack_row(p->m->matrices[p->m->embed].type,
                      weights_group(p->in->weights, p->m->embed, id / KERNEL_GROUP_ROWS, 0), id % KERNEL_GROUP_ROWS,
                      p->h->n_embd, p->x);
    if (p->h->arch->embed_scale)
        p->ref.scale(p->x, p->h->embed_scale, p->h->n_embd);
    for (uint32_t i = 0; i < p->h->n_layer; i++)
        layer(p, i);
    matmul(p, p->m->head, ACT_OUTPUT, p->x, p->m->output_norm, p->logits);
    p->ref.epilogue(p->logits, p->h->n_vocab, 1, inv_rms(p, p->x), NULL);
    p->position++;
    return p->logits;
}
