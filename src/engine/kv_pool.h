/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Who owns which KV block.  A sequence reserves, at admission, as many as it may ever need and takes them one by one as
 * it grows, so that it cannot run dry half-way.  Engine thread only.
 */

#include "src/graph/kv.h"

struct kv_pool {
    const struct kv *kv;                /* borrowed */
    uint32_t *free;                     /* a stack of block numbers */
    uint32_t free_count;
    uint32_t reserved;                  /* promised, not taken yet; <= free_count */
};

#define KV_POOL_NULL { .kv = NULL }

must_check int kv_pool_init(struct kv_pool *pool, const struct kv *kv);
void kv_pool_deinit(struct kv_pool *pool);

/* 0, or 1 when so many are not to be had now. */
must_check int kv_pool_reserve(struct kv_pool *pool, uint32_t blocks);
/* Takes one reserved block, zeroed. */
uint32_t kv_pool_take(struct kv_pool *pool);
/* Gives back @count taken blocks and @reserved promises. */
void kv_pool_give(struct kv_pool *pool, const uint32_t *blocks, uint32_t count, uint32_t reserved);

/* Blocks that nobody has and nobody was promised. */
static inline uint32_t kv_pool_left(const struct kv_pool *pool) { return pool->free_count - pool->reserved; }
static inline uint32_t kv_pool_used(const struct kv_pool *pool) { return pool->kv->blocks - pool->free_count; }
static inline uint32_t kv_blocks_for(uint64_t positions) { return (uint32_t)((positions + 63) / 64); }
