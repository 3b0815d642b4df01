/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/selftest.h"

#include <string.h>

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

/* Where a block has its f16 scales, which must be finite; 255: none. */
static const uint8_t scales_at[TENSOR_TYPE_COUNT][2] = {
    [TENSOR_Q4_0] = { 0, 255 },   [TENSOR_Q4_1] = { 0, 2 },   [TENSOR_Q5_0] = { 0, 255 }, [TENSOR_Q5_1] = { 0, 2 },
    [TENSOR_Q8_0] = { 0, 255 },   [TENSOR_Q2_K] = { 80, 82 }, [TENSOR_Q3_K] = { 108, 255 }, [TENSOR_Q4_K] = { 0, 2 },
    [TENSOR_Q5_K] = { 0, 2 },     [TENSOR_Q6_K] = { 208, 255 },
};

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
    uint32_t random;
};

static uint32_t next_random(struct selftest *t)
{
    t->random = t->random * 1664525u + 1013904223u;
    return t->random >> 8;
}

/* -1 to 1, and now and then an outlier, as activations are. */
static float next_float(struct selftest *t)
{
    uint32_t r = next_random(t);
    float f = ((float)r - 0x1p23f) * 0x1p-23f;
    return r % 61 == 0 ? 40.0f * f : f;
}

static void fill_floats(struct selftest *t, float *x, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        x[i] = next_float(t);
}

/* --- matmuls --- */

/* Any bytes are a block, but for its scales: their exponent loses a bit, so that none is infinite. */
static void fill_row_group(struct selftest *t, enum tensor_type type, uint32_t k)
{
    const struct tensor_type_info *info = &tensor_types[type];
    const uint32_t bytes = ROWS * (k / info->block_values) * info->block_bytes;
    uint8_t *rows = t->work->rows;
    for (uint32_t i = 0; i < bytes; i++)
        rows[i] = (uint8_t)next_random(t);
    for (uint32_t at = 0; at < bytes; at += info->block_bytes) {
        if (info->act == ACT_F32)
            rows[at + info->block_bytes - 1] &= 0xbf;
        for (uint32_t i = 0; i < 2 && info->act != ACT_F32; i++)
            if (scales_at[type][i] != 255)
                rows[at + scales_at[type][i] + 1] &= 0xbf;
    }
}

static void pack_groups(struct selftest *t, enum tensor_type type, uint32_t k)
{
    const struct tensor_type_info *info = &tensor_types[type];
    const size_t row_bytes = (size_t)(k / info->block_values) * info->block_bytes;
    for (uint32_t g = 0; g < GROUPS; g++) {
        fill_row_group(t, type, k);
        kernel_pack_group(type, t->work->rows, row_bytes, ROWS, k, t->work->packed + g * kernel_group_bytes(type, k));
    }
}

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

static void quantise(const struct kernel_ops *ops, const struct kernel_act *x, const float *v)
{
    for (uint32_t token = 0; token < TOKENS; token++)
        for (uint32_t k = 0; k < x->k; k += KERNEL_BLOCK)
            ops->quantise(v + token * x->k + k, NULL, x->k - k < KERNEL_BLOCK ? x->k - k : KERNEL_BLOCK, x, token, k);
}

/* Both profiles' integers, scales and sums. */
static int quantises(struct selftest *t, const struct kernel_act x[2])
{
    const size_t values = (size_t)TOKENS * x->k, all = values * x->columns;
    memset(t->work->side, 0, sizeof t->work->side);
    quantise(t->ops[0], &x[0], t->work->x);
    quantise(t->ops[1], &x[1], t->work->x);
    return memcmp(x[0].q, x[1].q, all) == 0 && memcmp(x[0].s32, x[1].s32, all / 32 * sizeof *x->s32) == 0 &&
           memcmp(x[0].d, x[1].d, values / (x->format == ACT_32 ? 32 : 256) * sizeof *x->d) == 0 &&
           (!x->s16 || memcmp(x[0].s16, x[1].s16, all / 16 * sizeof *x->s16) == 0);
}

