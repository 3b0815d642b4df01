/* SPDX-License-Identifier: Apache-2.0 */
#include "src/model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MATRICES_PER_LAYER 7u
#define VECTORS_PER_LAYER 9u

/* What is being built, with which tensors have found a purpose. */
struct binder {
    struct model *m;
    uint8_t *used;                      /* [tensor count] */
    struct error *error;
};

static const struct gguf_tensor *find(struct binder *b, const char *name)
{
    const struct gguf_tensor *t = gguf_tensor_find(b->m->gguf, name);

    if (t)
        b->used[t - gguf_tensor_at(b->m->gguf, 0)] = 1;
    return t;
}

static int check_type(struct binder *b, const char *name, const struct gguf_tensor *t)
{
    char known[256];
    size_t n = 0;
    enum tensor_type type;

    if (t->known)
        return 0;
    if (tensor_type_from_file(t->file_type, &type) == 0)
        return error_set(b->error, -EINVAL, "tensor %s has rows of %llu values, which are not whole blocks of %u, as "
                         "type %s has them", name, (unsigned long long)t->shape[0], tensor_types[type].block_values,
                         tensor_types[type].name);
    for (uint32_t i = 0; i < TENSOR_TYPE_COUNT; i++)
        n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s", i ? " " : "", tensor_types[i].name);
    return error_set(b->error, -ENOTSUP, "tensor %s has type %u, which is not known; known types: %s", name,
                     t->file_type, known);
}

/* A matrix of @rows x @k; rows 0 = any. */
static int bind_matrix(struct binder *b, const char *name, uint32_t rows, uint32_t k, uint32_t align_groups,
                       uint32_t *ret_index)
{
    const struct gguf_tensor *t = find(b, name);
    struct model_matrix *x = &b->m->matrices[b->m->matrix_count];
    int r;

    if (!t)
        return error_set(b->error, -EINVAL, "tensor %s is missing; the file is incomplete, convert it again", name);
    r = check_type(b, name, t);
    if (r)
        return r;
    if (t->shape[0] != k || (rows ? t->shape[1] != rows : t->shape[1] < 1 || t->shape[1] > ARCH_VOCAB_MAX) ||
        t->shape[2] != 1 || t->shape[3] != 1)
        return error_set(b->error, -EINVAL, "tensor %s is %llu x %llu x %llu x %llu; expected %u x %s%u", name,
                         (unsigned long long)t->shape[0], (unsigned long long)t->shape[1],
                         (unsigned long long)t->shape[2], (unsigned long long)t->shape[3], k,
                         rows ? "" : "1 to ", rows ? rows : ARCH_VOCAB_MAX);
    *x = (struct model_matrix){ .tensor = t, .type = t->type, .rows = (uint32_t)t->shape[1], .k = k,
                                .align_groups = align_groups };
    x->groups = (x->rows + KERNEL_GROUP_ROWS - 1) / KERNEL_GROUP_ROWS;
    x->row_bytes = (uint64_t)k / tensor_types[t->type].block_values * tensor_types[t->type].block_bytes;
    x->group_bytes = kernel_group_bytes(t->type, k);
    *ret_index = b->m->matrix_count++;
    return 0;
}

static int bind_vector(struct binder *b, const char *name, uint32_t n, bool optional, uint32_t *ret_index)
{
    const struct gguf_tensor *t = find(b, name);
    struct model_vector *x = &b->m->vectors[b->m->vector_count];
    int r;

    if (!t && optional) {
        *ret_index = MODEL_NONE;
        return 0;
    }
    if (!t)
        return error_set(b->error, -EINVAL, "tensor %s is missing; the file is incomplete, convert it again", name);
    r = check_type(b, name, t);
    if (r)
        return r;
    if (t->shape[0] != n || t->shape[1] != 1 || t->shape[2] != 1 || t->shape[3] != 1)
        return error_set(b->error, -EINVAL, "tensor %s is %llu x %llu x %llu x %llu; expected %u", name,
                         (unsigned long long)t->shape[0], (unsigned long long)t->shape[1],
                         (unsigned long long)t->shape[2], (unsigned long long)t->shape[3], n);
    *x = (struct model_vector){ .tensor = t, .type = t->type, .n = n, .first = b->m->vector_values };
    b->m->vector_values += (uint32_t)align_up(n, 16);
    *ret_index = b->m->vector_count++;
    return 0;
}

