/* SPDX-License-Identifier: Apache-2.0 */
#include "src/tools/chat_prompt.h"

#include "src/client/chat.h"

static int put_bos(const struct vocab *vocab, bool no_bos, struct tokens *tokens, struct error *error)
{
    if (no_bos || !vocab_add_bos(vocab) || tokens_push(tokens, vocab_bos(vocab), 0) == 0)
        return 0;
    return error_set(error, -ENOMEM, "no memory for the prompt");
}

int prompt_encode_text(const struct instance *in, const void *text, size_t size, bool no_bos, struct tokens *tokens,
                       struct error *error)
{
    int r = put_bos(instance_vocab(in), no_bos, tokens, error);

    return r < 0 ? r : vocab_encode(instance_vocab(in), text, size, VOCAB_PARSE_SPECIAL, tokens, error);
}

int prompt_encode_chat(const struct instance *in, const struct tenon_message *messages, size_t count,
                       struct tokens *tokens, struct error *error)
{
    const struct vocab *vocab = instance_vocab(in);
    struct span template = { .data = NULL };
    struct tenon_prompt *prompt = NULL;
    struct tenon_error failure;
    int r = gguf_get_string(instance_gguf(in), "tokenizer.chat_template", &template, error);

    if (r > 0)
        return error_set(error, -ENOTSUP, "the model has no chat template: use it without --chat");
    if (r == 0 && chat_prompt(template, vocab_add_bos(vocab), messages, count, &prompt, &failure) != TENON_OK)
        return error_set(error, -ENOTSUP, "%s", failure.message);
    if (r == 0)
        r = put_bos(vocab, false, tokens, error);
    for (size_t i = 0; r == 0 && i < prompt->count; i++)
        r = vocab_encode(vocab, prompt->segments[i].data, prompt->segments[i].size,
                         prompt->segments[i].kind == TENON_TRUSTED_TEXT ? VOCAB_PARSE_SPECIAL : 0, tokens, error);
    tenon_prompt_free(prompt);
    return r;
}
