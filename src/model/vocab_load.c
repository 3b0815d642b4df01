/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of loading that all kinds share: tokens and their types, special ids, the table of texts, the list of
 * special tokens.  What a file says is checked here once; the encoders trust the vocab.
 */
#include "src/model/vocab_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "src/base/hash.h"

#define KEY "tokenizer.ggml."

/* tokenizer.ggml.token_type, as the format defines it. */
enum { TYPE_NORMAL = 1, TYPE_UNKNOWN, TYPE_CONTROL, TYPE_USER_DEFINED, TYPE_UNUSED, TYPE_BYTE };

static int load_kind(struct vocab *vocab, const struct gguf *gguf, struct error *error)
{
    static const struct {
        const char *name;
        enum vocab_kind kind;
    } models[] = {{"gpt2", VOCAB_BPE}, {"llama", VOCAB_SPM}, {"bert", VOCAB_WORDPIECE}};
    struct span name;
    int r = gguf_get_string(gguf, KEY "model", &name, error);

    if (r < 0)
        return r;
    if (r > 0)
        return error_set(error, -ENOTSUP, "the file has no " KEY "model: it holds no tokenizer; convert it again");
    for (size_t i = 0; i < ARRAY_LENGTH(models); i++) {
        if (strlen(models[i].name) == name.size && memcmp(models[i].name, name.data, name.size) == 0) {
            vocab->kind = models[i].kind;
            return 0;
        }
    }
    return error_set(error, -ENOTSUP,
                     "unknown tokenizer \"%.*s\" in " KEY "model; known are gpt2 (byte-level BPE), llama "
                     "(SentencePiece) and bert (WordPiece)", (int)min_u64(name.size, 64), (const char *)name.data);
}

static uint32_t bits_of_type(int64_t type)
{
    switch (type) {
    case TYPE_UNKNOWN: return TOKEN_UNKNOWN;
    case TYPE_CONTROL: return TOKEN_CONTROL;
    case TYPE_USER_DEFINED: return TOKEN_USER;
    case TYPE_UNUSED: return TOKEN_UNUSED;
    case TYPE_BYTE: return TOKEN_BYTE;
    default: return TOKEN_NORMAL;
    }
}

static int load_types(struct vocab *vocab, const struct gguf *gguf, struct error *error)
{
    struct gguf_array types;
    int r = gguf_get_array(gguf, KEY "token_type", GGUF_I32, &types, error);

    if (r < 0)
        return r;
    if (r == 0 && types.count != vocab->count)
        return error_set(error, -EINVAL, KEY "token_type has %llu entries for %u tokens",
                         (unsigned long long)types.count, vocab->count);
    for (uint32_t id = 0; id < vocab->count; id++)
        vocab->tokens[id].bits = r == 0 ? bits_of_type(gguf_array_i64(&types, id)) : TOKEN_NORMAL;
    return 0;
}

static int load_tokens(struct vocab *vocab, const struct gguf *gguf, struct error *error)
{
    struct gguf_array texts;
    int r = gguf_get_array(gguf, KEY "tokens", GGUF_STRING, &texts, error);

    if (r < 0)
        return r;
    if (r > 0)
        return error_set(error, -EINVAL, "the file has no " KEY "tokens");
    if (texts.count == 0 || texts.count > VOCAB_TOKENS_MAX)
        return error_set(error, -EINVAL, KEY "tokens has %llu entries; 1 to %u are possible",
                         (unsigned long long)texts.count, VOCAB_TOKENS_MAX);
    vocab->count = (uint32_t)texts.count;
    vocab->tokens = calloc(vocab->count, sizeof(*vocab->tokens));
    if (vocab->tokens == NULL)
        return error_set(error, -ENOMEM, "no memory for %u tokens", vocab->count);
    for (uint32_t id = 0; id < vocab->count; id++) {
        struct span text = gguf_array_string(&texts, id);

        if (text.size > VOCAB_TOKEN_BYTES_MAX)
            return error_set(error, -EINVAL, "token %u has %zu bytes; at most %u are possible", id, text.size,
                             VOCAB_TOKEN_BYTES_MAX);
        vocab->tokens[id].text = text.data;
        vocab->tokens[id].size = (uint32_t)text.size;
        if (text.size > vocab->token_bytes_max)
            vocab->token_bytes_max = (uint32_t)text.size;
    }
    return load_types(vocab, gguf, error);
}

