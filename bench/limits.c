/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/kernels.h"
#include "kernels/level_limits.h"

#define INT8_ROUNDS 1024u
#define CHAIN 4096u                     /* dependent pairs of an exclusive or and an addition */
#define READ_BYTES (UINT64_C(32) << 20) /* of memory in a call */

struct reading {
    const uint8_t *from;
    size_t bytes, at, step;
    uint32_t order;
    uint64_t sum, macs;
};

static void better(double *best, double value) { *best = value > *best ? value : *best; }

/* Each step needs the one before: two cycles, whatever the machine could do beside it. */
static void chain(const struct kernel_ops *ops, void *arg)
{
    struct reading *r = arg;
    uint64_t x = r->sum, mask = (uint64_t)(uintptr_t)arg, more = mask >> 3;

    (void)ops;
    for (uint32_t i = 0; i < CHAIN; i++)
        x = (x ^ mask) + more;
    r->sum = x;
}

static void int8(const struct kernel_ops *ops, void *arg)
{
    ((struct reading *)arg)->macs = ops->limits->int8(INT8_ROUNDS);
}

static void f32(const struct kernel_ops *ops, void *arg)
{
    ((struct reading *)arg)->macs = ops->limits->f32(INT8_ROUNDS);
}

static const uint8_t *next(struct reading *r)
{
    r->at = r->at + r->step + r->step <= r->bytes ? r->at + r->step : 0;
    return r->from + r->at;
}

static void read_wide(const struct kernel_ops *ops, void *arg)
{
    struct reading *r = arg;

    ops->limits->read(next(r), r->step);
}

static void read_ordered(const struct kernel_ops *ops, void *arg)
{
    struct reading *r = arg;

    (void)ops;
    r->sum ^= stream_read(r->order, next(r), r->step);
}

static void level_limits(struct bench *b, unsigned l)
{
    const struct kernel_ops *ops = &b->ops[l];
    struct limits *m = &b->limits[l];
    struct reading r = { .from = b->memory };

    better(&m->int8, 1.0 / bench_time(b, int8, ops, &r).min * (double)r.macs);
    better(&m->f32, 1.0 / bench_time(b, f32, ops, &r).min * (double)r.macs);
    for (unsigned p = 0; p < PLACE_COUNT; p++) {
        r.bytes = p == PLACE_MEMORY ? b->memory_bytes : p == PLACE_L2 ? b->l2_bytes : b->l1_bytes;
        r.step = p == PLACE_MEMORY ? READ_BYTES : r.bytes;
        if (r.step > r.bytes)
            r.step = r.bytes;
        better(&m->read[p], (double)r.step / bench_time(b, read_wide, ops, &r).min);
    }
    for (r.order = 0; r.order < STREAM_ORDERS; r.order++)
        better(&m->read[PLACE_MEMORY], (double)r.step / bench_time(b, read_ordered, ops, &r).min);
}

void bench_limits(struct bench *b)
{
    struct reading r = { .sum = 1 };

    for (unsigned l = 0; l < KERNEL_LEVEL_COUNT; l++) {
        if (!b->has[l])
            continue;
        better(&b->clock_hz, 2.0 * CHAIN / bench_time(b, chain, &b->ops[l], &r).min);
        level_limits(b, l);
    }
}

double bench_roof(const struct bench *b, const struct bench_row *row)
{
    const struct limits *m = &b->limits[row->level];
    const struct bench_case *c = &row->c;
    double peak, fed = m->read[c->place];

    if (c->bound == BOUND_READ)
        return fed;
    peak = c->bound == BOUND_INT8 ? m->int8 / c->each : m->f32;
    fed *= c->macs / c->bytes;
    return peak < fed ? peak : fed;
}
