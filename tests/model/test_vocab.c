/* SPDX-License-Identifier: Apache-2.0 */
/* The tokenizers on small vocabularies of our own: what becomes what, and what a text can never become. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "src/base/clock.h"
#include "src/base/utf8.h"
#include "src/model/split.h"
#include "src/model/vocab.h"
#include "tests/harness/small_vocab.h"

#define MIB ((size_t)1 << 20)

struct loaded {
    struct buffer file;
    struct gguf *gguf;
    struct vocab *vocab;
};

static void load_buffer(struct loaded *l)
{
    struct error error = ERROR_NULL;

    assert_int_equal(gguf_parse(l->file.data, l->file.size, l->file.size, &l->gguf, &error), 0);
    if (vocab_load(l->gguf, &l->vocab, &error) != 0)
        fail_msg("%s", error.text);
}

static struct loaded load(enum small_vocab kind)
{
    struct loaded l = {.file = BUFFER_NULL};

    small_vocab_file(kind, &l.file);
    load_buffer(&l);
    return l;
}

static struct loaded load_tokens(const struct small_tokens *t, enum small_vocab kind, const char *pre)
{
    struct loaded l = {.file = BUFFER_NULL};
    struct gguf_writer w = GGUF_WRITER_INIT;

    small_tokens_write(&w, t, kind, pre);
    gguf_writer_finish(&w, &l.file);
    load_buffer(&l);
    return l;
}

static void unload(struct loaded *l)
{
    l->vocab = vocab_free(l->vocab);
    l->gguf = gguf_free(l->gguf);
    buffer_deinit(&l->file);
}

static uint32_t id_of(const struct loaded *l, const char *text)
{
    uint32_t id = vocab_find(l->vocab, text, strlen(text));

    if (id == VOCAB_NONE)
        fail_msg("no token \"%s\"", text);
    return id;
}

/* The texts of the tokens of @text, joined by '|'; bytes of SentencePiece as they are written there. */
static void expect(const struct loaded *l, unsigned flags, const char *text, const char *expected)
{
    struct gguf_array tokens;
    struct tokens found = TOKENS_NULL;
    struct buffer joined = BUFFER_NULL;
    struct error error = ERROR_NULL;

    assert_int_equal(gguf_get_array(l->gguf, "tokenizer.ggml.tokens", GGUF_STRING, &tokens, &error), 0);
    assert_int_equal(vocab_encode(l->vocab, text, strlen(text), flags, &found, &error), 0);
    for (size_t i = 0; i < found.count; i++) {
        struct span token = gguf_array_string(&tokens, found.ids[i]);

        if (i > 0)
            buffer_put_u8(&joined, '|');
        buffer_put(&joined, token.data, token.size);
        assert_true(found.offsets[i] <= strlen(text) && (i == 0 || found.offsets[i] >= found.offsets[i - 1]));
    }
    buffer_put_u8(&joined, 0);
    assert_string_equal((const char *)joined.data, expected);
    buffer_deinit(&joined);
    tokens_deinit(&found);
}

static void expect_decoded(const struct loaded *l, const char *token, bool with_control, const char *expected)
{
    struct buffer out = BUFFER_NULL;

    vocab_decode(l->vocab, id_of(l, token), with_control, &out);
    buffer_put_u8(&out, 0);
    assert_string_equal((const char *)out.data, expected);
    buffer_deinit(&out);
}