/* Where a text is in the table, or the free slot where it belongs. */
static uint32_t slot_of(const struct vocab *vocab, const void *text, size_t size)
{
    uint32_t slot = (uint32_t)hash64(text, size, vocab->seed) & vocab->slot_mask;

    while (vocab->slots[slot] != 0) {
        const struct token *token = &vocab->tokens[vocab->slots[slot] - 1];

        if (token->size == size && memcmp(token->text, text, size) == 0)
            break;
        slot = (slot + 1) & vocab->slot_mask;
    }
    return slot;
}

static int index_tokens(struct vocab *vocab, struct error *error)
{
    uint32_t slots = 16;

    while (slots < 2 * vocab->count)
        slots *= 2;
    vocab->slots = calloc(slots, sizeof(*vocab->slots));
    if (vocab->slots == NULL)
        return error_set(error, -ENOMEM, "no memory for the index of %u tokens", vocab->count);
    vocab->slot_mask = slots - 1;
    for (uint32_t id = 0; id < vocab->count; id++) {
        uint32_t slot;

        if (vocab->tokens[id].size == 0)
            continue;
        slot = slot_of(vocab, vocab->tokens[id].text, vocab->tokens[id].size);
        if (vocab->slots[slot] == 0)
            vocab->slots[slot] = id + 1;
    }
    return 0;
}

uint32_t vocab_find(const struct vocab *vocab, const void *text, size_t size)
{
    uint32_t entry;

    if (size == 0 || size > vocab->token_bytes_max)
        return VOCAB_NONE;
    entry = vocab->slots[slot_of(vocab, text, size)];
    return entry != 0 ? entry - 1 : VOCAB_NONE;
}

