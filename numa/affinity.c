/* SPDX-License-Identifier: Apache-2.0 */
#include "numa/affinity.h"

void affinity_deinit(struct affinity *affinity)
{
    if (affinity->set)
        CPU_FREE(affinity->set);
    *affinity = (struct affinity)AFFINITY_NULL;
}

int affinity_get(pid_t tid, struct affinity *ret_affinity)
{
    /* The kernel says EINVAL while the set is smaller than its own; its size is told nowhere else. */
    for (size_t cpus = 1024; cpus <= AFFINITY_CPUS_MAX; cpus *= 2) {
        struct affinity a = { .set = CPU_ALLOC(cpus), .bytes = CPU_ALLOC_SIZE(cpus) };

        if (!a.set)
            return -ENOMEM;
        CPU_ZERO_S(a.bytes, a.set);
        if (sched_getaffinity(tid, a.bytes, a.set) == 0) {
            *ret_affinity = a;
            return 0;
        }
        int r = -errno;
        affinity_deinit(&a);
        if (r != -EINVAL)
            return r;
    }
    return -E2BIG;
}

int affinity_set(const struct affinity *affinity)
{
    return sched_setaffinity(0, affinity->bytes, affinity->set) ? -errno : 0;
}

int affinity_pin(uint32_t os_cpu)
{
    if (os_cpu >= AFFINITY_CPUS_MAX)
        return -EINVAL;

    struct affinity a = { .set = CPU_ALLOC(os_cpu + 1), .bytes = CPU_ALLOC_SIZE(os_cpu + 1) };
    if (!a.set)
        return -ENOMEM;
    CPU_ZERO_S(a.bytes, a.set);
    CPU_SET_S(os_cpu, a.bytes, a.set);
    int r = affinity_set(&a);
    affinity_deinit(&a);
    return r;
}

bool affinity_has(const struct affinity *affinity, uint32_t os_cpu)
{
    return os_cpu < affinity->bytes * 8 && CPU_ISSET_S(os_cpu, affinity->bytes, affinity->set);
}

bool affinity_is_pinned(pid_t tid, uint32_t os_cpu)
{
    struct affinity a = AFFINITY_NULL;

    if (affinity_get(tid, &a))
        return false;
    bool pinned = CPU_COUNT_S(a.bytes, a.set) == 1 && affinity_has(&a, os_cpu);
    affinity_deinit(&a);
    return pinned;
}
