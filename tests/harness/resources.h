/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a test borrows from the machine and must hand back: file descriptors and huge pages.
 *
 *     struct resources before = resources_now();
 *     ...
 *     resources_same(&before);            fails the running cmocka test, naming what leaked
 *
 * Huge pages are added to the pool and taken off again, never set: others may use the pool at the same time.
 * Tests that take them are registered with `is_parallel: false`.
 */

#include "numa/pages.h"

struct resources {
    uint32_t fds;
    uint64_t free_2m, free_1g;      /* of node 0 */
};

struct resources resources_now(void);
void resources_same(const struct resources *before);

/* Adds up to @pages to node 0's pool; returns how many came: 0 without root.  A short answer is no error. */
uint64_t hugepages_take(enum page_size size, uint64_t pages);
void hugepages_give_back(enum page_size size, uint64_t pages);
