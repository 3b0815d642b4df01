/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pre-tokenizers of byte-level BPE: where a text is cut into words before merging.  Each is a hand-written scanner for
 * the regular expressions that a model family publishes (they stand above the functions in split.c); a scan looks at
 * each character a bounded number of times, whatever the text.  Pure functions; any thread.
 *
 * Text is bytes: a byte that is no UTF-8 counts as a symbol of its own, as U+FFFD would.
 */

#include "src/base/base.h"

/* The end of the word that begins at @at (at < size); at least one byte further.  A cut never divides a character. */
typedef size_t split_next_fn(const uint8_t *text, size_t size, size_t at);

enum split_flags {
    SPLIT_IGNORE_MERGES = 1,    /* a word that is a token is taken whole, without merging */
    SPLIT_ADD_BOS = 2,          /* BOS unless the file says otherwise */
};

struct split {
    const char *name;           /* as in tokenizer.ggml.pre */
    split_next_fn *next;
    unsigned flags;
};

/* NULL where the name is not known. */
const struct split *split_find(const void *name, size_t size);

/* All known ones, for messages and tests. */
const struct split *split_table(size_t *ret_count);
