/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reading memory in 64-byte lines, in several orders.  Which order fills the memory's queues best differs by machine:
 * hardware prefetchers follow a page, software ones cross it.  The read bandwidth is what the best of them reaches.
 */

#include <stdint.h>

#define STREAM_ORDERS 3u
#define STREAM_UNIT 16384u              /* @bytes is a multiple */

/* Reads @bytes from @from, 64-byte aligned; what it returns depends on every line, so none can be left out. */
uint64_t stream_read(uint32_t order, const uint8_t *from, uint64_t bytes);
