/* SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/kv_pool.h"

#include <stdlib.h>

int kv_pool_init(struct kv_pool *pool, const struct kv *kv)
{
    uint32_t *free_blocks = calloc(kv->blocks, sizeof(*free_blocks));

    if (!free_blocks)
        return -ENOMEM;
    for (uint32_t i = 0; i < kv->blocks; i++)
        free_blocks[i] = kv->blocks - 1 - i;    /* low numbers are taken first */
    *pool = (struct kv_pool){ .kv = kv, .free = free_blocks, .free_count = kv->blocks };
    return 0;
}

void kv_pool_deinit(struct kv_pool *pool)
{
    free(pool->free);
    *pool = (struct kv_pool)KV_POOL_NULL;
}

int kv_pool_reserve(struct kv_pool *pool, uint32_t blocks)
{
    if (blocks > pool->free_count - pool->reserved)
        return 1;
    pool->reserved += blocks;
    return 0;
}

uint32_t kv_pool_take(struct kv_pool *pool)
{
    uint32_t block;

    check(pool->reserved > 0 && pool->free_count > 0);
    pool->reserved--;
    block = pool->free[--pool->free_count];
    kv_zero(pool->kv, block);
    return block;
}

void kv_pool_give(struct kv_pool *pool, const uint32_t *blocks, uint32_t count, uint32_t reserved)
{
    check(reserved <= pool->reserved && pool->free_count + count <= pool->kv->blocks);
    pool->reserved -= reserved;
    for (uint32_t i = 0; i < count; i++)
        pool->free[pool->free_count++] = blocks[i];
}
