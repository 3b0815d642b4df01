/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The host as placement sees it: nodes that have memory, the cores beside them, the distances between.  Cores
 * beside no memory belong to the nearest node that has some.
 *
 * hwloc discovers, and stays inside topology.c.  What leaves this module is flat and read-only:
 * after topology_load() any thread may read it without a lock, until topology_free().
 *
 * Indexes are ours and dense, so they can index arrays; numbers the kernel uses are called os_*.
 */

#include <stdint.h>

#include "src/base/base.h"
#include "src/base/error.h"

#define TOPOLOGY_NODES_MAX 64
#define TOPOLOGY_CORES_MAX 1024

struct topology_node {
    uint32_t os_node;
    uint32_t core_first;            /* its slice of cores[] */
    uint32_t core_count;            /* 0 on a memory-only node (CXL, flat HBM) */
    uint64_t memory_bytes;
};

struct topology_core {
    uint32_t node;                  /* index into nodes[] */
    uint32_t os_cpu;                /* the hardware thread a worker is pinned to */
    uint32_t os_sibling;            /* its SMT twin, or UINT32_MAX */
};

struct topology {
    bool synthetic;                 /* invented: os_* numbers are not this host's */
    uint32_t node_count, core_count;
    struct topology_node nodes[TOPOLOGY_NODES_MAX];
    struct topology_core cores[TOPOLOGY_CORES_MAX];
    uint8_t distance[TOPOLOGY_NODES_MAX][TOPOLOGY_NODES_MAX];   /* 10 is local */
    uint32_t quota_cores;           /* floor of the cgroup CPU quota, at least 1; 0 = no quota.  This host only */
    uint64_t l2_bytes, l3_bytes;    /* of core 0; 0 = unknown */
    char note[160];                 /* what could not be read and was ignored, "" if nothing */
};

/*
 * Looks at this host when @synthetic is NULL (affinity and cpuset applied), else at an invented one
 * ("numa:2 core:4 pu:2", hwloc's synthetic syntax).  0, or a negative errno with @error filled;
 * *ret_topology is written on 0 only; the caller owns it.  The affinity is the calling thread's: a thread that
 * workers_new() has pinned sees one CPU, so look before.
 */
must_check int topology_load(const char *synthetic, struct topology **ret_topology, struct error *error);

/* Accepts NULL and returns NULL, so that `t = topology_free(t)` leaves nothing dangling. */
struct topology *topology_free(struct topology *topology);

/* Writes node_count indexes: @node itself, then the others by distance, ties by index. */
void topology_nearest(const struct topology *topology, uint32_t node, uint32_t *ret_order);
