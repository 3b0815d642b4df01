/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Where topology_load() looks, as a parameter: tests hand in another place.  Internal to numa/ and its tests. */

#include "numa/affinity.h"
#include "numa/topology.h"

struct topology_sources {
    const char *synthetic;              /* NULL = hwloc's view of this host */
    const char *root;                   /* before /proc and /sys when the quota is read; NULL = no quota */
    const struct affinity *affinity;    /* CPUs that may be used; NULL = all */
    bool drop_empty;                    /* leave out nodes without memory; invented ones need not name theirs */
};

must_check int topology_build(const struct topology_sources *sources, struct topology **ret_topology,
                              struct error *error);
