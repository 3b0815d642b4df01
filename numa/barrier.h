/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where threads wait for one another: a gate (one opens, many wait) and a barrier of two levels, the threads
 * of a node first and then the nodes.  Internal to numa/; users call workers_barrier().
 *
 * The sense-reversing barrier of Mellor-Crummey and Scott (ACM TOCS 9(1), 1991, section 3.1), with a counting
 * generation in place of the one-bit sense: a thread reads the generation before it arrives, and that cannot
 * change until it has arrived, so no thread keeps a sense of its own.
 *
 * Waiters spin for @spin_ns, then sleep on a futex.  Whoever opens makes the system call only where somebody
 * sleeps.  What every thread wrote before it arrived is seen by every thread after it has passed.
 */

#include "src/base/base.h"

/* Two cache lines: x86 prefetches lines in pairs. */
#define BARRIER_ALIGN 128

struct gate {
    _Alignas(BARRIER_ALIGN) _Atomic uint32_t generation;
    _Atomic uint32_t sleepers;
};

/* What a waiter reads before it does the thing that leads to the opening. */
uint32_t gate_generation(const struct gate *gate);
void gate_open(struct gate *gate);
/* Returns the generation that followed @seen. */
uint32_t gate_wait(struct gate *gate, uint32_t seen, uint64_t spin_ns);

struct barrier_group {
    _Alignas(BARRIER_ALIGN) _Atomic uint32_t arrived;   /* apart from the line that waiters read */
    uint32_t expected;
    struct gate gate;
};

struct barrier {
    uint32_t group_count;
    uint64_t spin_ns;
    struct barrier_group machine;       /* of groups */
    struct barrier_group groups[];      /* of threads */
};

/* sizes[group_count]: threads of each group, >= 1. */
must_check int barrier_new(const uint32_t *sizes, uint32_t group_count, uint64_t spin_ns, struct barrier **ret_barrier);
struct barrier *barrier_free(struct barrier *barrier);

void barrier_wait(struct barrier *barrier, uint32_t group);
void barrier_wait_group(struct barrier *barrier, uint32_t group);
/*
 * Arrives without waiting; the last one opens barrier->machine.gate.  A barrier that is arrived at this way
 * is used in no other, and again only after somebody has passed that gate.
 */
void barrier_arrive(struct barrier *barrier, uint32_t group);
