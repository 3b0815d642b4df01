/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pinned threads, one per core, and the barrier they meet at.
 *
 * The thread that calls workers_new() becomes worker 0 (it is pinned too) and is the only one that may call
 * workers_run() and workers_free().  Between runs the others spin a bounded time, then sleep on a futex:
 * an idle pool uses no CPU.  A pool whose workers share CPUs never spins.
 */

#include "numa/plan.h"

typedef void worker_fn(void *arg, uint32_t worker);
typedef int worker_init_fn(void *arg, uint32_t worker);     /* 0, or a negative errno that fails workers_new() */

struct workers;

/* @init runs once on every worker (floating-point state); may be NULL. */
must_check int workers_new(const struct plan *plan, worker_init_fn *init, void *init_arg, struct workers **ret_workers,
                           struct error *error);
struct workers *workers_free(struct workers *workers);

uint32_t workers_count(const struct workers *workers);
/* CPUs read back by sched_getaffinity: true when every worker is where the plan put it. */
bool workers_pinned(const struct workers *workers);
/* Nanoseconds that worker spent inside functions, for metrics.  Any thread. */
uint64_t workers_busy_ns(const struct workers *workers, uint32_t worker);

/* Runs @fn on all workers, the caller as worker 0; returns when all have returned. */
void workers_run(struct workers *workers, worker_fn *fn, void *arg);

/* Inside a run: returns when all workers have arrived; within the node first, then across.  Full ordering. */
void workers_barrier(struct workers *workers, uint32_t worker);
/* The same among the workers of one node only. */
void workers_barrier_node(struct workers *workers, uint32_t worker);
