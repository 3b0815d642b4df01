/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "src/base/clock.h"
#include "src/graph/internal.h"

/* The slice of a task set that is a worker's own. */
static void own_slice(const struct graph *g, const struct task_set *set, uint32_t worker, uint32_t *ret_first,
                      uint32_t *ret_count)
{
    const struct plan_worker *w = &g->c.plan->workers[worker];
    const struct plan_node *n = &g->c.plan->nodes[w->node];
    uint64_t have = set->first[w->node + 1] - set->first[w->node], at = worker - n->worker_first;
    uint32_t begin = (uint32_t)(have * at / n->worker_count), end = (uint32_t)(have * (at + 1) / n->worker_count);

    *ret_first = set->first[w->node] + begin;
    *ret_count = end - begin;
}

/* Takes tasks from one worker's slice until it is empty. */
static void drain(struct lane *lane, const struct task_set *set, uint32_t victim, uint32_t grain, uint32_t parity,
                  task_fn *fn)
{
    _Atomic uint32_t *next = &lane->g->cursors[parity][victim].next;
    uint32_t first, count, at;

    own_slice(lane->g, set, victim, &first, &count);
    while (atomic_load_explicit(next, memory_order_relaxed) < count) {
        at = atomic_fetch_add_explicit(next, grain, memory_order_relaxed);
        if (at >= count)
            return;
        fn(lane, first + at, (uint32_t)min_u64(grain, count - at));
    }
}

/*
 * Own tasks first, then one at a time from the others, neighbours of the node first.  The cursors of the other parity
 * are rewound here: everybody has left that phase, nobody has entered the next one.
 */
void graph_run_tasks(struct lane *lane, const struct task_set *set, uint32_t grain, uint32_t parity, task_fn *fn)
{
    struct graph *g = lane->g;
    const struct plan_node *node = &g->c.plan->nodes[lane->node];

    atomic_store_explicit(&g->cursors[parity ^ 1][lane->worker].next, 0, memory_order_relaxed);
    drain(lane, set, lane->worker, grain, parity, fn);
    for (uint32_t i = 1; i < node->worker_count; i++)
        drain(lane, set, node->worker_first + (lane->worker - node->worker_first + i) % node->worker_count, 1, parity,
              fn);
    for (uint32_t i = 1; i < g->n_workers; i++) {
        uint32_t victim = (lane->worker + i) % g->n_workers;

        if (g->c.plan->workers[victim].node != lane->node)
            drain(lane, set, victim, 1, parity, fn);
    }
}

/* Tasks without a home: in proportion to the workers of the nodes. */
void graph_even_tasks(const struct graph *g, uint32_t count, struct task_set *ret_set)
{
    ret_set->count = count;
    ret_set->first[0] = 0;
    for (uint32_t n = 0; n < g->c.plan->node_count; n++) {
        uint64_t upto = g->c.plan->nodes[n].worker_first + g->c.plan->nodes[n].worker_count;

        ret_set->first[n + 1] = (uint32_t)(count * upto / g->n_workers);
    }
}

/* Tasks that follow the row groups of a matrix: node n begins at split[n] / divide units, rounded up, times multiply.
 */
void graph_split_tasks(const struct graph *g, uint32_t matrix, uint32_t count, uint32_t multiply, uint32_t divide,
                       struct task_set *ret_set)
{
    const struct plan *plan = g->c.plan;
    const uint32_t *split = plan->split + (size_t)matrix * (plan->node_count + 1);

    if (plan->policy == PLAN_MIRROR) {
        graph_even_tasks(g, count, ret_set);
        return;
    }
    ret_set->count = count;
    for (uint32_t n = 0; n <= plan->node_count; n++)
        ret_set->first[n] = (split[n] + divide - 1) / divide * multiply;
    check(ret_set->first[plan->node_count] == count);
}

