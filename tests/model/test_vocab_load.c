/* SPDX-License-Identifier: Apache-2.0 */
/* What a file can say wrongly about its tokenizer, and memory that runs out: each is refused with a reason. */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "src/model/vocab.h"
#include "tests/harness/alloc_fail.h"
#include "tests/harness/small_vocab.h"

static struct small_tokens tokens;      /* too large for a stack frame among others; filled anew by each case */

/* Parses what @w gives and loads the vocabulary: the code, with the text in @error. */
static int load(struct gguf_writer *w, struct error *error)
{
    struct buffer file = BUFFER_NULL;
    struct gguf *gguf = NULL;
    struct vocab *vocab = NULL;
    int r;

    gguf_writer_finish(w, &file);
    assert_int_equal(gguf_parse(file.data, file.size, file.size, &gguf, error), 0);
    r = vocab_load(gguf, &vocab, error);
    assert_int_equal(r == 0, vocab != NULL);
    vocab_free(vocab);
    gguf_free(gguf);
    buffer_deinit(&file);
    return r;
}

static void expect(struct gguf_writer *w, int code, const char *part)
{
    struct error error = ERROR_NULL;

    assert_int_equal(load(w, &error), code);
    if (code != 0 && strstr(error.text, part) == NULL)
        fail_msg("\"%s\" says nothing of \"%s\"", error.text, part);
}

static void write_model(struct gguf_writer *w, const char *model, const char *pre)
{
    gguf_writer_string(w, "tokenizer.ggml.model", model);
    if (pre != NULL)
        gguf_writer_string(w, "tokenizer.ggml.pre", pre);
}

static void test_models(void **state)
{
    struct gguf_writer w = GGUF_WRITER_INIT;

    (void)state;
    gguf_writer_string(&w, "general.architecture", "llama");
    expect(&w, -ENOTSUP, "tokenizer.ggml.model");
    write_model(&w, "plamo2", NULL);
    expect(&w, -ENOTSUP, "plamo2");
    gguf_writer_u32(&w, "tokenizer.ggml.model", 1);
    expect(&w, -EINVAL, "tokenizer.ggml.model");
    write_model(&w, "gpt2", "gpt-2");
    expect(&w, -EINVAL, "tokenizer.ggml.tokens");
}

static void test_pre(void **state)
{
    struct gguf_writer w = GGUF_WRITER_INIT;

    (void)state;
    small_tokens_fill(&tokens, SMALL_BPE);
    small_tokens_write(&w, &tokens, SMALL_BPE, "gpt-2");
    expect(&w, 0, "");
    small_tokens_write(&w, &tokens, SMALL_BPE, NULL);
    expect(&w, -ENOTSUP, "smollm");                 /* lists what is known */
    small_tokens_write(&w, &tokens, SMALL_BPE, "gpt-9");
    expect(&w, -ENOTSUP, "gpt-9");
    small_tokens_write(&w, &tokens, SMALL_BPE, "");
    expect(&w, -ENOTSUP, "tokenizer.ggml.pre");
    small_tokens_write(&w, &tokens, SMALL_BPE, "llama-bpe");
    expect(&w, -EINVAL, "bos_token_id");            /* BOS by habit, but none is named */
}

