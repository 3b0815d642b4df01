/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WordPiece as BERT uses it (Devlin et al. 2018, its published tokenizer): text is cleaned, cut at white space, around
 * punctuation and around ideographs; each word becomes the longest tokens from its left, or the unknown token as a
 * whole.  In GGUF the first piece of a word begins with U+2581, later ones have nothing in front (no "##").
 */
#include "src/model/vocab_internal.h"

#include <string.h>

#include "src/base/utf8.h"
#include "src/model/unicode.h"

#define KEY "tokenizer.ggml."
#define WORD_BYTES_MAX (SPACE_MARK_BYTES + 4 * VOCAB_WORDPIECE_CHARACTERS_MAX)

struct piece_word {
    uint8_t text[WORD_BYTES_MAX];       /* the mark, then the characters */
    size_t offsets[WORD_BYTES_MAX];     /* where in the text each byte comes from */
    size_t size;
    unsigned characters;
    size_t begin;
};

int wordpiece_load(struct vocab *vocab, const struct gguf *gguf, struct error *error)
{
    int r;

    vocab->lowercase = true;
    if ((r = gguf_get_bool(gguf, KEY "normalizer.lowercase", &vocab->lowercase, error)) < 0)
        return r;
    vocab->strip_accents = vocab->lowercase;
    if ((r = gguf_get_bool(gguf, KEY "normalizer.strip_accents", &vocab->strip_accents, error)) < 0)
        return r;
    if (vocab->unknown == VOCAB_NONE)
        return error_set(error, -EINVAL, "a bert tokenizer needs an unknown token: set " KEY "unknown_token_id");
    return 0;
}

static int put(struct encoder *e, uint32_t id, size_t offset)
{
    return tokens_push(e->tokens, id, (uint32_t)offset) < 0 ? error_set(e->error, -ENOMEM, "no memory for tokens") : 0;
}

/* The end of the longest token that begins at @begin, or @begin.  The mark alone is no piece. */
static size_t longest_piece(const struct vocab *vocab, const struct piece_word *word, size_t begin, uint32_t *ret_id)
{
    size_t least = begin == 0 ? SPACE_MARK_BYTES : begin;
    size_t end = min_u64(word->size, begin + vocab->token_bytes_max);

    for (; end > least; end--) {
        if (end < word->size && (word->text[end] & 0xc0) == 0x80)
            continue;
        *ret_id = vocab_find_plain(vocab, word->text + begin, end - begin);
        if (*ret_id != VOCAB_NONE)
            return end;
    }
    return begin;
}

static int put_word(struct encoder *e, struct piece_word *word)
{
    size_t before = e->tokens->count, at = 0;
    unsigned characters = word->characters;
    int r;

    word->characters = 0;
    if (characters == 0)
        return 0;
    if (characters > VOCAB_WORDPIECE_CHARACTERS_MAX)
        return put(e, e->vocab->unknown, word->begin);
    while (at < word->size) {
        uint32_t id;
        size_t end = longest_piece(e->vocab, word, at, &id);

        if (end == at) {
            e->tokens->count = before;
            return put(e, e->vocab->unknown, word->begin);
        }
        r = put(e, id, at == 0 ? word->begin : word->offsets[at]);
        if (r < 0)
            return r;
        at = end;
    }
    return 0;
}

static void add_character(struct piece_word *word, uint32_t code, size_t offset)
{
    size_t length;

    if (word->characters == 0) {
        memcpy(word->text, SPACE_MARK, SPACE_MARK_BYTES);
        word->size = SPACE_MARK_BYTES;
        word->begin = offset;
    }
    if (++word->characters > VOCAB_WORDPIECE_CHARACTERS_MAX)
        return;
    length = utf8_encode(code, word->text + word->size);
    for (size_t i = 0; i < length; i++)
        word->offsets[word->size + i] = offset;
    word->size += length;
}

/* One character of the normalised text. */
static int take(struct encoder *e, struct piece_word *word, uint32_t code, size_t offset)
{
    uint32_t class = unicode_class(code);
    bool line = code == '\t' || code == '\n' || code == '\r';
    int r;

    if (code == 0 || code == 0xfffd || (class & UNICODE_CONTROL && !line))
        return 0;
    if (class & UNICODE_SPACE)
        return put_word(e, word);
    if (e->vocab->strip_accents && class & UNICODE_MN)
        return 0;
    if (e->vocab->lowercase)
        code = unicode_lower(code);
    if (!(class & UNICODE_PUNCTUATION) && !(code < 0x7f && class & UNICODE_SYMBOL) && !unicode_is_ideograph(code)) {
        add_character(word, code, offset);
        return 0;
    }
    r = put_word(e, word);
    if (r < 0)
        return r;
    add_character(word, code, offset);
    return put_word(e, word);
}

int wordpiece_encode(struct encoder *e, size_t begin, size_t end)
{
    struct piece_word word = {.characters = 0};
    int r;

    for (size_t at = begin, length; at < end; at += length) {
        uint32_t codes[UNICODE_DECOMPOSED_MAX];
        size_t count = 1;

        length = utf8_decode(e->text + at, end - at, &codes[0]);
        if (length == 0) {
            length = 1;
            continue;           /* no character at all */
        }
        if (e->vocab->strip_accents)
            count = unicode_decompose(codes[0], codes);
        for (size_t i = 0; i < count; i++) {
            r = take(e, &word, codes[i], at);
            if (r < 0)
                return r;
        }
    }
    return put_word(e, &word);
}
