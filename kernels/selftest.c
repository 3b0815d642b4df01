/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/selftest.h"

#include <string.h>

#include "kernels/invented.h"
#include "kernels/layout.h"

#define GROUPS 2u
#define TOKENS 17u                      /* more than any level takes for few, and a ragged last tile */
#define K_MAX 1280u                     /* a segment and a part of one */
#define VECTOR 203u                     /* no multiple of any vector */
#define HEAD_DIM 64u
#define BLOCKS 3u
#define POSITIONS (BLOCKS * KERNEL_KV_BLOCK - 7)

/* k by format: a last record that is half empty, and no whole vector of floats. */
static const uint32_t test_k[ACT_FORMAT_COUNT] = { [ACT_F32] = 1100, [ACT_32] = 1248, [ACT_256] = 1280 };

/* One side's input and output of a matmul, at the sizes of ops.h. */
struct side {
    int8_t q[TOKENS * 2 * K_MAX];
    float d[TOKENS * K_MAX / 32];
    int16_t s32[TOKENS * 2 * K_MAX / 32], s16[TOKENS * 2 * K_MAX / 16];
    float y[TOKENS][GROUPS * ROWS];
};

struct work {
    uint8_t packed[GROUPS * ROWS * K_MAX * sizeof(float)], rows[ROWS * K_MAX * sizeof(float)];
    float x[TOKENS * K_MAX];
    struct side side[2];                /* ref's and the level's */
    uint16_t kv[2][BLOCKS][KERNEL_KV_BLOCK * HEAD_DIM * 2];
    uint8_t kv_q8[2][BLOCKS][KERNEL_KV_BLOCK * 2 * (HEAD_DIM + sizeof(float))] __attribute__((aligned(64)));
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct work) <= KERNEL_SELFTEST_BYTES, "KERNEL_SELFTEST_BYTES is too small");

struct selftest {
    const struct kernel_ops *ops[2];    /* ref, the level */
    struct work *work;
    uint32_t seed;
    char *now;
};

/* What runs next: if it does not come back, somebody may ask. */
static void enter(struct selftest *t, const char *name)
{
    const size_t n = strlen(name), kept = n < KERNEL_SELFTEST_NAME ? n : KERNEL_SELFTEST_NAME - 1;
    if (!t->now)
        return;
    memcpy(t->now, name, kept);
    t->now[kept] = '\0';
}

/* --- matmuls --- */

static struct kernel_act act_of(struct selftest *t, int side, enum act_format format, uint32_t columns)
{
    struct side *s = &t->work->side[side];
    struct kernel_act x = { .format = format, .k = test_k[format], .columns = columns };
    if (format == ACT_F32) {
        x.f = t->work->x;
        return x;
    }
    x.q = s->q;
    x.d = s->d;
    x.s32 = s->s32;
    x.s16 = format == ACT_256 ? s->s16 : NULL;
    return x;
}

/* Both profiles' integers, scales and sums. */
static int quantises(struct selftest *t, const struct kernel_act x[2])
{
    const size_t values = (size_t)TOKENS * x->k, all = values * x->columns;
    memset(t->work->side, 0, sizeof t->work->side);
    enter(t, "quantise");
    kernel_invent_act(t->ops[0], t->work->x, TOKENS, &x[0]);
    kernel_invent_act(t->ops[1], t->work->x, TOKENS, &x[1]);
    return memcmp(x[0].q, x[1].q, all) == 0 && memcmp(x[0].s32, x[1].s32, all / 32 * sizeof *x->s32) == 0 &&
           memcmp(x[0].d, x[1].d, values / (x->format == ACT_32 ? 32 : 256) * sizeof *x->d) == 0 &&
           (!x->s16 || memcmp(x[0].s16, x[1].s16, all / 16 * sizeof *x->s16) == 0);
}

/* One token and many run different code, many perhaps in two ways, and give the same bits. */
static const char *test_products(struct selftest *t, enum tensor_type type, const struct kernel_act *x)
{
    const struct kernel_ops *ops = t->ops[1];
    const struct {
        kernel_matmul_fn *fn;
        const char *name;
        uint32_t tokens;
    } ways[] = { { ops->matmul[type], ops->matmul_name[type], TOKENS },
                 { ops->matmul[type], ops->matmul_name[type], 1 },
                 { ops->matmul_many[type], ops->many_name[type], TOKENS },
                 { ops->matmul_many[type], ops->many_name[type], 1 } };
    const size_t stride = GROUPS * ROWS;
    float *right = t->work->side[0].y[0], *y = t->work->side[1].y[0];
    enter(t, ways[0].name);
    t->ops[0]->matmul[type](t->work->packed, GROUPS, x, 0, TOKENS, right, stride);
    for (unsigned i = 0; i < sizeof ways / sizeof *ways && ways[i].fn; i++) {
        memset(y, 0xff, TOKENS * stride * sizeof *y);
        enter(t, ways[i].name);
        ways[i].fn(t->work->packed, GROUPS, x, 0, ways[i].tokens, y, stride);
        if (memcmp(right, y, ways[i].tokens * stride * sizeof *y) != 0)
            return ways[i].name;
    }
    return NULL;
}

