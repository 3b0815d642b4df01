/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Segments to token ids.  Trusted text may name special tokens, untrusted text and text of a memfd never becomes one;
 * ids are checked against the vocabulary.  One BOS goes in front where the model asks for one, the client does not
 * forbid it and the segments do not begin with one already.  Any thread: the vocabulary is immutable.
 */

#include "src/engine/instance.h"
#include "src/serve/refusal.h"

struct prompt {
    const struct vocab *vocab;
    struct wire_list segments;          /* decoded; borrowed */
    const int *fds;                     /* of the frame; borrowed */
    uint32_t fd_count;
    bool no_bos;
    bool may_be_empty;                  /* else: no token of the segments' own is INVALID */
    uint32_t context;                   /* as many tokens are CONTEXT_TOO_LONG; 0 = no limit */
    uint32_t longest_token;             /* bytes that one token stands for at most; 0 = not known */
};

/*
 * Looks at kinds and descriptors.  0 and the bytes of text, memfds included; or a code with @refusal.  *ret_memfd:
 * there is text in memfds.
 */
must_check int prompt_measure(const struct prompt *prompt, uint64_t *ret_text_bytes, bool *ret_memfd,
                              struct refusal *refusal);
/* Appends the ids to @tokens, offsets counted over the text of all segments.  0, or a code with @refusal. */
must_check int prompt_encode(const struct prompt *prompt, struct tokens *tokens, struct refusal *refusal);
