/* SPDX-License-Identifier: Apache-2.0 */
#include "src/tools/bandwidth.h"

#include <stdio.h>
#include <stdlib.h>

#include "numa/arena.h"
#include "src/base/clock.h"

#define NO_NODE UINT32_MAX

struct bandwidth {
    const struct plan *plan;
    struct workers *workers;
    struct arena **arenas;              /* [node_count] */
    uint32_t reading_node, memory_node; /* of this round; NO_NODE: all, each on its own */
    uint32_t round;
    _Atomic int result;
    uint64_t sum;                       /* keeps the reads alive */
};

struct slice { uint8_t *base; uint64_t bytes; };

/* Slices are as large whoever reads: a few units at the end of an arena are read by nobody. */
static struct slice slice_of(const struct bandwidth *b, uint32_t worker, uint32_t memory_node)
{
    const struct plan_node *n = &b->plan->nodes[b->plan->workers[worker].node];
    const struct arena *a = b->arenas[memory_node];
    uint64_t bytes = a->bytes / n->worker_count / STREAM_UNIT * STREAM_UNIT;

    return (struct slice){ a->base + (worker - n->worker_first) * bytes, bytes };
}

static void populate(void *arg, uint32_t worker)
{
    struct bandwidth *b = arg;
    uint32_t node = b->plan->workers[worker].node;
    const struct plan_node *n = &b->plan->nodes[node];
    struct slice s = slice_of(b, worker, node);
    int r = arena_populate_share(b->arenas[node], worker - n->worker_first, n->worker_count, NULL);

    if (r < 0)
        b->result = r;
    workers_barrier_node(b->workers, worker);   /* slices and shares are cut at different places */
    for (uint64_t i = 0; b->result == 0 && i < s.bytes; i += 64) /* distinct lines: no zero page, none compressed */
        s.base[i] = (uint8_t)(i >> 6);
}

static bool takes_part(const struct bandwidth *b, uint32_t node)
{
    return b->reading_node == NO_NODE || b->reading_node == node;
}

static void read_slice(void *arg, uint32_t worker)
{
    struct bandwidth *b = arg;
    uint32_t node = b->plan->workers[worker].node;
    struct slice s = slice_of(b, worker, b->memory_node == NO_NODE ? node : b->memory_node);

    if (takes_part(b, node))
        __atomic_fetch_add(&b->sum, stream_read(b->round % STREAM_ORDERS, s.base, s.bytes), __ATOMIC_RELAXED);
}

static int new_arenas(struct bandwidth *b, uint64_t bytes, struct error *error)
{
    int r = 0;

    for (uint32_t n = 0; r == 0 && n < b->plan->node_count; n++) {
        const struct plan_node *node = &b->plan->nodes[n];
        struct arena_spec spec = { .name = "tenon:bandwidth", .policy = ARENA_LADDER, .os_node = node->os_node };

        spec.bytes = align_up(bytes / b->plan->worker_count * node->worker_count, PAGE_2M_BYTES);
        r = arena_new(&spec, &b->arenas[n], error);
    }
    return r;
}

int bandwidth_new(const struct plan *plan, struct workers *workers, uint64_t bytes, struct bandwidth **ret,
                  struct error *error)
{
    struct bandwidth *b = calloc(1, sizeof(*b));
    int r;

    if (b)
        b->arenas = calloc(plan->node_count, sizeof(*b->arenas));
    if (!b || !b->arenas) {
        free(b);
        return error_set(error, -ENOMEM, "no memory for the bandwidth loop");
    }
    b->plan = plan;
    b->workers = workers;
    r = new_arenas(b, bytes, error);
    if (r == 0) {
        workers_run(workers, populate, b);
        r = b->result;
        if (r < 0)
            error_set(error, r, "no memory for a bandwidth loop over %llu bytes", (unsigned long long)bytes);
    }
    if (r < 0)
        bandwidth_free(b);
    else
        *ret = b;
    return r;
}

struct bandwidth *bandwidth_free(struct bandwidth *b)
{
    if (!b)
        return NULL;
    for (uint32_t n = 0; n < b->plan->node_count; n++)
        arena_free(b->arenas[n]);
    free(b->arenas);
    free(b);
    return NULL;
}

double bandwidth_link_round(struct bandwidth *b, uint32_t reading_node, uint32_t memory_node)
{
    uint64_t begun = clock_now_ns(), bytes = 0;

    b->reading_node = reading_node;
    b->memory_node = memory_node;
    workers_run(b->workers, read_slice, b);
    b->round++;
    for (uint32_t w = 0; w < b->plan->worker_count; w++)
        if (takes_part(b, b->plan->workers[w].node))
            bytes += slice_of(b, w, memory_node == NO_NODE ? b->plan->workers[w].node : memory_node).bytes;
    return (double)bytes / ((double)(clock_now_ns() - begun) * 1e-9);
}

double bandwidth_round(struct bandwidth *b) { return bandwidth_link_round(b, NO_NODE, NO_NODE); }
