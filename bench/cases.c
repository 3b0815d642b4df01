/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/kernels.h"
#include "kernels/matmul.h"
#include "kernels/selftest.h"
#include "tests/kern/inputs.h"
#include "tests/kern/vector_ops.h"

#define K 1536u                         /* a segment and a half */
#define GROUPS_MAX 16u                  /* a unit of the graph: 256 rows */
#define TOKENS_MAX 192u
#define HEAD_DIM 128u
#define ALL_TYPES ((1u << TENSOR_TYPE_COUNT) - 1)

/* --- matmul --- */

struct matmul {
    enum tensor_type type;
    uint32_t groups, tokens;
    const uint8_t *packed;
    size_t bytes, room, at;             /* of the groups; of what they are taken from by turns */
    struct kernel_act x;
    float *y;
};

static void matmul(const struct kernel_ops *ops, void *arg)
{
    struct matmul *m = arg;

    m->at = m->at + m->bytes + m->bytes <= m->room ? m->at + m->bytes : 0;
    kernel_matmul(ops, m->type, m->packed + m->at, m->groups, &m->x, 0, m->tokens, m->y, 16 * m->groups);
}

/* As many different groups as the second-level cache takes beside the activations, and copies of them over memory. */
static struct matmul new_matmul(struct bench *b, enum tensor_type type, uint32_t columns)
{
    struct harness *h = &b->h;
    size_t group_bytes = kernel_group_bytes(type, K), row_bytes = row_bytes_of(type, K);
    struct matmul m = { .type = type, .groups = (uint32_t)min_u64(GROUPS_MAX, max_u64(1, b->l2_bytes / group_bytes)) };
    uint8_t *rows = guarded(h, 16 * row_bytes), *packed;
    float *v = guarded(h, TOKENS_MAX * K * sizeof(*v));

    m.bytes = m.room = m.groups * group_bytes;
    m.packed = packed = guarded(h, m.bytes);
    m.y = guarded(h, TOKENS_MAX * 16 * m.groups * sizeof(*m.y));
    m.x = new_act(h, tensor_types[type].act, K, columns, TOKENS_MAX);
    for (uint32_t g = 0; g < m.groups; g++) {
        fill_weights(h, type, WEIGHTS_ORDINARY, rows, 16 * row_bytes);
        expect(h, kernel_pack_group(type, rows, row_bytes, 16, K, packed + g * group_bytes) == 0, "weights refused");
    }
    fill_vector(h, VECTOR_ORDINARY, v, TOKENS_MAX * K);
    fill_act(h, &h->ref, &m.x, v, TOKENS_MAX);
    return m;
}

static void bench_product(struct bench *b, struct matmul *m, uint32_t columns, enum bench_place place)
{
    static const uint32_t tokens[] = { 1, 4, 12, 64, TOKENS_MAX };
    bool floats = m->x.format == ACT_F32;
    struct bench_case c = { .kernel = "matmul", .type = tensor_types[m->type].name, .place = place, .name = "",
                            .activations = floats ? "f32" : columns == 2 ? "int16" : "int8", .each = columns,
                            .bound = floats ? BOUND_F32 : BOUND_INT8, .bytes = (double)m->bytes };

    for (uint32_t i = 0; i < ARRAY_LENGTH(tokens); i++) {
        if ((b->quick && i % 2) || (b->quick && i > 2) || (place == PLACE_MEMORY && i > 2))
            continue;
        c.tokens = m->tokens = tokens[i];
        c.macs = 16.0 * m->groups * K * tokens[i];
        bench_run(b, &c, matmul, m);
    }
}

void bench_matmul(struct bench *b)
{
    for (unsigned t = 0; t < TENSOR_TYPE_COUNT; t++) {
        for (uint32_t columns = 1; columns <= (tensor_types[t].act == ACT_F32 ? 1u : 2u); columns++) {
            struct matmul m = new_matmul(b, (enum tensor_type)t, columns);
            const uint8_t *few = m.packed;

            bench_product(b, &m, columns, PLACE_L2);
            for (m.room = 0; m.room + m.bytes <= b->memory_bytes; m.room += m.bytes)
                memcpy(b->memory + m.room, few, m.bytes);
            m.packed = b->memory;
            bench_limits(b);
            bench_product(b, &m, columns, PLACE_MEMORY);
            guards_check(&b->h);
        }
    }
}

/* --- what walks a vector --- */

struct vector {
    unsigned op;
    uint32_t n;
    float *y, *a, *b;
    struct kernel_act x;
};

static void vector_op(const struct kernel_ops *ops, void *arg)
{
    struct vector *v = arg;

    vector_op_call(ops, v->op, v->y, v->a, v->b, v->n);
}

static void quantise(const struct kernel_ops *ops, void *arg)
{
    struct vector *v = arg;

    for (uint32_t k = 0; k < K; k += KERNEL_BLOCK)
        ops->quantise(v->a + k, v->b + k, KERNEL_BLOCK, &v->x, 0, k);
}

static void rope_adjacent(const struct kernel_ops *ops, void *arg)
{
    struct vector *v = arg;

    ops->rope_adjacent(v->y, v->a, v->n);
}

