/* SPDX-License-Identifier: Apache-2.0 */
#include "src/model/arch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/ops.h"

static const struct arch_row rows[] = {
    { .name = "llama", .rope = ARCH_ROPE_ADJACENT, .activation = ARCH_SILU },
    { .name = "qwen2", .rope = ARCH_ROPE_HALVES, .activation = ARCH_SILU, .qkv_bias = true },
    { .name = "qwen3", .rope = ARCH_ROPE_HALVES, .activation = ARCH_SILU, .qk_norm = true },
    { .name = "gemma3", .rope = ARCH_ROPE_HALVES, .activation = ARCH_GELU_TANH, .qk_norm = true,
      .post_norms = true, .embed_scale = true, .sliding = true },
};

const struct arch_row *arch_find(struct span name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
        if (strlen(rows[i].name) == name.size && memcmp(rows[i].name, name.data, name.size) == 0)
            return &rows[i];
    return NULL;
}

const char *arch_known(void)
{
    return "llama, qwen2, qwen3, gemma3";
}

/* One integer with its bounds; @fallback UINT64_MAX = the key must be there. */
static int read_u32(const struct gguf *g, const struct arch_row *arch, const char *key, uint64_t fallback,
                    uint64_t minimum, uint64_t maximum, uint32_t *ret, struct error *error)
{
    char full[128];
    uint64_t v;
    int r;

    snprintf(full, sizeof(full), "%s.%s", arch->name, key);
    r = gguf_get_u64(g, full, &v, error);
    if (r < 0)
        return r;
    if (r > 0 && fallback == UINT64_MAX)
        return error_set(error, -EINVAL, "metadata key %s is missing; the file is incomplete, convert it again", full);
    if (r > 0)
        v = fallback;
    if (v < minimum || v > maximum)
        return error_set(error, -EINVAL, "%s is %s%llu; this build takes %llu to %llu", full,
                         r > 0 ? "missing, and from other keys it is " : "", (unsigned long long)v,
                         (unsigned long long)minimum, (unsigned long long)maximum);
    *ret = (uint32_t)v;
    return 0;
}

static int read_f32(const struct gguf *g, const struct arch_row *arch, const char *key, double fallback,
                    double minimum, double maximum, float *ret, struct error *error)
{
    char full[128];
    double v;
    int r;

    snprintf(full, sizeof(full), "%s.%s", arch->name, key);
    r = gguf_get_f64(g, full, &v, error);
    if (r < 0)
        return r;
    if (r > 0 && isnan(fallback))
        return error_set(error, -EINVAL, "metadata key %s is missing; the file is incomplete, convert it again", full);
    if (r > 0)
        v = fallback;
    if (!(v >= minimum && v <= maximum))
        return error_set(error, -EINVAL, "%s is %g; this build takes %g to %g", full, v, minimum, maximum);
    *ret = (float)v;
    return 0;
}

static int read_rope_scaling(const struct gguf *g, struct hparams *h, struct error *error)
{
    char key[128];
    struct span type = { .data = NULL };
    float factor, old = 1;
    int r;

    h->rope_scale = 1;
    snprintf(key, sizeof(key), "%s.rope.scaling.type", h->arch->name);
    r = gguf_get_string(g, key, &type, error);
    if (r < 0)
        return r;
    if (r == 0 && type.size == 4 && memcmp(type.data, "none", 4) == 0)
        return 0;
    if (r == 0 && !(type.size == 6 && memcmp(type.data, "linear", 6) == 0))
        return error_set(error, -ENOTSUP, "%s is \"%.*s\"; known rope scalings: none, linear, and llama-3 factors "
                         "(tensor rope_freqs.weight)", key, (int)min_u64(type.size, 64), (const char *)type.data);
    r = read_f32(g, h->arch, "rope.scale_linear", 1, 1e-3, 1e6, &old, error);   /* as files of 2023 have it */
    if (r == 0)
        r = read_f32(g, h->arch, "rope.scaling.factor", (double)old, 1e-3, 1e6, &factor, error);
    if (r < 0)
        return r;
    h->rope_scale = (double)factor;
    return 0;
}

static int read_rope(const struct gguf *g, struct hparams *h, struct error *error)
{
    int r;

    r = read_u32(g, h->arch, "rope.dimension_count", h->head_dim, 2, h->head_dim, &h->rope_dim, error);
    if (r == 0 && h->rope_dim % 2)
        r = error_set(error, -EINVAL, "%s.rope.dimension_count is %u; it must be even", h->arch->name, h->rope_dim);
    if (r == 0)
        r = read_f32(g, h->arch, "rope.freq_base", 10000, 1, 1e12, &h->rope_base, error);
    if (r == 0)
        r = read_f32(g, h->arch, "rope.freq_base_swa", 10000, 1, 1e12, &h->rope_base_local, error);
    return r ? r : read_rope_scaling(g, h, error);
}