static void test_bpe_merges(void **state)
{
    struct loaded l = load(SMALL_BPE);

    (void)state;
    expect(&l, 0, "", "");
    expect(&l, 0, "hello world", "hello|Ġworld");
    expect(&l, 0, "hell", "hell");
    expect(&l, 0, "aaaa", "aa|aa");                 /* the earlier rank wins, then the left */
    expect(&l, 0, "aaaaa", "aa|aaa");
    expect(&l, 0, "abc", "a|bc");                   /* b c was learnt before a b */
    expect(&l, 0, "\xc3\xa9", "Ã©");
    expect(&l, 0, "123", "1|2|3");                  /* smollm parts numbers */
    expect(&l, 0, "     x", "ĠĠĠĠ|Ġ|x");
    expect(&l, 0, "wholeword", "w|h|o|l|e|w|or|d");
    assert_string_equal(vocab_model_name(l.vocab), "bpe");
    assert_string_equal(vocab_pre_name(l.vocab), "smollm");
    assert_false(vocab_add_bos(l.vocab));
    unload(&l);
    l = load(SMALL_LLAMA3);
    expect(&l, 0, "wholeword", "wholeword");        /* a word that is a token is taken whole */
    expect(&l, 0, "123 1234", "123|Ġ|123|4");
    assert_true(vocab_add_bos(l.vocab));
    unload(&l);
}

static void test_bpe_specials(void **state)
{
    struct loaded l = load(SMALL_BPE);

    (void)state;
    expect(&l, VOCAB_PARSE_SPECIAL, "<|begin|>hello<|im_end|>", "<|begin|>|hello|<|im_end|>");
    expect(&l, VOCAB_PARSE_SPECIAL, "<|im_end|><|im_end|><|im_end|>", "<|im_end|><|im_end|>|<|im_end|>");
    expect(&l, VOCAB_PARSE_SPECIAL, "<|user|>a", "<|user|>|a");
    expect(&l, VOCAB_PARSE_SPECIAL, "<|im_en", "<|||i|m|_|e|n");
    /* text of users: white space and HTML that the file sets apart, but no marker, whatever its type */
    expect(&l, 0, "<table>\n\n\n\na", "<table>|\n\n\n|Ċ|a");
    expect(&l, 0, "<|user|>", "<|||u|s|e|r|||>");
    expect(&l, 0, "<|im_end|>", "<|||i|m|_|e|n|d|||>");
    assert_true(vocab_is_eog(l.vocab, id_of(&l, "<|im_end|>")));
    assert_false(vocab_is_eog(l.vocab, id_of(&l, "<|begin|>")));
    assert_false(vocab_is_eog(l.vocab, VOCAB_NONE));
    assert_true(vocab_is_control(l.vocab, id_of(&l, "<|begin|>")));
    assert_false(vocab_is_control(l.vocab, id_of(&l, "<table>")));
    assert_false(vocab_is_control(l.vocab, VOCAB_NONE));
    unload(&l);
}

static void test_decode(void **state)
{
    struct loaded l = load(SMALL_BPE);

    (void)state;
    expect_decoded(&l, "Ġworld", false, " world");
    expect_decoded(&l, "Ã©", false, "\xc3\xa9");
    expect_decoded(&l, "<|im_end|>", false, "");
    expect_decoded(&l, "<|im_end|>", true, "<|im_end|>");
    expect_decoded(&l, "\n\n", false, "\n\n");
    expect_decoded(&l, "[PAD]", false, "");
    unload(&l);
    l = load(SMALL_SPM);
    expect_decoded(&l, "▁hello", false, " hello");
    expect_decoded(&l, "<0x41>", false, "A");
    expect_decoded(&l, "<s>", false, "");
    expect_decoded(&l, "<unk>", false, "");
    expect_decoded(&l, "<unk>", true, "<unk>");
    unload(&l);
    l = load(SMALL_WORDPIECE);
    expect_decoded(&l, "▁hello", false, " hello");
    expect_decoded(&l, "ld", false, "ld");
    expect_decoded(&l, "[CLS]", false, "");
    unload(&l);
}

