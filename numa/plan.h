/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Placement, as a pure function: topology and sizes in, nodes, workers, shards, bytes and pages out.
 * No system call, no global; the caller owns the plan.
 *
 * A matrix is a run of row groups of equal bytes.  "shard" gives each compute node a contiguous run of them
 * in proportion to its workers; "local" puts everything on one node; "mirror" a copy on every node.
 * Bits of an answer never depend on a plan.
 */

#include "numa/topology.h"

enum plan_policy { PLAN_SHARD, PLAN_LOCAL, PLAN_MIRROR };

struct plan_matrix {
    uint32_t groups;                /* row groups, >= 1 */
    uint64_t group_bytes;           /* packed; a multiple of 64 */
    uint32_t align_groups;          /* a shard border is a multiple (q, k, v: groups of a KV head); 0, 1 = any */
};

struct plan_request {
    const struct topology *topology;    /* as placement sees it: may be invented */
    const struct topology *host;        /* what is there; invented nodes go to its nodes with cores, i to i % n */
    enum plan_policy policy;
    uint32_t local_node;                /* PLAN_LOCAL: index into topology->nodes */
    uint32_t threads;                   /* 0 = one per usable core, at most the quota */
    const struct plan_matrix *matrices;
    uint32_t matrix_count;
    uint64_t kv_bytes;                  /* of the whole KV pool, divided like kv_heads */
    uint32_t kv_heads;                  /* >= 1 */
    uint64_t scratch_bytes;             /* on the first compute node */
};

struct plan_worker {
    uint32_t node;                  /* index into plan->nodes */
    uint32_t os_cpu;                /* a real CPU of this host */
    bool shared;                    /* another worker has this core too, or a quota throttles: never spin */
};

struct plan_node {
    uint32_t topology_node;         /* index into topology->nodes */
    uint32_t os_node;               /* a real node of this host: where pages are bound */
    uint32_t worker_first, worker_count;
    uint32_t head_first, head_count;    /* KV heads */
    uint64_t weight_bytes, kv_bytes, scratch_bytes;
};

struct plan {
    enum plan_policy policy;
    uint32_t node_count;            /* compute nodes in use, in worker order */
    struct plan_node *nodes;
    uint32_t worker_count;
    struct plan_worker *workers;
    uint32_t matrix_count;
    /*
     * split[m * (node_count + 1) + n] .. [+ n + 1): row groups of matrix m that node n computes.  They are also
     * those that it holds, but with PLAN_MIRROR, where every node holds all groups, from 0.
     */
    uint32_t *split;
    /* offset[m * node_count + n]: where the groups that node n holds begin in its weight arena; 64-byte aligned */
    uint64_t *offset;
    bool unpinned;                  /* false as made; true: workers go where the kernel puts them, to compare */
    bool oversubscribed;            /* some worker is shared: more of them than cores or quota; worth a warning */
    char note[256];                 /* what was left out and why ("quota 2.5 cores: 2 workers"), "" if nothing */
};

must_check int plan_make(const struct plan_request *request, struct plan **ret_plan, struct error *error);
struct plan *plan_free(struct plan *plan);

/* Pages to reserve for @bytes: whole GiB as 1 GiB pages when @use_1g, the rest as 2 MiB pages. */
void plan_pages(uint64_t bytes, bool use_1g, uint64_t *ret_1g, uint64_t *ret_2m);
