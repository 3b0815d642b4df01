/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where keys and values lie: blocks of 64 positions.  Block b of a sequence holds, for every layer and KV head,
 * one kernel_kv_bytes(format, head_dim) piece; a head's pieces lie on the node that computes the head.
 * Who owns which block is the engine's business (src/engine/kv_pool.h).
 */

#include "kernels/ops.h"
#include "numa/arena.h"
#include "numa/plan.h"
#include "src/model/arch.h"

struct kv {
    uint32_t n_layer, n_kv_head, head_dim;
    enum kv_format format;
    uint32_t blocks;                    /* in the pool */
    uint64_t piece_bytes;               /* one layer, one head */
    uint32_t node_count;
    struct arena **arenas;              /* [node_count]; NULL where a node has no heads */
    uint32_t *head_first;               /* [node_count + 1] */
    uint32_t *head_node;                /* [n_kv_head] */
};

/* Bytes that one block takes over all layers and heads. */
uint64_t kv_bytes_per_block(const struct hparams *hparams, enum kv_format format);

/* Maps and binds; the workers populate (kv_populate). */
must_check int kv_new(const struct hparams *hparams, const struct plan *plan, enum kv_format format, uint32_t blocks,
                      enum arena_policy policy, struct kv **ret_kv, struct error *error);
struct kv *kv_free(struct kv *kv);

static inline uint8_t *kv_piece(const struct kv *kv, uint32_t block, uint32_t layer, uint32_t head)
{
    uint32_t node = kv->head_node[head], first = kv->head_first[node], heads = kv->head_first[node + 1] - first;
    uint64_t index = ((uint64_t)block * kv->n_layer + layer) * heads + (head - first);

    return kv->arenas[node]->base + index * kv->piece_bytes;
}

/* Zeroes one block everywhere: on allocation, so that no key of another request is ever read. */
void kv_zero(const struct kv *kv, uint32_t block);
