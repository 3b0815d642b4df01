/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * On which nodes the pages of a range of our addresses lie.  Internal to numa/.
 *
 * The kernel is asked page by page (move_pages(2) without target nodes); where a container forbids that, the
 * numbers come from /proc/self/numa_maps, which knows mappings only as a whole.
 * Pages that are not present in the page table are not counted.  Both add to ret_bytes[os_node < n].
 */

#include "src/base/base.h"

must_check int where_query(const void *begin, uint64_t bytes, uint64_t page_bytes, uint64_t *ret_bytes, uint32_t n);
/* @root as in text_read(). */
must_check int where_numa_maps(const char *root, const void *begin, uint64_t bytes, uint64_t *ret_bytes, uint32_t n);
