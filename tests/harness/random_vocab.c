/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/harness/random_vocab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/utf8.h"

enum { NORMAL = 1, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE };      /* tokenizer.ggml.token_type */

/* Both sides of a merge are single letters or results of merges above it; _ stands for the space. */
static const char *const merges[][2] = {
    { "h", "e" }, { "i", "n" }, { "_", "t" }, { "_", "a" }, { "e", "r" }, { "o", "n" }, { "r", "e" }, { "_t", "he" },
    { "a", "t" }, { "e", "n" }, { "o", "r" }, { "_", "s" }, { "_", "w" }, { "n", "d" }, { "i", "t" }, { "e", "s" },
    { "_", "o" }, { "_", "c" }, { "i", "s" }, { "in", "g" }, { "_", "b" }, { "o", "u" }, { "_", "f" }, { "e", "d" },
    { "_", "in" }, { "a", "l" }, { "_", "m" }, { "_", "p" }, { "_o", "f" }, { "_a", "nd" }, { "_t", "o" },
    { "l", "l" }, { "_", "_" }, { "__", "__" }, { "a", "r" }, { "_", "l" }, { "l", "o" }, { "h", "er" },
    { "_w", "or" }, { "l", "d" }, { "_wor", "ld" }, { "_", "he" }, { "_he", "ll" }, { "o", "m" },
};
static const char pieces[] = "_etaoinsrhldcumfpgwybvkxjqzETAOINSRHLDCUMFPGWYBVKXJQZ0123456789.,;:!?'\"()-/<>|=+*&#";

struct list {
    char (*text)[64];
    int32_t *types;
    float *scores;
    uint32_t count, capacity;
};

static void add(struct list *l, const char *text, int32_t type, float score)
{
    check(l->count < l->capacity && strlen(text) < sizeof(l->text[0]));
    strcpy(l->text[l->count], text);
    l->types[l->count] = type;
    l->scores[l->count++] = score;
}

/* "_the" as the vocabulary spells it: the space is U+0120 in byte-level BPE and U+2581 in SentencePiece. */
static void spell(const char *part, enum random_vocab_kind kind, char *out)
{
    for (; *part; part++)
        out += *part == '_' ? sprintf(out, "%s", kind == RANDOM_VOCAB_BPE ? "\u0120" : "\u2581")
                            : sprintf(out, "%c", *part);
    *out = 0;
}

static void spell_merge(size_t i, enum random_vocab_kind kind, char *out)
{
    spell(merges[i][0], kind, out);
    spell(merges[i][1], kind, out + strlen(out));
}

/* gpt-2's printable letter for a byte: itself where it is printable in Latin-1, else U+0100 and up, in order. */
static void byte_letter(uint32_t byte, char *out)
{
    uint32_t next = 0x100, code = byte;

    for (uint32_t b = 0; b <= byte; b++) {
        bool printable = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;

        code = printable ? b : next++;
    }
    out[utf8_encode(code, (uint8_t *)out)] = 0;
}

uint32_t random_vocab_least(enum random_vocab_kind kind)
{
    uint32_t both = 256 + ARRAY_LENGTH(merges);

    return kind == RANDOM_VOCAB_BPE ? both + 3 : both + 6 + (uint32_t)strlen(pieces);
}

static void fill(struct list *l, uint32_t count)
{
    char text[64];

    for (uint32_t i = 0; i < count; i++) {
        snprintf(text, sizeof(text), "[PAD%u]", i);
        add(l, text, UNUSED, -1000);
    }
}

static void list_bpe(struct list *l, uint32_t fillers)
{
    char text[64];

    for (uint32_t b = 0; b < 256; b++) {
        byte_letter(b, text);
        add(l, text, NORMAL, 0);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(merges); i++) {
        spell_merge(i, RANDOM_VOCAB_BPE, text);
        add(l, text, NORMAL, 0);
    }
    fill(l, fillers);
    add(l, "<|endoftext|>", CONTROL, 0);
    add(l, "<|im_start|>", CONTROL, 0);
    add(l, "<|im_end|>", CONTROL, 0);
}