static void run_phase(struct lane *lane, const struct phase *p, uint32_t parity)
{
    lane->layer = p->layer;
    switch (p->kind) {
    case PHASE_EMBED: phase_embed(lane, parity); break;
    case PHASE_QKV: phase_qkv(lane, parity); break;
    case PHASE_ATTEND: phase_attend(lane, parity); break;
    case PHASE_OUT: phase_stream(lane, parity, false); break;
    case PHASE_JOIN_OUT: phase_join(lane, parity, false); break;
    case PHASE_GATE_UP: phase_gate_up(lane, parity); break;
    case PHASE_DOWN: phase_stream(lane, parity, true); break;
    case PHASE_JOIN_DOWN: phase_join(lane, parity, true); break;
    case PHASE_HEAD: phase_head(lane, parity); break;
    case PHASE_KIND_COUNT: check(false);
    }
}

static struct lane lane_of(struct graph *g, uint32_t worker)
{
    return (struct lane){ .g = g, .worker = worker, .node = g->c.plan->workers[worker].node,
                          .tile = g->tiles + (size_t)worker * g->tile_floats,
                          .r = g->rs + (size_t)worker * g->r_stride };
}

static void step_worker(void *arg, uint32_t worker)
{
    struct graph *g = arg;
    struct lane lane = lane_of(g, worker);
    struct graph_times *times = g->times && worker == 0 ? &g->times[!g->narrow] : NULL;
    uint64_t begun = times ? clock_now_ns() : 0;

    for (uint32_t i = 0; i < g->phase_count; i++) {
        enum phase_kind kind = g->phases[i].kind;
        uint64_t done = 0;

        if (kind == PHASE_HEAD && g->head_rows == 0)
            break;
        run_phase(&lane, &g->phases[i], i & 1);
        if (times)
            done = clock_now_ns();
        workers_barrier(g->c.workers, worker);
        if (times) {
            times->run_ns[kind] += done - begun;
            begun = clock_now_ns();
            times->wait_ns[kind] += begun - done;
        }
    }
    if (times)
        times->steps++;
}

void graph_time(struct graph *g, struct graph_times times[2]) { g->times = times; }

static void head_worker(void *arg, uint32_t worker)
{
    struct lane lane = lane_of(arg, worker);

    run_phase(&lane, &lane.g->phases[lane.g->phase_count - 1], 0);
}

static void rewind_cursors(struct graph *g)
{
    for (uint32_t p = 0; p < 2; p++)
        for (uint32_t w = 0; w < g->n_workers; w++)
            atomic_store_explicit(&g->cursors[p][w].next, 0, memory_order_relaxed);
}

/* As many as leave every worker some tasks of the phases that have the fewest, those of n_embd outputs. */
static uint32_t choose_tile(const struct graph *g)
{
    uint32_t tile = g->tile_most;

    while (tile > TILE_TOKENS && g->n_blocks * ((g->b.tokens + tile - 1) / tile) < 4 * g->n_workers)
        tile -= TILE_TOKENS;
    return tile;
}

void graph_step(struct graph *g, const struct graph_batch *batch)
{
    check(batch->tokens > 0 && batch->tokens <= g->c.max_tokens && batch->row_count <= batch->tokens);
    g->b = *batch;
    g->narrow = batch->tokens <= NARROW_TOKENS;
    g->tile_tokens = choose_tile(g);
    g->head_first = 0;
    g->head_rows = (uint32_t)min_u64(batch->row_count, g->c.max_rows);
    for (uint32_t t = 0; t < batch->tokens; t++) {
        atomic_store_explicit(&g->failed[t], 0, memory_order_relaxed);
        if (batch->rows[t] != GRAPH_NO_LOGITS)
            g->row_token[batch->rows[t]] = t;
    }
    rewind_cursors(g);
    workers_run(g->c.workers, step_worker, g);
}

void graph_head(struct graph *g, uint32_t first)
{
    check(first < g->b.row_count);
    g->head_first = first;
    g->head_rows = (uint32_t)min_u64(g->b.row_count - first, g->c.max_rows);
    rewind_cursors(g);
    workers_run(g->c.workers, head_worker, g);
}

bool graph_holds(const struct graph *g, uint32_t row)
{
    return row >= g->head_first && row - g->head_first < g->head_rows;
}

const float *graph_logits(const struct graph *g, uint32_t row)
{
    check(graph_holds(g, row));
    return g->logits + (size_t)(row - g->head_first) * g->logits_stride;
}

bool graph_failed(const struct graph *g, uint32_t token)
{
    return atomic_load_explicit(&g->failed[token], memory_order_relaxed);
}
