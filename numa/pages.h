/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Huge-page pools per node, read from sysfs (bounded, hostile input), and reserved by those who may. */

#include "src/base/base.h"
#include "src/base/error.h"

enum page_size { PAGE_4K, PAGE_2M, PAGE_1G, PAGE_SIZE_COUNT };

#define PAGE_2M_BYTES (UINT64_C(2) << 20)
#define PAGE_1G_BYTES (UINT64_C(1) << 30)

struct pages_pool {
    uint64_t total, free;           /* pages */
};

/* Pool of one size on a real node; zero pools where the kernel has none. */
must_check int pages_pool_read(uint32_t os_node, enum page_size size, struct pages_pool *ret_pool, struct error *error);
/* Raises the free pages of a node's pool to at least @free_wanted, as far as the kernel gives them (needs root). */
must_check int pages_pool_reserve(uint32_t os_node, enum page_size size, uint64_t free_wanted, struct error *error);
/* Bytes that the hugetlb and memory cgroups of this process still allow; UINT64_MAX = no limit. */
uint64_t pages_cgroup_room(enum page_size size);
/* Ordinary memory of a node that is free or holds the page cache, which gives way; bytes. */
must_check int pages_node_free(uint32_t os_node, uint64_t *ret_bytes, struct error *error);
