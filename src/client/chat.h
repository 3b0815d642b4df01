/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Chat: messages into segments by the marker family of a model's template.  Pure; tenon_chat() and the tools that
 * run a model in their own process use it.
 *
 * The template itself is never run.  Its text tells the family (ChatML, Llama 3, Gemma), a default system message
 * where it has one, and whether BOS belongs in front.  Markers are trusted segments, contents untrusted ones; names of
 * roles come from the family's table, never from the caller.
 */

#include "src/base/bytes.h"
#include "src/client/tenon.h"

#define CHAT_MESSAGES_MAX 1024u

struct chat_family;

/* NULL where the template is of no known family. */
const struct chat_family *chat_family_find(struct span template);
const char *chat_family_name(const struct chat_family *family);

/*
 * The prompt that asks for the assistant's next message.  @server_adds_bos: whoever tokenizes puts BOS in front, so
 * none is written here.  0, TENON_E_CHAT (family or messages), TENON_E_LIMIT, TENON_E_SYSTEM.
 */
int chat_prompt(struct span template, bool server_adds_bos, const struct tenon_message *messages, size_t count,
                struct tenon_prompt **ret_prompt, struct tenon_error *error);
