/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Read bandwidth as the workers see it: each reads its own slice of a buffer on a node, all at once.  Keep the best of
 * several rounds; each round has the next of STREAM_ORDERS orders and sums what it reads, so nothing but memory is
 * measured.
 */

#include "numa/worker.h"
#include "src/tools/streams.h"

struct bandwidth;

/* @bytes per whole machine, on huge pages where there are any; populated by the workers of their node. */
must_check int bandwidth_new(const struct plan *plan, struct workers *workers, uint64_t bytes, struct bandwidth **ret,
                             struct error *error);
struct bandwidth *bandwidth_free(struct bandwidth *bandwidth);
/* Bytes per second of one round in which every worker reads on its own node. */
double bandwidth_round(struct bandwidth *bandwidth);
/* The same of the workers of one node of the plan alone, reading what lies on another, or on their own. */
double bandwidth_link_round(struct bandwidth *bandwidth, uint32_t reading_node, uint32_t memory_node);
