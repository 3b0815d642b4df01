/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The memory that reads land in: touched before use, in 2 MiB huge pages where the pool has them free, else with
 * transparent huge pages asked for.  Never in a core dump, never inherited.  Its begin is 2 MiB aligned.
 */

#include "src/base/error.h"

struct staging {
    uint8_t *data;
    size_t bytes;
    void *map;                      /* what to unmap */
    size_t map_bytes;
    bool huge;                      /* from the hugetlb pool */
    char note[96];                  /* why it is not, "" if it is */
};

#define STAGING_NULL { .data = NULL }

must_check int staging_init(struct staging *staging, size_t bytes, struct error *error);
void staging_deinit(struct staging *staging);
