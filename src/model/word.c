/* SPDX-License-Identifier: Apache-2.0 */
#include "src/model/word.h"

int word_reserve(struct word **word, size_t symbols)
{
    struct symbol *grown_symbols;
    struct candidate *grown_heap;
    size_t capacity;

    if (*word == NULL && (*word = calloc(1, sizeof(**word))) == NULL)
        return -ENOMEM;
    (*word)->count = (*word)->heap_count = 0;
    if (symbols <= (*word)->capacity)
        return 0;
    capacity = symbols < 64 ? 64 : symbols + symbols / 2;
    grown_symbols = resize_array((*word)->symbols, capacity, sizeof(*grown_symbols));
    if (grown_symbols == NULL)
        return -ENOMEM;
    (*word)->symbols = grown_symbols;
    /* count - 1 pairs at first, then at most two new ones for each of count - 1 merges */
    grown_heap = resize_array((*word)->heap, 3 * capacity, sizeof(*grown_heap));
    if (grown_heap == NULL)
        return -ENOMEM;
    (*word)->heap = grown_heap;
    (*word)->capacity = capacity;
    return 0;
}

struct word *word_free(struct word *word)
{
    if (word != NULL) {
        free(word->symbols);
        free(word->heap);
    }
    free(word);
    return NULL;
}

void word_add(struct word *word, uint32_t id, uint32_t start, uint32_t size)
{
    uint32_t index = (uint32_t)word->count;

    check(word->count < word->capacity);
    word->symbols[index] = (struct symbol){
        .id = id, .start = start, .size = size, .previous = index > 0 ? index - 1 : WORD_END, .next = WORD_END,
    };
    if (index > 0)
        word->symbols[index - 1].next = index;
    word->count++;
}

void word_push(struct word *word, struct candidate candidate)
{
    size_t at = word->heap_count++;

    check(word->heap_count <= 3 * word->capacity);
    while (at > 0 && candidate.order < word->heap[(at - 1) / 2].order) {
        word->heap[at] = word->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    word->heap[at] = candidate;
}

bool word_pop(struct word *word, struct candidate *ret_candidate)
{
    struct candidate last;
    size_t at = 0, child;

    if (word->heap_count == 0)
        return false;
    *ret_candidate = word->heap[0];
    last = word->heap[--word->heap_count];
    while ((child = 2 * at + 1) < word->heap_count) {
        if (child + 1 < word->heap_count && word->heap[child + 1].order < word->heap[child].order)
            child++;
        if (last.order <= word->heap[child].order)
            break;
        word->heap[at] = word->heap[child];
        at = child;
    }
    word->heap[at] = last;
    return true;
}

void word_join(struct word *word, uint32_t left, uint32_t result)
{
    struct symbol *a = &word->symbols[left], *b = &word->symbols[a->next];

    a->id = result;
    a->size += b->size;
    a->next = b->next;
    b->size = 0;
    if (a->next != WORD_END)
        word->symbols[a->next].previous = left;
}