static void list_spm(struct list *l, uint32_t fillers)
{
    float score = 0;
    char text[64];

    add(l, "<pad>", CONTROL, -1000);
    add(l, "<eos>", CONTROL, -1000);
    add(l, "<bos>", CONTROL, -1000);
    add(l, "<unk>", UNKNOWN, -1000);
    add(l, "<start_of_turn>", CONTROL, -1000);
    add(l, "<end_of_turn>", CONTROL, -1000);
    for (uint32_t b = 0; b < 256; b++) {
        snprintf(text, sizeof(text), "<0x%02X>", b);
        add(l, text, BYTE, 0);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(merges); i++) {
        spell_merge(i, RANDOM_VOCAB_SPM, text);
        add(l, text, NORMAL, score--);
    }
    for (const char *c = pieces; *c; c++) {
        spell((const char[]){ *c, 0 }, RANDOM_VOCAB_SPM, text);
        add(l, text, NORMAL, score--);
    }
    fill(l, fillers);
}

static void write_merges(struct gguf_writer *w)
{
    static char texts[ARRAY_LENGTH(merges)][64];
    const char *list[ARRAY_LENGTH(merges)];

    for (size_t i = 0; i < ARRAY_LENGTH(merges); i++) {
        spell(merges[i][0], RANDOM_VOCAB_BPE, texts[i]);
        strcat(texts[i], " ");
        spell(merges[i][1], RANDOM_VOCAB_BPE, texts[i] + strlen(texts[i]));
        list[i] = texts[i];
    }
    gguf_writer_strings(w, "tokenizer.ggml.merges", list, ARRAY_LENGTH(merges));
}

static void write_bpe(struct gguf_writer *w, uint32_t count)
{
    write_merges(w);
    gguf_writer_u32(w, "tokenizer.ggml.bos_token_id", count - 3);
    gguf_writer_u32(w, "tokenizer.ggml.eos_token_id", count - 1);
    gguf_writer_u32(w, "tokenizer.ggml.padding_token_id", count - 3);
    gguf_writer_bool(w, "tokenizer.ggml.add_bos_token", false);
    gguf_writer_bool(w, "tokenizer.ggml.add_space_prefix", false);
    gguf_writer_string(w, "tokenizer.chat_template",
                       "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' "
                       "}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}");
}

static void write_spm(struct gguf_writer *w, const struct list *l)
{
    gguf_writer_array(w, "tokenizer.ggml.scores", GGUF_F32, l->scores, l->count);
    gguf_writer_u32(w, "tokenizer.ggml.padding_token_id", 0);
    gguf_writer_u32(w, "tokenizer.ggml.eos_token_id", 1);
    gguf_writer_u32(w, "tokenizer.ggml.bos_token_id", 2);
    gguf_writer_u32(w, "tokenizer.ggml.unknown_token_id", 3);
    gguf_writer_bool(w, "tokenizer.ggml.add_bos_token", true);
    gguf_writer_bool(w, "tokenizer.ggml.add_eos_token", false);
    gguf_writer_bool(w, "tokenizer.ggml.add_space_prefix", false);
    gguf_writer_string(w, "tokenizer.chat_template",
                       "{{ bos_token }}{% for m in messages %}{{ '<start_of_turn>' + ('model' if m['role'] == "
                       "'assistant' else m['role']) + '\\n' + m['content'] + '<end_of_turn>\\n' }}{% endfor %}"
                       "{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}");
}

void random_vocab_write(struct gguf_writer *w, enum random_vocab_kind kind, const char *pre, uint32_t count)
{
    uint32_t least = random_vocab_least(kind);
    struct list l = { .capacity = count };
    const char **texts = calloc(count, sizeof(*texts));

    check(count >= least);
    l.text = calloc(count, sizeof(*l.text));
    l.types = calloc(count, sizeof(*l.types));
    l.scores = calloc(count, sizeof(*l.scores));
    check(texts && l.text && l.types && l.scores);
    if (kind == RANDOM_VOCAB_BPE)
        list_bpe(&l, count - least);
    else
        list_spm(&l, count - least);
    check(l.count == count);
    for (uint32_t i = 0; i < count; i++)
        texts[i] = l.text[i];
    gguf_writer_string(w, "tokenizer.ggml.model", kind == RANDOM_VOCAB_BPE ? "gpt2" : "llama");
    gguf_writer_string(w, "tokenizer.ggml.pre", pre);
    gguf_writer_strings(w, "tokenizer.ggml.tokens", texts, count);
    gguf_writer_array(w, "tokenizer.ggml.token_type", GGUF_I32, l.types, count);
    if (kind == RANDOM_VOCAB_BPE)
        write_bpe(w, count);
    else
        write_spm(w, &l);
    free(texts);
    free(l.text);
    free(l.types);
    free(l.scores);
}
