/* SPDX-License-Identifier: Apache-2.0 */
#include "src/model/vocab.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/vocab_internal.h"
#include "src/model/word.h"

#define KEY "tokenizer.ggml."

void tokens_deinit(struct tokens *tokens)
{
    free(tokens->ids);
    free(tokens->offsets);
    *tokens = (struct tokens)TOKENS_NULL;
}

int tokens_push(struct tokens *tokens, uint32_t id, uint32_t offset)
{
    if (tokens->count == tokens->capacity) {
        size_t capacity = tokens->capacity > 0 ? 2 * tokens->capacity : 64;
        uint32_t *ids = resize_array(tokens->ids, capacity, sizeof(*ids)), *offsets;

        if (ids == NULL)
            return -ENOMEM;
        tokens->ids = ids;
        offsets = resize_array(tokens->offsets, capacity, sizeof(*offsets));
        if (offsets == NULL)
            return -ENOMEM;
        tokens->offsets = offsets;
        tokens->capacity = capacity;
    }
    tokens->ids[tokens->count] = id;
    tokens->offsets[tokens->count++] = offset;
    return 0;
}

/* BOS and EOS: the kind's habit, unless the file says otherwise. */
static int load_additions(struct vocab *vocab, const struct gguf *gguf, struct error *error)
{
    int r;

    vocab->add_bos = vocab->kind != VOCAB_BPE || vocab->split->flags & SPLIT_ADD_BOS;
    vocab->add_eos = vocab->kind == VOCAB_WORDPIECE;
    if ((r = gguf_get_bool(gguf, KEY "add_bos_token", &vocab->add_bos, error)) < 0 ||
        (r = gguf_get_bool(gguf, KEY "add_eos_token", &vocab->add_eos, error)) < 0)
        return r;
    if (vocab->add_bos && vocab->bos == VOCAB_NONE)
        return error_set(error, -EINVAL, "the tokenizer asks for BOS, but the file names none: set " KEY
                         "bos_token_id, or " KEY "add_bos_token to false");
    if (vocab->add_eos && vocab->eos == VOCAB_NONE)
        return error_set(error, -EINVAL, "the tokenizer asks for EOS, but the file names none: set " KEY
                         "eos_token_id, or " KEY "add_eos_token to false");
    return 0;
}

static int load_into(struct vocab *vocab, const struct gguf *gguf, struct error *error)
{
    int r = vocab_load_common(vocab, gguf, error);

    if (r < 0)
        return r;
    switch (vocab->kind) {
    case VOCAB_BPE: r = bpe_load(vocab, gguf, error); break;
    case VOCAB_SPM: r = spm_load(vocab, gguf, error); break;
    case VOCAB_WORDPIECE: r = wordpiece_load(vocab, gguf, error); break;
    }
    return r < 0 ? r : load_additions(vocab, gguf, error);
}

int vocab_load(const struct gguf *gguf, struct vocab **ret_vocab, struct error *error)
{
    struct vocab *vocab = calloc(1, sizeof(*vocab));
    int r;

    if (vocab == NULL)
        return error_set(error, -ENOMEM, "no memory for a vocabulary");
    vocab->magic = VOCAB_MAGIC;
    r = load_into(vocab, gguf, error);
    if (r < 0) {
        vocab_free(vocab);
        return r;
    }
    *ret_vocab = vocab;
    return 0;
}

struct vocab *vocab_free(struct vocab *vocab)
{
    if (vocab == NULL)
        return NULL;
    check(vocab->magic == VOCAB_MAGIC);
    vocab->magic = 0;
    free(vocab->tokens);
    free(vocab->slots);
    free(vocab->specials);
    free(vocab->merges);
    free(vocab->merge_slots);
    free(vocab->scores);
    free(vocab);
    return NULL;
}

uint32_t vocab_size(const struct vocab *vocab) { return vocab->count; }
uint32_t vocab_bos(const struct vocab *vocab) { return vocab->bos; }
uint32_t vocab_eos(const struct vocab *vocab) { return vocab->eos; }
bool vocab_add_bos(const struct vocab *vocab) { return vocab->add_bos; }
bool vocab_add_eos(const struct vocab *vocab) { return vocab->add_eos; }

const char *vocab_model_name(const struct vocab *vocab)
{
    static const char *const names[] = {[VOCAB_BPE] = "bpe", [VOCAB_SPM] = "spm", [VOCAB_WORDPIECE] = "wordpiece"};

    return names[vocab->kind];
}

const char *vocab_pre_name(const struct vocab *vocab) { return vocab->split != NULL ? vocab->split->name : ""; }

bool vocab_is_eog(const struct vocab *vocab, uint32_t id)
{
    return id < vocab->count && vocab->tokens[id].bits & TOKEN_END;
}

bool vocab_is_control(const struct vocab *vocab, uint32_t id)
{
    return id < vocab->count && vocab->tokens[id].bits & TOKEN_CONTROL;
}

/*
 * The longest special token that begins at @at, or VOCAB_NONE.  The sorted list narrows to those that agree with the
 * text so far, byte by byte; one that ends there comes first among them.
 */
