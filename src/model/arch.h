/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Architectures as rows of a table: what a family of models does differently, and the numbers that a
 * file gives for it, each with its bounds.  The one graph builder (src/graph/build.c) reads the row.
 */

#include "src/model/gguf.h"

#define ARCH_LAYERS_MAX 512u
#define ARCH_EMBD_MAX 65536u
#define ARCH_HEADS_MAX 1024u
#define ARCH_VOCAB_MAX (1u << 21)
#define ARCH_POSITIONS_MAX (1u << 24)   /* rope tables are proven below this (NUMERICS.md section 6) */

enum arch_activation { ARCH_SILU, ARCH_GELU_TANH };
enum arch_rope { ARCH_ROPE_ADJACENT, ARCH_ROPE_HALVES };

struct arch_row {
    const char *name;                   /* general.architecture */
    enum arch_rope rope;
    enum arch_activation activation;
    bool qkv_bias;                      /* attn_{q,k,v}.bias are expected */
    bool qk_norm;                       /* attn_{q,k}_norm per head before rope */
    bool post_norms;                    /* norms after attention and after the feed-forward */
    bool embed_scale;                   /* embeddings are multiplied by sqrt(n_embd) */
    bool sliding;                       /* local layers with a window and a rope base of their own */
};

/* NULL where the architecture is not known; arch_known() lists what is. */
const struct arch_row *arch_find(struct span name);
const char *arch_known(void);           /* "llama, qwen2, qwen3, gemma3" */

struct hparams {
    const struct arch_row *arch;
    uint32_t n_layer, n_embd, n_ff, n_head, n_kv_head, head_dim, n_vocab;
    uint32_t context_trained;
    float norm_eps;
    uint32_t rope_dim;
    float rope_base, rope_base_local;
    double rope_scale;                  /* positions are divided by this, on global layers; 1 = none */
    uint32_t window;                    /* 0 = none */
    uint32_t window_pattern;            /* every pattern-th layer is global */
    float query_scale;                  /* on q after rope: 1/sqrt(head_dim) or the row's own */
    float embed_scale;                  /* 1 = none */
};

/* Reads and bounds them all.  n_vocab is 0 here: the caller has it from the embedding tensor. */
must_check int hparams_read(const struct gguf *gguf, struct hparams *ret_hparams, struct error *error);

/* Whether layer @layer sees only the window. */
static inline bool hparams_layer_local(const struct hparams *h, uint32_t layer)
{
    return h->window && h->arch->sliding && (layer + 1) % h->window_pattern != 0;
}
