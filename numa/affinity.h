/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* CPU affinity without the 1024 CPU limit of cpu_set_t.  Internal to numa/; any thread. */

#include <sched.h>
#include <sys/types.h>

#include "src/base/base.h"

#define AFFINITY_CPUS_MAX 65536

struct affinity {
    cpu_set_t *set;             /* CPU_FREE */
    size_t bytes;
};

#define AFFINITY_NULL { .set = NULL }

void affinity_deinit(struct affinity *affinity);

/* The CPUs that thread @tid may run on (0 = the caller): its affinity within its cpuset. */
must_check int affinity_get(pid_t tid, struct affinity *ret_affinity);
/* For the calling thread. */
must_check int affinity_set(const struct affinity *affinity);
must_check int affinity_pin(uint32_t os_cpu);

bool affinity_has(const struct affinity *affinity, uint32_t os_cpu);
/* True when @tid may run on @os_cpu and nowhere else. */
bool affinity_is_pinned(pid_t tid, uint32_t os_cpu);
