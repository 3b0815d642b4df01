/* SPDX-License-Identifier: Apache-2.0 */
#include "numa/plan.h"

#include <stdlib.h>
#include <string.h>

#include "numa/note.h"
#include "numa/pages.h"

#define THREADS_MAX 4096
#define OFFSET_ALIGN 64

/* May workers go to this node of the topology? */
static bool takes_workers(const struct plan_request *q, uint32_t node)
{
    return q->topology->nodes[node].core_count > 0 && (q->policy != PLAN_LOCAL || node == q->local_node);
}

static int check_topology(const struct topology *t, const char *what, struct error *error)
{
    uint32_t cores = 0;

    if (!t || t->node_count < 1 || t->node_count > TOPOLOGY_NODES_MAX || t->core_count < 1 ||
        t->core_count > TOPOLOGY_CORES_MAX)
        return error_set(error, -EINVAL, "the plan needs a %s with at least one node and one core", what);
    for (uint32_t i = 0; i < t->node_count; i++) {
        if (t->nodes[i].core_first != cores || t->nodes[i].core_count > t->core_count - cores)
            return error_set(error, -EINVAL, "node %u of the %s has no whole slice of the cores", i, what);
        cores += t->nodes[i].core_count;
    }
    if (cores != t->core_count)
        return error_set(error, -EINVAL, "the %s has cores without a node", what);
    return 0;
}

static int check_request(const struct plan_request *q, struct error *error)
{
    int r = check_topology(q->topology, "topology", error);

    if (r == 0)
        r = check_topology(q->host, "host", error);
    if (r)
        return r;
    if (q->threads > THREADS_MAX)
        return error_set(error, -EINVAL, "%u threads; at most %d are possible", q->threads, THREADS_MAX);
    if (q->kv_heads < 1)
        return error_set(error, -EINVAL, "the model has no KV heads");
    if (q->policy == PLAN_LOCAL && q->local_node >= q->topology->node_count)
        return error_set(error, -EINVAL, "there is no node %u; nodes count from 0 to %u", q->local_node,
                         q->topology->node_count - 1);
    if (q->policy == PLAN_LOCAL && !takes_workers(q, q->local_node))
        return error_set(error, -EINVAL, "node %u has no usable core: choose another one", q->local_node);
    for (uint32_t m = 0; m < q->matrix_count; m++) {
        if (q->matrices[m].groups < 1 || q->matrices[m].group_bytes % OFFSET_ALIGN != 0)
            return error_set(error, -EINVAL, "matrix %u of %u: %u row groups of %llu bytes; there must be one at "
                             "least, of a multiple of %d bytes", m, q->matrix_count, q->matrices[m].groups,
                             (unsigned long long)q->matrices[m].group_bytes, OFFSET_ALIGN);
    }
    return 0;
}

/* One worker per usable core, at most the quota; what the user asks for stands. */
static uint32_t decide_threads(struct plan *plan, const struct plan_request *q)
{
    uint32_t cores = 0, quota = q->topology->quota_cores, threads = q->threads;

    for (uint32_t i = 0; i < q->topology->node_count; i++)
        cores += takes_workers(q, i) ? q->topology->nodes[i].core_count : 0;
    if (threads == 0)
        threads = cores;
    if (q->threads == 0 && quota > 0 && quota < threads) {
        note_add(plan->note, "CPU quota of %u core%s: %u of %u possible workers", quota,
                 quota == 1 ? "" : "s", quota, threads);
        threads = quota;
    }
    return threads;
}

/*
 * Deals workers to nodes in proportion to their cores, by the largest remainder: no node is a whole worker off
 * its share, so none gets more than it has cores while another has one free.  Ties go to the first node.
 */
static void deal(const struct plan_request *q, uint32_t threads, uint32_t *ret_counts)
{
    uint64_t remainder[TOPOLOGY_NODES_MAX] = { 0 };
    uint32_t cores = 0, left = threads;

    for (uint32_t i = 0; i < q->topology->node_count; i++)
        cores += takes_workers(q, i) ? q->topology->nodes[i].core_count : 0;
    for (uint32_t i = 0; i < q->topology->node_count; i++) {
        uint64_t share = takes_workers(q, i) ? (uint64_t)threads * q->topology->nodes[i].core_count : 0;
        ret_counts[i] = (uint32_t)(share / cores);
        remainder[i] = share % cores;
        left -= ret_counts[i];
    }
    for (; left > 0; left--) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < q->topology->node_count; i++)
            best = remainder[i] > remainder[best] ? i : best;
        ret_counts[best]++;
        remainder[best] = 0;
    }
}

