/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/kernels.h"
#include "tests/kern/inputs.h"

/* Attention over a whole range, and the store of a block, for both formats of keys and values. */

#define QUERIES_MAX 16u

struct attend {
    uint32_t hd, n, columns;
    const float *q;
    uint16_t *blocks[8];
    uint8_t *blocks_q8[8];
    float out[QUERIES_MAX][KERNEL_HEAD_DIM_MAX];
};

static void whole_range(struct attend *a, struct kernel_query queries[QUERIES_MAX])
{
    for (uint32_t i = 0; i < a->n; i++)
        queries[i] = (struct kernel_query){ .q = a->q + i * a->hd, .o = a->out[i], .hi = KERNEL_KV_RANGE - 1 };
}

static void attend(const struct kernel_ops *ops, void *arg)
{
    struct attend *a = arg;
    struct kernel_query queries[QUERIES_MAX];

    whole_range(a, queries);
    ops->attend(queries, a->n, (const uint16_t *const *)a->blocks, a->hd, 0.0f);
}

static void attend_q8(const struct kernel_ops *ops, void *arg)
{
    struct attend *a = arg;
    struct kernel_query queries[QUERIES_MAX];

    whole_range(a, queries);
    ops->attend_q8(queries, a->n, (const uint8_t *const *)a->blocks_q8, a->hd, 0.0f, a->columns);
}

static void kv_store(const struct kernel_ops *ops, void *arg)
{
    struct attend *a = arg;

    for (uint32_t p = 0; p < KERNEL_KV_BLOCK; p++)
        ops->kv_store(a->blocks[0], a->hd, p, a->q, a->q);
}

static void kv_store_q8(const struct kernel_ops *ops, void *arg)
{
    struct attend *a = arg;

    for (uint32_t p = 0; p < KERNEL_KV_BLOCK; p++)
        ops->kv_store_q8(a->blocks_q8[0], a->hd, p, a->q, a->q);
}

static void fill_blocks(struct bench *b, struct attend *a)
{
    float *k = guarded(&b->h, QUERIES_MAX * a->hd * sizeof(*k));

    fill_vector(&b->h, VECTOR_ORDINARY, k, QUERIES_MAX * a->hd);
    a->q = k;
    for (uint32_t i = 0; i < 8; i++) {
        a->blocks[i] = guarded(&b->h, kernel_kv_bytes(KV_F16, a->hd));
        a->blocks_q8[i] = guarded(&b->h, kernel_kv_bytes(KV_Q8, a->hd));
        for (uint32_t p = 0; p < KERNEL_KV_BLOCK; p++) {
            const float *key = k + p % 8 * a->hd, *value = k + p % 5 * a->hd;

            expect(&b->h, b->h.ref.kv_store(a->blocks[i], a->hd, p, key, value) == 0, "refused");
            expect(&b->h, b->h.ref.kv_store_q8(a->blocks_q8[i], a->hd, p, key, value) == 0, "refused");
        }
    }
}

static void bench_stores(struct bench *b, struct attend *a)
{
    struct bench_case c = { .kernel = "kv_store", .type = "", .activations = "f32", .name = "", .head_dim = a->hd,
                            .place = PLACE_L2, .bound = BOUND_READ, .tokens = KERNEL_KV_BLOCK };
    double read = 8.0 * a->hd * KERNEL_KV_BLOCK;

    c.bytes = read + (double)kernel_kv_bytes(KV_F16, a->hd);
    bench_run(b, &c, kv_store, a);
    c.kernel = "kv_store_q8";
    c.bytes = read + (double)kernel_kv_bytes(KV_Q8, a->hd);
    bench_run(b, &c, kv_store_q8, a);
}

static void bench_head_dim(struct bench *b, uint32_t hd)
{
    static const uint32_t queries[] = { 1, 4, QUERIES_MAX };
    struct attend a = { .hd = hd };
    struct bench_case c = { .type = "", .name = "", .head_dim = hd, .place = PLACE_L2 };

    fill_blocks(b, &a);
    for (uint32_t i = 0; i < ARRAY_LENGTH(queries); i++) {
        c.tokens = a.n = queries[i];
        c.macs = 2.0 * KERNEL_KV_RANGE * hd * a.n;
        c.kernel = "attend";
        c.activations = "f32";
        c.bound = BOUND_F32;
        c.each = 1;
        c.bytes = 8.0 * (double)kernel_kv_bytes(KV_F16, hd);
        bench_run(b, &c, attend, &a);
        c.kernel = "attend_q8";
        c.bound = BOUND_INT8;
        c.bytes = 8.0 * (double)kernel_kv_bytes(KV_Q8, hd);
        for (a.columns = 1; a.columns <= 2; a.columns++) {
            c.activations = a.columns == 2 ? "int16" : "int8";
            c.each = a.columns;
            bench_run(b, &c, attend_q8, &a);
        }
    }
    bench_stores(b, &a);
    guards_check(&b->h);
}

void bench_attend(struct bench *b)
{
    bench_limits(b);
    for (uint32_t hd = 64; hd <= 256; hd *= 2)
        bench_head_dim(b, hd);
}