static int layer_matrix(struct binder *b, uint32_t layer, const char *part, uint32_t rows, uint32_t k,
                        uint32_t align_groups, uint32_t *ret_index)
{
    char name[64];

    snprintf(name, sizeof(name), "blk.%u.%s.weight", layer, part);
    return bind_matrix(b, name, rows, k, align_groups, ret_index);
}

static int layer_vector(struct binder *b, uint32_t layer, const char *part, bool wanted, uint32_t n,
                        uint32_t *ret_index)
{
    char name[64];

    *ret_index = MODEL_NONE;
    if (!wanted)
        return 0;
    snprintf(name, sizeof(name), "blk.%u.%s", layer, part);
    return bind_vector(b, name, n, false, ret_index);
}

static int bind_attention(struct binder *b, uint32_t i)
{
    const struct hparams *h = &b->m->hparams;
    struct model_layer *l = &b->m->layers[i];
    uint32_t head_groups = h->head_dim / KERNEL_GROUP_ROWS, share = h->n_head / h->n_kv_head;
    uint32_t q_rows = h->n_head * h->head_dim, kv_rows = h->n_kv_head * h->head_dim;
    int r;

    r = layer_matrix(b, i, "attn_q", q_rows, h->n_embd, head_groups * share, &l->q);
    if (r == 0)
        r = layer_matrix(b, i, "attn_k", kv_rows, h->n_embd, head_groups, &l->k);
    if (r == 0)
        r = layer_matrix(b, i, "attn_v", kv_rows, h->n_embd, head_groups, &l->v);
    if (r == 0)
        r = layer_matrix(b, i, "attn_output", h->n_embd, q_rows, 1, &l->o);
    if (r == 0)
        r = layer_vector(b, i, "attn_q.bias", h->arch->qkv_bias, q_rows, &l->q_bias);
    if (r == 0)
        r = layer_vector(b, i, "attn_k.bias", h->arch->qkv_bias, kv_rows, &l->k_bias);
    if (r == 0)
        r = layer_vector(b, i, "attn_v.bias", h->arch->qkv_bias, kv_rows, &l->v_bias);
    if (r == 0)
        r = layer_vector(b, i, "attn_q_norm.weight", h->arch->qk_norm, h->head_dim, &l->q_norm);
    if (r == 0)
        r = layer_vector(b, i, "attn_k_norm.weight", h->arch->qk_norm, h->head_dim, &l->k_norm);
    return r;
}

static int bind_layer(struct binder *b, uint32_t i)
{
    const struct hparams *h = &b->m->hparams;
    struct model_layer *l = &b->m->layers[i];
    int r;

    l->local = hparams_layer_local(h, i);
    r = layer_vector(b, i, "attn_norm.weight", true, h->n_embd, &l->attn_norm);
    if (r == 0)
        r = bind_attention(b, i);
    if (r == 0)
        r = layer_vector(b, i, "post_attention_norm.weight", h->arch->post_norms, h->n_embd, &l->post_attn_norm);
    if (r == 0)
        r = layer_vector(b, i, "ffn_norm.weight", true, h->n_embd, &l->ffn_norm);
    if (r == 0)
        r = layer_matrix(b, i, "ffn_gate", h->n_ff, h->n_embd, 1, &l->gate);
    if (r == 0)
        r = layer_matrix(b, i, "ffn_up", h->n_ff, h->n_embd, 1, &l->up);
    if (r == 0)
        r = layer_matrix(b, i, "ffn_down", h->n_embd, h->n_ff, 1, &l->down);
    if (r == 0)
        r = layer_vector(b, i, "post_ffw_norm.weight", h->arch->post_norms, h->n_embd, &l->post_ffn_norm);
    return r;
}

