/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Text to tokens and back, from the tokenizer.* keys of a GGUF file: byte-level BPE, SentencePiece, WordPiece.
 * Linear in the text but for BPE's and SPM's heap (n log n); no recursion, no backtracking.
 * Immutable after vocab_load(); any thread may use it.  Strings point into the gguf's header, which must outlive
 * the vocab.
 */

#include "src/model/gguf.h"

#define VOCAB_NONE UINT32_MAX
#define VOCAB_TOKEN_BYTES_MAX 65536u
#define VOCAB_TEXT_BYTES_MAX (UINT32_C(1) << 30)

enum vocab_flags {
    VOCAB_PARSE_SPECIAL = 1,        /* special tokens in the text become themselves (trusted text only) */
    VOCAB_NO_BOS = 2,               /* with vocab_encode_prompt(): no BOS even where the model asks for one */
};

struct tokens {                     /* a growing list; ids[i] came from the bytes at offsets[i] of its text */
    uint32_t *ids;
    uint32_t *offsets;
    size_t count, capacity;
};
#define TOKENS_NULL { .ids = NULL }
void tokens_deinit(struct tokens *tokens);
must_check int tokens_push(struct tokens *tokens, uint32_t id, uint32_t offset);   /* -ENOMEM */

struct vocab;

must_check int vocab_load(const struct gguf *gguf, struct vocab **ret_vocab, struct error *error);
struct vocab *vocab_free(struct vocab *vocab);

uint32_t vocab_size(const struct vocab *vocab);
const char *vocab_model_name(const struct vocab *vocab);        /* "bpe", "spm", "wordpiece" */
const char *vocab_pre_name(const struct vocab *vocab);          /* pre-tokenizer, "" for others */
uint32_t vocab_bos(const struct vocab *vocab);                  /* VOCAB_NONE where there is none */
uint32_t vocab_eos(const struct vocab *vocab);
bool vocab_add_bos(const struct vocab *vocab);
bool vocab_add_eos(const struct vocab *vocab);
bool vocab_is_eog(const struct vocab *vocab, uint32_t id);      /* ends generation: eos, eot, eom by name */
bool vocab_is_control(const struct vocab *vocab, uint32_t id);
/* The id of a token whose text is exactly this, or VOCAB_NONE. */
uint32_t vocab_find(const struct vocab *vocab, const void *text, size_t size);

/*
 * Appends the tokens of one text (no BOS, no EOS): never more than its bytes and one, the space that SentencePiece puts
 * in front of a text.  Text is bytes, valid or not; a byte for which the vocabulary has neither a token nor an unknown
 * one is left out.  Without VOCAB_PARSE_SPECIAL no control token and no marker (<|…|>, <start_of_…) can come of it.
 * SentencePiece puts no space in front where the list already ends with ordinary text, so a prompt may be encoded
 * segment by segment.  0; -E2BIG; -ENOMEM.  On failure the list is as it was.
 */
must_check int vocab_encode(const struct vocab *vocab, const void *text, size_t size, unsigned flags,
                            struct tokens *tokens, struct error *error);
/*
 * The same for a whole prompt: with BOS in front where the model asks for one, and just one where the text brings its
 * own.  No EOS: ask vocab_add_eos().
 */
must_check int vocab_encode_prompt(const struct vocab *vocab, const void *text, size_t size, unsigned flags,
                                   struct tokens *tokens, struct error *error);
/*
 * BOS in front of the tokens from @first on, where the model asks for one and they do not begin with it: the one rule
 * for every prompt, whoever encodes it.  0 or -ENOMEM.
 */
must_check int vocab_put_bos(const struct vocab *vocab, size_t first, struct tokens *tokens);
/*
 * Bytes that a token stands for in a text.  Control tokens give "" unless with_control.
 * For SentencePiece the leading space of a piece is kept.
 */
void vocab_decode(const struct vocab *vocab, uint32_t id, bool with_control, struct buffer *out);
