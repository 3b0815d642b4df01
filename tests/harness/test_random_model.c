/* SPDX-License-Identifier: Apache-2.0 */
/* The generated models themselves: complete, bounded, reproducible, with a vocabulary that takes any text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/ops.h"
#include "src/base/hash.h"
#include "src/model/vocab.h"
#include "tests/harness/random_model.h"

static const char *const architectures[] = { "llama", "qwen2", "qwen3", "gemma3" };

static struct gguf *build(const struct random_model_spec *spec, struct buffer *file)
{
    struct error error = ERROR_NULL;
    struct gguf *gguf = NULL;

    file->size = 0;
    if (random_model_build(spec, file, &error) || gguf_parse(file->data, file->size, file->size, &gguf, &error))
        fail_msg("%s", error.text);
    return gguf;
}

/* Mean and deviation of a matrix, in units of 1/sqrt(k); every weight finite. */
static void measure(const struct buffer *file, const struct gguf_tensor *t, double *ret_mean, double *ret_deviation)
{
    uint64_t k = t->shape[0], rows = t->shape[1];
    float *row = malloc(k * sizeof(*row));
    double sum = 0, squares = 0;

    for (uint64_t i = 0; i < rows; i++) {
        kernel_decode_row(t->type, file->data + t->offset + i * (t->bytes / rows), (uint32_t)k, row);
        for (uint64_t j = 0; j < k; j++) {
            assert_true(row[j] > -100 && row[j] < 100);         /* and no NaN */
            sum += (double)row[j];
            squares += (double)row[j] * (double)row[j];
        }
    }
    free(row);
    *ret_mean = sum / (double)(k * rows);
    *ret_deviation = squares / (double)(k * rows) * (double)k;  /* squared */
}

static void test_default_models(void **state)
{
    struct buffer file = BUFFER_NULL;

    (void)state;
    for (size_t a = 0; a < ARRAY_LENGTH(architectures); a++) {
        struct random_model_spec spec;
        bool seen[TENSOR_TYPE_COUNT] = { false };
        struct gguf *gguf;

        assert_int_equal(random_model_spec_init(&spec, architectures[a], 1), 0);
        gguf = build(&spec, &file);
        for (uint64_t i = 0; i < gguf_tensor_count(gguf); i++) {
            const struct gguf_tensor *t = gguf_tensor_at(gguf, i);
            double mean, deviation;

            assert_true(t->known);
            seen[t->type] = true;
            if (t->dims < 2)
                continue;
            measure(&file, t, &mean, &deviation);
            assert_true(mean > -0.01 && mean < 0.01);
            assert_true((deviation > 0.9 && deviation < 1.15) ||        /* layers */
                        (deviation > 3.6 && deviation < 4.5) ||         /* ffn_down */
                        (deviation > 5.6 && deviation < 7));            /* embedding, head */
        }
        for (int t = 0; t < TENSOR_TYPE_COUNT; t++)
            if (!seen[t])
                fail_msg("%s holds no %s", architectures[a], tensor_types[t].name);
        gguf_free(gguf);
    }
    buffer_deinit(&file);
}

/* Golden hashes of other tests depend on these bytes: a change here changes them all. */
static void test_same_bytes(void **state)
{
    static const uint64_t wanted[] = {
        UINT64_C(0x70f3ddb59269b7b5), UINT64_C(0xcd17d4fb5a262266),
        UINT64_C(0x5035d708f06e3e1b), UINT64_C(0xfb5fbd5841c163f4),
    };
    struct buffer file = BUFFER_NULL;

    (void)state;
    for (size_t a = 0; a < ARRAY_LENGTH(architectures); a++) {
        struct random_model_spec spec;
        uint64_t hash;

        assert_int_equal(random_model_spec_init(&spec, architectures[a], 1), 0);
        gguf_free(build(&spec, &file));
        hash = hash64(file.data, file.size, 0);
        if (hash != wanted[a])
            fail_msg("%s: 0x%016llx", architectures[a], (unsigned long long)hash);
        spec.seed = 2;
        gguf_free(build(&spec, &file));
        assert_true(hash64(file.data, file.size, 0) != hash);
    }
    buffer_deinit(&file);
}

static void expect_shape(const struct gguf *gguf, const char *name, enum tensor_type type, uint64_t k, uint64_t rows)
{
    const struct gguf_tensor *t = gguf_tensor_find(gguf, name);

    if (!t)
        fail_msg("no tensor %s", name);
    assert_int_equal(t->type, type);
    assert_int_equal(t->shape[0], k);
    assert_int_equal(t->shape[1], rows);
}

