/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SentencePiece (Kudo, Richardson 2018) in its BPE flavour, as llama and gemma use it: a text starts as its characters,
 * spaces as U+2581; the pair of neighbours that joins to the token of the best score is merged, leftmost first, until
 * none is left.  What is no token then becomes byte tokens.
 *
 * A space mark begins a new word: no token reaches over the border before it, except after the characters that
 * joins_space[] tells.  So a text is merged word by word, which gives the same tokens in less memory.
 */
#include "src/model/vocab_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/utf8.h"
#include "src/model/word.h"

#define KEY "tokenizer.ggml."

static bool is_mark(const uint8_t *text, size_t size)
{
    return size >= SPACE_MARK_BYTES && memcmp(text, SPACE_MARK, SPACE_MARK_BYTES) == 0;
}

static int load_scores(struct vocab *vocab, const struct gguf *gguf, struct error *error)
{
    struct gguf_array scores;
    int r = gguf_get_array(gguf, KEY "scores", GGUF_F32, &scores, error);

    if (r < 0)
        return r;
    if (r > 0)
        return error_set(error, -EINVAL, "the file has no " KEY "scores, without which a llama tokenizer cannot work");
    if (scores.count != vocab->count)
        return error_set(error, -EINVAL, KEY "scores has %llu entries for %u tokens", (unsigned long long)scores.count,
                         vocab->count);
    vocab->scores = calloc(vocab->count, sizeof(*vocab->scores));
    if (vocab->scores == NULL)
        return error_set(error, -ENOMEM, "no memory for %u scores", vocab->count);
    for (uint32_t id = 0; id < vocab->count; id++) {
        float score = (float)gguf_array_f64(&scores, id);

        if (isnan(score))
            return error_set(error, -EINVAL, KEY "scores[%u] is not a number", id);
        vocab->scores[id] = score == 0 ? 0 : score;     /* no -0: equal scores must compare as equal */
    }
    return 0;
}

static int load_bytes(struct vocab *vocab, struct error *error)
{
    for (unsigned byte = 0; byte < 256; byte++)
        vocab->byte_ids[byte] = VOCAB_NONE;
    for (uint32_t id = 0; id < vocab->count; id++) {
        const struct token *token = &vocab->tokens[id];
        int byte;

        if (!(token->bits & TOKEN_BYTE))
            continue;
        byte = vocab_byte_value(token->text, token->size);
        if (byte < 0)
            return error_set(error, -EINVAL, "token %u is said to be a byte, but its text is \"%.*s\", not <0xXX>", id,
                             (int)min_u64(token->size, 32), (const char *)token->text);
        if (vocab->byte_ids[byte] == VOCAB_NONE)
            vocab->byte_ids[byte] = id;
    }
    return 0;
}

static void find_joins(struct vocab *vocab)
{
    for (uint32_t id = 0; id < vocab->count; id++) {
        const struct token *token = &vocab->tokens[id];

        if (!(token->bits & TOKEN_PLAIN))
            continue;
        for (uint32_t i = 1; i < token->size; i++) {
            bool after_mark = i >= SPACE_MARK_BYTES && is_mark(token->text + i - SPACE_MARK_BYTES, SPACE_MARK_BYTES);

            if (is_mark(token->text + i, token->size - i) && !after_mark)
                vocab->joins_space[token->text[i - 1]] = true;
        }
    }
}

int spm_load(struct vocab *vocab, const struct gguf *gguf, struct error *error)
{
    int r;

    vocab->space_prefix = true;
    if ((r = gguf_get_bool(gguf, KEY "add_space_prefix", &vocab->space_prefix, error)) < 0 ||
        (r = load_scores(vocab, gguf, error)) < 0 || (r = load_bytes(vocab, error)) < 0)
        return r;
    find_joins(vocab);
    return 0;
}

/* The best score first: the bits of a float, made to ascend as unsigned while scores descend. */
static uint32_t order_of_score(float score)
{
    uint32_t bits;

    memcpy(&bits, &score, sizeof(bits));
    return bits & UINT32_C(0x80000000) ? bits : bits ^ UINT32_C(0x7fffffff);
}

static void consider(const struct vocab *vocab, struct word *word, const uint8_t *text, uint32_t left)
{
    const struct symbol *a;
    uint32_t size, id;

    if (left == WORD_END || (a = &word->symbols[left])->next == WORD_END)
        return;
    size = a->size + word->symbols[a->next].size;
    id = vocab_find_plain(vocab, text + a->start, size);
    if (id == VOCAB_NONE)
        return;
    word_push(word, (struct candidate){
        .order = (uint64_t)order_of_score(vocab->scores[id]) << 32 | left, .result = id, .size = size,
    });
}

