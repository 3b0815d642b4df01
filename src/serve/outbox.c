/* SPDX-License-Identifier: Apache-2.0 */
#include "src/serve/outbox.h"

#include <stdlib.h>
#include <string.h>

static struct chunk *chunk_take(struct chunks *chunks)
{
    struct chunk *chunk = chunks->free;

    if (chunk) {
        chunks->free = chunk->next;
        chunks->free_count--;
    } else {
        chunk = malloc(sizeof(*chunk));
        if (!chunk)
            return NULL;
    }
    chunks->live++;
    chunk->next = NULL;
    chunk->begin = chunk->end = 0;
    return chunk;
}

static void chunk_give(struct chunks *chunks, struct chunk *chunk)
{
    chunks->live--;
    if (chunks->free_count == CHUNKS_KEEP) {
        free(chunk);
        return;
    }
    chunk->next = chunks->free;
    chunks->free = chunk;
    chunks->free_count++;
}

void chunks_deinit(struct chunks *chunks)
{
    while (chunks->free) {
        struct chunk *next = chunks->free->next;

        free(chunks->free);
        chunks->free = next;
    }
    chunks->free_count = 0;
}

void outbox_deinit(struct outbox *outbox, struct chunks *chunks)
{
    outbox_sent(outbox, chunks, outbox->bytes);
}

static size_t room_at_end(const struct outbox *outbox)
{
    return outbox->last ? sizeof(outbox->last->data) - outbox->last->end : 0;
}

int outbox_put(struct outbox *outbox, struct chunks *chunks, const void *data, size_t size)
{
    size_t room = room_at_end(outbox);
    struct chunk *fresh = NULL, **end = &fresh;
    const uint8_t *from = data;

    for (size_t have = room; have < size; have += sizeof(fresh->data)) {
        *end = chunk_take(chunks);
        if (!*end) {
            while (fresh) {
                struct chunk *next = fresh->next;

                chunk_give(chunks, fresh);
                fresh = next;
            }
            return -ENOMEM;
        }
        end = &(*end)->next;
    }
    if (!outbox->first)
        outbox->first = fresh;
    else
        outbox->last->next = fresh;
    if (!outbox->last)
        outbox->last = fresh;
    outbox->bytes += size;
    while (size) {
        struct chunk *c = outbox->last;
        size_t n = min_u64(size, sizeof(c->data) - c->end);

        memcpy(c->data + c->end, from, n);
        c->end += (uint32_t)n;
        from += n;
        size -= n;
        if (size)
            outbox->last = c->next;
    }
    return 0;
}

uint32_t outbox_parts(const struct outbox *outbox, struct iovec *parts, uint32_t capacity)
{
    uint32_t count = 0;

    for (struct chunk *c = outbox->first; c && count < capacity; c = c->next)
        if (c->end > c->begin)
            parts[count++] = (struct iovec){ c->data + c->begin, c->end - c->begin };
    return count;
}

void outbox_sent(struct outbox *outbox, struct chunks *chunks, size_t bytes)
{
    check(bytes <= outbox->bytes);
    outbox->bytes -= bytes;
    while (outbox->first) {
        struct chunk *c = outbox->first;
        uint32_t n = (uint32_t)min_u64(bytes, c->end - c->begin);

        c->begin += n;
        bytes -= n;
        if (c->begin < c->end)
            return;
        outbox->first = c->next;
        if (!outbox->first)
            outbox->last = NULL;
        chunk_give(chunks, c);
    }
}