static int bind_ends(struct binder *b)
{
    struct model *m = b->m;
    int r;

    r = bind_matrix(b, "token_embd.weight", 0, m->hparams.n_embd, 1, &m->embed);
    if (r)
        return r;
    m->hparams.n_vocab = m->matrices[m->embed].rows;
    m->head = m->embed;
    if (gguf_tensor_find(m->gguf, "output.weight"))
        r = bind_matrix(b, "output.weight", m->hparams.n_vocab, m->hparams.n_embd, 1, &m->head);
    if (r == 0)
        r = bind_vector(b, "output_norm.weight", m->hparams.n_embd, false, &m->output_norm);
    if (r == 0)
        r = bind_vector(b, "rope_freqs.weight", m->hparams.rope_dim / 2, true, &m->rope_factors);
    return r;
}

static int check_all_used(struct binder *b)
{
    for (uint64_t i = 0; i < gguf_tensor_count(b->m->gguf); i++) {
        const struct gguf_tensor *t = gguf_tensor_at(b->m->gguf, i);

        if (!b->used[i])
            return error_set(b->error, -ENOTSUP, "tensor %.*s has no place in architecture %s; this build would ignore "
                             "it and answer wrongly, so the model is refused", (int)min_u64(t->name.size, 64),
                             (const char *)t->name.data, b->m->hparams.arch->name);
    }
    return 0;
}

static int bind_all(struct model *m, struct error *error)
{
    uint32_t layers = m->hparams.n_layer;
    struct binder b = { .m = m, .error = error };
    int r;

    if (gguf_tensor_count(m->gguf) < 2)
        return error_set(error, -EINVAL, "the file holds no tensors: it is a vocabulary, not a model");
    b.used = calloc(gguf_tensor_count(m->gguf), 1);
    m->layers = calloc(layers, sizeof(*m->layers));
    m->matrices = calloc((size_t)layers * MATRICES_PER_LAYER + 2, sizeof(*m->matrices));
    m->vectors = calloc((size_t)layers * VECTORS_PER_LAYER + 2, sizeof(*m->vectors));
    if (!b.used || !m->layers || !m->matrices || !m->vectors)
        r = error_set(error, -ENOMEM, "no memory for the tensor tables");
    else
        r = bind_ends(&b);
    for (uint32_t i = 0; r == 0 && i < layers; i++)
        r = bind_layer(&b, i);
    if (r == 0)
        r = check_all_used(&b);
    free(b.used);
    return r;
}

static int check_vocab(const struct model *m, struct error *error)
{
    if (vocab_size(m->vocab) > m->hparams.n_vocab)
        return error_set(error, -EINVAL, "the vocabulary has %u tokens, but token_embd.weight only %u rows",
                         vocab_size(m->vocab), m->hparams.n_vocab);
    return 0;
}

int model_open(const char *path, struct model **ret_model, struct error *error)
{
    struct model *m = calloc(1, sizeof(*m));
    int r;

    if (!m)
        return error_set(error, -ENOMEM, "no memory for the model");
    m->fd = -1;
    r = gguf_open(path, &m->fd, &m->file_bytes, error);
    if (r == 0)
        r = gguf_read(m->fd, &m->gguf, error);
    if (r == 0)
        r = hparams_read(m->gguf, &m->hparams, error);
    if (r == 0)
        r = vocab_load(m->gguf, &m->vocab, error);
    if (r == 0)
        r = bind_all(m, error);
    if (r == 0)
        r = check_vocab(m, error);
    if (r) {
        if (m->fd >= 0)
            error_prefix(error, "%s", path);
        model_close(m);
        return r;
    }
    *ret_model = m;
    return 0;
}

struct model *model_close(struct model *m)
{
    if (!m)
        return NULL;
    if (m->fd >= 0)
        close(m->fd);
    vocab_free(m->vocab);
    gguf_free(m->gguf);
    free(m->layers);
    free(m->matrices);
    free(m->vectors);
    free(m);
    return NULL;
}

uint32_t model_types(const struct model *model)
{
    uint32_t types = 0;

    for (uint32_t i = 0; i < model->matrix_count; i++)
        types |= 1u << model->matrices[i].type;
    return types;
}
