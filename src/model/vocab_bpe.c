/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Byte-level BPE (Sennrich, Haddow, Birch 2016; the byte alphabet of GPT-2): a word starts as its bytes, and the pair
 * of neighbours that was learnt first is merged, leftmost first, until none is left.
 */
#include "src/model/vocab_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/utf8.h"
#include "src/model/word.h"

#define KEY "tokenizer.ggml."
#define NO_BYTE 0x100u
#define MERGE_BYTES_MAX 8192

/* GPT-2's alphabet: printable Latin-1 bytes are themselves, the other 68 are U+0100…U+0143 in their order. */
static bool is_itself(uint32_t byte)
{
    return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);
}

static uint32_t letter_of_byte(uint8_t byte)
{
    uint32_t letter = 0x100;

    if (is_itself(byte))
        return byte;
    for (uint32_t b = 0; b < byte; b++)
        letter += is_itself(b) ? 0 : 1;
    return letter;
}

/* The byte of a letter, or NO_BYTE.  The inverse of the above in closed form. */
static uint32_t byte_of_letter(uint32_t letter)
{
    if (letter < 0x100)
        return is_itself(letter) ? letter : NO_BYTE;
    if (letter < 0x121)
        return letter - 0x100;          /* 00…20 */
    if (letter < 0x143)
        return letter - 0x121 + 0x7f;   /* 7f…a0 */
    return letter == 0x143 ? 0xad : NO_BYTE;
}

void bpe_decode(const struct token *token, struct buffer *out)
{
    for (uint32_t i = 0; i < token->size;) {
        uint32_t letter, byte = NO_BYTE;
        size_t length = utf8_decode(token->text + i, token->size - i, &letter);

        if (length > 0)
            byte = byte_of_letter(letter);
        else
            length = 1;
        if (byte != NO_BYTE)
            buffer_put_u8(out, (uint8_t)byte);
        else
            buffer_put(out, token->text + i, length);
        i += (uint32_t)length;
    }
}

/* Where a pair is in the table, or the free slot where it belongs. */
static uint32_t merge_slot(const struct vocab *vocab, uint32_t left, uint32_t right)
{
    uint32_t slot = (uint32_t)hash_pair(vocab->seed, left, right) & vocab->merge_mask;

    while (vocab->merge_slots[slot] != 0) {
        const struct merge *merge = &vocab->merges[vocab->merge_slots[slot] - 1];

        if (merge->left == left && merge->right == right)
            break;
        slot = (slot + 1) & vocab->merge_mask;
    }
    return slot;
}

/* "left right", which are tokens and join to a third.  The left part is not empty, so a leading space belongs to it. */
static int read_merge(const struct vocab *vocab, struct span text, struct merge *ret_merge)
{
    uint8_t joined[MERGE_BYTES_MAX];
    const uint8_t *space = text.size > 1 ? memchr(text.data + 1, ' ', text.size - 1) : NULL;
    size_t left, right;

    if (space == NULL || text.size > sizeof(joined))
        return -EINVAL;
    left = (size_t)(space - text.data);
    right = text.size - left - 1;
    memcpy(joined, text.data, left);
    memcpy(joined + left, space + 1, right);
    ret_merge->left = vocab_find(vocab, joined, left);
    ret_merge->right = vocab_find(vocab, joined + left, right);
    ret_merge->result = vocab_find(vocab, joined, left + right);
    if (ret_merge->left == VOCAB_NONE || ret_merge->right == VOCAB_NONE || ret_merge->result == VOCAB_NONE)
        return -EINVAL;
    return 0;
}

static int load_merges(struct vocab *vocab, const struct gguf *gguf, struct error *error)
{
    struct gguf_array merges;
    uint32_t slots = 16;
    int r = gguf_get_array(gguf, KEY "merges", GGUF_STRING, &merges, error);

    if (r < 0)
        return r;
    if (r > 0)
        return error_set(error, -EINVAL, "the file has no " KEY "merges, without which a gpt2 tokenizer cannot work");
    if (merges.count > VOCAB_MERGES_MAX)
        return error_set(error, -EINVAL, KEY "merges has %llu entries; at most %u are possible",
                         (unsigned long long)merges.count, VOCAB_MERGES_MAX);
    vocab->merge_count = (uint32_t)merges.count;
    while (slots < vocab->merge_count + vocab->merge_count / 2)
        slots *= 2;
    vocab->merges = calloc((size_t)vocab->merge_count + 1, sizeof(*vocab->merges));
    vocab->merge_slots = calloc(slots, sizeof(*vocab->merge_slots));
    if (vocab->merges == NULL || vocab->merge_slots == NULL)
        return error_set(error, -ENOMEM, "no memory for %u merges", vocab->merge_count);
    vocab->merge_mask = slots - 1;
    for (uint32_t rank = 0; rank < vocab->merge_count; rank++) {
        struct merge *merge = &vocab->merges[rank];
        uint32_t slot;

        if (read_merge(vocab, gguf_array_string(&merges, rank), merge) < 0)
            return error_set(error, -EINVAL, KEY "merges[%u] is not two tokens that join to a third; the file is "
                             "damaged or was converted wrongly", rank);
        if (!(vocab->tokens[merge->result].bits & TOKEN_PLAIN))
            continue;           /* text must not become a special token */
        slot = merge_slot(vocab, merge->left, merge->right);
        if (vocab->merge_slots[slot] == 0)
            vocab->merge_slots[slot] = rank + 1;
    }
    return 0;
}

