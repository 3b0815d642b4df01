/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/harness/small_vocab.h"

#include <stdio.h>

#include "src/base/utf8.h"

enum { NORMAL = 1, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE };

uint32_t small_tokens_add(struct small_tokens *t, const char *text, float score, int32_t type)
{
    check(t->count < ARRAY_LENGTH(t->text));
    t->text[t->count] = text;
    t->score[t->count] = score;
    t->type[t->count] = type;
    return t->count++;
}

/* GPT-2's alphabet, told another way than vocab_bpe.c does: printable bytes first, the others from U+0100 on. */
static void add_alphabet(struct small_tokens *t)
{
    uint32_t next = 0x100;

    for (uint32_t byte = 0; byte < 256; byte++) {
        bool printable = byte > 0x20 && byte != 0x7f && !(byte >= 0x80 && byte <= 0xa0) && byte != 0xad;
        size_t length = utf8_encode(printable ? byte : next++, (uint8_t *)t->letters[byte]);

        t->letters[byte][length] = 0;
        small_tokens_add(t, t->letters[byte], 0, NORMAL);
    }
}

static void fill_bpe(struct small_tokens *t)
{
    static const char *const merges[] = {
        "h e", "l l", "he ll", "hell o", "Ġ w", "o r", "Ġw or", "Ġwor l", "Ġworl d", "a a", "aa a", "Ġ Ġ", "ĠĠ ĠĠ",
        "1 2", "12 3", "Ã ©", "' s", "b c", "a b",
    };
    static const char *const results[] = {
        "he", "ll", "hell", "hello", "Ġw", "or", "Ġwor", "Ġworl", "Ġworld", "aa", "aaa", "ĠĠ", "ĠĠĠĠ",
        "12", "123", "Ã©", "'s", "bc", "ab",
    };

    add_alphabet(t);
    for (size_t i = 0; i < ARRAY_LENGTH(merges); i++) {
        t->merges[t->merge_count++] = merges[i];
        small_tokens_add(t, results[i], 0, NORMAL);
    }
    small_tokens_add(t, "wholeword", 0, NORMAL);        /* no merges lead here */
    small_tokens_add(t, "<|begin|>", 0, CONTROL);
    small_tokens_add(t, "<|im_end|>", 0, CONTROL);
    small_tokens_add(t, "<|im_end|><|im_end|>", 0, CONTROL);
    small_tokens_add(t, "<|user|>", 0, USER_DEFINED);
    small_tokens_add(t, "<table>", 0, USER_DEFINED);
    small_tokens_add(t, "\n\n", 0, USER_DEFINED);
    small_tokens_add(t, "\n\n\n", 0, USER_DEFINED);
    small_tokens_add(t, "[PAD]", 0, UNUSED);
}

static void fill_spm(struct small_tokens *t, bool gemma)
{
    static const struct {
        const char *text;
        float score;
    } pieces[] = {
        {"▁", -1}, {"h", -20}, {"e", -21}, {"l", -22}, {"o", -23}, {"w", -24}, {"r", -25}, {"d", -26}, {"a", -27},
        {"he", -2}, {"ll", -3}, {"hell", -4}, {"hello", -5}, {"▁hello", -6}, {"▁w", -7}, {"or", -8}, {"▁wor", -9},
        {"ld", -10}, {"▁world", -11}, {"▁▁", -12}, {"▁▁▁▁", -13}, {"aa", -14}, {"aaaa", -15}, {"é", -28}, {"<s", -16},
        {"ab", -17}, {"ba", -17}, {"b", -29}, {">", -30}, {"<", -31}, {"s", -32}, {"0", -33}, {"x", -34},
        {"0x", -18}, {">▁<", -19}, {"▁<", -35},
    };

    small_tokens_add(t, gemma ? "<pad>" : "<unk>", 0, gemma ? CONTROL : UNKNOWN);
    small_tokens_add(t, gemma ? "<eos>" : "<s>", 0, CONTROL);
    small_tokens_add(t, gemma ? "<bos>" : "</s>", 0, CONTROL);
    for (unsigned byte = 0; byte < 256; byte++) {
        snprintf(t->letters[byte], sizeof(t->letters[byte]), "<0x%02X>", byte);
        small_tokens_add(t, t->letters[byte], 0, BYTE);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(pieces); i++)
        small_tokens_add(t, pieces[i].text, pieces[i].score, NORMAL);
    if (gemma) {
        small_tokens_add(t, "\n\n", -1000, USER_DEFINED);
        small_tokens_add(t, "  ", -1000, USER_DEFINED);
        small_tokens_add(t, "</s>", -1000, USER_DEFINED);
        small_tokens_add(t, "<start_of_turn>", -1000, USER_DEFINED);
        small_tokens_add(t, "<end_of_turn>", -1000, CONTROL);
    }
}