static uint32_t special_at(const struct encoder *e, size_t at, unsigned flags)
{
    const struct vocab *vocab = e->vocab;
    uint32_t low = vocab->special_first[e->text[at]], high = vocab->special_first[e->text[at] + 1];
    uint32_t found = VOCAB_NONE;

    for (uint32_t depth = 1; low < high; depth++) {
        uint32_t begin, end;
        uint8_t byte;

        for (; low < high && vocab->tokens[vocab->specials[low]].size == depth; low++) {
            uint32_t id = vocab->specials[low];

            if (flags & VOCAB_PARSE_SPECIAL || !(vocab->tokens[id].bits & TOKEN_TRUSTED))
                found = found != VOCAB_NONE && vocab->tokens[found].size == depth ? found : id;
        }
        if (low == high || at + depth >= e->size)
            break;
        byte = e->text[at + depth];
        for (begin = low, end = high; begin < end;) {
            uint32_t middle = begin + (end - begin) / 2;

            if (vocab->tokens[vocab->specials[middle]].text[depth] < byte)
                begin = middle + 1;
            else
                end = middle;
        }
        low = begin;
        for (end = high; begin < end;) {
            uint32_t middle = begin + (end - begin) / 2;

            if (vocab->tokens[vocab->specials[middle]].text[depth] <= byte)
                begin = middle + 1;
            else
                end = middle;
        }
        high = begin;
    }
    return found;
}

static bool is_c_space(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static int encode_ordinary(struct encoder *e, size_t begin, size_t end)
{
    int r = 0;

    if (begin == end)
        return 0;
    switch (e->vocab->kind) {
    case VOCAB_BPE: r = bpe_encode(e, begin, end); break;
    case VOCAB_SPM: r = spm_encode(e, begin, end); break;
    case VOCAB_WORDPIECE: r = wordpiece_encode(e, begin, end); break;
    }
    e->after_special = false;
    return r;
}

static int encode(struct encoder *e, unsigned flags)
{
    size_t begin = 0, at = 0;
    int r;

    while (at < e->size) {
        uint32_t id = special_at(e, at, flags);

        if (id == VOCAB_NONE) {
            at++;
            continue;
        }
        if ((r = encode_ordinary(e, begin, at)) < 0)
            return r;
        if (tokens_push(e->tokens, id, (uint32_t)at) < 0)
            return error_set(e->error, -ENOMEM, "no memory for tokens");
        e->after_special = true;
        at += e->vocab->tokens[id].size;
        while (e->vocab->tokens[id].bits & TOKEN_STRIP_RIGHT && at < e->size && is_c_space(e->text[at]))
            at++;
        begin = at;
    }
    return encode_ordinary(e, begin, e->size);
}

int vocab_encode(const struct vocab *vocab, const void *text, size_t size, unsigned flags, struct tokens *tokens,
                 struct error *error)
{
    struct encoder e = {.vocab = vocab, .text = text, .size = size, .tokens = tokens, .error = error};
    size_t before = tokens->count;
    int r;

    check(vocab->magic == VOCAB_MAGIC);
    if (size > VOCAB_TEXT_BYTES_MAX)
        return error_set(error, -E2BIG, "a text of %zu bytes; at most %u are possible", size, VOCAB_TEXT_BYTES_MAX);
    e.after_special = before == 0 || (tokens->ids[before - 1] < vocab->count &&
                                      vocab->tokens[tokens->ids[before - 1]].bits & (TOKEN_CONTROL | TOKEN_USER));
    r = encode(&e, flags);
    word_free(e.word);
    buffer_deinit(&e.escaped);
    if (r < 0)
        tokens->count = before;
    return r;
}

int vocab_encode_prompt(const struct vocab *vocab, const void *text, size_t size, unsigned flags, struct tokens *tokens,
                        struct error *error)
{
    size_t before = tokens->count;
    int r = vocab_encode(vocab, text, size, flags, tokens, error);

    if (r == 0 && !(flags & VOCAB_NO_BOS) && vocab_put_bos(vocab, before, tokens) < 0) {
        tokens->count = before;
        r = error_set(error, -ENOMEM, "no memory for tokens");
    }
    return r;
}

static void put_unmarked(const struct token *token, struct buffer *out)
{
    for (uint32_t i = 0; i < token->size;) {
        if (token->size - i >= SPACE_MARK_BYTES && memcmp(token->text + i, SPACE_MARK, SPACE_MARK_BYTES) == 0) {
            buffer_put_u8(out, ' ');
            i += SPACE_MARK_BYTES;
        } else {
            buffer_put_u8(out, token->text[i++]);
        }
    }
}

void vocab_decode(const struct vocab *vocab, uint32_t id, bool with_control, struct buffer *out)
{
    const struct token *token;
    int byte;

    if (id >= vocab->count)
        return;
    token = &vocab->tokens[id];
    if (token->bits & (TOKEN_CONTROL | TOKEN_UNKNOWN | TOKEN_UNUSED)) {
        if (with_control)
            buffer_put(out, token->text, token->size);
    } else if (token->bits & TOKEN_USER) {
        buffer_put(out, token->text, token->size);
    } else if (token->bits & TOKEN_BYTE && (byte = vocab_byte_value(token->text, token->size)) >= 0) {
        buffer_put_u8(out, (uint8_t)byte);
    } else if (vocab->kind == VOCAB_BPE) {
        bpe_decode(token, out);
    } else {
        put_unmarked(token, out);
    }
}
