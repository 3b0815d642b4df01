/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kern/inputs.h"

#include <string.h>

const struct input_kinds input_kinds[] = {
    { WEIGHTS_ORDINARY, VECTOR_ORDINARY }, { WEIGHTS_ANY_SCALE, VECTOR_OUTLIERS }, { WEIGHTS_HIGHEST, VECTOR_PLUS },
    { WEIGHTS_HIGHEST, VECTOR_MINUS },     { WEIGHTS_HIGHEST, VECTOR_SIGNS },      { WEIGHTS_LOWEST, VECTOR_PLUS },
    { WEIGHTS_LOWEST, VECTOR_MINUS },      { WEIGHTS_ORDINARY, VECTOR_FAR_APART }, { WEIGHTS_ZERO, VECTOR_ORDINARY },
    { WEIGHTS_ORDINARY, VECTOR_ZERO },     { WEIGHTS_ORDINARY, VECTOR_SIGNS },
};
const unsigned input_kinds_count = sizeof input_kinds / sizeof *input_kinds;

const uint32_t input_ks[ACT_FORMAT_COUNT][12] = {
    [ACT_F32] = { 1, 2, 3, 33, 576, 1023, 1024, 1025, 2050 },
    [ACT_32]  = { 32, 64, 96, 576, 1024, 1056, 1536, 2048, 2080 },
    [ACT_256] = { 256, 512, 768, 1024, 1280, 1536, 2048, 2304 },
};

/* Where a block has its f16 scales; -1: none.  Blocks of float types are the number itself. */
static const struct {
    int d, m;
} scale_offsets[TENSOR_TYPE_COUNT] = {
    [TENSOR_F32]  = { -1, -1 },  [TENSOR_F16]  = { -1, -1 },   [TENSOR_BF16] = { -1, -1 }, [TENSOR_Q4_0] = { 0, -1 },
    [TENSOR_Q4_1] = { 0, 2 },    [TENSOR_Q5_0] = { 0, -1 },    [TENSOR_Q5_1] = { 0, 2 },   [TENSOR_Q8_0] = { 0, -1 },
    [TENSOR_Q2_K] = { 80, 82 },  [TENSOR_Q3_K] = { 108, -1 },  [TENSOR_Q4_K] = { 0, 2 },   [TENSOR_Q5_K] = { 0, 2 },
    [TENSOR_Q6_K] = { 208, -1 },
};

size_t row_bytes_of(enum tensor_type type, uint32_t k)
{
    return (size_t)k / tensor_types[type].block_values * tensor_types[type].block_bytes;
}

static uint16_t f16_of(struct harness *h, enum weights_kind kind)
{
    return kind == WEIGHTS_ZERO ? 0 : random_f16(h, kind == WEIGHTS_ANY_SCALE);
}

static void fill_float(struct harness *h, enum tensor_type type, enum weights_kind kind, uint8_t *p)
{
    float f = random_normal(h);
    if (kind == WEIGHTS_ANY_SCALE)
        f *= random_u32(h) & 1 ? 1e12f : 1e-30f;
    if (kind == WEIGHTS_HIGHEST)
        f = 65504.0f;
    if (kind == WEIGHTS_ZERO)
        f = 0.0f;
    uint32_t u;
    memcpy(&u, &f, 4);
    uint16_t half = kind == WEIGHTS_HIGHEST ? 0x7bff : f16_of(h, kind), brain = (uint16_t)(u >> 16);
    half |= (uint16_t)(u >> 16 & 0x8000u);
    memcpy(p, type == TENSOR_F32 ? (void *)&u : type == TENSOR_F16 ? (void *)&half : (void *)&brain,
           tensor_types[type].block_bytes);
}

void fill_weights(struct harness *h, enum tensor_type type, enum weights_kind kind, uint8_t *p, size_t bytes)
{
    const uint32_t block = tensor_types[type].block_bytes;
    for (size_t first = 0; first < bytes; first += block) {
        if (scale_offsets[type].d < 0) {
            fill_float(h, type, kind, p + first);
            continue;
        }
        for (uint32_t i = 0; i < block; i++)
            p[first + i] = kind == WEIGHTS_HIGHEST  ? 0xff
                           : kind == WEIGHTS_LOWEST ? 0x80
                           : kind == WEIGHTS_ZERO   ? 0
                                                    : (uint8_t)(random_u32(h) >> 13);
        if (kind == WEIGHTS_HIGHEST && type == TENSOR_Q8_0)
            memset(p + first + 2, 0x7f, 32);
        if (kind == WEIGHTS_HIGHEST && type == TENSOR_Q6_K)
            memset(p + first + 192, 0x7f, 16);
        uint16_t d = f16_of(h, kind), m = f16_of(h, kind);
        memcpy(p + first + scale_offsets[type].d, &d, 2);
        if (scale_offsets[type].m >= 0)
            memcpy(p + first + scale_offsets[type].m, &m, 2);
    }
}

void fill_vector(struct harness *h, enum vector_kind kind, float *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        float x = random_normal(h);
        switch (kind) {
        case VECTOR_ORDINARY: break;
        case VECTOR_OUTLIERS: x *= random_u32(h) % 50 == 0 ? 1000.0f : 1.0f; break;
        case VECTOR_PLUS: x = 1.0f; break;
        case VECTOR_MINUS: x = -1.0f; break;
        case VECTOR_SIGNS: x = random_u32(h) >> 31 ? 1.0f : -1.0f; break;
        case VECTOR_FAR_APART: x *= i / 32 % 2 ? 0x1p-120f : i % 3 ? 0.0f : 1e18f; break;
        case VECTOR_ZERO: x = i % 2 ? 0.0f : -0.0f; break;
        case VECTOR_KIND_COUNT: break;
        }
        v[i] = x;
    }
}

struct kernel_act new_act(struct harness *h, enum act_format format, uint32_t k, uint32_t columns, uint32_t tokens)
{
    struct kernel_act x = { .format = format, .k = k, .columns = format == ACT_F32 ? 1 : columns };
    size_t values = (size_t)tokens * x.columns * k;
    if (format == ACT_F32) {
        x.f = guarded(h, values * sizeof *x.f);
        return x;
    }
    x.q = guarded(h, values);
    x.d = guarded(h, (size_t)tokens * (k / (format == ACT_32 ? 32 : 256)) * sizeof *x.d);
    x.s32 = guarded(h, values / 32 * sizeof *x.s32);
    if (format == ACT_256)
        x.s16 = guarded(h, values / 16 * sizeof *x.s16);
    return x;
}

void fill_act(struct harness *h, const struct kernel_ops *ops, const struct kernel_act *x, const float *v,
              uint32_t tokens)
{
    for (uint32_t t = 0; t < tokens; t++) {
        for (uint32_t k = 0; k < x->k; k += KERNEL_BLOCK) {
            uint32_t n = x->k - k < KERNEL_BLOCK ? x->k - k : KERNEL_BLOCK;
            expect(h, ops->quantise(v + (size_t)t * x->k + k, NULL, n, x, t, k) == 0, "a finite vector is refused");
        }
    }
}

double act_value(const struct kernel_act *x, uint32_t token, uint32_t k)
{
    if (x->format == ACT_F32)
        return x->f[(size_t)token * x->k + k];
    const int8_t *q = x->q + (size_t)token * x->columns * x->k + k;
    double d = x->d[((size_t)token * x->k + k) / (x->format == ACT_32 ? 32 : 256)];
    return d * (x->columns == 2 ? 128.0 * q[0] + q[x->k] : q[0]);
}
