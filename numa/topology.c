/* SPDX-License-Identifier: Apache-2.0 */
#include "numa/topology.h"

#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

#include "numa/cgroup.h"
#include "numa/topology_internal.h"

#define SYNTHETIC_CHARS_MAX 512
#define SYNTHETIC_OBJECTS_MAX 65536
#define DISTANCE_LOCAL 10
#define DISTANCE_REMOTE 20      /* what ACPI prescribes where nothing is known */

/*
 * hwloc multiplies the counts out before anybody can look at the result, so the product is bounded first:
 * "numa:2 core:28 pu:2" has 112 leaves, in at most as many objects for each word.
 */
static bool synthetic_is_small(const char *text)
{
    uint64_t leaves = 1, words = 1;
    uint32_t depth = 0;

    for (const char *p = text; *p; p++) {
        if (*p == '(' || *p == '[')
            depth++;
        else if ((*p == ')' || *p == ']') && depth > 0)
            depth--;
        if (*p == ' ' || *p == '[')
            words++;
        bool starts_number = *p >= '0' && *p <= '9' && (p == text || p[-1] == ' ' || p[-1] == ':');
        if (depth > 0 || !starts_number)
            continue;
        uint64_t count = 0;
        for (const char *q = p; *q >= '0' && *q <= '9'; q++) {
            count = count * 10 + (uint64_t)(*q - '0');
            if (count > SYNTHETIC_OBJECTS_MAX)
                return false;
        }
        leaves *= max_u64(count, 1);
        if (leaves > SYNTHETIC_OBJECTS_MAX)
            return false;
    }
    return leaves * words <= SYNTHETIC_OBJECTS_MAX;
}

static int set_synthetic(hwloc_topology_t hw, const char *text, struct error *error)
{
    char with_pu[SYNTHETIC_CHARS_MAX + 8];

    if (strnlen(text, SYNTHETIC_CHARS_MAX + 1) > SYNTHETIC_CHARS_MAX || !synthetic_is_small(text))
        return error_set(error, -E2BIG, "the invented machine \"%.60s\" is too large: at most %d nodes and %d cores",
                         text, TOPOLOGY_NODES_MAX, TOPOLOGY_CORES_MAX);
    if (hwloc_topology_set_synthetic(hw, text) == 0)
        return 0;
    /* hwloc insists on hardware threads as the last word; "numa:2 core:4" is clear enough. */
    strcpy(with_pu, text);
    strcat(with_pu, " pu:1");
    bool blank = text[strspn(text, " \t")] == '\0';
    if (!blank && hwloc_topology_set_synthetic(hw, with_pu) == 0)
        return 0;
    return error_set(error, -EINVAL, "cannot read the invented machine \"%.120s\"; write it like "
                     "\"numa:2 core:8 pu:2\" (hwloc's synthetic syntax)", text);
}

static int load_hwloc(const char *synthetic, hwloc_topology_t *ret_hw, struct error *error)
{
    hwloc_topology_t hw = NULL;

    if (hwloc_topology_init(&hw))
        return error_set(error, -ENOMEM, "hwloc cannot start: %s", strerror(errno));
    int r = synthetic ? set_synthetic(hw, synthetic, error) : 0;
    if (r == 0 && hwloc_topology_load(hw))
        r = error_set(error, errno == ENOMEM ? -ENOMEM : -EIO, "hwloc cannot read the topology of this machine: %s",
                      strerror(errno));
    if (r == 0 && !synthetic && !hwloc_topology_is_thissystem(hw))
        r = error_set(error, -EINVAL, "an HWLOC_ variable in the environment describes another machine: unset "
                      "HWLOC_XMLFILE, HWLOC_SYNTHETIC, HWLOC_FSROOT and HWLOC_COMPONENTS, or use --topology");
    if (r) {
        hwloc_topology_destroy(hw);
        return r;
    }
    *ret_hw = hw;
    return 0;
}

/* hwloc's nodes, by its logical index. */
struct view {
    hwloc_topology_t hw;
    uint32_t count;
    hwloc_obj_t nodes[TOPOLOGY_NODES_MAX];
    uint32_t index[TOPOLOGY_NODES_MAX];         /* in our topology; UINT32_MAX for a node without memory */
    uint8_t distance[TOPOLOGY_NODES_MAX][TOPOLOGY_NODES_MAX];
};