static void test_spm(void **state)
{
    struct loaded l = load(SMALL_SPM);

    (void)state;
    expect(&l, 0, "", "");
    expect(&l, 0, "hello world", "▁hello|▁world");
    expect(&l, 0, " hello", "▁|▁hello");
    expect(&l, 0, "hellohello", "▁hello|hello");
    expect(&l, 0, "aba", "▁|ab|a");                 /* ab and ba have one score: the left */
    expect(&l, 0, "Q", "▁|<0x51>");
    expect(&l, 0, "\xf0\x9f\x98\x80", "▁|<0xF0>|<0x9F>|<0x98>|<0x80>");
    expect(&l, 0, "\xff", "▁|<0xFF>");
    expect(&l, 0, "▁w", "▁|▁w");                    /* the mark itself is a space, too */
    expect(&l, 0, "> <", "▁|>▁<");                  /* a token that reaches over the border of a word */
    expect(&l, 0, "     ", "▁▁▁▁|▁▁");
    expect(&l, VOCAB_PARSE_SPECIAL, "<s>hello</s>a", "<s>|▁hello|</s>|▁|a");
    /* neither control nor byte tokens by spelling them, though merges lead there */
    expect(&l, 0, "<s>", "▁|<s|>");
    expect(&l, 0, "<0x0A>", "▁<|0x|0|<0x41>|>");
    assert_string_equal(vocab_model_name(l.vocab), "spm");
    assert_string_equal(vocab_pre_name(l.vocab), "");
    assert_true(vocab_add_bos(l.vocab) && !vocab_add_eos(l.vocab));
    assert_int_equal(vocab_bos(l.vocab), 1);
    assert_int_equal(vocab_eos(l.vocab), 2);
    unload(&l);
    l = load(SMALL_GEMMA);
    expect(&l, 0, "hello  world\n\n", "hello|  |w|or|ld|\n\n");
    expect(&l, 0, "</s>", "</s>");                  /* HTML here, not the end */
    assert_false(vocab_is_eog(l.vocab, id_of(&l, "</s>")));
    expect(&l, 0, "<start_of_turn>a", "<s|<0x74>|a|r|<0x74>|<0x5F>|o|<0x66>|<0x5F>|<0x74>|<0x75>|r|<0x6E>|>|a");
    expect(&l, VOCAB_PARSE_SPECIAL, "<start_of_turn>a", "<start_of_turn>|a");
    assert_true(vocab_is_eog(l.vocab, id_of(&l, "<end_of_turn>")));
    assert_true(vocab_is_eog(l.vocab, id_of(&l, "<eos>")));
    unload(&l);
}

/* A prompt in segments: the space in front belongs to the start of a text, not to each piece of it. */
static void test_spm_segments(void **state)
{
    struct loaded l = load(SMALL_SPM);
    struct tokens tokens = TOKENS_NULL;
    struct error error = ERROR_NULL;

    (void)state;
    assert_int_equal(vocab_encode(l.vocab, "<s>", 3, VOCAB_PARSE_SPECIAL, &tokens, &error), 0);
    assert_int_equal(vocab_encode(l.vocab, "hello", 5, 0, &tokens, &error), 0);
    assert_int_equal(vocab_encode(l.vocab, "hello", 5, 0, &tokens, &error), 0);
    assert_int_equal(tokens.count, 3);
    assert_int_equal(tokens.ids[1], id_of(&l, "▁hello"));
    assert_int_equal(tokens.ids[2], id_of(&l, "hello"));
    tokens_deinit(&tokens);
    unload(&l);
}

static void test_spm_unknown(void **state)
{
    struct small_tokens t;
    struct loaded l;

    (void)state;
    small_tokens_fill(&t, SMALL_SPM);
    for (uint32_t id = 3; id < 259; id++)
        t.type[id] = 5;                             /* no byte tokens */
    l = load_tokens(&t, SMALL_SPM, NULL);
    expect(&l, 0, "aQ\xc3\xb6h", "▁|a|<unk>|<unk>|h");
    unload(&l);
}

