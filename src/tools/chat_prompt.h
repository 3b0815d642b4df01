/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* From a person's text to prompt tokens, in this process: plain, or in the chat format of the model. */

#include "src/client/tenon.h"
#include "src/engine/instance.h"

/* Appends to @tokens the text with its special tokens; BOS by the rule of vocab_put_bos() unless @no_bos. */
must_check int prompt_encode_text(const struct instance *instance, const void *text, size_t size, bool no_bos,
                                  struct tokens *tokens, struct error *error);
/* The same for a conversation in the model's chat format; -ENOTSUP where it is of no known family. */
must_check int prompt_encode_chat(const struct instance *instance, const struct tenon_message *messages, size_t count,
                                  bool no_bos, struct tokens *tokens, struct error *error);
