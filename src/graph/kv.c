/* SPDX-License-Identifier: Apache-2.0 */
#include "src/graph/kv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ops.h"

uint64_t kv_bytes_per_block(const struct hparams *h, enum kv_format format)
{
    return (uint64_t)h->n_layer * h->n_kv_head * kernel_kv_bytes(format, h->head_dim);
}

static int make_arena(struct kv *kv, const struct plan *plan, uint32_t node, enum arena_policy policy,
                      struct error *error)
{
    char name[48];
    uint64_t heads = kv->head_first[node + 1] - kv->head_first[node];
    struct arena_spec spec = { .name = name, .os_node = plan->nodes[node].os_node, .policy = policy, .lock = true };

    if (heads == 0)
        return 0;
    if (ckd_mul(&spec.bytes, (uint64_t)kv->blocks * kv->n_layer, heads * kv->piece_bytes))
        return error_set(error, -E2BIG, "%u KV blocks do not fit an address space", kv->blocks);
    snprintf(name, sizeof(name), "tenon:kv:%u", node);
    return arena_new(&spec, &kv->arenas[node], error);
}

int kv_new(const struct hparams *h, const struct plan *plan, enum kv_format format, uint32_t blocks,
           enum arena_policy policy, struct kv **ret_kv, struct error *error)
{
    struct kv *kv = calloc(1, sizeof(*kv));
    int r = 0;

    check(blocks > 0);
    if (!kv)
        return error_set(error, -ENOMEM, "no memory for the KV tables");
    *kv = (struct kv){ .n_layer = h->n_layer, .n_kv_head = h->n_kv_head, .head_dim = h->head_dim, .blocks = blocks,
                       .format = format, .piece_bytes = kernel_kv_bytes(format, h->head_dim),
                       .node_count = plan->node_count };
    kv->arenas = calloc(plan->node_count, sizeof(struct arena *));
    kv->head_first = calloc(plan->node_count + 1, sizeof(uint32_t));
    kv->head_node = calloc(h->n_kv_head, sizeof(uint32_t));
    if (!kv->arenas || !kv->head_first || !kv->head_node)
        r = error_set(error, -ENOMEM, "no memory for the KV tables");
    for (uint32_t n = 0, head = 0; r == 0 && n < plan->node_count; n++) {
        for (uint32_t i = 0; i < plan->nodes[n].head_count; i++)
            kv->head_node[head++] = n;
        kv->head_first[n + 1] = head;
        r = make_arena(kv, plan, n, policy, error);
    }
    if (r < 0) {
        kv_free(kv);
        return r;
    }
    check(kv->head_first[plan->node_count] == h->n_kv_head);
    *ret_kv = kv;
    return 0;
}

struct kv *kv_free(struct kv *kv)
{
    if (!kv)
        return NULL;
    for (uint32_t n = 0; kv->arenas && n < kv->node_count; n++)
        arena_free(kv->arenas[n]);
    free(kv->arenas);
    free(kv->head_first);
    free(kv->head_node);
    free(kv);
    return NULL;
}

void kv_zero(const struct kv *kv, uint32_t block)
{
    for (uint32_t n = 0; n < kv->node_count; n++) {
        uint64_t bytes = (uint64_t)kv->n_layer * (kv->head_first[n + 1] - kv->head_first[n]) * kv->piece_bytes;

        if (bytes)
            memset(kv->arenas[n]->base + block * bytes, 0, bytes);
    }
}