static void test_arrays(void **state)
{
    struct gguf_writer w = GGUF_WRITER_INIT;
    static const char *const three[] = {"a", "b", "c"};
    static const uint8_t bytes[] = {1, 2, 3};
    static const float scores[] = {0, 1, 2, 3}, bad[] = {0, NAN, 0};
    static const int32_t types[] = {1, 1};

    (void)state;
    write_model(&w, "llama", NULL);
    gguf_writer_array(&w, "tokenizer.ggml.tokens", GGUF_U8, bytes, 3);
    expect(&w, -EINVAL, "tokenizer.ggml.tokens");
    write_model(&w, "llama", NULL);
    gguf_writer_strings(&w, "tokenizer.ggml.tokens", three, 0);
    expect(&w, -EINVAL, "0 entries");
    write_model(&w, "llama", NULL);
    gguf_writer_strings(&w, "tokenizer.ggml.tokens", three, 3);
    expect(&w, -EINVAL, "no tokenizer.ggml.scores");
    write_model(&w, "llama", NULL);
    gguf_writer_strings(&w, "tokenizer.ggml.tokens", three, 3);
    gguf_writer_array(&w, "tokenizer.ggml.scores", GGUF_U8, bytes, 3);
    expect(&w, -EINVAL, "tokenizer.ggml.scores");
    for (unsigned count = 0; count <= 4; count++) {
        write_model(&w, "llama", NULL);
        gguf_writer_strings(&w, "tokenizer.ggml.tokens", three, 3);
        gguf_writer_array(&w, "tokenizer.ggml.scores", GGUF_F32, scores, count);
        expect(&w, count == 3 ? 0 : -EINVAL, "tokenizer.ggml.scores");
    }
    write_model(&w, "llama", NULL);
    gguf_writer_strings(&w, "tokenizer.ggml.tokens", three, 3);
    gguf_writer_array(&w, "tokenizer.ggml.scores", GGUF_F32, bad, 3);
    expect(&w, -EINVAL, "scores[1]");
    write_model(&w, "llama", NULL);
    gguf_writer_strings(&w, "tokenizer.ggml.tokens", three, 3);
    gguf_writer_array(&w, "tokenizer.ggml.scores", GGUF_F32, scores, 3);
    gguf_writer_array(&w, "tokenizer.ggml.token_type", GGUF_I32, types, 2);
    expect(&w, -EINVAL, "token_type");
    write_model(&w, "llama", NULL);
    gguf_writer_strings(&w, "tokenizer.ggml.tokens", three, 3);
    gguf_writer_array(&w, "tokenizer.ggml.scores", GGUF_F32, scores, 3);
    gguf_writer_array(&w, "tokenizer.ggml.token_type", GGUF_U8, bytes, 3);
    expect(&w, -EINVAL, "token_type");
}

static void test_merges(void **state)
{
    static const char *const merges[] = {"", " ", "h", "he", "h  e", "zz yy", "h yy", "h e l", "wholeword hello"};
    struct gguf_writer w = GGUF_WRITER_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(merges); i++) {
        small_tokens_fill(&tokens, SMALL_BPE);
        tokens.merges[3] = merges[i];
        small_tokens_write(&w, &tokens, SMALL_BPE, "gpt-2");
        expect(&w, -EINVAL, "merges[3]");
    }
    small_tokens_fill(&tokens, SMALL_BPE);
    tokens.merge_count = 0;
    small_tokens_write(&w, &tokens, SMALL_BPE, "gpt-2");
    expect(&w, -EINVAL, "tokenizer.ggml.merges");
}

static void test_byte_tokens(void **state)
{
    static const char *const texts[] = {
        "<0x-1>", "<0x1>", "<0x123>", "<0xG0>", "<0x 1>", "<0X41>", "0x41", "<0x+1>", "", "<0x4>>",
    };
    struct gguf_writer w = GGUF_WRITER_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        small_tokens_fill(&tokens, SMALL_SPM);
        tokens.text[3 + 0x41] = texts[i];
        small_tokens_write(&w, &tokens, SMALL_SPM, NULL);
        expect(&w, -EINVAL, "token 68");
    }
    small_tokens_fill(&tokens, SMALL_SPM);
    tokens.text[3 + 0xab] = "<0xab>";               /* small letters are digits, too */
    small_tokens_write(&w, &tokens, SMALL_SPM, NULL);
    expect(&w, 0, "");
}

static void test_ids(void **state)
{
    static const char *const keys[] = {
        "tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
        "tokenizer.ggml.eom_token_id", "tokenizer.ggml.unknown_token_id",
    };
    struct gguf_writer w = GGUF_WRITER_INIT;

    (void)state;
    small_tokens_fill(&tokens, SMALL_SPM);
    for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) {
        for (unsigned fault = 0; fault < 4; fault++) {
            small_tokens_write(&w, &tokens, SMALL_SPM, NULL);
            if (fault == 0)
                gguf_writer_u32(&w, keys[i], tokens.count);
            else if (fault == 1)
                gguf_writer_i32(&w, keys[i], -1);
            else if (fault == 2)
                gguf_writer_u64(&w, keys[i], UINT64_C(1) << 32);
            else
                gguf_writer_string(&w, keys[i], "1");
            expect(&w, -EINVAL, keys[i]);
        }
    }
    small_tokens_write(&w, &tokens, SMALL_SPM, NULL);
    gguf_writer_u8(&w, "tokenizer.ggml.add_bos_token", 1);
    expect(&w, -EINVAL, "add_bos_token");
}

