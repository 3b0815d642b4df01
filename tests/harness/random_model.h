/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Small models with random weights for tests that compute: valid GGUF files of the architectures llama, qwen2, qwen3
 * and gemma3, keys and tensors named as converters name them, every matrix in a type of choice.
 *
 *     struct random_model_spec spec;
 *     struct buffer file = BUFFER_NULL;
 *
 *     random_model_spec_init(&spec, "llama", 1);           (a default: two layers that hold all 13 types)
 *     random_model_set(&spec, "blk.0.attn_q=Q6_K", NULL);  (or set the fields)
 *     random_model_build(&spec, &file, NULL);              (or random_model_write() to a path)
 *
 * The same spec gives the same bytes on every machine.  Activations stay around 1 (gemma3: 10), logits have a
 * deviation of about 2.5, so text is neither constant nor a matter of rounding.  Real weights have other statistics:
 * accuracy is proven on real models, agreement on these.
 */

#include "src/base/error.h"
#include "tests/harness/gguf_writer.h"
#include "tests/harness/random_vocab.h"

#define RANDOM_MODEL_LAYERS_MAX 64

enum random_model_matrix {          /* of a layer; named "attn_q" … "ffn_down" */
    RANDOM_ATTN_Q, RANDOM_ATTN_K, RANDOM_ATTN_V, RANDOM_ATTN_OUTPUT, RANDOM_FFN_GATE, RANDOM_FFN_UP, RANDOM_FFN_DOWN,
    RANDOM_MATRICES,
};

struct random_model_spec {
    const char *architecture;       /* "llama", "qwen2", "qwen3", "gemma3"; a literal */
    uint64_t seed;
    uint32_t layers;                /* 2; gemma3 6, the last of them global */
    uint32_t embedding;             /* 256 */
    uint32_t feed_forward;          /* 1280: two segments of K, the second short */
    uint32_t heads, kv_heads;       /* 4, 2 */
    uint32_t head_dim;              /* 64 */
    uint32_t context;               /* context_length, 4096 */
    uint32_t vocabulary;            /* tokens; 0: as few as the tokenizer needs (an odd number, no multiple of 16) */
    enum random_vocab_kind tokenizer;   /* BPE; gemma3 SPM */
    bool tied;                      /* no output.weight: the embedding is the head; true for gemma3 and qwen3 */
    bool rope_factors;              /* llama: a tensor rope_freqs.weight, as Llama 3 has it */
    float rope_linear;              /* rope.scaling.type "linear" with this factor; 0: no keys */
    float rope_base;                /* 10000; qwen and gemma3 1000000 */
    uint32_t window, window_pattern;    /* gemma3: 64, 6; the pattern's key is written where it is not 6 */
    enum tensor_type token_embd, output;
    enum tensor_type types[RANDOM_MODEL_LAYERS_MAX][RANDOM_MATRICES];
};

/* The default of an architecture; -EINVAL where it is none of the four. */
must_check int random_model_spec_init(struct random_model_spec *spec, const char *architecture, uint64_t seed);

/*
 * Sets one thing by text, for command lines: a number field by its name ("layers=3", "rope_linear=4", "tied=1"),
 * "tokenizer=bpe|spm", a type by tensor ("token_embd=F16", "output=Q6_K", "attn_q=Q4_K" in all layers,
 * "blk.1.ffn_up=F32"), "type=Q8_0" for every matrix.  -EINVAL with @error where it is none of these.
 */
must_check int random_model_set(struct random_model_spec *spec, const char *setting, struct error *error);

/* Adds keys and tensors to an empty writer and leaves the end to the caller, who may change some. */
must_check int random_model_fill(const struct random_model_spec *spec, struct gguf_writer *w, struct error *error);
/* Appends the file to @file, or writes it to @path (replacing it).  -EINVAL where the sizes do not fit the types. */
must_check int random_model_build(const struct random_model_spec *spec, struct buffer *file, struct error *error);
must_check int random_model_write(const struct random_model_spec *spec, const char *path, struct error *error);
