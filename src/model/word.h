/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The symbols of one word while neighbours are merged, and the heap that says which pair is next.  Grows to the longest
 * word seen and is used again for the next.  Shared by BPE (order: rank) and SentencePiece (order: score), which
 * differ in what a pair becomes.
 */

#include <stdlib.h>

#include "src/base/base.h"

#define WORD_END UINT32_MAX

struct symbol {
    uint32_t id;                /* VOCAB_NONE where the text is no token */
    uint32_t start, size;       /* bytes of the word; size 0: merged away */
    uint32_t previous, next;    /* indexes, WORD_END at the borders */
};

struct candidate {
    uint64_t order;             /* smallest first; the low half is the index of the left symbol, so ties go left */
    uint32_t result;            /* id of the merged token */
    uint32_t size;              /* bytes of both symbols then: a candidate of another size is out of date */
};

struct word {
    struct symbol *symbols;
    size_t count, capacity;
    struct candidate *heap;     /* room for every candidate that @capacity symbols can give */
    size_t heap_count;
};

/* realloc() of @count elements; NULL too where that does not fit. */
static inline void *resize_array(void *array, size_t count, size_t element)
{
    size_t bytes;

    return ckd_mul(&bytes, count, element) ? NULL : realloc(array, bytes);
}

/* A word with room for @symbols; *word is allocated when NULL.  -ENOMEM leaves it as it was. */
must_check int word_reserve(struct word **word, size_t symbols);
struct word *word_free(struct word *word);

/* Adds a symbol at the end. */
void word_add(struct word *word, uint32_t id, uint32_t start, uint32_t size);

void word_push(struct word *word, struct candidate candidate);
bool word_pop(struct word *word, struct candidate *ret_candidate);

/* Makes the symbol at @left and the one behind it one. */
void word_join(struct word *word, uint32_t left, uint32_t result);
