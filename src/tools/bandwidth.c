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
    uint32_t round;
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

typedef uint64_t lanes __attribute__((vector_size(16)));

#define STREAMS 4u
#define STREAM_BYTES 4096u              /* of each stream, side by side */
#define AHEAD_BYTES 16384u

/*
 * Which order of reads fills the memory's queues best differs by machine: hardware prefetchers follow a page, software
 * ones cross it.  The read bandwidth is what the best of these reaches.  A prefetch past the end does not fault.
 */
static inline __attribute__((always_inline)) uint64_t read_streams(const uint8_t *from, uint64_t bytes,
                                                                   uint32_t streams, uint32_t ahead)
{
    lanes s[STREAMS] = { 0 };

    for (uint64_t at = 0; at < bytes; at += streams * STREAM_BYTES)
        for (uint32_t i = 0; i < STREAM_BYTES; i += 64)
            for (uint32_t k = 0; k < streams; k++) {
                const uint8_t *line = from + at + k * STREAM_BYTES + i;
                const lanes *p = (const lanes *)(const void *)line;

                if (ahead)
                    __builtin_prefetch(line + ahead, 0, 2);
                s[k] ^= (p[0] ^ p[1]) ^ (p[2] ^ p[3]);
            }
    for (uint32_t k = 1; k < streams; k++)
        s[0] ^= s[k];
    return s[0][0] ^ s[0][1];
}

static uint64_t read_plain(const uint8_t *from, uint64_t bytes) { return read_streams(from, bytes, 1, 0); }
static uint64_t read_ahead(const uint8_t *from, uint64_t bytes) { return read_streams(from, bytes, 1, AHEAD_BYTES); }
static uint64_t read_many(const uint8_t *from, uint64_t bytes)
{
    return read_streams(from, bytes, STREAMS, AHEAD_BYTES);
}

static uint64_t (*const orders[BANDWIDTH_ORDERS])(const uint8_t *from, uint64_t bytes) = {
    read_plain, read_ahead, read_many,
};

static void read_all(void *arg, uint32_t worker)
{
    struct bandwidth *b = arg;
    uint64_t sum = orders[b->round % BANDWIDTH_ORDERS](b->arenas[worker]->base, b->bytes_each);

    __atomic_fetch_add(&b->sum, sum, __ATOMIC_RELAXED);
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
    b->round++;
    return (double)(b->bytes_each * b->plan->worker_count) / ((double)(clock_now_ns() - begun) * 1e-9);
}