static void view_distances(struct view *v)
{
    struct hwloc_distances_s *d;
    unsigned count = 1;

    for (uint32_t i = 0; i < v->count; i++) {
        for (uint32_t j = 0; j < v->count; j++)
            v->distance[i][j] = i == j ? DISTANCE_LOCAL : DISTANCE_REMOTE;
    }
    if (hwloc_distances_get_by_type(v->hw, HWLOC_OBJ_NUMANODE, &count, &d, HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) ||
        count == 0)
        return;
    for (unsigned i = 0; i < d->nbobjs; i++) {
        for (unsigned j = 0; j < d->nbobjs; j++) {
            if (!d->objs[i] || !d->objs[j] || d->objs[i]->logical_index >= v->count ||
                d->objs[j]->logical_index >= v->count)
                continue;
            uint64_t value = max_u64(1, min_u64(255, d->values[i * d->nbobjs + j]));
            v->distance[d->objs[i]->logical_index][d->objs[j]->logical_index] = (uint8_t)value;
        }
    }
    hwloc_distances_release(v->hw, d);
}

static int view_init(struct view *v, hwloc_topology_t hw, struct error *error)
{
    int count = hwloc_get_nbobjs_by_type(hw, HWLOC_OBJ_NUMANODE);

    if (count < 1)
        return error_set(error, -ENODEV, "hwloc finds no memory node on this machine");
    if (count > TOPOLOGY_NODES_MAX)
        return error_set(error, -E2BIG, "%d memory nodes; at most %d are supported", count, TOPOLOGY_NODES_MAX);
    v->hw = hw;
    v->count = (uint32_t)count;
    for (uint32_t i = 0; i < v->count; i++)
        v->nodes[i] = hwloc_get_obj_by_type(hw, HWLOC_OBJ_NUMANODE, i);
    view_distances(v);
    return 0;
}

/* A node without memory, which the kernel makes for CPUs beside none, can hold no shard: it is no node to us. */
static int fill_nodes(struct view *v, bool drop_empty, struct topology *t, struct error *error)
{
    for (uint32_t i = 0; i < v->count; i++) {
        uint64_t memory_bytes = v->nodes[i]->attr->numanode.local_memory;
        v->index[i] = UINT32_MAX;
        if (drop_empty && memory_bytes == 0)
            continue;
        v->index[i] = t->node_count;
        t->nodes[t->node_count++] = (struct topology_node){ .os_node = v->nodes[i]->os_index,
                                                            .memory_bytes = memory_bytes };
    }
    for (uint32_t i = 0; i < v->count; i++) {
        for (uint32_t j = 0; j < v->count; j++) {
            if (v->index[i] != UINT32_MAX && v->index[j] != UINT32_MAX)
                t->distance[v->index[i]][v->index[j]] = v->distance[i][j];
        }
    }
    return t->node_count > 0 ? 0 : error_set(error, -ENODEV, "no node of this machine has memory");
}

/*
 * A core can have two nodes beside it (DRAM and HBM), and a node can span several others: the narrowest node
 * that holds the CPU is its own, of equals the one with the lowest number, which is the DRAM.  UINT32_MAX where
 * none does, because our cpuset leaves that node out.
 */
static uint32_t narrowest_node(const struct view *v, hwloc_obj_t pu)
{
    uint32_t best = UINT32_MAX;
    int best_weight = INT32_MAX;

    for (uint32_t i = 0; i < v->count; i++) {
        if (!v->nodes[i]->cpuset || !hwloc_bitmap_isset(v->nodes[i]->cpuset, pu->os_index))
            continue;
        int weight = hwloc_bitmap_weight(v->nodes[i]->cpuset);
        if (weight < best_weight || (weight == best_weight && v->nodes[i]->os_index < v->nodes[best]->os_index)) {
            best = i;
            best_weight = weight;
        }
    }
    return best;
}

/* A CPU that has no memory beside it goes to the nearest node, or to the first of those that hwloc thinks near. */
static uint32_t node_of(const struct view *v, hwloc_obj_t pu)
{
    uint32_t own = narrowest_node(v, pu), best = UINT32_MAX;

    if (own != UINT32_MAX && v->index[own] != UINT32_MAX)
        return v->index[own];
    for (uint32_t i = 0; i < v->count; i++) {
        bool near = own != UINT32_MAX || (pu->nodeset && hwloc_bitmap_isset(pu->nodeset, v->nodes[i]->os_index));
        if (v->index[i] == UINT32_MAX || !near)
            continue;
        if (best == UINT32_MAX || (own != UINT32_MAX && v->distance[own][i] < v->distance[own][best]))
            best = i;
    }
    return best == UINT32_MAX ? 0 : v->index[best];
}

static bool usable(hwloc_topology_t hw, hwloc_obj_t pu, const struct affinity *affinity)
{
    return hwloc_bitmap_isset(hwloc_topology_get_allowed_cpuset(hw), pu->os_index) &&
           (!affinity || affinity_has(affinity, pu->os_index));
}

/*
 * Walks hardware threads in hwloc's order, in which those of a core, and the cores under one L3, are
 * neighbours; the first usable thread of a core is its worker's, the second the sibling.
 */
