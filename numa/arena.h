/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Memory bound to one node: one contiguous range of addresses over 1 GiB pages for whole GiB and 2 MiB pages
 * for the rest, memfd-backed so that it can be sealed and handed on.  The ladder, each step recorded:
 * 1 GiB -> 2 MiB -> transparent huge pages (memfd, MADV_COLLAPSE) -> 4 KiB pages (mlocked if allowed).
 *
 * arena_new() maps and binds (set_mempolicy(MPOL_BIND) around mmap, then mbind) before any touch; a worker
 * of the node then calls arena_populate() on its slice: a page that cannot be had is an error, never SIGBUS.
 * Pages are MADV_DONTDUMP and MADV_DONTFORK.  Not thread-safe but for arena_populate() on distinct ranges.
 */

#include "numa/pages.h"

enum arena_policy {
    ARENA_LADDER,                   /* take what there is, record the steps */
    ARENA_REQUIRE_HUGE,             /* -ENOMEM unless all of it is hugetlb pages */
    /* The ladder from a lower rung on, for those who compare pages. */
    ARENA_FROM_2M,
    ARENA_FROM_THP,
    ARENA_FROM_4K,                  /* transparent ones are declined */
};

static inline bool arena_takes_hugetlb(enum arena_policy policy) { return policy < ARENA_FROM_THP; }

struct arena_spec {
    const char *name;               /* of the memfd: "tenon:weights:0" */
    uint32_t os_node;
    uint64_t bytes;                 /* > 0; rounded up to whole pages */
    enum arena_policy policy;
    bool allow_1g;
    bool lock;                      /* mlock what is not hugetlb */
};

struct arena {
    uint8_t *base;                  /* 2 MiB aligned at least; zeroed by the kernel */
    uint64_t bytes;                 /* mapped */
    uint32_t os_node;
    uint64_t bytes_by_size[PAGE_SIZE_COUNT];    /* what it is made of: hugetlb 1G, hugetlb 2M, the rest under 4K */
    bool transparent;               /* the rest asks for transparent huge pages */
    bool bound;                     /* mbind worked; else first touch by pinned workers decides */
    bool locked;                    /* no part can be swapped (hugetlb never is) */
    bool sealed;
    char note[256];                 /* the steps down that were taken, "" if none */
    struct arena_private *private;
};

must_check int arena_new(const struct arena_spec *spec, struct arena **ret_arena, struct error *error);
struct arena *arena_free(struct arena *arena);

/* Touches [offset, offset + bytes) for writing on the calling thread.  -ENOMEM where a page cannot be had. */
must_check int arena_populate(struct arena *arena, uint64_t offset, uint64_t bytes, struct error *error);
/* The same for part @share of @shares, cut at 2 MiB: what one of a node's workers touches.  NULL arena: 0. */
must_check int arena_populate_share(struct arena *arena, uint32_t share, uint32_t shares, struct error *error);
/*
 * Unmaps, seals the memfds against writing and resizing, maps again read-only at the same addresses; all pages
 * are present afterwards.  Anonymous memory becomes read-only, and arena->sealed stays false.  Registered buffers
 * must be unregistered before (-EBUSY).  After an error only arena_free() may be called.
 */
must_check int arena_seal(struct arena *arena, struct error *error);
/* Where the pages really are: ret_bytes[os_node] for os_node < n; pages not present are not counted. */
must_check int arena_where(const struct arena *arena, uint64_t *ret_bytes, uint32_t n, struct error *error);
