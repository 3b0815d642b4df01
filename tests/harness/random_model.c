/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/harness/random_model.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness/random_weights.h"

/* Gemma's embedding enters multiplied by sqrt(n): layers must outweigh it, or a tied head only repeats the token. */
#define POST_NORM 4

static const char *const matrix_names[RANDOM_MATRICES] = {
    "attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down",
};

/* All 13 types over two layers, such that q, k and v, and gate and up, want different forms of their common input. */
static const enum tensor_type mix[2][RANDOM_MATRICES] = {
    { TENSOR_Q4_K, TENSOR_Q5_0, TENSOR_Q8_0, TENSOR_Q6_K, TENSOR_Q2_K, TENSOR_Q3_K, TENSOR_Q5_1 },
    { TENSOR_Q4_0, TENSOR_F16, TENSOR_Q4_1, TENSOR_BF16, TENSOR_Q5_K, TENSOR_F32, TENSOR_Q4_K },
};

/* What is being written. */
struct model {
    const struct random_model_spec *spec;
    struct gguf_writer w;
    struct random_stream random;
    struct buffer data;             /* of the tensor at hand */
};

static bool is(const struct random_model_spec *spec, const char *architecture)
{
    return !strcmp(spec->architecture, architecture);
}

/* --- the spec --- */

int random_model_spec_init(struct random_model_spec *spec, const char *architecture, uint64_t seed)
{
    static const char *const known[] = { "llama", "qwen2", "qwen3", "gemma3" };
    const char *name = NULL;

    for (size_t i = 0; i < ARRAY_LENGTH(known); i++)
        if (!strcmp(known[i], architecture))
            name = known[i];
    if (!name)
        return -EINVAL;
    *spec = (struct random_model_spec){
        .architecture = name, .seed = seed, .layers = 2, .embedding = 256, .feed_forward = 1280, .heads = 4,
        .kv_heads = 2, .head_dim = 64, .context = 4096, .rope_base = 1e6f, .token_embd = TENSOR_Q8_0,
        .output = TENSOR_Q6_K, .window_pattern = 6,
    };
    if (is(spec, "llama"))
        spec->rope_base = 1e4f;
    spec->tied = is(spec, "gemma3") || is(spec, "qwen3");
    if (is(spec, "gemma3")) {
        spec->layers = 6;
        spec->window = 64;
        spec->tokenizer = RANDOM_VOCAB_SPM;
    }
    for (size_t i = 0; i < RANDOM_MODEL_LAYERS_MAX; i++)
        memcpy(spec->types[i], mix[i % 2], sizeof(mix[0]));
    return 0;
}

static bool type_by_name(const char *name, enum tensor_type *ret_type)
{
    for (int t = 0; t < TENSOR_TYPE_COUNT; t++)
        if (!strcmp(tensor_types[t].name, name)) {
            *ret_type = (enum tensor_type)t;
            return true;
        }
    return false;
}

static bool set_type(struct random_model_spec *spec, const char *key, enum tensor_type type)
{
    unsigned first = 0, last = RANDOM_MODEL_LAYERS_MAX - 1;
    bool all = !strcmp(key, "type"), found = all;
    int used = 0;

    if (all || !strcmp(key, "token_embd"))
        found = true, spec->token_embd = type;
    if (all || !strcmp(key, "output"))
        found = true, spec->output = type;
    if (sscanf(key, "blk.%u.%n", &first, &used) == 1 && used) {
        if (first >= RANDOM_MODEL_LAYERS_MAX)
            return false;
        key += used;
        last = first;
    }
    for (unsigned m = 0; m < RANDOM_MATRICES; m++)
        for (unsigned i = all ? 0 : first; i <= last && (all || !strcmp(key, matrix_names[m])); i++)
            found = true, spec->types[i][m] = type;
    return found;
}

static bool set_number(struct random_model_spec *spec, const char *key, const char *text)
{
    const struct { const char *name; uint32_t *value; } numbers[] = {
        { "layers", &spec->layers }, { "embedding", &spec->embedding }, { "feed_forward", &spec->feed_forward },
        { "heads", &spec->heads }, { "kv_heads", &spec->kv_heads }, { "head_dim", &spec->head_dim },
        { "context", &spec->context }, { "vocabulary", &spec->vocabulary }, { "window", &spec->window },
        { "window_pattern", &spec->window_pattern },
    };
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end || !(value >= 0 && value <= 1e9))
        return false;
    for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++)
        if (!strcmp(numbers[i].name, key))
            return *numbers[i].value = (uint32_t)value, true;
    if (!strcmp(key, "tied"))
        return spec->tied = value > 0, true;
    if (!strcmp(key, "rope_factors"))
        return spec->rope_factors = value > 0, true;
    if (!strcmp(key, "rope_linear"))
        return spec->rope_linear = (float)value, true;
    if (!strcmp(key, "rope_base"))
        return spec->rope_base = (float)value, true;
    return false;
}

