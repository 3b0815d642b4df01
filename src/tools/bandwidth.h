/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Read bandwidth as the workers see it: every worker reads its own slice of a buffer on its node, all at once.
 * The best of several rounds; each round has the next of BANDWIDTH_ORDERS orders of reading 64-byte lines, as the best
 * one differs by machine, and sums what it reads, so nothing but memory is measured.
 */

#include "numa/worker.h"

#define BANDWIDTH_ORDERS 3u

struct bandwidth;

/* @bytes per whole machine, on huge pages where there are any; populated by the workers. */
must_check int bandwidth_new(const struct plan *plan, struct workers *workers, uint64_t bytes, struct bandwidth **ret,
                             struct error *error);
struct bandwidth *bandwidth_free(struct bandwidth *bandwidth);
/* Bytes per second of one round; keep the best. */
double bandwidth_round(struct bandwidth *bandwidth);
