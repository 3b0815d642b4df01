/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A copy of bytes that ends where an unreadable page begins, read-only: an overrun faults in any build. */

#include "src/base/base.h"

struct guard {
    const uint8_t *data;
    size_t size;
    void *map;
    size_t map_size;
};

struct guard guard_copy(const void *data, size_t size);
void guard_free(struct guard *guard);
