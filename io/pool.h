/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Who may use which part of the staging memory.  Pure: counts chunks, touches none.  The caller locks.
 *
 * Lanes are consumed at very different speeds, and a consumer may even wait for another lane's.  So that a full
 * lane never stops another one:
 *  - each lane has a home: chunks that only it may use, as many as its largest extent needs.  Whatever the others
 *    hold, a lane whose consumers give back what they took can go on.  When a lane is done its home becomes common;
 *  - beyond its home a lane may hold at most an equal share of all chunks among the lanes that are not done.
 * Where the homes do not fit together (very long spans over many lanes) there are none: `homes` is false, lanes then
 * depend on each other's consumers being alive, and the caller must not let one lane overtake another that waits.
 */

#include "io/loader.h"

struct pool {
    uint32_t chunk_count, lane_count, active;
    uint8_t *used;                  /* per chunk */
    uint8_t *owner;                 /* per chunk: a lane, or POOL_COMMON */
    bool homes;
    struct pool_lane {
        uint32_t home, held;        /* chunks */
        bool done;
    } lanes[LOADER_LANES_MAX];
};

#define POOL_NULL { .used = NULL }
#define POOL_COMMON 255u

/* needs[l]: chunks of the largest extent of lane l, 0 = it never takes; each is at most @chunk_count. */
must_check int pool_init(struct pool *pool, uint32_t chunk_count, uint32_t lane_count, const uint32_t *needs);
void pool_deinit(struct pool *pool);

enum pool_verdict {
    POOL_TAKEN,
    POOL_CAPPED,                    /* the lane holds its share: others may go first */
    POOL_NO_ROOM,                   /* it has a right to them, but no run of free chunks is long enough */
};

/* Takes @count adjacent chunks for @lane. */
enum pool_verdict pool_take(struct pool *pool, uint32_t lane, uint32_t count, uint32_t *ret_first);
void pool_give(struct pool *pool, uint32_t lane, uint32_t first, uint32_t count);
/* The lane takes no more; what it holds stays its own until given. */
void pool_lane_done(struct pool *pool, uint32_t lane);