static void note_left_out(struct plan *plan, const struct plan_request *q, const uint32_t *counts)
{
    uint32_t empty = 0, idle = 0, siblings = 0;

    for (uint32_t i = 0; i < q->topology->node_count; i++) {
        empty += q->topology->nodes[i].core_count == 0;
        idle += q->topology->nodes[i].core_count > 0 && counts[i] == 0;
    }
    for (uint32_t i = 0; i < q->topology->core_count; i++)
        siblings += q->topology->cores[i].os_sibling != UINT32_MAX;
    if (q->policy == PLAN_LOCAL)
        note_add(plan->note, "local: everything on node %u", q->topology->nodes[q->local_node].os_node);
    if (q->policy == PLAN_MIRROR && plan->node_count > 1)
        note_add(plan->note, "mirror: the weights %u times", plan->node_count);
    if (empty > 0)
        note_add(plan->note, "%u node%s without usable cores", empty, empty == 1 ? "" : "s");
    if (idle > 0 && q->policy != PLAN_LOCAL)
        note_add(plan->note, "%u node%s without a worker", idle, idle == 1 ? "" : "s");
    if (siblings > 0 && !plan->oversubscribed)
        note_add(plan->note, "one worker per core: %u SMT sibling%s left free", siblings,
                 siblings == 1 ? "" : "s");
}

static int allocate(struct plan *plan, const struct plan_request *q, struct error *error)
{
    uint64_t split, offset;

    if (ckd_mul(&split, (uint64_t)q->matrix_count, (uint64_t)plan->node_count + 1) ||
        ckd_mul(&offset, (uint64_t)q->matrix_count, (uint64_t)plan->node_count) || split > (UINT64_C(1) << 32))
        return error_set(error, -E2BIG, "%u matrices on %u nodes are too many", q->matrix_count, plan->node_count);
    plan->nodes = calloc(plan->node_count, sizeof *plan->nodes);
    plan->workers = calloc(plan->worker_count, sizeof *plan->workers);
    plan->split = calloc(max_u64(split, 1), sizeof *plan->split);
    plan->offset = calloc(max_u64(offset, 1), sizeof *plan->offset);
    if (!plan->nodes || !plan->workers || !plan->split || !plan->offset)
        return error_set(error, -ENOMEM, "no memory for a plan of %u matrices", q->matrix_count);
    return 0;
}

/*
 * The node of this host behind a node of the topology: itself, or for an invented machine the real nodes that
 * have cores, in turn.
 */
static const struct topology_node *real_node(const struct plan_request *q, uint32_t topology_node)
{
    const struct topology *host = q->host;
    uint32_t with_cores = 0, turn;

    if (!q->topology->synthetic)
        return &q->topology->nodes[topology_node];
    for (uint32_t i = 0; i < host->node_count; i++)
        with_cores += host->nodes[i].core_count > 0;
    turn = topology_node % with_cores;
    for (uint32_t i = 0;; i++) {
        check(i < host->node_count);
        if (host->nodes[i].core_count > 0 && turn-- == 0)
            return &host->nodes[i];
    }
}

static void place_nodes(struct plan *plan, const struct plan_request *q, const uint32_t *counts)
{
    uint32_t next = 0, n = 0;

    for (uint32_t i = 0; i < q->topology->node_count; i++) {
        if (counts[i] == 0)
            continue;
        plan->nodes[n] = (struct plan_node){
            .topology_node = i,
            .os_node = real_node(q, i)->os_node,
            .worker_first = next,
            .worker_count = counts[i],
        };
        for (uint32_t w = 0; w < counts[i]; w++)
            plan->workers[next++].node = n;
        n++;
    }
}

/*
 * Workers take the cores of their node in order, on from where an invented node that lies on the same real
 * node stopped; a second round takes the SMT siblings, a third the first threads again.
 */
static void place_workers(struct plan *plan, const struct plan_request *q)
{
    const struct topology *real = q->topology->synthetic ? q->host : q->topology;
    uint32_t next[TOPOLOGY_CORES_MAX] = { 0 };      /* workers dealt so far, by the first core of the node */
    uint32_t used[TOPOLOGY_CORES_MAX] = { 0 };      /* workers on each core */
    uint32_t core_of[THREADS_MAX];
    uint32_t quota = q->host->quota_cores;
    bool throttled = quota > 0 && quota < plan->worker_count;

    for (uint32_t w = 0; w < plan->worker_count; w++) {
        const struct topology_node *node = real_node(q, plan->nodes[plan->workers[w].node].topology_node);
        uint32_t turn = next[node->core_first]++;
        core_of[w] = node->core_first + turn % node->core_count;
        const struct topology_core *core = &real->cores[core_of[w]];
        bool twin = turn / node->core_count % 2 == 1 && core->os_sibling != UINT32_MAX;
        plan->workers[w].os_cpu = twin ? core->os_sibling : core->os_cpu;
        used[core_of[w]]++;
    }
    for (uint32_t w = 0; w < plan->worker_count; w++) {
        plan->workers[w].shared = throttled || used[core_of[w]] > 1;
        plan->oversubscribed = plan->oversubscribed || plan->workers[w].shared;
    }
    if (throttled)
        note_add(plan->note, "%u workers on a CPU quota of %u core%s: they will be throttled",
                 plan->worker_count, quota, quota == 1 ? "" : "s");
    else if (plan->oversubscribed)
        note_add(plan->note, "%u workers on %u core%s: they share and do not spin", plan->worker_count,
                 real->core_count, real->core_count == 1 ? "" : "s");
}