uint32_t vocab_find_plain(const struct vocab *vocab, const uint8_t *text, size_t size)
{
    uint32_t id = vocab_find(vocab, text, size);

    return id != VOCAB_NONE && vocab->tokens[id].bits & TOKEN_PLAIN ? id : VOCAB_NONE;
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int vocab_byte_value(const uint8_t *text, size_t size)
{
    int high, low;

    if (size != 6 || memcmp(text, "<0x", 3) != 0 || text[5] != '>')
        return -1;
    high = hex_digit(text[3]);
    low = hex_digit(text[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* A special id of the file.  0 with the id, 1 where the file names none (*ret untouched), -EINVAL. */
static int load_id(const struct vocab *vocab, const struct gguf *gguf, const char *key, uint32_t *ret,
                   struct error *error)
{
    uint64_t id;
    int r = gguf_get_u64(gguf, key, &id, error);

    if (r != 0)
        return r;
    if (id >= vocab->count)
        return error_set(error, -EINVAL, "%s is %llu, but there are %u tokens", key, (unsigned long long)id,
                         vocab->count);
    *ret = (uint32_t)id;
    return 0;
}

static uint32_t find_text(const struct vocab *vocab, const char *text) { return vocab_find(vocab, text, strlen(text)); }

static void default_ids(struct vocab *vocab)
{
    vocab->bos = vocab->eos = vocab->unknown = VOCAB_NONE;
    if (vocab->kind == VOCAB_SPM && vocab->count > 2) {
        vocab->unknown = 0;
        vocab->bos = 1;
        vocab->eos = 2;
    }
    if (vocab->kind == VOCAB_WORDPIECE) {
        vocab->bos = find_text(vocab, "[CLS]");
        vocab->eos = find_text(vocab, "[SEP]");
        vocab->unknown = find_text(vocab, "[UNK]");
    }
}

/* Ids that end generation by a key of their own; bos and unknown by their keys. */
static int load_ids(struct vocab *vocab, const struct gguf *gguf, struct error *error)
{
    static const char *const ends[] = {
        KEY "eos_token_id", KEY "eot_token_id", KEY "eom_token_id", KEY "fim_pad_token_id", KEY "fim_rep_token_id",
        KEY "fim_sep_token_id",
    };
    int r;

    default_ids(vocab);
    if ((r = load_id(vocab, gguf, KEY "bos_token_id", &vocab->bos, error)) < 0 ||
        (r = load_id(vocab, gguf, KEY "eos_token_id", &vocab->eos, error)) < 0 ||
        (r = load_id(vocab, gguf, KEY "unknown_token_id", &vocab->unknown, error)) < 0)
        return r;
    if (vocab->kind == VOCAB_WORDPIECE) {
        if ((r = load_id(vocab, gguf, KEY "cls_token_id", &vocab->bos, error)) < 0 ||
            (r = load_id(vocab, gguf, KEY "seperator_token_id", &vocab->eos, error)) < 0)
            return r;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
        uint32_t id;

        if ((r = load_id(vocab, gguf, ends[i], &id, error)) < 0)
            return r;
        if (r == 0)
            vocab->tokens[id].bits |= TOKEN_END;
    }
    if (vocab->eos != VOCAB_NONE)
        vocab->tokens[vocab->eos].bits |= TOKEN_END;
    /* Some files name an end marker as the unknown token; text must not become one. */
    if (vocab->unknown != VOCAB_NONE &&
        (vocab->unknown == vocab->bos || vocab->tokens[vocab->unknown].bits & TOKEN_END))
        vocab->unknown = VOCAB_NONE;
    return 0;
}

/*
 * End markers by name: files name one eos, but chat models end a turn with others.  Only tokens that are special in
 * the file count, and names that also occur in ordinary text (HTML's </s>) only where the file calls them control.
 */
static void mark_ends(struct vocab *vocab)
{
    static const struct {
        const char *name;
        uint32_t bits;
    } ends[] = {
        {"<|eot_id|>", TOKEN_CONTROL | TOKEN_USER},     {"<|eom_id|>", TOKEN_CONTROL | TOKEN_USER},
        {"<|im_end|>", TOKEN_CONTROL | TOKEN_USER},     {"<|end|>", TOKEN_CONTROL | TOKEN_USER},
        {"<|return|>", TOKEN_CONTROL | TOKEN_USER},     {"<|call|>", TOKEN_CONTROL | TOKEN_USER},
        {"<end_of_turn>", TOKEN_CONTROL | TOKEN_USER},  {"<|endoftext|>", TOKEN_CONTROL | TOKEN_USER},
        {"<|end_of_text|>", TOKEN_CONTROL | TOKEN_USER}, {"<|EOT|>", TOKEN_CONTROL | TOKEN_USER},
        {"<EOT>", TOKEN_CONTROL | TOKEN_USER},          {"<end_of_utterance>", TOKEN_CONTROL | TOKEN_USER},
        {"<｜end▁of▁sentence｜>", TOKEN_CONTROL | TOKEN_USER}, {"<|fim_pad|>", TOKEN_CONTROL},
        {"<|repo_name|>", TOKEN_CONTROL},               {"<|fim_repo|>", TOKEN_CONTROL},
        {"<|file_sep|>", TOKEN_CONTROL},                {"</s>", TOKEN_CONTROL},
        {"<eos>", TOKEN_CONTROL},
    };
    uint32_t end = find_text(vocab, "<|end|>");

    for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
        uint32_t id = find_text(vocab, ends[i].name);

        if (id != VOCAB_NONE && vocab->tokens[id].bits & ends[i].bits)
            vocab->tokens[id].bits |= TOKEN_END | TOKEN_CONTROL;
    }
    /* Where <|return|> ends the answer (Harmony), <|end|> ends only one of its messages. */
    if (end != VOCAB_NONE && end != vocab->eos && find_text(vocab, "<|return|>") != VOCAB_NONE)
        vocab->tokens[end].bits &= ~(uint32_t)TOKEN_END;
}

static bool starts_with(const struct token *token, const char *text)
{
    return token->size >= strlen(text) && memcmp(token->text, text, strlen(text)) == 0;
}

static bool is_marker(const struct token *token)
{
    return starts_with(token, "<|") || starts_with(token, "<｜") || starts_with(token, "<start_of_") ||
           starts_with(token, "<end_of_") || starts_with(token, "[INST]") || starts_with(token, "[/INST]");
}

/*
 * Ordinary text must not become a special token by merging, and text of users no marker at all: also those that a
 * file calls user-defined (white space, HTML and the like belong to the text; <|USER_TOKEN|> does not).
 */
static void mark_plain(struct vocab *vocab)
{
    for (uint32_t id = 0; id < vocab->count; id++) {
        struct token *token = &vocab->tokens[id];
        bool graphic = true;

        for (uint32_t i = 0; i < token->size; i++)
            graphic = graphic && token->text[i] > 0x20 && token->text[i] < 0x7f;
        if (token->bits & (TOKEN_CONTROL | TOKEN_UNKNOWN)) {
            token->bits |= TOKEN_TRUSTED;
        } else if (token->bits & TOKEN_USER) {
            token->bits |= is_marker(token) ? TOKEN_TRUSTED : 0;
            /* byte-level BPE writes the text of these as it is, all others in its own alphabet */
            if (!(token->bits & TOKEN_TRUSTED) && (vocab->kind != VOCAB_BPE || graphic))
                token->bits |= TOKEN_PLAIN;
        } else if (!(token->bits & TOKEN_BYTE)) {
            token->bits |= TOKEN_PLAIN;
        }
    }
}

/* Phi-3 was trained with the white space behind its markers dropped; GGUF has no key for that. */
static int mark_strips(struct vocab *vocab, const struct gguf *gguf, struct error *error)
{
    static const char *const kept[] = {"<unk>", "<s>", "<|endoftext|>"};
    struct span name;
    int r = gguf_get_string(gguf, "general.name", &name, error);
    bool phi3 = false;

    if (r < 0)
        return r;
    for (size_t i = 0; r == 0 && i + 4 <= name.size; i++) {
        bool phi = (name.data[i] | 0x20) == 'p' && (name.data[i + 1] | 0x20) == 'h' && (name.data[i + 2] | 0x20) == 'i';

        phi3 = phi3 || (phi && (name.data[i + 3] == '3' ||
                                (i + 5 <= name.size && name.data[i + 3] == '-' && name.data[i + 4] == '3')));
    }
    if (!phi3)
        return 0;
    for (uint32_t id = 0; id < vocab->count; id++) {
        if (vocab->tokens[id].bits & (TOKEN_CONTROL | TOKEN_USER | TOKEN_UNKNOWN))
            vocab->tokens[id].bits |= TOKEN_STRIP_RIGHT;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(kept); i++) {
        uint32_t id = find_text(vocab, kept[i]);

        if (id != VOCAB_NONE)
            vocab->tokens[id].bits &= ~(uint32_t)TOKEN_STRIP_RIGHT;
    }
    return 0;
}

static int compare_specials(const void *a, const void *b, void *context)
{
    const struct vocab *vocab = context;
    uint32_t ia = *(const uint32_t *)a, ib = *(const uint32_t *)b;
    const struct token *ta = &vocab->tokens[ia], *tb = &vocab->tokens[ib];
    int r = memcmp(ta->text, tb->text, min_u64(ta->size, tb->size));

    if (r != 0)
        return r;
    if (ta->size != tb->size)
        return ta->size < tb->size ? -1 : 1;
    return ia < ib ? -1 : ia > ib;
}

static bool is_special(const struct token *token)
{
    return token->size > 0 && token->bits & (TOKEN_CONTROL | TOKEN_USER | TOKEN_UNKNOWN);
}

static int list_specials(struct vocab *vocab, struct error *error)
{
    uint32_t count = 0;

    for (uint32_t id = 0; id < vocab->count; id++) {
        if (!is_special(&vocab->tokens[id]))
            continue;
        if (vocab->tokens[id].size > VOCAB_SPECIAL_BYTES_MAX)
            return error_set(error, -EINVAL, "special token %u has %u bytes; at most %u are possible", id,
                             vocab->tokens[id].size, VOCAB_SPECIAL_BYTES_MAX);
        count++;
    }
    vocab->specials = calloc(count + 1, sizeof(*vocab->specials));
    if (vocab->specials == NULL)
        return error_set(error, -ENOMEM, "no memory for %u special tokens", count);
    for (uint32_t id = 0; id < vocab->count; id++) {
        if (is_special(&vocab->tokens[id]))
            vocab->specials[vocab->special_count++] = id;
    }
    qsort_r(vocab->specials, vocab->special_count, sizeof(*vocab->specials), compare_specials, vocab);
    for (uint32_t i = 0; i < vocab->special_count; i++)
        vocab->special_first[vocab->tokens[vocab->specials[i]].text[0] + 1]++;
    for (unsigned b = 0; b < 256; b++)
        vocab->special_first[b + 1] += vocab->special_first[b];
    return 0;
}

int vocab_load_common(struct vocab *vocab, const struct gguf *gguf, struct error *error)
{
    int r;

    if (getrandom(&vocab->seed, sizeof(vocab->seed), GRND_NONBLOCK) != sizeof(vocab->seed))
        vocab->seed = (uint64_t)(uintptr_t)vocab;
    if ((r = load_kind(vocab, gguf, error)) < 0 || (r = load_tokens(vocab, gguf, error)) < 0 ||
        (r = index_tokens(vocab, error)) < 0 || (r = load_ids(vocab, gguf, error)) < 0)
        return r;
    mark_ends(vocab);
    mark_plain(vocab);
    if ((r = mark_strips(vocab, gguf, error)) < 0)
        return r;
    return list_specials(vocab, error);
}