static void test_settings(void **state)
{
    static const char *const settings[] = {
        "type=Q5_0", "blk.1.ffn_up=F32", "attn_q=Q8_0", "token_embd=F16", "output=BF16", "layers=3", "embedding=96",
        "feed_forward=160", "heads=6", "kv_heads=3", "head_dim=32", "vocabulary=512", "rope_factors=1",
        "rope_linear=4", "tokenizer=spm", "tied=0",
    };
    static const char *const bad[] = {
        "", "=", "layers", "layers=", "layers=x", "layers=-1", "layers=1x", "nothing=1", "type=Q9", "attn_z=Q4_0",
        "blk.99.attn_q=Q4_0", "blk.1.=Q4_0", "blk.1.token_embd=Q4_0", "tokenizer=word",
    };
    struct buffer file = BUFFER_NULL;
    struct random_model_spec spec;
    struct error error = ERROR_NULL;
    struct gguf *gguf;
    struct span text = { .data = NULL };
    double factor = 0;

    (void)state;
    assert_int_equal(random_model_spec_init(&spec, "mamba", 1), -EINVAL);
    assert_int_equal(random_model_spec_init(&spec, "llama", 7), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
        assert_int_equal(random_model_set(&spec, bad[i], &error), -EINVAL);
    for (size_t i = 0; i < ARRAY_LENGTH(settings); i++)
        assert_int_equal(random_model_set(&spec, settings[i], &error), 0);
    gguf = build(&spec, &file);
    expect_shape(gguf, "token_embd.weight", TENSOR_F16, 96, 512);
    expect_shape(gguf, "output.weight", TENSOR_BF16, 96, 512);
    expect_shape(gguf, "rope_freqs.weight", TENSOR_F32, 16, 1);
    expect_shape(gguf, "blk.0.attn_q.weight", TENSOR_Q8_0, 96, 192);
    expect_shape(gguf, "blk.2.attn_k.weight", TENSOR_Q5_0, 96, 96);
    expect_shape(gguf, "blk.2.attn_output.weight", TENSOR_Q5_0, 192, 96);
    expect_shape(gguf, "blk.1.ffn_up.weight", TENSOR_F32, 96, 160);
    expect_shape(gguf, "blk.0.ffn_up.weight", TENSOR_Q5_0, 96, 160);
    expect_shape(gguf, "blk.0.ffn_down.weight", TENSOR_Q5_0, 160, 96);
    assert_null(gguf_tensor_find(gguf, "blk.3.ffn_norm.weight"));
    assert_int_equal(gguf_get_string(gguf, "llama.rope.scaling.type", &text, NULL), 0);
    assert_int_equal(gguf_get_f64(gguf, "llama.rope.scaling.factor", &factor, NULL), 0);
    assert_true(factor == 4);
    gguf_free(gguf);
    assert_int_equal(random_model_set(&spec, "ffn_up=Q4_K", &error), 0);
    assert_int_equal(random_model_build(&spec, &file, &error), -EINVAL);
    assert_non_null(strstr(error.text, "ffn_up: a row of 96 weights is not whole blocks of Q4_K"));
    buffer_deinit(&file);
}

static void test_distinct_tokens(void **state)
{
    struct buffer file = BUFFER_NULL;

    (void)state;
    for (size_t a = 0; a < ARRAY_LENGTH(architectures); a++) {
        struct random_model_spec spec;
        struct gguf_array tokens;
        struct gguf *gguf;

        assert_int_equal(random_model_spec_init(&spec, architectures[a], 1), 0);
        spec.vocabulary = 450;
        gguf = build(&spec, &file);
        assert_int_equal(gguf_get_array(gguf, "tokenizer.ggml.tokens", GGUF_STRING, &tokens, NULL), 0);
        assert_int_equal(tokens.count, 450);
        for (uint64_t i = 0; i < tokens.count; i++)
            for (uint64_t j = 0; j < i; j++) {
                struct span x = gguf_array_string(&tokens, i), y = gguf_array_string(&tokens, j);

                assert_false(x.size == y.size && !memcmp(x.data, y.data, x.size));
            }
        gguf_free(gguf);
    }
    buffer_deinit(&file);
}

/* Any bytes become tokens and come back, merges included; the embedding has a row for each token. */
static void test_vocabulary(void **state)
{
    static const char text[] = "the hello world of the  rain,\n\"And\" 3.14 \xc3\xa9\xe4\xb8\xad \xff\x01 in   Spain!";
    struct buffer file = BUFFER_NULL;

    (void)state;
    for (size_t a = 0; a < ARRAY_LENGTH(architectures); a++) {
        struct random_model_spec spec;
        struct tokens tokens = TOKENS_NULL;
        struct buffer back = BUFFER_NULL;
        struct vocab *vocab = NULL;
        struct error error = ERROR_NULL;
        struct gguf *gguf;

        assert_int_equal(random_model_spec_init(&spec, architectures[a], 1), 0);
        gguf = build(&spec, &file);
        if (vocab_load(gguf, &vocab, &error))
            fail_msg("%s: %s", architectures[a], error.text);
        assert_int_equal(vocab_size(vocab), gguf_tensor_find(gguf, "token_embd.weight")->shape[1]);
        assert_true(vocab_size(vocab) % 16 != 0);
        assert_int_equal(vocab_encode(vocab, text, sizeof(text) - 1, 0, &tokens, &error), 0);
        assert_true(tokens.count < sizeof(text) - 12);          /* merges did something */
        for (size_t i = 0; i < tokens.count; i++)
            vocab_decode(vocab, tokens.ids[i], false, &back);
        if (a < 3) {            /* SentencePiece replaces what is no UTF-8 */
            assert_int_equal(back.size, sizeof(text) - 1);
            assert_memory_equal(back.data, text, back.size);
        }
        assert_int_equal(vocab_add_bos(vocab), spec.tokenizer == RANDOM_VOCAB_SPM);
        assert_true(vocab_is_eog(vocab, vocab_eos(vocab)));
        vocab_free(vocab);
        tokens_deinit(&tokens);
        buffer_deinit(&back);
        gguf_free(gguf);
    }
    buffer_deinit(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default_models), cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_settings),       cmocka_unit_test(test_distinct_tokens),
        cmocka_unit_test(test_vocabulary),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
