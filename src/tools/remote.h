/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The same verbs through a daemon: libtenon on one side, a terminal on the other. */

#include "src/client/tenon.h"
#include "src/tools/generate.h"

/* Prints a client error; returns the exit code that fits it. */
int remote_fail(const struct tenon_error *error);

/* A connection for `tenon VERB` to @socket, NULL = where daemons are; EXIT_OK, or printed. */
int remote_open(const char *socket, const char *verb, struct tenon **ret_tenon);

/* Streams an answer to standard output; bytes also go into @answer unless NULL. */
int remote_generate(struct tenon *tenon, const char *model, const struct tenon_segment *segments, size_t count,
                    const struct generate_options *options, bool no_bos, struct buffer *answer);
/* The segments of a conversation, by the template that the daemon tells; free with tenon_prompt_free(). */
int remote_chat_prompt(struct tenon *tenon, const char *model, const struct tenon_message *messages, size_t count,
                       struct tenon_prompt **ret_prompt);