/*
 * The border after the first @workers of all workers: the nearest whole unit, halves upward.  Borders so made
 * are ascending, the last is @units, and no node is further than one unit from its exact share.
 */
static uint64_t border(uint64_t units, uint32_t workers, uint32_t all)
{
    return (units * workers + all / 2) / all;
}

static int place_matrix(struct plan *plan, const struct plan_request *q, uint32_t m, struct error *error)
{
    const struct plan_matrix *matrix = &q->matrices[m];
    uint32_t *split = &plan->split[(size_t)m * (plan->node_count + 1)];
    uint64_t unit = max_u64(matrix->align_groups, 1), units = (matrix->groups + unit - 1) / unit;

    for (uint32_t n = 0; n < plan->node_count; n++) {
        struct plan_node *node = &plan->nodes[n];
        uint32_t before = node->worker_first + node->worker_count;
        uint64_t bytes;
        split[n + 1] = (uint32_t)min_u64(matrix->groups, unit * border(units, before, plan->worker_count));
        uint64_t groups = plan->policy == PLAN_MIRROR ? matrix->groups : split[n + 1] - split[n];
        plan->offset[(size_t)m * plan->node_count + n] = node->weight_bytes;
        if (ckd_mul(&bytes, groups, matrix->group_bytes) || ckd_add(&node->weight_bytes, node->weight_bytes, bytes) ||
            node->weight_bytes > INT64_MAX)
            return error_set(error, -EOVERFLOW, "the weights up to matrix %u of %u exceed every address space", m,
                             q->matrix_count);
    }
    return 0;
}

/* kv_bytes * heads / kv_heads, rounded down, without a product that could overflow. */
static uint64_t kv_before(const struct plan_request *q, uint64_t heads)
{
    return q->kv_bytes / q->kv_heads * heads + q->kv_bytes % q->kv_heads * heads / q->kv_heads;
}

static void place_kv(struct plan *plan, const struct plan_request *q)
{
    uint64_t first = 0;

    for (uint32_t n = 0; n < plan->node_count; n++) {
        struct plan_node *node = &plan->nodes[n];
        uint64_t end = border(q->kv_heads, node->worker_first + node->worker_count, plan->worker_count);
        node->head_first = (uint32_t)first;
        node->head_count = (uint32_t)(end - first);
        node->kv_bytes = kv_before(q, end) - kv_before(q, first);
        first = end;
    }
    plan->nodes[0].scratch_bytes = q->scratch_bytes;
}

int plan_make(const struct plan_request *request, struct plan **ret_plan, struct error *error)
{
    uint32_t counts[TOPOLOGY_NODES_MAX];
    int r = check_request(request, error);

    if (r)
        return r;
    struct plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return error_set(error, -ENOMEM, "no memory for a plan");
    if (request->topology->note[0])
        note_add(plan->note, "%s", request->topology->note);
    plan->policy = request->policy;
    plan->matrix_count = request->matrix_count;
    plan->worker_count = decide_threads(plan, request);
    deal(request, plan->worker_count, counts);
    for (uint32_t i = 0; i < request->topology->node_count; i++)
        plan->node_count += counts[i] > 0;
    r = allocate(plan, request, error);
    if (r == 0) {
        place_nodes(plan, request, counts);
        place_workers(plan, request);
        note_left_out(plan, request, counts);
        place_kv(plan, request);
    }
    for (uint32_t m = 0; m < request->matrix_count && r == 0; m++)
        r = place_matrix(plan, request, m, error);
    if (r) {
        plan_free(plan);
        return r;
    }
    *ret_plan = plan;
    return 0;
}

struct plan *plan_free(struct plan *plan)
{
    if (!plan)
        return NULL;
    free(plan->nodes);
    free(plan->workers);
    free(plan->split);
    free(plan->offset);
    free(plan);
    return NULL;
}

void plan_pages(uint64_t bytes, bool use_1g, uint64_t *ret_1g, uint64_t *ret_2m)
{
    uint64_t whole = use_1g ? bytes / PAGE_1G_BYTES : 0, rest = bytes - whole * PAGE_1G_BYTES;

    *ret_1g = whole;
    *ret_2m = rest / PAGE_2M_BYTES + (rest % PAGE_2M_BYTES != 0);
}
