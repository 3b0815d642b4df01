/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How much context a model gets: decided at start from what the weights leave, never the training length by default.
 * The decision itself is pure (memory_decide); memory_choose() asks the host and decides.
 */

#include "kernels/ops.h"
#include "numa/arena.h"
#include "numa/plan.h"
#include "src/model/arch.h"

#define MEMORY_CONTEXT_DEFAULT 4096u    /* positions a sequence gets where there is room and nothing is asked for */
#define MEMORY_CONTEXT_MIN 128u
#define MEMORY_NODES_SHOWN 4u           /* rows of a refusal's table */

/* What a plan asks of a real node, and what is free there; bytes. */
struct memory_node {
    uint32_t os_node;
    uint64_t weights, kv, scratch;
    uint64_t huge_free, plain_free;     /* in pools of huge pages; in ordinary memory, with the page cache */
};

struct memory_request {
    const struct hparams *hparams;
    uint32_t context;                   /* wanted; 0 = decide */
    uint32_t sequences;                 /* wanted, >= 1 */
    enum kv_format kv;
    uint64_t kv_bytes;                  /* budget; 0 = what is left */
    enum arena_policy policy;
};

struct memory_choice {
    uint32_t context, sequences, blocks;
    char note[160];
};

/* @room_bytes: what KV may take.  -ENOMEM with the numbers where even the least does not fit. */
must_check int memory_decide(const struct memory_request *request, uint64_t room_bytes,
                             struct memory_choice *ret_choice, struct error *error);
/* Room: free huge pages less the weights where the pools hold those, else half of the nodes' free memory less them. */
must_check int memory_choose(const struct memory_request *request, const struct plan *plan,
                             struct memory_choice *ret_choice, struct error *error);

/* Nodes of a plan as they are on this host now, several invented ones of a real node added up. */
must_check int memory_nodes(const struct plan *plan, struct memory_node ret_nodes[TOPOLOGY_NODES_MAX],
                            uint32_t *ret_count, struct error *error);
/*
 * -ENOMEM with a row for each node that is short: what it needs, what it has.  With ARENA_REQUIRE_HUGE only huge pages
 * count.  Asked before anything is loaded, so that no node is driven out of memory half way.
 */
must_check int memory_judge(const struct memory_node *nodes, uint32_t count, enum arena_policy policy,
                            struct error *error);
/* Both. */
must_check int memory_check(const struct plan *plan, enum arena_policy policy, struct error *error);