static int refuse_split(struct error *error, const char *what)
{
    size_t count;
    const struct split *table = split_table(&count);
    struct buffer known = {.limit = ERROR_TEXT_MAX};

    for (size_t i = 0; i < count; i++)
        buffer_printf(&known, "%s%s", i > 0 ? ", " : "", table[i].name);
    buffer_put_u8(&known, 0);
    error_set(error, -ENOTSUP, "%s: text would be cut into wrong words; known are %s", what,
              buffer_ok(&known) ? (const char *)known.data : "others");
    buffer_deinit(&known);
    return -ENOTSUP;
}

static int load_split(struct vocab *vocab, const struct gguf *gguf, struct error *error)
{
    struct span name;
    char what[128];
    int r = gguf_get_string(gguf, KEY "pre", &name, error);

    if (r < 0)
        return r;
    if (r > 0)
        return refuse_split(error, "the file names no pre-tokenizer (the key " KEY "pre; convert it again, or add the "
                            "key)");
    vocab->split = split_find(name.data, name.size);
    if (vocab->split != NULL)
        return 0;
    snprintf(what, sizeof(what), "unknown pre-tokenizer \"%.*s\" (" KEY "pre)", (int)min_u64(name.size, 64),
             (const char *)name.data);
    return refuse_split(error, what);
}

int bpe_load(struct vocab *vocab, const struct gguf *gguf, struct error *error)
{
    int r = load_split(vocab, gguf, error);

    if (r < 0)
        return r;
    for (unsigned byte = 0; byte < 256; byte++) {
        uint8_t letter[4];
        size_t length = utf8_encode(letter_of_byte((uint8_t)byte), letter);

        vocab->byte_ids[byte] = vocab_find_plain(vocab, letter, length);
    }
    return load_merges(vocab, gguf, error);
}

static void consider(const struct vocab *vocab, struct word *word, uint32_t left)
{
    const struct symbol *a, *b;
    uint32_t rank;

    if (left == WORD_END || (a = &word->symbols[left])->next == WORD_END)
        return;
    b = &word->symbols[a->next];
    rank = vocab->merge_slots[merge_slot(vocab, a->id, b->id)];
    if (rank == 0)
        return;
    rank--;
    word_push(word, (struct candidate){
        .order = (uint64_t)rank << 32 | left, .result = vocab->merges[rank].result, .size = a->size + b->size,
    });
}

static void merge_word(const struct vocab *vocab, struct word *word)
{
    struct candidate best;

    for (uint32_t i = 0; i < word->count; i++)
        consider(vocab, word, i);
    while (word_pop(word, &best)) {
        uint32_t left = (uint32_t)best.order;
        const struct symbol *a = &word->symbols[left];

        /*
         * A symbol merged away or one that has grown since is out of date.  Borders between symbols only vanish, so
         * an equal size means the same two symbols.
         */
        if (a->size == 0 || a->next == WORD_END || a->size + word->symbols[a->next].size != best.size)
            continue;
        word_join(word, left, best.result);
        consider(vocab, word, a->previous);
        consider(vocab, word, left);
    }
}

/* The token that a whole word is, in the alphabet of the vocabulary. */
static uint32_t whole_word(const struct vocab *vocab, const uint8_t *text, size_t size)
{
    uint8_t letters[2 * 512];
    size_t written = 0;

    if (size > 512 || size > vocab->token_bytes_max)
        return VOCAB_NONE;
    for (size_t i = 0; i < size; i++)
        written += utf8_encode(letter_of_byte(text[i]), letters + written);
    return vocab_find_plain(vocab, letters, written);
}

/* A byte without a token is left out, as the reference implementations do: the model has never seen it. */
static int put(struct encoder *e, uint32_t id, size_t offset)
{
    if (id == VOCAB_NONE)
        return 0;
    return tokens_push(e->tokens, id, (uint32_t)offset) < 0 ? error_set(e->error, -ENOMEM, "no memory for tokens") : 0;
}

static int encode_word(struct encoder *e, size_t begin, size_t end)
{
    const struct vocab *vocab = e->vocab;
    struct word *word;
    uint32_t id;
    int r;

    if (end - begin == 1)
        return put(e, vocab->byte_ids[e->text[begin]], begin);
    if (vocab->split->flags & SPLIT_IGNORE_MERGES) {
        id = whole_word(vocab, e->text + begin, end - begin);
        if (id != VOCAB_NONE)
            return put(e, id, begin);
    }
    if (word_reserve(&e->word, end - begin) < 0)
        return error_set(e->error, -ENOMEM, "no memory for a word of %zu bytes", end - begin);
    word = e->word;
    for (size_t i = begin; i < end; i++)
        word_add(word, vocab->byte_ids[e->text[i]], (uint32_t)(i - begin), 1);
    merge_word(vocab, word);
    for (uint32_t i = 0; i != WORD_END; i = word->symbols[i].next) {
        r = put(e, word->symbols[i].id, begin + word->symbols[i].start);
        if (r < 0)
            return r;
    }
    return 0;
}

/* The end of the next part of a word that is too long to be merged whole. */
static size_t part_end(const uint8_t *text, size_t begin, size_t end)
{
    size_t cut = begin + VOCAB_WORD_BYTES_MAX;

    if (end - begin <= VOCAB_WORD_BYTES_MAX)
        return end;
    for (unsigned i = 0; i < 3 && (text[cut] & 0xc0) == 0x80; i++)
        cut--;
    return cut;
}

int bpe_encode(struct encoder *e, size_t begin, size_t end)
{
    while (begin < end) {
        size_t word = e->vocab->split->next(e->text, end, begin);

        while (begin < word) {
            size_t part = part_end(e->text, begin, word);
            int r = encode_word(e, begin, part);

            if (r < 0)
                return r;
            begin = part;
        }
    }
    return 0;
}
