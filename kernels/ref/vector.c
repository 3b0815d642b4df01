/* SPDX-License-Identifier: Apache-2.0 */

/* NUMERICS.md sections 2, 4, 5 and 6: everything that walks a vector element by element. */

#include <string.h>

#include "kernels/ref/ref.h"
#include "kernels/scalar.h"

static int largest_magnitude(const float *v, uint32_t n, float *ret)
{
    uint32_t largest = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t u = float_bits(v[i]) & FLOAT_MAGNITUDE;
        largest = u > largest ? u : largest;
    }
    *ret = bits_float(largest);
    return largest < FLOAT_INFINITY ? 0 : -1;
}

static void sums(const int8_t *q, uint32_t n, uint32_t of, int16_t *ret)
{
    for (uint32_t first = 0; first < n; first += of) {
        int sum = 0;
        for (uint32_t i = 0; i < of; i++)
            sum += q[first + i];
        ret[first / of] = (int16_t)sum;
    }
}

/* One block of n values: integers at hi (and lo, NULL in the int8 profile). */
static int quantise_block(const float *v, uint32_t n, int8_t *hi, int8_t *lo, float *ret_d)
{
    float largest, top = lo ? ACT_TOP_INT16 : ACT_TOP_INT8;
    if (largest_magnitude(v, n, &largest) < 0)
        return -1;
    int zero = largest < ACT_TINY;
    float inv = zero ? 0.0f : top / largest;
    for (uint32_t i = 0; i < n; i++) {
        int32_t q = zero ? 0 : (int32_t)round_even(v[i] * inv);
        int32_t high = (q + 64) >> 7;
        hi[i] = (int8_t)(lo ? high : q);
        if (lo)
            lo[i] = (int8_t)(q - 128 * high);
    }
    *ret_d = zero ? 0.0f : largest / top;
    return 0;
}

static int quantise_blocks(const float *v, uint32_t n, const struct kernel_act *out, uint32_t token, uint32_t k_first)
{
    uint32_t block = out->format == ACT_32 ? 32 : KERNEL_BLOCK;
    size_t column_first = (size_t)token * out->columns * out->k + k_first;
    for (uint32_t first = 0; first < n; first += block) {
        int8_t *hi = out->q + column_first + first, *lo = out->columns == 2 ? hi + out->k : NULL;
        if (quantise_block(v + first, block, hi, lo, &out->d[((size_t)token * out->k + k_first + first) / block]) < 0)
            return -1;
    }
    for (uint32_t c = 0; c < out->columns; c++) {
        size_t first = column_first + (size_t)c * out->k;
        sums(out->q + first, n, 32, out->s32 + first / 32);
        if (out->format == ACT_256)
            sums(out->q + first, n, 16, out->s16 + first / 16);
    }
    return 0;
}

static int quantise(const float *x, const float *g, uint32_t n, const struct kernel_act *out, uint32_t token,
                    uint32_t k_first)
{
    float v[KERNEL_BLOCK], largest;
    for (uint32_t i = 0; i < n; i++)
        v[i] = g ? x[i] * g[i] : x[i];
    if (out->format != ACT_F32)
        return quantise_blocks(v, n, out, token, k_first);
    memcpy(out->f + (size_t)token * out->k + k_first, v, n * sizeof *v);
    return largest_magnitude(v, n, &largest);
}

static float sumsq(const float *x, uint32_t n)
{
    float l[16] = { 0 };
    for (uint32_t i = 0; i < n; i++)
        l[i % 16] = fmaf(x[i], x[i], l[i % 16]);
    return tree16(l);
}

static void epilogue(float *y, uint32_t n, int use_r, float r, const float *bias)
{
    for (uint32_t i = 0; i < n; i++) {
        if (use_r)
            y[i] = bias ? fmaf(y[i], r, bias[i]) : y[i] * r;
        else if (bias)
            y[i] = y[i] + bias[i];
    }
}

static void add(float *x, const float *y, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        x[i] = x[i] + y[i];
}

static void norm(float *t, const float *g, float r, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        t[i] = t[i] * g[i] * r;
}

static void norm_add(float *x, const float *h, const float *g, float r, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        x[i] = fmaf(h[i] * g[i], r, x[i]);
}

static void scale(float *x, float c, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        x[i] = x[i] * c;
}

/* x / (1 + exp(-z)) through exp of something <= 0 only. */
static float gate_f32(float x, float z)
{
    float e = kernel_exp(bits_float(float_bits(z) | FLOAT_SIGN));
    float numerator = z < 0.0f ? x * e : x;
    return numerator / (1.0f + e);
}

static void gated_silu(const float *gate, const float *up, float *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        v[i] = gate_f32(gate[i], gate[i]) * up[i];
}

/* (1 + tanh u) / 2 is the logistic function of 2u; the constants are 2 sqrt(2/pi) and 0.044715 times that. */
static float gelu_f32(float x) { return gate_f32(x, x * fmaf(x * x, 0x1.2444f2p-4f, 0x1.988454p+0f)); }

static void gated_gelu(const float *gate, const float *up, float *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        v[i] = gelu_f32(gate[i]) * up[i];
}

static void exp_each(const float *x, float *y, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        y[i] = kernel_exp(x[i]);
}

static void rotate(float *a, float *b, float c, float s)
{
    float x = *a, y = *b;
    *a = fmaf(x, c, -(y * s));
    *b = fmaf(x, s, y * c);
}

static void rope_adjacent(float *x, const float *cs, uint32_t dim)
{
    for (uint32_t i = 0; i < dim / 2; i++)
        rotate(&x[2 * i], &x[2 * i + 1], cs[i], cs[dim / 2 + i]);
}

static void rope_halves(float *x, const float *cs, uint32_t dim)
{
    for (uint32_t i = 0; i < dim / 2; i++)
        rotate(&x[i], &x[dim / 2 + i], cs[i], cs[dim / 2 + i]);
}

void kernel_ref_init_vector(struct kernel_ops *ops)
{
    ops->quantise = quantise;
    ops->sumsq = sumsq;
    ops->epilogue = epilogue;
    ops->add = add;
    ops->norm = norm;
    ops->norm_add = norm_add;
    ops->scale = scale;
    ops->gated_silu = gated_silu;
    ops->gated_gelu = gated_gelu;
    ops->exp = exp_each;
    ops->rope_adjacent = rope_adjacent;
    ops->rope_halves = rope_halves;
}