static int read_attention(const struct gguf *g, struct hparams *h, struct error *error)
{
    const struct arch_row *a = h->arch;
    char key_length[128];
    uint32_t value_dim;
    int r;

    r = read_u32(g, a, "attention.head_count", UINT64_MAX, 1, ARCH_HEADS_MAX, &h->n_head, error);
    if (r == 0)
        r = read_u32(g, a, "attention.head_count_kv", h->n_head, 1, h->n_head, &h->n_kv_head, error);
    if (r == 0 && h->n_head % h->n_kv_head)
        r = error_set(error, -EINVAL, "%s.attention.head_count %u does not divide by %s.attention.head_count_kv %u",
                      a->name, h->n_head, a->name, h->n_kv_head);
    snprintf(key_length, sizeof(key_length), "%s.attention.key_length", a->name);
    if (r == 0 && h->n_embd % h->n_head && !gguf_has(g, key_length))
        r = error_set(error, -EINVAL, "%s.embedding_length %u does not divide by %s.attention.head_count %u, and there "
                      "is no %s", a->name, h->n_embd, a->name, h->n_head, key_length);
    if (r == 0)
        r = read_u32(g, a, "attention.key_length", h->n_embd / h->n_head, 16, KERNEL_HEAD_DIM_MAX, &h->head_dim, error);
    if (r == 0)
        r = read_u32(g, a, "attention.value_length", h->head_dim, 16, KERNEL_HEAD_DIM_MAX, &value_dim, error);
    if (r == 0 && (h->head_dim % 16 || value_dim != h->head_dim))
        r = error_set(error, -ENOTSUP,
                      "%s is %u and %s.attention.value_length %u; this build needs equal multiples of 16", key_length,
                      h->head_dim, a->name, value_dim);
    return r;
}

static int read_window(const struct gguf *g, struct hparams *h, struct error *error)
{
    int r;

    h->window_pattern = 1;
    if (!h->arch->sliding)
        return 0;
    r = read_u32(g, h->arch, "attention.sliding_window_pattern", 6, 1, ARCH_LAYERS_MAX, &h->window_pattern, error);
    if (r == 0 && h->window_pattern > 1)
        r = read_u32(g, h->arch, "attention.sliding_window", UINT64_MAX, 1, ARCH_POSITIONS_MAX, &h->window, error);
    return r;
}

/* Keys that change what is computed in a way that no row of the table knows: ignored, they are a wrong answer. */
static int refuse_others(const struct gguf *g, const struct arch_row *arch, struct error *error)
{
    static const char *const caps[] = { "attn_logit_softcapping", "final_logit_softcapping" };
    uint64_t experts = 0;
    bool causal = true;
    char key[128];
    int r;

    snprintf(key, sizeof(key), "%s.expert_count", arch->name);
    r = gguf_get_u64(g, key, &experts, error);
    if (r >= 0 && experts)
        r = error_set(error, -ENOTSUP, "%s is %llu; this build takes no mixture of experts", key,
                      (unsigned long long)experts);
    for (size_t i = 0; r >= 0 && i < ARRAY_LENGTH(caps); i++) {
        double cap = 0;

        snprintf(key, sizeof(key), "%s.%s", arch->name, caps[i]);
        r = gguf_get_f64(g, key, &cap, error);
        if (r >= 0 && cap != 0)
            r = error_set(error, -ENOTSUP, "%s is %g; this build takes 0, which is none", key, cap);
    }
    if (r < 0)
        return r;
    snprintf(key, sizeof(key), "%s.attention.causal", arch->name);
    r = gguf_get_bool(g, key, &causal, error);
    if (r >= 0 && !causal)
        r = error_set(error, -ENOTSUP, "%s is false; this build takes models with causal attention only", key);
    return r < 0 ? r : 0;
}

/* The 27B of gemma3 scales queries by embedding over heads (its config's query_pre_attn_scalar). */
static void derive_scales(struct hparams *h)
{
    bool wide = h->arch->sliding && h->n_layer == 62;

    h->query_scale = 1.0f / sqrtf((float)(wide ? h->n_embd / h->n_head : h->head_dim));
    h->embed_scale = h->arch->embed_scale ? sqrtf((float)h->n_embd) : 1.0f;
}

int hparams_read(const struct gguf *gguf, struct hparams *ret_hparams, struct error *error)
{
    struct hparams h = { .arch = NULL };
    struct span name;
    int r;

    r = gguf_get_string(gguf, "general.architecture", &name, error);
    if (r < 0)
        return r;
    if (r > 0)
        return error_set(error, -EINVAL, "metadata key general.architecture is missing; this is no model file");
    h.arch = arch_find(name);
    if (!h.arch)
        return error_set(error, -ENOTSUP, "architecture \"%.*s\" is not known; known are: %s",
                         (int)min_u64(name.size, 64), (const char *)name.data, arch_known());
    r = refuse_others(gguf, h.arch, error);
    if (r == 0)
        r = read_u32(gguf, h.arch, "block_count", UINT64_MAX, 1, ARCH_LAYERS_MAX, &h.n_layer, error);
    if (r == 0)
        r = read_u32(gguf, h.arch, "embedding_length", UINT64_MAX, 32, ARCH_EMBD_MAX, &h.n_embd, error);
    if (r == 0)
        r = read_u32(gguf, h.arch, "feed_forward_length", UINT64_MAX, 32, 4 * ARCH_EMBD_MAX, &h.n_ff, error);
    if (r == 0 && (h.n_embd % 32 || h.n_ff % 32))
        r = error_set(error, -ENOTSUP, "%s.embedding_length is %u and %s.feed_forward_length %u; this build takes "
                      "multiples of 32", h.arch->name, h.n_embd, h.arch->name, h.n_ff);
    if (r == 0)
        r = read_u32(gguf, h.arch, "context_length", 2048, 1, ARCH_POSITIONS_MAX, &h.context_trained, error);
    if (r == 0)
        r = read_f32(gguf, h.arch, "attention.layer_norm_rms_epsilon", (double)NAN, 1e-12, 1, &h.norm_eps, error);
    if (r == 0)
        r = read_attention(gguf, &h, error);
    if (r == 0)
        r = read_rope(gguf, &h, error);
    if (r == 0)
        r = read_window(gguf, &h, error);
    if (r)
        return r;
    derive_scales(&h);
    *ret_hparams = h;
    return 0;
}