/* The better score first, whatever the signs; equal ones, 0 and -0 too, go left. */
static void test_spm_scores(void **state)
{
    static const struct {
        float ab, ba;
        const char *expected;
    } cases[] = {
        {1, 2, "▁|a|ba"}, {2, 1, "▁|ab|a"}, {-1, 0, "▁|a|ba"}, {0, -1, "▁|ab|a"}, {-2, -1, "▁|a|ba"},
        {-0.0f, 0, "▁|ab|a"}, {1, -1, "▁|ab|a"}, {-1, 1, "▁|a|ba"}, {3, 3, "▁|ab|a"}, {-1e30f, 1e-30f, "▁|a|ba"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct small_tokens t;
        struct loaded l;

        small_tokens_fill(&t, SMALL_SPM);
        for (uint32_t id = 0; id < t.count; id++) {
            t.score[id] = strcmp(t.text[id], "ab") == 0 ? cases[i].ab : t.score[id];
            t.score[id] = strcmp(t.text[id], "ba") == 0 ? cases[i].ba : t.score[id];
        }
        l = load_tokens(&t, SMALL_SPM, NULL);
        expect(&l, 0, "aba", cases[i].expected);
        unload(&l);
    }
}

static void test_wordpiece(void **state)
{
    struct loaded l = load(SMALL_WORDPIECE);
    char long_word[103];

    (void)state;
    expect(&l, 0, "Hello,  WORLD!", "▁hello|▁,|▁wor|ld|▁!");
    expect(&l, 0, "Caf\xc3\xa9 cafe\xcc\x81", "▁cafe|▁cafe");
    expect(&l, 0, "a你b", "▁a|▁你|[UNK]");
    expect(&l, 0, "unaffable", "▁un|aff|able");
    expect(&l, 0, "unaffablex", "[UNK]");           /* the word as a whole */
    expect(&l, 0, "hel\xc2\xadlo hello\x07", "▁hello|▁hello");
    expect(&l, 0, "▁", "▁▁");
    expect(&l, 0, "\xed\x95\x9c", "▁\xe1\x84\x92\xe1\x85\xa1|\xe1\x86\xab");      /* decomposed */
    expect(&l, 0, "a$", "▁a|▁$");
    expect(&l, 0, "[CLS]", "[UNK]|[UNK]|[UNK]");
    expect(&l, VOCAB_PARSE_SPECIAL, "[CLS]a[SEP]", "[CLS]|▁a|[SEP]");
    memset(long_word, 'a', sizeof(long_word));
    long_word[102] = 0;
    expect(&l, 0, long_word + 1, "[UNK]");
    assert_string_equal(vocab_model_name(l.vocab), "wordpiece");
    assert_true(vocab_add_bos(l.vocab) && vocab_add_eos(l.vocab));
    assert_int_equal(vocab_bos(l.vocab), id_of(&l, "[CLS]"));
    assert_int_equal(vocab_eos(l.vocab), id_of(&l, "[SEP]"));
    unload(&l);
}

static void test_offsets(void **state)
{
    struct loaded l = load(SMALL_BPE);
    struct tokens tokens = TOKENS_NULL;
    struct error error = ERROR_NULL;
    static const uint32_t spm[] = {0, 5, 11, 12}, wordpiece[] = {2, 7, 9, 12, 15};

    (void)state;
    assert_int_equal(vocab_encode(l.vocab, "hello world<|im_end|>aaa", 24, VOCAB_PARSE_SPECIAL, &tokens, &error), 0);
    assert_int_equal(tokens.count, 4);
    assert_int_equal(tokens.offsets[1], 5);
    assert_int_equal(tokens.offsets[2], 11);
    assert_int_equal(tokens.offsets[3], 21);
    tokens_deinit(&tokens);
    unload(&l);
    l = load(SMALL_SPM);
    assert_int_equal(vocab_encode(l.vocab, "hello world\xc3\xb6", 13, 0, &tokens, &error), 0);
    assert_int_equal(tokens.count, ARRAY_LENGTH(spm));
    assert_memory_equal(tokens.offsets, spm, sizeof(spm));
    tokens_deinit(&tokens);
    unload(&l);
    l = load(SMALL_WORDPIECE);
    assert_int_equal(vocab_encode(l.vocab, "  hello, world ! ", 16, 0, &tokens, &error), 0);
    assert_int_equal(tokens.count, ARRAY_LENGTH(wordpiece));
    assert_memory_equal(tokens.offsets, wordpiece, sizeof(wordpiece));
    tokens_deinit(&tokens);
    unload(&l);
}

/* Exactly one BOS, whoever brings it. */
static void test_prompt(void **state)
{
    struct loaded l = load(SMALL_LLAMA3);
    struct tokens tokens = TOKENS_NULL;
    struct error error = ERROR_NULL;
    static const char *const texts[] = {"hello", "<|begin|>hello"};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        const char *text = texts[i];

        assert_int_equal(vocab_encode_prompt(l.vocab, text, strlen(text), VOCAB_PARSE_SPECIAL, &tokens, &error), 0);
        assert_int_equal(tokens.count, 2);
        assert_int_equal(tokens.ids[0], vocab_bos(l.vocab));
        assert_int_equal(tokens.ids[1], id_of(&l, "hello"));
        tokens.count = 0;
    }
    assert_int_equal(vocab_encode_prompt(l.vocab, "hello", 5, VOCAB_NO_BOS, &tokens, &error), 0);
    assert_int_equal(tokens.count, 1);
    tokens.count = 0;
    assert_int_equal(vocab_encode_prompt(l.vocab, "", 0, 0, &tokens, &error), 0);
    assert_int_equal(tokens.count, 1);
    tokens.count = 0;
    assert_int_equal(vocab_encode(l.vocab, "hello", 5, 0, &tokens, &error), 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(vocab_put_bos(l.vocab, 0, &tokens), 0);
        assert_int_equal(tokens.count, 2);
        assert_int_equal(tokens.ids[0], vocab_bos(l.vocab));
        assert_int_equal(tokens.ids[1], id_of(&l, "hello"));
    }
    tokens_deinit(&tokens);
    unload(&l);
}