int random_model_set(struct random_model_spec *spec, const char *setting, struct error *error)
{
    const char *equals = strchr(setting, '=');
    enum tensor_type type;
    char key[64];

    if (!equals || equals - setting >= (ptrdiff_t)sizeof(key))
        return error_set(error, -EINVAL, "'%s': write KEY=VALUE", setting);
    memcpy(key, setting, (size_t)(equals - setting));
    key[equals - setting] = 0;
    if (!strcmp(key, "tokenizer") && (!strcmp(equals + 1, "bpe") || !strcmp(equals + 1, "spm"))) {
        spec->tokenizer = equals[1] == 'b' ? RANDOM_VOCAB_BPE : RANDOM_VOCAB_SPM;
        return 0;
    }
    if (type_by_name(equals + 1, &type) ? set_type(spec, key, type) : set_number(spec, key, equals + 1))
        return 0;
    return error_set(error, -EINVAL, "'%s': no such setting, value or tensor type", setting);
}

/* --- metadata --- */

static void key_u32(struct model *m, const char *name, uint32_t value)
{
    char key[96];

    snprintf(key, sizeof(key), "%s.%s", m->spec->architecture, name);
    gguf_writer_u32(&m->w, key, value);
}

static void key_f32(struct model *m, const char *name, float value)
{
    char key[96];

    snprintf(key, sizeof(key), "%s.%s", m->spec->architecture, name);
    gguf_writer_f32(&m->w, key, value);
}

static void write_rope_keys(struct model *m)
{
    const struct random_model_spec *spec = m->spec;
    char key[96];

    key_f32(m, "rope.freq_base", spec->rope_base);
    if (is(spec, "llama"))
        key_u32(m, "rope.dimension_count", spec->head_dim);
    if (spec->rope_linear > 0) {
        snprintf(key, sizeof(key), "%s.rope.scaling.type", spec->architecture);
        gguf_writer_string(&m->w, key, "linear");
        key_f32(m, "rope.scaling.factor", spec->rope_linear);
    }
}

static void write_keys(struct model *m, uint32_t vocabulary)
{
    const struct random_model_spec *spec = m->spec;
    char name[96];

    snprintf(name, sizeof(name), "random %s %llu", spec->architecture, (unsigned long long)spec->seed);
    gguf_writer_string(&m->w, "general.architecture", spec->architecture);
    gguf_writer_string(&m->w, "general.type", "model");
    gguf_writer_string(&m->w, "general.name", name);
    key_u32(m, "block_count", spec->layers);
    key_u32(m, "context_length", spec->context);
    key_u32(m, "embedding_length", spec->embedding);
    key_u32(m, "feed_forward_length", spec->feed_forward);
    key_u32(m, "attention.head_count", spec->heads);
    key_u32(m, "attention.head_count_kv", spec->kv_heads);
    key_f32(m, "attention.layer_norm_rms_epsilon", is(spec, "llama") ? 1e-5f : 1e-6f);
    if (is(spec, "qwen3") || is(spec, "gemma3") || spec->heads * spec->head_dim != spec->embedding) {
        key_u32(m, "attention.key_length", spec->head_dim);
        key_u32(m, "attention.value_length", spec->head_dim);
    }
    if (is(spec, "gemma3")) {
        key_u32(m, "attention.sliding_window", spec->window);
        if (spec->window_pattern != 6)
            key_u32(m, "attention.sliding_window_pattern", spec->window_pattern);
    }
    write_rope_keys(m);
    if (is(spec, "llama"))
        key_u32(m, "vocab_size", vocabulary);
    random_vocab_write(&m->w, spec->tokenizer,
                       spec->tokenizer == RANDOM_VOCAB_SPM ? "default" : is(spec, "llama") ? "smollm" : "qwen2",
                       vocabulary);
    gguf_writer_u32(&m->w, "general.quantization_version", 2);
}

/* --- tensors --- */

