/* SPDX-License-Identifier: Apache-2.0 */
#include "src/tools/chat_prompt.h"

#include "src/client/chat.h"

int prompt_encode_text(const struct instance *in, const void *text, size_t size, bool no_bos, struct tokens *tokens,
                       struct error *error)
{
    return vocab_encode_prompt(instance_vocab(in), text, size, VOCAB_PARSE_SPECIAL | (no_bos ? VOCAB_NO_BOS : 0),
                               tokens, error);
}

int prompt_encode_chat(const struct instance *in, const struct tenon_message *messages, size_t count,
                       bool no_bos, struct tokens *tokens, struct error *error)
{
    const struct vocab *vocab = instance_vocab(in);
    struct span template = { .data = NULL };
    struct tenon_prompt *prompt = NULL;
    struct tenon_error failure;
    int r = gguf_get_string(instance_gguf(in), "tokenizer.chat_template", &template, error);

    if (r >= 0 && chat_prompt(template, vocab_add_bos(vocab), messages, count, &prompt, &failure) != TENON_OK)
        return error_set(error, -ENOTSUP, "%s", failure.message);
    for (size_t i = 0; r >= 0 && i < prompt->count; i++)
        r = vocab_encode(vocab, prompt->segments[i].data, prompt->segments[i].size,
                         prompt->segments[i].kind == TENON_TRUSTED_TEXT ? VOCAB_PARSE_SPECIAL : 0, tokens, error);
    if (r >= 0 && !no_bos && vocab_put_bos(vocab, 0, tokens) < 0)
        r = error_set(error, -ENOMEM, "no memory for the prompt");
    tenon_prompt_free(prompt);
    return r < 0 ? r : 0;
}