/* Phi-3 drops white space behind its markers, and is known by its name only. */
static void test_strips(void **state)
{
    static const char *const names[] = {"Phi-3 Mini", "model of phi3", "Phi-4"};

    (void)state;
    for (unsigned i = 0; i < ARRAY_LENGTH(names); i++) {
        struct loaded l = {.file = BUFFER_NULL};
        struct gguf_writer w = GGUF_WRITER_INIT;
        struct small_tokens t;

        small_tokens_fill(&t, SMALL_SPM);
        small_tokens_add(&t, "<|end|>", 0, 3);
        small_tokens_write(&w, &t, SMALL_SPM, NULL);
        gguf_writer_string(&w, "general.name", names[i]);
        gguf_writer_bool(&w, "tokenizer.ggml.add_space_prefix", false);
        gguf_writer_finish(&w, &l.file);
        load_buffer(&l);
        expect(&l, VOCAB_PARSE_SPECIAL, "<|end|> a", i < 2 ? "<|end|>|a" : "<|end|>|▁|a");
        expect(&l, VOCAB_PARSE_SPECIAL, "</s> \t\n", i < 2 ? "</s>" : "</s>|▁|<0x09>|<0x0A>");
        expect(&l, VOCAB_PARSE_SPECIAL, "<s> a", "<s>|▁|a");
        unload(&l);
    }
}