static void put_tensor(struct model *m, enum tensor_type type, uint32_t dims, uint64_t a, uint64_t b,
                       const char *name_format, va_list args)
{
    char name[96];

    vsnprintf(name, sizeof(name), name_format, args);
    check(buffer_ok(&m->data));
    check(m->data.size == gguf_writer_tensor(&m->w, name, type, dims, (uint64_t[]){ a, b }, m->data.data));
    m->data.size = 0;
}

/*
 * A matrix of @rows rows of @k weights.  Deviation gain/sqrt(k), by an integer square root, so that an input of
 * deviation 1 gives an output of deviation @gain.
 */
static void printf_like(6, 7) matrix(struct model *m, enum tensor_type type, uint64_t k, uint64_t rows, float gain,
                                     const char *name_format, ...)
{
    uint64_t root = 1;
    va_list args;

    while (root * root < k * 65536)         /* 256 * sqrt(k) */
        root++;
    random_weights(&m->random, type, k * rows, gain * 256 / (float)root, &m->data);
    va_start(args, name_format);
    put_tensor(m, type, 2, k, rows, name_format, args);
    va_end(args);
}

static void printf_like(5, 6) vector(struct model *m, uint64_t n, float base, float spread, const char *name_format,
                                     ...)
{
    va_list args;

    random_floats(&m->random, n, base, spread, &m->data);
    va_start(args, name_format);
    put_tensor(m, TENSOR_F32, 1, n, 1, name_format, args);
    va_end(args);
}

static void write_attention(struct model *m, uint32_t layer)
{
    const struct random_model_spec *spec = m->spec;
    const enum tensor_type *types = spec->types[layer];
    uint64_t q = (uint64_t)spec->heads * spec->head_dim, kv = (uint64_t)spec->kv_heads * spec->head_dim;

    vector(m, spec->embedding, 1, 0.1f, "blk.%u.attn_norm.weight", layer);
    matrix(m, types[RANDOM_ATTN_Q], spec->embedding, q, 1, "blk.%u.attn_q.weight", layer);
    matrix(m, types[RANDOM_ATTN_K], spec->embedding, kv, 1, "blk.%u.attn_k.weight", layer);
    matrix(m, types[RANDOM_ATTN_V], spec->embedding, kv, 1, "blk.%u.attn_v.weight", layer);
    if (is(spec, "qwen2")) {
        vector(m, q, 0, 0.3f, "blk.%u.attn_q.bias", layer);
        vector(m, kv, 0, 0.3f, "blk.%u.attn_k.bias", layer);
        vector(m, kv, 0, 0.3f, "blk.%u.attn_v.bias", layer);
    }
    if (is(spec, "qwen3") || is(spec, "gemma3")) {
        vector(m, spec->head_dim, 1, 0.2f, "blk.%u.attn_q_norm.weight", layer);
        vector(m, spec->head_dim, 1, 0.2f, "blk.%u.attn_k_norm.weight", layer);
    }
    matrix(m, types[RANDOM_ATTN_OUTPUT], q, spec->embedding, 1, "blk.%u.attn_output.weight", layer);
    if (is(spec, "gemma3"))
        vector(m, spec->embedding, POST_NORM, 0.5f, "blk.%u.post_attention_norm.weight", layer);
}

static void write_feed_forward(struct model *m, uint32_t layer)
{
    const struct random_model_spec *spec = m->spec;
    const enum tensor_type *types = spec->types[layer];

    vector(m, spec->embedding, 1, 0.1f, "blk.%u.ffn_norm.weight", layer);
    matrix(m, types[RANDOM_FFN_GATE], spec->embedding, spec->feed_forward, 1, "blk.%u.ffn_gate.weight", layer);
    matrix(m, types[RANDOM_FFN_UP], spec->embedding, spec->feed_forward, 1, "blk.%u.ffn_up.weight", layer);
    matrix(m, types[RANDOM_FFN_DOWN], spec->feed_forward, spec->embedding, 2, "blk.%u.ffn_down.weight", layer);
    if (is(spec, "gemma3"))
        vector(m, spec->embedding, POST_NORM, 0.5f, "blk.%u.post_ffw_norm.weight", layer);
}