static int collect_cores(const struct view *v, const struct affinity *affinity, struct topology_core *cores,
                         uint32_t *ret_count, struct error *error)
{
    hwloc_obj_t pu = NULL, last_core = NULL;
    uint32_t count = 0;

    while ((pu = hwloc_get_next_obj_by_type(v->hw, HWLOC_OBJ_PU, pu))) {
        if (!usable(v->hw, pu, affinity))
            continue;
        hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(v->hw, HWLOC_OBJ_CORE, pu);
        if (core && core == last_core) {
            if (cores[count - 1].os_sibling == UINT32_MAX)
                cores[count - 1].os_sibling = pu->os_index;
            continue;
        }
        if (count == TOPOLOGY_CORES_MAX)
            return error_set(error, -E2BIG, "more than %d usable cores; restrict the process with taskset or "
                             "AllowedCPUs=", TOPOLOGY_CORES_MAX);
        cores[count++] = (struct topology_core){ .node = node_of(v, pu), .os_cpu = pu->os_index,
                                                 .os_sibling = UINT32_MAX };
        last_core = core;
    }
    if (count == 0)
        return error_set(error, -ENODEV, "affinity and cpuset leave no CPU of this machine to this process");
    *ret_count = count;
    return 0;
}

static int fill_cores(const struct view *v, const struct affinity *affinity, struct topology *t, struct error *error)
{
    struct topology_core *cores = calloc(TOPOLOGY_CORES_MAX, sizeof *cores);

    if (!cores)
        return error_set(error, -ENOMEM, "no memory for the topology");
    int r = collect_cores(v, affinity, cores, &t->core_count, error);
    for (uint32_t n = 0, next = 0; r == 0 && n < t->node_count; n++) {
        t->nodes[n].core_first = next;
        for (uint32_t i = 0; i < t->core_count; i++) {
            if (cores[i].node == n)
                t->cores[next++] = cores[i];
        }
        t->nodes[n].core_count = next - t->nodes[n].core_first;
    }
    free(cores);
    return r;
}

static void fill_caches(hwloc_topology_t hw, struct topology *t)
{
    hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(hw, t->cores[0].os_cpu);
    hwloc_obj_t l2 = pu ? hwloc_get_ancestor_obj_by_type(hw, HWLOC_OBJ_L2CACHE, pu) : NULL;
    hwloc_obj_t l3 = pu ? hwloc_get_ancestor_obj_by_type(hw, HWLOC_OBJ_L3CACHE, pu) : NULL;

    t->l2_bytes = l2 ? l2->attr->cache.size : 0;
    t->l3_bytes = l3 ? l3->attr->cache.size : 0;
}

int topology_build(const struct topology_sources *sources, struct topology **ret_topology, struct error *error)
{
    hwloc_topology_t hw = NULL;
    struct view view = { .count = 0 };
    int r = load_hwloc(sources->synthetic, &hw, error);

    if (r)
        return r;
    struct topology *t = calloc(1, sizeof *t);
    if (!t) {
        hwloc_topology_destroy(hw);
        return error_set(error, -ENOMEM, "no memory for the topology");
    }
    t->synthetic = sources->synthetic != NULL;
    r = view_init(&view, hw, error);
    if (r == 0)
        r = fill_nodes(&view, sources->drop_empty, t, error);
    if (r == 0)
        r = fill_cores(&view, sources->affinity, t, error);
    if (r == 0) {
        fill_caches(hw, t);
        /* Where a quota file makes no sense the note says so; a guess would be worse than none. */
        if (sources->root)
            (void)cgroup_cpu_quota(sources->root, &t->quota_cores, t->note, sizeof t->note);
        *ret_topology = t;
    } else {
        free(t);
    }
    hwloc_topology_destroy(hw);
    return r;
}

int topology_load(const char *synthetic, struct topology **ret_topology, struct error *error)
{
    struct affinity affinity = AFFINITY_NULL;
    struct topology_sources sources = { .synthetic = synthetic };

    if (!synthetic) {
        int r = affinity_get(0, &affinity);
        if (r)
            return error_set(error, r, "cannot read the CPU affinity of this process: %s", strerror(-r));
        sources.root = "";
        sources.affinity = &affinity;
        sources.drop_empty = true;
    }
    int r = topology_build(&sources, ret_topology, error);
    affinity_deinit(&affinity);
    return r;
}

struct topology *topology_free(struct topology *topology)
{
    free(topology);
    return NULL;
}

void topology_nearest(const struct topology *topology, uint32_t node, uint32_t *ret_order)
{
    const uint8_t *distance = topology->distance[node];
    uint32_t count = 0;

    check(node < topology->node_count);
    ret_order[count++] = node;
    for (uint32_t i = 0; i < topology->node_count; i++) {
        if (i == node)
            continue;
        uint32_t at = count++;
        for (; at > 1 && distance[ret_order[at - 1]] > distance[i]; at--)
            ret_order[at] = ret_order[at - 1];
        ret_order[at] = i;
    }
}