/* What ends an answer: by key, by name, not by a name that ordinary text may have, and Harmony's exception. */
static void test_ends(void **state)
{
    struct loaded l = {.file = BUFFER_NULL};
    struct gguf_writer w = GGUF_WRITER_INIT;
    struct small_tokens t;
    uint32_t end;

    (void)state;
    small_tokens_fill(&t, SMALL_BPE);
    end = small_tokens_add(&t, "<|end|>", 0, 3);
    small_tokens_add(&t, "<|eot_id|>", 0, 4);
    small_tokens_add(&t, "<end_of_turn>", 0, 1);    /* an ordinary token of that text */
    small_tokens_add(&t, "</s>", 0, 4);
    small_tokens_write(&w, &t, SMALL_BPE, "gpt-2");
    gguf_writer_u32(&w, "tokenizer.ggml.eot_token_id", 5);
    gguf_writer_u32(&w, "tokenizer.ggml.eom_token_id", 6);
    gguf_writer_finish(&w, &l.file);
    load_buffer(&l);
    assert_true(vocab_is_eog(l.vocab, 5) && vocab_is_eog(l.vocab, 6) && !vocab_is_eog(l.vocab, 7));
    assert_true(vocab_is_eog(l.vocab, end) && vocab_is_eog(l.vocab, id_of(&l, "<|eot_id|>")));
    assert_true(vocab_is_control(l.vocab, id_of(&l, "<|eot_id|>")));
    assert_false(vocab_is_eog(l.vocab, id_of(&l, "<end_of_turn>")) || vocab_is_eog(l.vocab, id_of(&l, "</s>")));
    assert_int_equal(vocab_eos(l.vocab), VOCAB_NONE);
    unload(&l);
    small_tokens_add(&t, "<|return|>", 0, 3);
    l = load_tokens(&t, SMALL_BPE, "gpt-2");
    assert_true(vocab_is_eog(l.vocab, id_of(&l, "<|return|>")) && !vocab_is_eog(l.vocab, end));
    unload(&l);
}

/* Words longer than can be merged whole, and a text that is too long. */
static void test_long_words(void **state)
{
    size_t size = ((size_t)600 << 10) + 1;
    char *text = malloc(size);

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < size; i++)
        text[i] = "a\xc3\xa9"[i % 3];
    for (unsigned kind = 0; kind < SMALL_WORDPIECE; kind++) {
        struct loaded l = load((enum small_vocab)kind);
        struct tokens tokens = TOKENS_NULL;
        struct buffer out = BUFFER_NULL;
        struct error error = ERROR_NULL;
        size_t skip;

        assert_int_equal(vocab_encode(l.vocab, text, size, 0, &tokens, &error), 0);
        assert_true(tokens.count <= size * 2 / 3 + 8);      /* é stays whole where words are cut */
        for (size_t i = 0; i < tokens.count; i++)
            vocab_decode(l.vocab, tokens.ids[i], false, &out);
        skip = kind == SMALL_SPM ? 1 : 0;                   /* the space in front */
        assert_int_equal(out.size - skip, size);
        assert_memory_equal(out.data + skip, text, size);
        tokens.count = 0;
        assert_int_equal(vocab_encode(l.vocab, text, (size_t)VOCAB_TEXT_BYTES_MAX + 1, 0, &tokens, &error), -E2BIG);
        buffer_deinit(&out);
        tokens_deinit(&tokens);
        unload(&l);
    }
    free(text);
}

static uint32_t next_random(uint32_t *random)
{
    *random = *random * 1664525u + 1013904223u;
    return *random >> 8;
}

static size_t random_text(uint8_t *text, size_t size, bool utf8, uint32_t *random)
{
    static const char frequent[] = "  hello world aaaa 123 's <|im_end|> \n\n [CLS]";
    size_t written = 0;

    while (written + 4 <= size) {
        uint32_t r = next_random(random);

        if (r % 4 != 0)
            text[written++] = (uint8_t)frequent[r / 4 % (sizeof(frequent) - 1)];
        else if (!utf8)
            text[written++] = (uint8_t)(r / 4);
        else if ((r / 4 % 0x11000 & 0xf800) != 0xd800)
            written += utf8_encode(r / 4 % 0x11000, text + written);
    }
    return written;
}

