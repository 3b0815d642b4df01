/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Small vocabularies of our own, as GGUF files without tensors: for tests and fuzzing. */

#include "tests/harness/gguf_writer.h"

enum small_vocab { SMALL_BPE, SMALL_LLAMA3, SMALL_SPM, SMALL_GEMMA, SMALL_WORDPIECE, SMALL_VOCAB_COUNT };

/*
 * What such a vocabulary holds; a test may change a list before writing it.  Strings live as long as the program or
 * the struct.
 */
struct small_tokens {
    const char *text[768];
    float score[768];
    int32_t type[768];
    uint32_t count;
    const char *merges[64];
    uint32_t merge_count;
    char letters[256][8];       /* byte tokens */
};

void small_tokens_fill(struct small_tokens *t, enum small_vocab kind);
uint32_t small_tokens_add(struct small_tokens *t, const char *text, float score, int32_t type);

/* The keys that all kinds have: model, pre, tokens, scores, types, merges.  Ids of bos and so on are the caller's. */
void small_tokens_write(struct gguf_writer *w, const struct small_tokens *t, enum small_vocab kind, const char *pre);

/* A whole file. */
void small_vocab_file(enum small_vocab kind, struct buffer *file);
