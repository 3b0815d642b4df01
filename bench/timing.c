/* SPDX-License-Identifier: Apache-2.0 */
#include <time.h>

#include "bench/kernels.h"

#define ROUNDS 5u

/* CPU time: what others do on the machine is not the kernel's. */
static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double time_calls(bench_call_fn *call, const struct kernel_ops *ops, void *arg, uint64_t calls)
{
    double begun = now();

    for (uint64_t i = 0; i < calls; i++)
        call(ops, arg);
    return (now() - begun) / (double)calls;
}

/* The first call warms caches and is not counted. */
static uint64_t calls_for(const struct bench *b, bench_call_fn *call, const struct kernel_ops *ops, void *arg)
{
    double once = time_calls(call, ops, arg, 1), round = b->seconds / ROUNDS;

    if (once < round)
        once = time_calls(call, ops, arg, 1);
    return once < round ? (uint64_t)(round / (once + 1e-9)) + 1 : 1;
}

static uint32_t rounds_for(const struct bench *b, double once)
{
    if (b->quick)
        return 1;
    return once * ROUNDS <= b->seconds * 4 ? ROUNDS : 2;
}

struct spread bench_time(const struct bench *b, bench_call_fn *call, const struct kernel_ops *ops, void *arg)
{
    uint64_t calls = calls_for(b, call, ops, arg);
    double seconds[ROUNDS];
    uint32_t n = 0;

    do
        seconds[n++] = time_calls(call, ops, arg, calls);
    while (n < rounds_for(b, seconds[0]));
    return spread_of(seconds, n);
}

static void keep(struct bench *b, struct bench_row row)
{
    buffer_put(&b->rows, &row, sizeof(row));
}

void bench_run(struct bench *b, const struct bench_case *c, bench_call_fn *call, void *arg)
{
    double seconds[KERNEL_LEVEL_COUNT][ROUNDS];
    uint64_t calls[KERNEL_LEVEL_COUNT];
    uint32_t taken[KERNEL_LEVEL_COUNT] = { 0 };

    for (unsigned l = 0; l < KERNEL_LEVEL_COUNT; l++)
        calls[l] = b->has[l] ? calls_for(b, call, &b->ops[l], arg) : 0;
    for (uint32_t round = 0; round < ROUNDS; round++)
        for (unsigned l = 0; l < KERNEL_LEVEL_COUNT; l++)
            if (b->has[l] && (round == 0 || round < rounds_for(b, seconds[l][0])))
                seconds[l][taken[l]++] = time_calls(call, &b->ops[l], arg, calls[l]);
    for (unsigned l = 0; l < KERNEL_LEVEL_COUNT; l++)
        if (b->has[l]) {
            struct bench_row row = { .c = *c, .level = (enum kernel_level)l };

            row.seconds = spread_of(seconds[l], taken[l]);
            keep(b, row);
        }
}

void bench_run_once(struct bench *b, const struct bench_case *c, bench_call_fn *call, void *arg)
{
    keep(b, (struct bench_row){ .c = *c, .any_level = true, .seconds = bench_time(b, call, &b->h.ref, arg) });
}