/* Byte-level BPE loses nothing, whatever the bytes; none gives more tokens than bytes and one, nor control tokens. */
static void test_properties(void **state)
{
    size_t count;
    const struct split *table = split_table(&count);
    uint32_t random = 7;
    uint8_t text[200];

    (void)state;
    for (size_t v = 0; v < count + SMALL_VOCAB_COUNT; v++) {
        struct small_tokens t;
        enum small_vocab kind = v < count ? SMALL_BPE : (enum small_vocab)(v - count);
        struct loaded l;

        small_tokens_fill(&t, SMALL_BPE);
        if (v < count && table[v].flags & SPLIT_ADD_BOS)
            continue;                               /* these need a BOS: SMALL_LLAMA3 has one */
        l = v < count ? load_tokens(&t, SMALL_BPE, table[v].name) : load(kind);
        for (unsigned round = 0; round < 300; round++) {
            size_t size = random_text(text, round % 7 == 0 ? 8 : sizeof(text), round % 2 == 0, &random);
            struct tokens tokens = TOKENS_NULL;
            struct buffer out = BUFFER_NULL;
            struct error error = ERROR_NULL;

            assert_int_equal(vocab_encode(l.vocab, text, size, 0, &tokens, &error), 0);
            assert_true(tokens.count <= size + 1);
            for (size_t i = 0; i < tokens.count; i++) {
                assert_true(kind == SMALL_WORDPIECE || !vocab_is_control(l.vocab, tokens.ids[i]));
                assert_true(tokens.offsets[i] <= size);
                vocab_decode(l.vocab, tokens.ids[i], false, &out);
            }
            if (kind == SMALL_BPE || kind == SMALL_LLAMA3) {
                assert_int_equal(out.size, size);
                assert_memory_equal(out.data, text, size);
            }
            buffer_deinit(&out);
            tokens_deinit(&tokens);
        }
        unload(&l);
    }
}

static void test_linear(void **state)
{
    static const char *const patterns[] = {
        " ", "a", "aaaa ", "\n", "1", "<|im_end|>", "<|", "\xff", "中", "hello world", "!",
    };
    uint8_t *text = malloc(MIB);

    (void)state;
    assert_non_null(text);
    for (unsigned kind = 0; kind < SMALL_VOCAB_COUNT; kind++) {
        struct loaded l = load((enum small_vocab)kind);

        for (size_t p = 0; p < ARRAY_LENGTH(patterns); p++) {
            struct tokens tokens = TOKENS_NULL;
            struct error error = ERROR_NULL;
            uint64_t start = clock_now_ns();
            double took;

            for (size_t i = 0; i < MIB; i++)
                text[i] = (uint8_t)patterns[p][i % strlen(patterns[p])];
            assert_int_equal(vocab_encode(l.vocab, text, MIB, VOCAB_PARSE_SPECIAL, &tokens, &error), 0);
            assert_true(tokens.count <= MIB + 1);
            took = (double)(clock_now_ns() - start) / 1e9;
            if (took > 4)
                fail_msg("%s: %.1f s for a MiB of \"%s\"", vocab_model_name(l.vocab), took, patterns[p]);
            tokens_deinit(&tokens);
        }
        unload(&l);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bpe_merges),   cmocka_unit_test(test_bpe_specials), cmocka_unit_test(test_decode),
        cmocka_unit_test(test_spm),          cmocka_unit_test(test_spm_segments), cmocka_unit_test(test_spm_unknown),
        cmocka_unit_test(test_wordpiece),    cmocka_unit_test(test_offsets),      cmocka_unit_test(test_prompt),
        cmocka_unit_test(test_strips),       cmocka_unit_test(test_ends),         cmocka_unit_test(test_long_words),
        cmocka_unit_test(test_properties),   cmocka_unit_test(test_linear),       cmocka_unit_test(test_spm_scores),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