static void test_long_tokens(void **state)
{
    struct gguf_writer w = GGUF_WRITER_INIT;
    char *text = malloc(VOCAB_TOKEN_BYTES_MAX + 2);

    (void)state;
    assert_non_null(text);
    for (unsigned over = 0; over < 2; over++) {
        small_tokens_fill(&tokens, SMALL_BPE);
        memset(text, 'x', VOCAB_TOKEN_BYTES_MAX + 1);
        text[VOCAB_TOKEN_BYTES_MAX + over] = 0;
        small_tokens_add(&tokens, text, 0, 1);
        small_tokens_write(&w, &tokens, SMALL_BPE, "gpt-2");
        expect(&w, over ? -EINVAL : 0, "65537 bytes");
    }
    small_tokens_fill(&tokens, SMALL_BPE);
    text[300] = 0;
    small_tokens_add(&tokens, text, 0, 3);
    small_tokens_write(&w, &tokens, SMALL_BPE, "gpt-2");
    expect(&w, -EINVAL, "special token");
    free(text);
}

/* Empty and repeated texts are no reason to refuse: the lowest id is found. */
static void test_odd_tokens(void **state)
{
    struct gguf_writer w = GGUF_WRITER_INIT;
    struct buffer file = BUFFER_NULL;
    struct gguf *gguf = NULL;
    struct vocab *vocab = NULL;
    struct error error = ERROR_NULL;

    (void)state;
    small_tokens_fill(&tokens, SMALL_BPE);
    small_tokens_add(&tokens, "", 0, 1);
    small_tokens_add(&tokens, "", 0, 3);
    small_tokens_add(&tokens, "h", 0, 1);
    small_tokens_add(&tokens, "<|begin|>", 0, 3);
    small_tokens_write(&w, &tokens, SMALL_BPE, "gpt-2");
    gguf_writer_finish(&w, &file);
    assert_int_equal(gguf_parse(file.data, file.size, file.size, &gguf, &error), 0);
    assert_int_equal(vocab_load(gguf, &vocab, &error), 0);
    assert_int_equal(vocab_find(vocab, "h", 1), 'h' - 0x21 + 33);
    assert_int_equal(vocab_find(vocab, "", 0), VOCAB_NONE);
    assert_true(vocab_find(vocab, "<|begin|>", 9) < tokens.count - 1);
    vocab_free(vocab);
    gguf_free(gguf);
    buffer_deinit(&file);
}

static void test_memory(void **state)
{
    static const char text[] = "<|im_end|>hello world \xc3\xa9\xf0\x9f\x98\x80 aaaaaa aaaaaaaaaaaaaaaaaaaaaaaa"
                               "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

    (void)state;
    for (unsigned kind = 0; kind < SMALL_VOCAB_COUNT; kind++) {
        struct buffer file = BUFFER_NULL;
        struct gguf *gguf = NULL;
        struct vocab *vocab = NULL;
        struct error error = ERROR_NULL;
        size_t held;
        int r;

        small_vocab_file((enum small_vocab)kind, &file);
        assert_int_equal(gguf_parse(file.data, file.size, file.size, &gguf, &error), 0);
        held = alloc_held();
        for (long n = 1;; n++) {
            alloc_fail_after(n);
            r = vocab_load(gguf, &vocab, &error);
            if (!alloc_fail_hit())
                break;
            assert_int_equal(r, -ENOMEM);
            assert_null(vocab);
            assert_int_equal(alloc_held(), held);
        }
        assert_int_equal(r, 0);
        held = alloc_held();
        for (long n = 1;; n++) {
            struct tokens found = TOKENS_NULL;

            alloc_fail_after(n);
            r = vocab_encode_prompt(vocab, text, sizeof(text) - 1, VOCAB_PARSE_SPECIAL, &found, &error);
            if (!alloc_fail_hit()) {
                assert_int_equal(r, 0);
                assert_true(n > 1 && found.count > 0);
                tokens_deinit(&found);
                break;
            }
            assert_int_equal(r, -ENOMEM);
            assert_int_equal(found.count, 0);
            tokens_deinit(&found);
            assert_int_equal(alloc_held(), held);
        }
        vocab_free(vocab);
        gguf_free(gguf);
        buffer_deinit(&file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models),      cmocka_unit_test(test_pre),  cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_merges),      cmocka_unit_test(test_byte_tokens), cmocka_unit_test(test_ids),
        cmocka_unit_test(test_long_tokens), cmocka_unit_test(test_odd_tokens),  cmocka_unit_test(test_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