static const char *test_matmul(struct selftest *t, enum tensor_type type)
{
    const enum act_format format = tensor_types[type].act;
    const char *wrong = NULL;
    kernel_invent_groups(&t->seed, type, test_k[format], GROUPS, t->work->rows, t->work->packed);
    kernel_invent_floats(&t->seed, t->work->x, TOKENS * test_k[format]);
    for (uint32_t columns = 1; columns <= (format == ACT_F32 ? 1u : 2u) && !wrong; columns++) {
        struct kernel_act x[2] = { act_of(t, 0, format, columns), act_of(t, 1, format, columns) };
        if (format != ACT_F32 && !quantises(t, x))
            return "quantise";
        wrong = test_products(t, type, &x[0]);
    }
    return wrong;
}

/* --- vectors --- */

struct vectors {
    float in[3][VECTOR], out[2][2][VECTOR];     /* [side][which] */
};

#define BOTH(v, name, ...)                                                                                             \
    do {                                                                                                               \
        enter(t, #name);                                                                                               \
        memcpy((v)->out[0][0], (v)->in[2], sizeof (v)->in[2]);                                                         \
        memcpy((v)->out[1][0], (v)->in[2], sizeof (v)->in[2]);                                                         \
        for (int side = 0; side < 2; side++) {                                                                         \
            float *y = (v)->out[side][0];                                                                              \
            t->ops[side]->name(__VA_ARGS__);                                                                           \
        }                                                                                                              \
        if (memcmp((v)->out[0][0], (v)->out[1][0], sizeof (v)->out[0][0]) != 0)                                        \
            return #name;                                                                                              \
    } while (0)

static const char *test_vectors(struct selftest *t)
{
    struct vectors vectors, *v = &vectors;
    float *a = v->in[0], *b = v->in[1];
    memset(v, 0, sizeof *v);
    for (int i = 0; i < 3; i++)
        kernel_invent_floats(&t->seed, v->in[i], VECTOR);
    enter(t, "sumsq");
    if (t->ops[0]->sumsq(a, VECTOR) != t->ops[1]->sumsq(a, VECTOR))
        return "sumsq";
    BOTH(v, epilogue, y, VECTOR, 1, 0.7f, b);
    BOTH(v, epilogue, y, VECTOR, 1, 0.7f, NULL);
    BOTH(v, epilogue, y, VECTOR, 0, 0.0f, b);
    BOTH(v, add, y, a, VECTOR);
    BOTH(v, norm, y, a, 0.3f, VECTOR);
    BOTH(v, norm_add, y, a, b, 0.3f, VECTOR);
    BOTH(v, scale, y, 0.1f, VECTOR);
    BOTH(v, gated_silu, a, b, y, VECTOR);
    BOTH(v, gated_gelu, a, b, y, VECTOR);
    BOTH(v, exp, a, y, VECTOR);
    BOTH(v, rope_adjacent, y, a, 128);
    BOTH(v, rope_halves, y, a, 128);
    return NULL;
}

/* --- attention --- */

#define QUERIES 7u                      /* a whole tile of them, and a part of one */

struct attention {
    float q[QUERIES][HEAD_DIM], o[2][QUERIES][HEAD_DIM];
    struct kernel_query query[2][QUERIES];
};

/* Queries that touch different positions, and ranges folded into one another. */
static void attend(const struct kernel_ops *ops, const uint16_t *const blocks[8], float softcap, struct attention *a,
                   int side)
{
    struct kernel_query *q = a->query[side];
    for (uint32_t i = 0; i < QUERIES; i++)
        q[i] = (struct kernel_query){ .q = a->q[i], .o = a->o[side][i], .lo = 3 * i, .hi = POSITIONS - 1 - 20 * i };
    ops->attend(q, QUERIES, blocks, HEAD_DIM, softcap);
    for (uint32_t i = 1; i < QUERIES; i++)
        ops->attend_merge(&q[0].m, &q[0].l, q[0].o, q[i].m, q[i].l, q[i].o, HEAD_DIM);
    ops->attend_finish(q[0].o, q[0].l, HEAD_DIM);
}

static int same_attention(const struct attention *a)
{
    for (uint32_t i = 0; i < QUERIES; i++)
        if (memcmp(&a->query[0][i].m, &a->query[1][i].m, sizeof(float)) != 0 ||
            memcmp(&a->query[0][i].l, &a->query[1][i].l, sizeof(float)) != 0)
            return 0;
    return memcmp(a->o[0], a->o[1], sizeof a->o[0]) == 0;
}

static const char *test_attention(struct selftest *t)
{
    const uint16_t *blocks[8] = { NULL };
    struct attention a;
    float k[HEAD_DIM], v[HEAD_DIM];
    memset(t->work->kv, 0, sizeof t->work->kv);
    enter(t, "kv_store");
    for (uint32_t p = 0; p < POSITIONS; p++) {
        kernel_invent_floats(&t->seed, k, HEAD_DIM);
        kernel_invent_floats(&t->seed, v, HEAD_DIM);
        for (int side = 0; side < 2; side++)
            t->ops[side]->kv_store(t->work->kv[side][p / KERNEL_KV_BLOCK], HEAD_DIM, p % KERNEL_KV_BLOCK, k, v);
    }
    if (memcmp(t->work->kv[0], t->work->kv[1], sizeof t->work->kv[0]) != 0)
        return "kv_store";
    for (uint32_t b = 0; b < BLOCKS; b++)
        blocks[b] = t->work->kv[0][b];
    enter(t, "attend");
    for (int capped = 0; capped < 2; capped++) {
        kernel_invent_floats(&t->seed, a.q[0], QUERIES * HEAD_DIM);
        for (int side = 0; side < 2; side++)
            attend(t->ops[side], blocks, capped ? 3.0f : 0.0f, &a, side);
        if (!same_attention(&a))
            return "attend";
    }
    return NULL;
}

static void attend_q8(const struct kernel_ops *ops, const uint8_t *const blocks[8], uint32_t columns,
                      struct attention *a, int side)
{
    struct kernel_query *q = a->query[side];
    for (uint32_t i = 0; i < QUERIES; i++)
        q[i] = (struct kernel_query){ .q = a->q[i], .o = a->o[side][i], .lo = 3 * i, .hi = POSITIONS - 1 - 20 * i };
    ops->attend_q8(q, QUERIES, blocks, HEAD_DIM, 0.0f, columns);
}

static const char *test_attention_q8(struct selftest *t)
{
    const uint8_t *blocks[8] = { NULL };
    struct attention a;
    float k[HEAD_DIM], v[HEAD_DIM];
    memset(t->work->kv_q8, 0, sizeof t->work->kv_q8);
    enter(t, "kv_store_q8");
    for (uint32_t p = 0; p < POSITIONS; p++) {
        kernel_invent_floats(&t->seed, k, HEAD_DIM);
        kernel_invent_floats(&t->seed, v, HEAD_DIM);
        for (int side = 0; side < 2; side++)
            t->ops[side]->kv_store_q8(t->work->kv_q8[side][p / KERNEL_KV_BLOCK], HEAD_DIM, p % KERNEL_KV_BLOCK, k, v);
    }
    if (memcmp(t->work->kv_q8[0], t->work->kv_q8[1], sizeof t->work->kv_q8[0]) != 0)
        return "kv_store_q8";
    for (uint32_t b = 0; b < BLOCKS; b++)
        blocks[b] = t->work->kv_q8[0][b];
    enter(t, "attend_q8");
    for (uint32_t columns = 1; columns <= 2; columns++) {
        kernel_invent_floats(&t->seed, a.q[0], QUERIES * HEAD_DIM);
        for (int side = 0; side < 2; side++)
            attend_q8(t->ops[side], blocks, columns, &a, side);
        if (!same_attention(&a))
            return "attend_q8";
    }
    return NULL;
}

/* --- the whole --- */

const char *kernel_selftest(const struct kernel_ops *ops, uint32_t types, void *work,
                            char now[KERNEL_SELFTEST_NAME])
{
    struct kernel_ops ref;
    kernel_ops_init(&ref, KERNEL_REF);
    struct selftest t = { .ops = { &ref, ops }, .work = work, .seed = 1, .now = now };
    const char *wrong = test_vectors(&t);
    if (!wrong)
        wrong = test_attention(&t);
    if (!wrong)
        wrong = test_attention_q8(&t);
    for (unsigned type = 0; type < TENSOR_TYPE_COUNT && !wrong; type++)
        if (types >> type & 1)
            wrong = test_matmul(&t, (enum tensor_type)type);
    return wrong;
}
