/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Between the files of the vocabulary; nobody else includes this. */

#include "src/base/bytes.h"
#include "src/model/split.h"
#include "src/model/vocab.h"

#define VOCAB_MAGIC 0x766f6362u             /* "vocb" */
#define VOCAB_TOKENS_MAX (UINT32_C(1) << 22)
#define VOCAB_MERGES_MAX (UINT32_C(1) << 23)
/* A special token longer than this is refused: it bounds what one place of a text can cost. */
#define VOCAB_SPECIAL_BYTES_MAX 256u
/* A longer word is cut (between characters): it bounds the memory of merging.  No word of a language comes near. */
#define VOCAB_WORD_BYTES_MAX ((size_t)256 << 10)
/* BERT: a longer word is unknown, as in its published code. */
#define VOCAB_WORDPIECE_CHARACTERS_MAX 100

#define SPACE_MARK "\xe2\x96\x81"           /* U+2581, a space in SentencePiece and WordPiece vocabularies */
#define SPACE_MARK_BYTES 3

enum vocab_kind { VOCAB_BPE, VOCAB_SPM, VOCAB_WORDPIECE };

enum token_bits {
    TOKEN_NORMAL = 1,
    TOKEN_UNKNOWN = 2,
    TOKEN_CONTROL = 4,
    TOKEN_USER = 8,
    TOKEN_UNUSED = 16,
    TOKEN_BYTE = 32,
    TOKEN_END = 64,             /* ends generation */
    TOKEN_PLAIN = 128,          /* ordinary text may become it by merging */
    TOKEN_TRUSTED = 256,        /* looked for in trusted text only */
    TOKEN_STRIP_RIGHT = 512,    /* white space behind it is dropped */
};

struct token {
    const uint8_t *text;        /* in the gguf's header */
    uint32_t size;
    uint32_t bits;
};

struct merge {
    uint32_t left, right, result;
};

struct vocab {
    uint32_t magic;
    enum vocab_kind kind;
    uint64_t seed;              /* of the tables: a file must not choose its collisions */

    struct token *tokens;
    uint32_t count;
    uint32_t token_bytes_max;
    uint32_t *slots;            /* hash of text → id + 1, open addressing; equal texts: the lowest id */
    uint32_t slot_mask;

    uint32_t bos, eos, unknown;
    bool add_bos, add_eos;

    uint32_t *specials;         /* ids sorted by text, bytewise */
    uint32_t special_count;
    uint32_t special_first[257];/* specials[special_first[b]…] begin with byte b */

    uint32_t byte_ids[256];     /* the token of a byte, or VOCAB_NONE */

    const struct split *split;  /* BPE */
    struct merge *merges;       /* by rank */
    uint32_t merge_count;
    uint32_t *merge_slots;      /* hash of left, right → rank + 1 */
    uint32_t merge_mask;

    float *scores;              /* SPM */
    bool space_prefix;
    bool joins_space[256];      /* some token has a space right behind a character that ends in this byte */

    bool lowercase, strip_accents;  /* WordPiece */
};

/* A place in a text being encoded. */
struct encoder {
    const struct vocab *vocab;
    const uint8_t *text;
    size_t size;
    struct tokens *tokens;
    struct error *error;
    struct word *word;          /* scratch, allocated at the first word */
    struct buffer escaped;      /* SPM: the word with its spaces as marks */
    bool after_special;         /* at the start, or right behind a special token */
};

/* Tokens of the text from @begin to @end, which holds no special tokens.  0, -ENOMEM. */
must_check int bpe_encode(struct encoder *e, size_t begin, size_t end);
must_check int spm_encode(struct encoder *e, size_t begin, size_t end);
must_check int wordpiece_encode(struct encoder *e, size_t begin, size_t end);

/* The kind's own part of loading; the tokens are there. */
must_check int bpe_load(struct vocab *vocab, const struct gguf *gguf, struct error *error);
must_check int spm_load(struct vocab *vocab, const struct gguf *gguf, struct error *error);
must_check int wordpiece_load(struct vocab *vocab, const struct gguf *gguf, struct error *error);
void bpe_decode(const struct token *token, struct buffer *out);

/* What goes before load: kind, pre-tokenizer, tokens, special ids.  vocab_load.c */
must_check int vocab_load_common(struct vocab *vocab, const struct gguf *gguf, struct error *error);

/* The id whose text is this and that ordinary text may become, or VOCAB_NONE. */
uint32_t vocab_find_plain(const struct vocab *vocab, const uint8_t *text, size_t size);
/* "<0xXX>" with two hex digits, nothing else: the byte, else -1. */
int vocab_byte_value(const uint8_t *text, size_t size);

static inline uint64_t hash_pair(uint64_t seed, uint32_t left, uint32_t right)
{
    uint64_t x = ((uint64_t)left << 32 | right) ^ seed;

    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}
