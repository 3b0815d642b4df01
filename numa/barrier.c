/* SPDX-License-Identifier: Apache-2.0 */
#include "numa/barrier.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "numa/futex.h"
#include "src/base/clock.h"

/* Pauses between two looks at the clock: 1 to 3 µs on the CPUs of today. */
#define PAUSES_PER_CLOCK 32

uint32_t gate_generation(const struct gate *gate)
{
    return atomic_load_explicit(&gate->generation, memory_order_acquire);
}

/*
 * The opener writes generation and then reads sleepers; a sleeper writes sleepers and then has the kernel read
 * generation.  Both in sequentially consistent order, so at least one sees the other's write: either the opener
 * wakes, or futex_wait() returns at once.
 */
void gate_open(struct gate *gate)
{
    atomic_fetch_add_explicit(&gate->generation, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&gate->sleepers, memory_order_seq_cst) != 0)
        futex_wake_all(&gate->generation);
}

static bool gate_spin(const struct gate *gate, uint32_t seen, uint64_t spin_ns)
{
    /* Most waits end within a few hundred ns: no clock before the first round is over. */
    uint64_t begin_ns = 0;

    for (;;) {
        for (int i = 0; i < PAUSES_PER_CLOCK; i++) {
            if (gate_generation(gate) != seen)
                return true;
            cpu_relax();
        }
        uint64_t now_ns = clock_now_ns();
        if (begin_ns == 0)
            begin_ns = now_ns;
        else if (now_ns - begin_ns >= spin_ns)
            return false;
    }
}

uint32_t gate_wait(struct gate *gate, uint32_t seen, uint64_t spin_ns)
{
    if (gate_generation(gate) == seen && (spin_ns == 0 || !gate_spin(gate, seen, spin_ns))) {
        atomic_fetch_add_explicit(&gate->sleepers, 1, memory_order_seq_cst);
        while (gate_generation(gate) == seen)
            futex_wait(&gate->generation, seen, NULL);
        atomic_fetch_sub_explicit(&gate->sleepers, 1, memory_order_relaxed);
    }
    return gate_generation(gate);
}

int barrier_new(const uint32_t *sizes, uint32_t group_count, uint64_t spin_ns, struct barrier **ret_barrier)
{
    check(group_count > 0);

    size_t bytes = sizeof(struct barrier) + group_count * sizeof(struct barrier_group);
    struct barrier *b = aligned_alloc(BARRIER_ALIGN, align_up(bytes, BARRIER_ALIGN));
    if (!b)
        return -ENOMEM;
    memset(b, 0, bytes);
    b->group_count = group_count;
    b->spin_ns = spin_ns;
    b->machine.expected = group_count;
    for (uint32_t i = 0; i < group_count; i++) {
        check(sizes[i] > 0);
        b->groups[i].expected = sizes[i];
    }
    *ret_barrier = b;
    return 0;
}

struct barrier *barrier_free(struct barrier *barrier)
{
    free(barrier);
    return NULL;
}

/*
 * True for the last one.  Acquire and release: the last arriver has seen what all the others wrote, and the
 * opening of the gate hands that on.  The count is back at 0 before the gate opens, hence before anybody can
 * arrive for the next round.
 */
static bool group_arrive(struct barrier_group *group)
{
    if (atomic_fetch_add_explicit(&group->arrived, 1, memory_order_acq_rel) + 1 != group->expected)
        return false;
    atomic_store_explicit(&group->arrived, 0, memory_order_relaxed);
    return true;
}

void barrier_wait_group(struct barrier *barrier, uint32_t group)
{
    struct barrier_group *g = &barrier->groups[group];
    uint32_t seen = gate_generation(&g->gate);

    if (group_arrive(g))
        gate_open(&g->gate);
    else
        gate_wait(&g->gate, seen, barrier->spin_ns);
}

void barrier_wait(struct barrier *barrier, uint32_t group)
{
    struct barrier_group *g = &barrier->groups[group], *machine = &barrier->machine;
    uint32_t seen = gate_generation(&g->gate);

    if (!group_arrive(g)) {
        gate_wait(&g->gate, seen, barrier->spin_ns);
        return;
    }
    uint32_t machine_seen = gate_generation(&machine->gate);
    if (group_arrive(machine))
        gate_open(&machine->gate);
    else
        gate_wait(&machine->gate, machine_seen, barrier->spin_ns);
    gate_open(&g->gate);
}

void barrier_arrive(struct barrier *barrier, uint32_t group)
{
    if (group_arrive(&barrier->groups[group]) && group_arrive(&barrier->machine))
        gate_open(&barrier->machine.gate);
}
