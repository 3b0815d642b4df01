/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Bytes on their way to one client, in chunks that never move, so that a send in flight may point into them while
 * more is appended.  Chunks come from a pool that the door owns: while tokens flow nothing is allocated.
 * How much a queue may hold is the connection's business (conn.h).
 */

#include <sys/uio.h>

#include "src/base/base.h"

#define CHUNK_BYTES 16384u
#define CHUNKS_KEEP 256u                /* free chunks that the pool does not give back */

struct chunk {
    struct chunk *next;
    uint32_t begin, end;
    uint8_t data[CHUNK_BYTES - 16];
};

struct chunks {
    struct chunk *free;
    uint32_t free_count, live;
};

#define CHUNKS_NULL { .free = NULL }

void chunks_deinit(struct chunks *chunks);

struct outbox {
    struct chunk *first, *last;
    size_t bytes;
};

#define OUTBOX_NULL { .first = NULL }

void outbox_deinit(struct outbox *outbox, struct chunks *chunks);
/* Appends.  0, or -ENOMEM and nothing was appended. */
must_check int outbox_put(struct outbox *outbox, struct chunks *chunks, const void *data, size_t size);
/* The bytes at the front as at most @capacity parts; returns their number. */
uint32_t outbox_parts(const struct outbox *outbox, struct iovec *parts, uint32_t capacity);
/* @bytes of them have gone. */
void outbox_sent(struct outbox *outbox, struct chunks *chunks, size_t bytes);