static void rope_halves(const struct kernel_ops *ops, void *arg)
{
    struct vector *v = arg;

    ops->rope_halves(v->y, v->a, v->n);
}

static void bench_quantise(struct bench *b, struct vector *v, struct bench_case *c)
{
    static const char *const formats[ACT_FORMAT_COUNT] = { "f32", "A32", "A256" };

    c->kernel = "quantise";
    for (unsigned f = 0; f < ACT_FORMAT_COUNT; f++)
        for (uint32_t columns = 1; columns <= (f == ACT_F32 ? 1u : 2u); columns++) {
            v->x = new_act(&b->h, (enum act_format)f, K, columns, 1);
            c->type = formats[f];
            c->activations = f == ACT_F32 ? "f32" : columns == 2 ? "int16" : "int8";
            c->bytes = K * (8.0 + (f == ACT_F32 ? 4.0 : columns));
            bench_run(b, c, quantise, v);
        }
}

static void bench_rope(struct bench *b, struct vector *v, struct bench_case *c)
{
    double inv_freq[HEAD_DIM / 2];

    kernel_rope_freqs(1e4f, HEAD_DIM, 1.0, NULL, inv_freq);
    kernel_rope_table(inv_freq, HEAD_DIM, 1000, v->a);
    v->n = c->head_dim = HEAD_DIM;
    c->bytes = 3.0 * sizeof(float) * HEAD_DIM;
    c->type = c->activations = "";
    c->kernel = "rope_adjacent";
    bench_run(b, c, rope_adjacent, v);
    c->kernel = "rope_halves";
    bench_run(b, c, rope_halves, v);
}

/* Values that work in place must not shrink to subnormals, which would be timed instead. */
void bench_vector(struct bench *b)
{
    struct vector v = { .a = guarded(&b->h, K * sizeof(float)), .b = guarded(&b->h, K * sizeof(float)),
                        .y = guarded(&b->h, K * sizeof(float)) };
    struct bench_case c = { .type = "", .activations = "", .name = "", .place = PLACE_L1, .bound = BOUND_READ };

    bench_limits(b);
    fill_vector(&b->h, VECTOR_MINUS, v.a, K);
    v.a[0] = 0.63f;
    fill_vector(&b->h, VECTOR_ZERO, v.b, K);
    fill_vector(&b->h, VECTOR_ORDINARY, v.y, K);
    for (v.op = 0; v.op < VECTOR_OPS; v.op++) {
        if (!vector_ops[v.op].touched)
            continue;
        v.n = strcmp(vector_ops[v.op].name, "sumsq") == 0 ? KERNEL_BLOCK : K;
        c.kernel = vector_ops[v.op].name;
        c.bytes = (double)sizeof(float) * v.n * vector_ops[v.op].touched;
        bench_run(b, &c, vector_op, &v);
    }
    fill_vector(&b->h, VECTOR_ORDINARY, v.b, K);
    bench_quantise(b, &v, &c);
    fill_vector(&b->h, VECTOR_ORDINARY, v.y, K);
    bench_rope(b, &v, &c);
    guards_check(&b->h);
}

/* --- what a load needs --- */

struct pack {
    enum tensor_type type;
    uint8_t *rows, *packed;
    void *work;
};

static void pack(const struct kernel_ops *ops, void *arg)
{
    struct pack *p = arg;

    (void)ops;
    if (kernel_pack_group(p->type, p->rows, row_bytes_of(p->type, K), 16, K, p->packed) < 0)
        fprintf(stderr, "kernels: pack refuses its input\n");
}

static void selftest(const struct kernel_ops *ops, void *arg)
{
    if (kernel_selftest(ops, ALL_TYPES, ((struct pack *)arg)->work, NULL))
        fprintf(stderr, "kernels: level %s fails its self-test\n", kernel_level_name(ops->level));
}

void bench_load(struct bench *b)
{
    struct bench_case c = { .kernel = "pack", .activations = "", .name = "", .place = PLACE_L1, .bound = BOUND_READ };
    struct pack p = { .work = aligned_alloc(64, KERNEL_SELFTEST_BYTES) };

    bench_limits(b);
    for (unsigned t = 0; t < TENSOR_TYPE_COUNT; t++) {
        size_t bytes = 16 * row_bytes_of((enum tensor_type)t, K), packed = kernel_group_bytes((enum tensor_type)t, K);

        p.type = (enum tensor_type)t;
        p.rows = guarded(&b->h, bytes);
        p.packed = guarded(&b->h, packed);
        fill_weights(&b->h, p.type, WEIGHTS_ORDINARY, p.rows, bytes);
        c.type = tensor_types[t].name;
        c.bytes = (double)bytes + (double)packed;
        bench_run_once(b, &c, pack, &p);
        guards_check(&b->h);
    }
    c = (struct bench_case){ .kernel = "selftest", .type = "", .activations = "", .name = "", .bound = BOUND_READ };
    if (p.work)
        bench_run(b, &c, selftest, &p);
    free(p.work);
}
