/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The functions of pages.h below another root directory ("" = this host), and the steps that tests need to
 * give back what they took.  Internal to numa/ and the tests.
 */

#include "numa/pages.h"

uint64_t pages_bytes(enum page_size size);
/* "2 MiB" */
const char *pages_name(enum page_size size);
/* Directory of the pool of a node in sysfs; false where the kernel has no such pool. */
bool pages_pool_path(const char *root, uint32_t os_node, enum page_size size, char *path, size_t capacity);

must_check int pages_pool_read_at(const char *root, uint32_t os_node, enum page_size size, struct pages_pool *ret_pool,
                                  struct error *error);
must_check int pages_pool_reserve_at(const char *root, uint32_t os_node, enum page_size size, uint64_t free_wanted,
                                     struct error *error);
uint64_t pages_cgroup_room_at(const char *root, enum page_size size);
must_check int pages_node_free_at(const char *root, uint32_t os_node, uint64_t *ret_bytes, struct error *error);

/*
 * Changes the pool by @delta pages; *ret_delta is what came of it, in the same direction and possibly less.
 * Processes that use this or pages_pool_reserve() take turns by a lock on the file, since the kernel knows no
 * "add": two who read 10 and write 14 would get 4 together.
 */
must_check int pages_pool_change(const char *root, uint32_t os_node, enum page_size size, int64_t delta,
                                 int64_t *ret_delta, struct error *error);
