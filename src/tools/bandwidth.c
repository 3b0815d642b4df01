/* SPDX-License-Identifier: Apache-2.0 */
#include "src/tools/bandwidth.h"

#include <stdio.h>
#include <stdlib.h>

#include "numa/arena.h"
#include "src/base/clock.h"

struct bandwidth {
    const struct plan *plan;
    struct workers *workers;
    struct arena **arenas;              /* [worker_count] */
    uint64_t bytes_each;
    _Atomic int result;
    uint64_t sum;                       /* keeps the reads alive */
};

static void populate(void *arg, uint32_t worker)
{
    struct bandwidth *b = arg;
    struct arena *a = b->arenas[worker];
    int r = arena_populate(a, 0, a->bytes, NULL);

    if (r < 0) {
        b->result = r;
        return;
    }
    for (uint64_t i = 0; i < a->bytes; i += 64) /* distinct lines: no shared zero page, no compressed memory */
        a->base[i] = (uint8_t)(i >> 6);
}

typedef uint64_t lanes __attribute__((vector_size(32)));

static void read_all(void *arg, uint32_t worker)
{
    struct bandwidth *b = arg;
    const lanes *p = (const lanes *)(const void *)b->arenas[worker]->base;
    lanes s0 = { 0 }, s1 = s0, s2 = s0, s3 = s0;

    for (uint64_t i = 0; i < b->bytes_each / sizeof(lanes); i += 4) {
        s0 ^= p[i];
        s1 ^= p[i + 1];
        s2 ^= p[i + 2];
        s3 ^= p[i + 3];
    }
    s0 ^= s1 ^ s2 ^ s3;
    __atomic_fetch_add(&b->sum, s0[0] ^ s0[1] ^ s0[2] ^ s0[3], __ATOMIC_RELAXED);
}

int bandwidth_new(const struct plan *plan, struct workers *workers, uint64_t bytes, struct bandwidth **ret,
                  struct error *error)
{
    struct bandwidth *b = calloc(1, sizeof(*b));
    int r = 0;

    if (b)
        b->arenas = calloc(plan->worker_count, sizeof(*b->arenas));
    if (!b || !b->arenas) {
        free(b);
        return error_set(error, -ENOMEM, "no memory for the bandwidth loop");
    }
    b->plan = plan;
    b->workers = workers;
    b->bytes_each = align_up(bytes / plan->worker_count, PAGE_2M_BYTES);
    for (uint32_t w = 0; r == 0 && w < plan->worker_count; w++) {
        struct arena_spec spec = { .name = "tenon:bandwidth", .bytes = b->bytes_each, .policy = ARENA_LADDER,
                                   .os_node = plan->nodes[plan->workers[w].node].os_node };

        r = arena_new(&spec, &b->arenas[w], error);
    }
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
    for (uint32_t w = 0; w < b->plan->worker_count; w++)
        arena_free(b->arenas[w]);
    free(b->arenas);
    free(b);
    return NULL;
}

double bandwidth_round(struct bandwidth *b)
{
    uint64_t begun = clock_now_ns();

    workers_run(b->workers, read_all, b);
    return (double)(b->bytes_each * b->plan->worker_count) / ((double)(clock_now_ns() - begun) * 1e-9);
}