/* The head's deviation gives logits their own; a tied embedding has it too. */
static void write_tensors(struct model *m, uint32_t vocabulary)
{
    const struct random_model_spec *spec = m->spec;

    matrix(m, spec->token_embd, spec->embedding, vocabulary, 2.5f, "token_embd.weight");
    if (spec->rope_factors) {
        for (uint32_t i = 0; i < spec->head_dim / 2; i++) {
            float factor = i < spec->head_dim / 4 ? 1 : 1 + 7 * (float)(i - spec->head_dim / 4 + 1) /
                                                            (float)(spec->head_dim / 2 - spec->head_dim / 4);

            buffer_put(&m->data, &factor, sizeof(factor));
        }
        gguf_writer_tensor(&m->w, "rope_freqs.weight", TENSOR_F32, 1, (uint64_t[]){ spec->head_dim / 2 },
                           m->data.data);
        m->data.size = 0;
    }
    for (uint32_t i = 0; i < spec->layers; i++) {
        write_attention(m, i);
        write_feed_forward(m, i);
    }
    vector(m, spec->embedding, 1, 0.1f, "output_norm.weight");
    if (!spec->tied)
        matrix(m, spec->output, spec->embedding, vocabulary, 2.5f, "output.weight");
}

/* --- the whole --- */

static int check_row(uint32_t k, enum tensor_type type, const char *name, struct error *error)
{
    if (k && k % tensor_types[type].block_values == 0)
        return 0;
    return error_set(error, -EINVAL, "%s: a row of %u weights is not whole blocks of %s", name, k,
                     tensor_types[type].name);
}

static int check_spec(const struct random_model_spec *spec, uint32_t vocabulary, struct error *error)
{
    int r = check_row(spec->embedding, spec->token_embd, "token_embd", error);

    if (!spec->layers || spec->layers > RANDOM_MODEL_LAYERS_MAX)
        return error_set(error, -EINVAL, "1 to %d layers", RANDOM_MODEL_LAYERS_MAX);
    if (!spec->heads || !spec->kv_heads || spec->heads % spec->kv_heads || !spec->head_dim || spec->head_dim % 2)
        return error_set(error, -EINVAL, "%u heads of %u over %u kv heads", spec->heads, spec->head_dim,
                         spec->kv_heads);
    if (vocabulary < random_vocab_least(spec->tokenizer))
        return error_set(error, -EINVAL, "the vocabulary needs %u tokens", random_vocab_least(spec->tokenizer));
    if (is(spec, "gemma3") && !spec->window_pattern)
        return error_set(error, -EINVAL, "window_pattern is 0");
    if (!r && !spec->tied)
        r = check_row(spec->embedding, spec->output, "output", error);
    for (uint32_t i = 0; i < spec->layers; i++)
        for (int m = 0; m < RANDOM_MATRICES && !r; m++)
            r = check_row(m == RANDOM_ATTN_OUTPUT ? spec->heads * spec->head_dim
                          : m == RANDOM_FFN_DOWN  ? spec->feed_forward
                                                  : spec->embedding,
                          spec->types[i][m], matrix_names[m], error);
    return r;
}

int random_model_fill(const struct random_model_spec *spec, struct gguf_writer *w, struct error *error)
{
    struct model m = { .spec = spec, .w = *w, .random = { spec->seed } };
    uint32_t vocabulary = spec->vocabulary ? spec->vocabulary : random_vocab_least(spec->tokenizer);
    int r = check_spec(spec, vocabulary, error);

    if (r)
        return r;
    write_keys(&m, vocabulary);
    write_tensors(&m, vocabulary);
    *w = m.w;
    buffer_deinit(&m.data);
    return 0;
}

int random_model_build(const struct random_model_spec *spec, struct buffer *file, struct error *error)
{
    struct gguf_writer w = GGUF_WRITER_INIT;
    int r = random_model_fill(spec, &w, error);

    if (r == 0)
        gguf_writer_finish(&w, file);
    return r;
}

int random_model_write(const struct random_model_spec *spec, const char *path, struct error *error)
{
    struct buffer file = BUFFER_NULL;
    int fd, r = random_model_build(spec, &file, error);

    if (r)
        return r;
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) {
        r = error_set(error, -errno, "cannot create %s: %s", path, strerror(errno));
    } else {
        for (size_t at = 0; at < file.size && !r;) {
            ssize_t n = write(fd, file.data + at, file.size - at);

            if (n < 0 && errno != EINTR)
                r = error_set(error, -errno, "cannot write %s: %s", path, strerror(errno));
            at += n > 0 ? (size_t)n : 0;
        }
        close(fd);
    }
    buffer_deinit(&file);
    return r;
}