static void merge_word(const struct vocab *vocab, struct word *word, const uint8_t *text)
{
    struct candidate best;

    for (uint32_t i = 0; i < word->count; i++)
        consider(vocab, word, text, i);
    while (word_pop(word, &best)) {
        uint32_t left = (uint32_t)best.order;
        const struct symbol *a = &word->symbols[left];

        /* An equal size means the same text: see merge_word() in vocab_bpe.c. */
        if (a->size == 0 || a->next == WORD_END || a->size + word->symbols[a->next].size != best.size)
            continue;
        word_join(word, left, best.result);
        consider(vocab, word, text, a->previous);
        consider(vocab, word, text, left);
    }
}

static int put(struct encoder *e, uint32_t id, size_t offset)
{
    return tokens_push(e->tokens, id, (uint32_t)offset) < 0 ? error_set(e->error, -ENOMEM, "no memory for tokens") : 0;
}

/*
 * A character that is no token: its bytes, else the unknown token, else nothing.  A space is the byte 0x20, not the
 * three of its mark, so that a text never has more tokens than bytes.
 */
static int put_bytes(struct encoder *e, const uint8_t *text, size_t size, bool space, size_t offset)
{
    const struct vocab *vocab = e->vocab;

    if (space) {
        text = (const uint8_t *)" ";
        size = 1;
    }
    for (size_t i = 0; i < size; i++) {
        uint32_t id = vocab->byte_ids[text[i]];
        int r;

        if (id == VOCAB_NONE && vocab->unknown == VOCAB_NONE)
            continue;
        r = put(e, id != VOCAB_NONE ? id : vocab->unknown, offset + i);
        if (r < 0 || id == VOCAB_NONE)
            return r;
    }
    return 0;
}

/*
 * Merges the word in e->escaped and appends its tokens.  *source is where the text goes on from which it came, or
 * SIZE_MAX while the space in front, which is nowhere in the text, has not been put.
 */
static int encode_word(struct encoder *e, size_t *source, size_t begin)
{
    const uint8_t *text = e->escaped.data;
    size_t size = e->escaped.size;
    struct word *word;
    uint32_t code;

    if (!buffer_ok(&e->escaped) || word_reserve(&e->word, size) < 0)
        return error_set(e->error, -ENOMEM, "no memory for a word of %zu bytes", size);
    word = e->word;
    for (size_t i = 0, length; i < size; i += length) {
        length = utf8_decode(text + i, size - i, &code);
        length = length > 0 ? length : 1;
        word_add(word, vocab_find_plain(e->vocab, text + i, length), (uint32_t)i, (uint32_t)length);
    }
    merge_word(e->vocab, word, text);
    for (uint32_t i = 0; i != WORD_END; i = word->symbols[i].next) {
        const struct symbol *symbol = &word->symbols[i];
        size_t offset = *source == SIZE_MAX ? begin : *source;
        bool space = *source == SIZE_MAX || e->text[offset] == ' ';
        int r = symbol->id != VOCAB_NONE ? put(e, symbol->id, offset)
                                         : put_bytes(e, text + symbol->start, symbol->size, space, offset);

        if (r < 0)
            return r;
        for (size_t done = 0; done < symbol->size;) {
            if (*source == SIZE_MAX) {
                *source = begin;
                done += SPACE_MARK_BYTES;
            } else {
                done += e->text[(*source)++] == ' ' ? SPACE_MARK_BYTES : 1;
            }
        }
    }
    e->escaped.size = 0;
    return 0;
}

int spm_encode(struct encoder *e, size_t begin, size_t end)
{
    size_t source = begin;
    bool after_mark = false;
    int r;

    if (e->vocab->space_prefix && e->after_special) {
        buffer_put(&e->escaped, SPACE_MARK, SPACE_MARK_BYTES);
        source = SIZE_MAX;
        after_mark = true;
    }
    for (size_t at = begin, length; at < end; at += length) {
        uint32_t code;
        bool mark = e->text[at] == ' ' || is_mark(e->text + at, end - at), border;

        length = utf8_decode(e->text + at, end - at, &code);
        length = length > 0 ? length : 1;
        border = mark && !after_mark && e->escaped.size > 0 &&
                 !e->vocab->joins_space[e->escaped.data[e->escaped.size - 1]];
        if (border || e->escaped.size >= VOCAB_WORD_BYTES_MAX) {
            r = encode_word(e, &source, begin);
            if (r < 0)
                return r;
        }
        if (e->text[at] == ' ')
            buffer_put(&e->escaped, SPACE_MARK, SPACE_MARK_BYTES);
        else
            buffer_put(&e->escaped, e->text + at, length);
        if (!buffer_ok(&e->escaped))
            return error_set(e->error, -ENOMEM, "no memory for a word");
        after_mark = mark;
    }
    return e->escaped.size > 0 ? encode_word(e, &source, begin) : 0;
}
