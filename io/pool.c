/* SPDX-License-Identifier: Apache-2.0 */
#include "io/pool.h"

#include <stdlib.h>
#include <string.h>

static void lay_out_homes(struct pool *pool)
{
    uint32_t at = 0;

    for (uint32_t l = 0; l < pool->lane_count; l++) {
        memset(pool->owner + at, (int)l, pool->lanes[l].home);
        at += pool->lanes[l].home;
    }
}

int pool_init(struct pool *pool, uint32_t chunk_count, uint32_t lane_count, const uint32_t *needs)
{
    uint64_t sum = 0;

    check(lane_count <= LOADER_LANES_MAX);
    *pool = (struct pool){ .chunk_count = chunk_count, .lane_count = lane_count };
    pool->used = calloc((size_t)chunk_count + 1, 1);
    pool->owner = malloc((size_t)chunk_count + 1);
    if (!pool->used || !pool->owner) {
        pool_deinit(pool);
        return -ENOMEM;
    }
    memset(pool->owner, POOL_COMMON, chunk_count);
    for (uint32_t l = 0; l < lane_count; l++) {
        check(needs[l] <= chunk_count);
        pool->lanes[l].done = needs[l] == 0;
        pool->active += needs[l] != 0;
        sum += needs[l];
    }
    pool->homes = sum <= chunk_count;
    if (pool->homes) {
        for (uint32_t l = 0; l < lane_count; l++)
            pool->lanes[l].home = needs[l];
        lay_out_homes(pool);
    }
    return 0;
}

void pool_deinit(struct pool *pool)
{
    free(pool->used);
    free(pool->owner);
    *pool = (struct pool)POOL_NULL;
}

/* First fit among free chunks that are the lane's own or common. */
static bool find_run(const struct pool *pool, uint32_t lane, uint32_t count, uint32_t *ret_first)
{
    uint32_t run = 0;

    for (uint32_t i = 0; i < pool->chunk_count; i++) {
        bool usable = !pool->used[i] && (pool->owner[i] == lane || pool->owner[i] == POOL_COMMON);

        run = usable ? run + 1 : 0;
        if (run == count) {
            *ret_first = i + 1 - count;
            return true;
        }
    }
    return false;
}

enum pool_verdict pool_take(struct pool *pool, uint32_t lane, uint32_t count, uint32_t *ret_first)
{
    struct pool_lane *l = &pool->lanes[lane];
    uint64_t share;

    check(lane < pool->lane_count && !l->done && count > 0 && count <= pool->chunk_count);
    share = max_u64(l->home, pool->chunk_count / pool->active);
    if (l->held && (uint64_t)l->held + count > share)
        return POOL_CAPPED;
    if (!find_run(pool, lane, count, ret_first))
        return POOL_NO_ROOM;
    memset(pool->used + *ret_first, 1, count);
    l->held += count;
    return POOL_TAKEN;
}

void pool_give(struct pool *pool, uint32_t lane, uint32_t first, uint32_t count)
{
    struct pool_lane *l = &pool->lanes[lane];

    check(lane < pool->lane_count && l->held >= count && first <= pool->chunk_count - count);
    memset(pool->used + first, 0, count);
    l->held -= count;
}

void pool_lane_done(struct pool *pool, uint32_t lane)
{
    struct pool_lane *l = &pool->lanes[lane];

    if (l->done)
        return;
    l->done = true;
    pool->active--;
    for (uint32_t i = 0; i < pool->chunk_count; i++)
        if (pool->owner[i] == lane)
            pool->owner[i] = POOL_COMMON;
    l->home = 0;
}
