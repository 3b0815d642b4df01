/* SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/memory.h"

#include <stdio.h>

#include "kernels/ops.h"
#include "src/engine/kv_pool.h"

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

int memory_decide(const struct memory_request *q, uint64_t room, struct memory_choice *ret_choice, struct error *error)
{
    uint64_t block_bytes = kv_bytes_per_block(q->hparams, q->kv), blocks;
    struct memory_choice c = { .context = q->context, .sequences = q->sequences };

    if (q->kv_bytes)
        room = min_u64(room, q->kv_bytes);
    blocks = room / block_bytes;
    if (!c.context) {
        uint64_t each = blocks / c.sequences * KERNEL_KV_BLOCK;

        c.context = (uint32_t)min_u64(min_u64(q->hparams->context_trained, MEMORY_CONTEXT_DEFAULT), each);
        if (each < q->hparams->context_trained && each < MEMORY_CONTEXT_DEFAULT)
            snprintf(c.note, sizeof(c.note), "context %u: the memory left for KV holds no more", c.context);
    } else if (c.context > q->hparams->context_trained) {
        snprintf(c.note, sizeof(c.note), "context %u is beyond the %u the model was trained for", c.context,
                 q->hparams->context_trained);
    }
    if (c.context < min_u64(MEMORY_CONTEXT_MIN, q->hparams->context_trained) && !q->context)
        return error_set(error, -ENOMEM,
                         "%llu bytes are left for KV; %u sequences of %u positions take %llu: free memory, "
                         "reserve more huge pages, or ask for fewer sequences",
                         (unsigned long long)room, c.sequences, MEMORY_CONTEXT_MIN,
                         (unsigned long long)(c.sequences * kv_blocks_for(MEMORY_CONTEXT_MIN) * block_bytes));
    if ((uint64_t)kv_blocks_for(c.context) * c.sequences > blocks)
        return error_set(error, -ENOMEM,
                         "%u sequences of %u positions take %llu bytes of KV; %llu are left: ask for less "
                         "context or fewer sequences, or reserve more huge pages",
                         c.sequences, c.context,
                         (unsigned long long)((uint64_t)kv_blocks_for(c.context) * c.sequences * block_bytes),
                         (unsigned long long)room);
    c.blocks = kv_blocks_for(c.context) * c.sequences;
    *ret_choice = c;
    return 0;
}

static int ask_host(struct memory_node *n, struct error *error)
{
    struct pages_pool small, large;
    int r = pages_pool_read(n->os_node, PAGE_2M, &small, error);

    if (r == 0)
        r = pages_pool_read(n->os_node, PAGE_1G, &large, error);
    if (r == 0)
        r = pages_node_free(n->os_node, &n->plain_free, error);
    if (r == 0)
        n->huge_free = small.free * PAGE_2M_BYTES + large.free * PAGE_1G_BYTES;
    return r;
}

int memory_nodes(const struct plan *plan, struct memory_node ret_nodes[TOPOLOGY_NODES_MAX], uint32_t *ret_count,
                 struct error *error)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < plan->node_count; i++) {
        const struct plan_node *p = &plan->nodes[i];
        struct memory_node *n = ret_nodes;

        while (n < ret_nodes + count && n->os_node != p->os_node)
            n++;
        if (n == ret_nodes + count) {
            int r;

            *n = (struct memory_node){ .os_node = p->os_node };
            r = ask_host(n, error);
            if (r < 0)
                return r;
            count++;
        }
        n->weights += align_up(p->weight_bytes, PAGE_2M_BYTES);
        n->kv += align_up(p->kv_bytes, PAGE_2M_BYTES);
        n->scratch += align_up(p->scratch_bytes, PAGE_2M_BYTES);
    }
    *ret_count = count;
    return 0;
}

static uint64_t needed(const struct memory_node *n) { return n->weights + n->kv + n->scratch; }

static bool is_short(const struct memory_node *n, enum arena_policy policy)
{
    if (policy == ARENA_REQUIRE_HUGE)
        return needed(n) > n->huge_free;
    return needed(n) > (arena_takes_hugetlb(policy) ? n->huge_free : 0) + n->plain_free;
}

int memory_judge(const struct memory_node *nodes, uint32_t count, enum arena_policy policy, struct error *error)
{
    char table[ERROR_TEXT_MAX - 200] = "";
    uint32_t shorts = 0;
    size_t n = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (!is_short(&nodes[i], policy) || shorts++ >= MEMORY_NODES_SHOWN || n >= sizeof(table))
            continue;
        n += (size_t)snprintf(table + n, sizeof(table) - n,
                              "%snode %u needs %llu MB (weights %llu, KV %llu, scratch %llu), free are %llu MB in "
                              "huge pages and %llu MB else",
                              n ? "; " : "", nodes[i].os_node, (unsigned long long)(needed(&nodes[i]) >> 20),
                              (unsigned long long)(nodes[i].weights >> 20), (unsigned long long)(nodes[i].kv >> 20),
                              (unsigned long long)(nodes[i].scratch >> 20),
                              (unsigned long long)(nodes[i].huge_free >> 20),
                              (unsigned long long)(nodes[i].plain_free >> 20));
    }
    if (!shorts)
        return 0;
    return error_set(error, -ENOMEM, "%u of %u nodes are short of memory%s: %s%s; free memory there, reserve huge "
                     "pages (tenon plan), or ask for less context, fewer sequences or a smaller model", shorts, count,
                     policy == ARENA_REQUIRE_HUGE ? " in huge pages" : "", table,
                     shorts > MEMORY_NODES_SHOWN ? "; and more" : "");
}

int memory_check(const struct plan *plan, enum arena_policy policy, struct error *error)
{
    struct memory_node nodes[TOPOLOGY_NODES_MAX];
    uint32_t count;
    int r = memory_nodes(plan, nodes, &count, error);

    return r < 0 ? r : memory_judge(nodes, count, policy, error);
}

/* Sums over the nodes of the plan what pools and memory have free. */
static int look(const struct plan *plan, uint64_t *ret_huge, uint64_t *ret_plain, struct error *error)
{
    struct memory_node nodes[TOPOLOGY_NODES_MAX];
    uint32_t count;
    int r = memory_nodes(plan, nodes, &count, error);

    if (r < 0)
        return r;
    *ret_huge = *ret_plain = 0;
    for (uint32_t n = 0; n < count; n++) {
        *ret_huge += nodes[n].huge_free;
        *ret_plain += nodes[n].plain_free;
    }
    *ret_huge = min_u64(*ret_huge, pages_cgroup_room(PAGE_2M));
    *ret_plain = min_u64(*ret_plain, pages_cgroup_room(PAGE_4K));
    return 0;
}

int memory_choose(const struct memory_request *q, const struct plan *plan, struct memory_choice *ret_choice,
                  struct error *error)
{
    uint64_t huge, plain, weights = 0, room, wanted;
    int r = look(plan, &huge, &plain, error);

    if (r < 0)
        return r;
    if (!arena_takes_hugetlb(q->policy))
        huge = 0;
    for (uint32_t n = 0; n < plan->node_count; n++)
        weights += align_up(plan->nodes[n].weight_bytes, PAGE_2M_BYTES);
    wanted = (uint64_t)kv_blocks_for(q->context ? q->context : MEMORY_CONTEXT_DEFAULT) * q->sequences *
             kv_bytes_per_block(q->hparams, q->kv);
    room = less(huge, weights + plan->node_count * PAGE_2M_BYTES);
    if (q->policy != ARENA_REQUIRE_HUGE && room < wanted)
        room = max_u64(room, less(plain, huge >= weights ? 0 : weights) / 2);
    return memory_decide(q, room, ret_choice, error);
}