/* One token and many run different code, many perhaps in two ways, and give the same bits. */
static int multiplies(struct selftest *t, enum tensor_type type, const struct kernel_act *x)
{
    const size_t stride = GROUPS * ROWS;
    float *right = t->work->side[0].y[0], *y = t->work->side[1].y[0];
    t->ops[0]->matmul[type](t->work->packed, GROUPS, x, 0, TOKENS, right, stride);
    for (unsigned i = 0; i < (t->ops[1]->matmul_many[type] ? 2 : 1); i++) {
        (i ? t->ops[1]->matmul_many : t->ops[1]->matmul)[type](t->work->packed, GROUPS, x, 0, TOKENS, y, stride);
        if (memcmp(right, y, TOKENS * stride * sizeof *y) != 0)
            return 0;
        memset(y, 0xff, TOKENS * stride * sizeof *y);
    }
    t->ops[1]->matmul[type](t->work->packed, GROUPS, x, 0, 1, y, stride);
    return memcmp(right, y, stride * sizeof *y) == 0;
}

static const char *test_matmul(struct selftest *t, enum tensor_type type)
{
    const enum act_format format = tensor_types[type].act;
    pack_groups(t, type, test_k[format]);
    fill_floats(t, t->work->x, TOKENS * test_k[format]);
    for (uint32_t columns = 1; columns <= (format == ACT_F32 ? 1u : 2u); columns++) {
        struct kernel_act x[2] = { act_of(t, 0, format, columns), act_of(t, 1, format, columns) };
        if (format != ACT_F32 && !quantises(t, x))
            return "quantise";
        if (!multiplies(t, type, &x[0]))
            return t->ops[1]->matmul_name[type];
    }
    return NULL;
}

/* --- vectors --- */

struct vectors {
    float in[3][VECTOR], out[2][2][VECTOR];     /* [side][which] */
};

#define BOTH(v, name, ...)                                                                                             \
    do {                                                                                                               \
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
        fill_floats(t, v->in[i], VECTOR);
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
    for (uint32_t p = 0; p < POSITIONS; p++) {
        fill_floats(t, k, HEAD_DIM);
        fill_floats(t, v, HEAD_DIM);
        for (int side = 0; side < 2; side++)
            t->ops[side]->kv_store(t->work->kv[side][p / KERNEL_KV_BLOCK], HEAD_DIM, p % KERNEL_KV_BLOCK, k, v);
    }
    if (memcmp(t->work->kv[0], t->work->kv[1], sizeof t->work->kv[0]) != 0)
        return "kv_store";
    for (uint32_t b = 0; b < BLOCKS; b++)
        blocks[b] = t->work->kv[0][b];
    for (int capped = 0; capped < 2; capped++) {
        fill_floats(t, a.q[0], QUERIES * HEAD_DIM);
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
    for (uint32_t p = 0; p < POSITIONS; p++) {
        fill_floats(t, k, HEAD_DIM);
        fill_floats(t, v, HEAD_DIM);
        for (int side = 0; side < 2; side++)
            t->ops[side]->kv_store_q8(t->work->kv_q8[side][p / KERNEL_KV_BLOCK], HEAD_DIM, p % KERNEL_KV_BLOCK, k, v);
    }
    if (memcmp(t->work->kv_q8[0], t->work->kv_q8[1], sizeof t->work->kv_q8[0]) != 0)
        return "kv_store_q8";
    for (uint32_t b = 0; b < BLOCKS; b++)
        blocks[b] = t->work->kv_q8[0][b];
    for (uint32_t columns = 1; columns <= 2; columns++) {
        fill_floats(t, a.q[0], QUERIES * HEAD_DIM);
        for (int side = 0; side < 2; side++)
            attend_q8(t->ops[side], blocks, columns, &a, side);
        if (!same_attention(&a))
            return "attend_q8";
    }
    return NULL;
}

/* --- the whole --- */

const char *kernel_selftest(const struct kernel_ops *ops, uint32_t types, void *work)
{
    struct kernel_ops ref;
    kernel_ops_init(&ref, KERNEL_REF);
    struct selftest t = { .ops = { &ref, ops }, .work = work, .random = 1 };
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
