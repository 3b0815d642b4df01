/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vocabularies and texts.  The first byte chooses one of the small vocabularies of tests/harness, and the rest is text;
 * or it is at least SMALL_VOCAB_COUNT, two bytes tell the size of a text at the end, and what lies between is a GGUF
 * file.  The high bit asks for special tokens.
 */
#include <string.h>

#include "src/model/vocab.h"
#include "tests/fuzz/fuzz.h"
#include "tests/harness/small_vocab.h"

static void walk(const struct vocab *vocab)
{
    struct buffer out = BUFFER_NULL;

    check(vocab_size(vocab) > 0 && vocab_model_name(vocab)[0]);
    check(vocab_bos(vocab) == VOCAB_NONE || vocab_bos(vocab) < vocab_size(vocab));
    check(vocab_eos(vocab) == VOCAB_NONE || vocab_is_eog(vocab, vocab_eos(vocab)));
    check(!vocab_add_bos(vocab) || vocab_bos(vocab) != VOCAB_NONE);
    check(!vocab_add_eos(vocab) || vocab_eos(vocab) != VOCAB_NONE);
    for (uint32_t id = 0; id <= vocab_size(vocab); id++) {
        size_t before = out.size;

        vocab_decode(vocab, id, false, &out);
        check(!vocab_is_control(vocab, id) || out.size == before);
        vocab_decode(vocab, id, true, &out);
    }
    check(buffer_ok(&out));
    buffer_deinit(&out);
}

/* @ours: one of the small ones, of which more is known. */
static void encode(const struct vocab *vocab, const uint8_t *text, size_t size, unsigned flags, bool ours)
{
    bool bpe = strcmp(vocab_model_name(vocab), "bpe") == 0;
    bool wordpiece = strcmp(vocab_model_name(vocab), "wordpiece") == 0;
    struct tokens tokens = TOKENS_NULL;
    struct buffer out = BUFFER_NULL;
    struct error error = ERROR_NULL;

    check(vocab_encode(vocab, text, size, flags, &tokens, &error) == 0);
    check(tokens.count <= size + 1);
    for (size_t i = 0; i < tokens.count; i++) {
        check(tokens.ids[i] < vocab_size(vocab));
        check(tokens.offsets[i] <= size && (i == 0 || tokens.offsets[i] >= tokens.offsets[i - 1]));
        if (ours && !wordpiece && !(flags & VOCAB_PARSE_SPECIAL))
            check(!vocab_is_control(vocab, tokens.ids[i]));
        vocab_decode(vocab, tokens.ids[i], true, &out);
    }
    check(buffer_ok(&out));
    if (ours && bpe)
        check(out.size == size && (size == 0 || memcmp(out.data, text, size) == 0));
    buffer_deinit(&out);
    tokens.count = 0;
    check(vocab_encode_prompt(vocab, text, size, flags, &tokens, &error) == 0);
    check(tokens.count <= size + 2);
    check(!vocab_add_bos(vocab) || (tokens.count > 0 && tokens.ids[0] == vocab_bos(vocab)));
    tokens_deinit(&tokens);
}

static void try_file(const struct span file, const uint8_t *text, size_t size, unsigned flags, bool ours)
{
    struct gguf *gguf = NULL;
    struct vocab *vocab = NULL;
    struct error error = ERROR_NULL;

    if (gguf_parse(file.data, file.size, file.size, &gguf, &error) != 0) {
        check(!ours);
        return;
    }
    if (vocab_load(gguf, &vocab, &error) == 0) {
        walk(vocab);
        encode(vocab, text, size, flags, ours);
    } else {
        check(!ours && vocab == NULL && error.text[0]);
    }
    vocab_free(vocab);
    gguf_free(gguf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buffer file = BUFFER_NULL;
    unsigned kind, flags;
    size_t text;

    if (size < 3)
        return 0;
    kind = data[0] & 0x7f;
    flags = data[0] & 0x80 ? VOCAB_PARSE_SPECIAL : 0;
    if (kind < SMALL_VOCAB_COUNT) {
        small_vocab_file((enum small_vocab)kind, &file);
        try_file((struct span){file.data, file.size}, data + 1, size - 1, flags, true);
        buffer_deinit(&file);
        return 0;
    }
    text = min_u64(load_u16(data + 1), size - 3);
    try_file((struct span){data + 3, size - 3 - text}, data + size - text, text, flags, false);
    return 0;
}