static void fill_wordpiece(struct small_tokens *t)
{
    static const char *const pieces[] = {
        "▁hello", "▁wor", "ld", "▁cafe", "▁!", "▁,", "▁你", "▁▁", "▁a", "a", "b", "▁un", "aff", "able", "▁ss",
        "▁\xc3\x9f", "▁\xe1\x84\x92\xe1\x85\xa1", "\xe1\x86\xab", "▁$",
    };

    small_tokens_add(t, "[PAD]", 0, CONTROL);
    small_tokens_add(t, "[UNK]", 0, CONTROL);
    small_tokens_add(t, "[CLS]", 0, CONTROL);
    small_tokens_add(t, "[SEP]", 0, CONTROL);
    for (size_t i = 0; i < ARRAY_LENGTH(pieces); i++)
        small_tokens_add(t, pieces[i], 0, NORMAL);
}

void small_tokens_fill(struct small_tokens *t, enum small_vocab kind)
{
    t->count = t->merge_count = 0;
    if (kind == SMALL_BPE || kind == SMALL_LLAMA3)
        fill_bpe(t);
    else if (kind == SMALL_WORDPIECE)
        fill_wordpiece(t);
    else
        fill_spm(t, kind == SMALL_GEMMA);
}

void small_tokens_write(struct gguf_writer *w, const struct small_tokens *t, enum small_vocab kind, const char *pre)
{
    static const char *const models[SMALL_VOCAB_COUNT] = {"gpt2", "gpt2", "llama", "llama", "bert"};

    gguf_writer_string(w, "general.architecture", "none");
    gguf_writer_string(w, "tokenizer.ggml.model", models[kind]);
    if (pre != NULL)
        gguf_writer_string(w, "tokenizer.ggml.pre", pre);
    gguf_writer_strings(w, "tokenizer.ggml.tokens", t->text, t->count);
    gguf_writer_array(w, "tokenizer.ggml.token_type", GGUF_I32, t->type, t->count);
    if (kind == SMALL_SPM || kind == SMALL_GEMMA)
        gguf_writer_array(w, "tokenizer.ggml.scores", GGUF_F32, t->score, t->count);
    if (t->merge_count > 0)
        gguf_writer_strings(w, "tokenizer.ggml.merges", t->merges, t->merge_count);
}

static uint32_t find(const struct small_tokens *t, const char *text)
{
    for (uint32_t id = 0; id < t->count; id++) {
        if (__builtin_strcmp(t->text[id], text) == 0)
            return id;
    }
    return 0;
}

void small_vocab_file(enum small_vocab kind, struct buffer *file)
{
    static const char *const pres[SMALL_VOCAB_COUNT] = {"smollm", "llama-bpe", "default", "default", "bert-bge"};
    struct small_tokens t;
    struct gguf_writer w = GGUF_WRITER_INIT;

    small_tokens_fill(&t, kind);
    small_tokens_write(&w, &t, kind, pres[kind]);
    if (kind == SMALL_BPE || kind == SMALL_LLAMA3) {
        gguf_writer_u32(&w, "tokenizer.ggml.bos_token_id", find(&t, "<|begin|>"));
        gguf_writer_u32(&w, "tokenizer.ggml.eos_token_id", find(&t, "<|im_end|>"));
    }
    if (kind == SMALL_GEMMA) {
        gguf_writer_u32(&w, "tokenizer.ggml.bos_token_id", 2);
        gguf_writer_u32(&w, "tokenizer.ggml.eos_token_id", 1);
        gguf_writer_bool(&w, "tokenizer.ggml.add_space_prefix", false);
    }
    gguf_writer_finish(&w, file);
}
