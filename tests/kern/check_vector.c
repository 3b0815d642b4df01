/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/kern/inputs.h"
#include "tests/kern/vector_ops.h"

static const uint32_t lengths[] = { 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 255, 256, 257, 576, 1001 };
#define LENGTHS (sizeof lengths / sizeof *lengths)

/* --- quantise --- */

/* The integers and scales of one token are within half a step of the vector, and the sums are sums. */
static void check_quantised(struct harness *h, const struct kernel_act *x, const float *v)
{
    double worst = 0, limit = x->columns == 2 ? 0.502 : 0.5 + 0x1p-14;
    for (uint32_t k = 0; k < x->k; k++) {
        double d = x->d[k / (x->format == ACT_32 ? 32 : 256)], error = fabs(act_value(x, 0, k) - v[k]);
        if (d > 0)
            worst = fmax(worst, error / d);
        else
            expect(h, fabsf(v[k]) < 0x1p-100f, "%g was quantised to nothing", v[k]);
    }
    expect(h, worst <= limit, "quantising is off by %.5f steps", worst);
    for (uint32_t c = 0; c < x->columns; c++) {
        for (uint32_t j = 0; j < x->k / 16; j++) {
            int sum = 0;
            for (uint32_t i = 0; i < 16; i++)
                sum += x->q[c * x->k + 16 * j + i];
            if (x->format == ACT_256)
                expect(h, x->s16[c * x->k / 16 + j] == sum, "a sum of 16 is wrong");
            for (uint32_t i = 0; j % 2 == 0 && i < 16; i++)
                sum += x->q[c * x->k + 16 * j + 16 + i];
            if (j % 2 == 0)
                expect(h, x->s32[c * x->k / 32 + j / 2] == sum, "a sum of 32 is wrong");
        }
    }
}

static void same_act(struct harness *h, const struct kernel_act *a, const struct kernel_act *b, const char *level)
{
    size_t values = (size_t)a->columns * a->k;
    if (a->format == ACT_F32) {
        expect_same(h, a->f, b->f, values * sizeof *a->f, "quantise at %s: f32", level);
        return;
    }
    expect_same(h, a->q, b->q, values, "quantise at %s: integers", level);
    expect_same(h, a->d, b->d, a->k / (a->format == ACT_32 ? 32 : 256) * sizeof *a->d, "quantise at %s: scales", level);
    expect_same(h, a->s32, b->s32, values / 32 * sizeof *a->s32, "quantise at %s: sums of 32", level);
    if (a->format == ACT_256)
        expect_same(h, a->s16, b->s16, values / 16 * sizeof *a->s16, "quantise at %s: sums of 16", level);
}

static void quantise_all(struct harness *h, const struct kernel_ops *ops, const float *x, const float *g,
                         const struct kernel_act *out)
{
    for (uint32_t k = 0; k < out->k; k += KERNEL_BLOCK) {
        uint32_t n = out->k - k < KERNEL_BLOCK ? out->k - k : KERNEL_BLOCK;
        expect(h, ops->quantise(x + k, g ? g + k : NULL, n, out, 0, k) == 0, "quantise refuses a finite vector");
    }
}

static void check_quantise_case(struct harness *h, enum act_format format, uint32_t columns, uint32_t k,
                                enum vector_kind kind, int with_g)
{
    float *x = guarded(h, k * sizeof *x), *g = guarded(h, k * sizeof *g), *v = guarded(h, k * sizeof *v);
    fill_vector(h, kind, x, k);
    fill_vector(h, VECTOR_ORDINARY, g, k);
    for (uint32_t i = 0; i < k; i++)
        v[i] = with_g ? x[i] * g[i] : x[i];
    struct kernel_act ref = new_act(h, format, k, columns, 1);
    quantise_all(h, &h->ref, x, with_g ? g : NULL, &ref);
    if (format != ACT_F32)
        check_quantised(h, &ref, v);
    else
        expect_same(h, v, ref.f, k * sizeof *v, "quantise to f32 changes the vector");
    for (unsigned l = 0; l < h->level_count; l++) {
        struct kernel_act got = new_act(h, format, k, columns, 1);
        quantise_all(h, &h->levels[l], x, with_g ? g : NULL, &got);
        same_act(h, &ref, &got, kernel_level_name(h->levels[l].level));
    }
    guards_check(h);
}

/* Every place of a block in turn is Inf or NaN, and every level refuses. */
static void check_refused(struct harness *h, enum act_format format)
{
    static const float bad[] = { INFINITY, -INFINITY, NAN };
    float x[256];
    struct kernel_act out = new_act(h, format, 256, 1, 1);
    for (uint32_t at = 0; at < 256; at++) {
        fill_vector(h, VECTOR_ORDINARY, x, 256);
        x[at] = at % 4 == 3 ? -bad[2] : bad[at % 3];
        for (unsigned l = 0; l <= h->level_count; l++) {
            const struct kernel_ops *ops = l ? &h->levels[l - 1] : &h->ref;
            expect(h, ops->quantise(x, NULL, 256, &out, 0, 0) < 0, "level %s takes %g at %u",
                   kernel_level_name(ops->level), x[at], at);
        }
    }
    guards_check(h);
}

/* Other tokens and other blocks of the same activation are left alone. */
static void check_neighbours(struct harness *h, const struct kernel_ops *ops, enum act_format format, uint32_t columns)
{
    enum { K = 768, TOKENS = 3 };
    float v[TOKENS * K];
    struct kernel_act once = new_act(h, format, K, columns, TOKENS), twice = new_act(h, format, K, columns, TOKENS);
    fill_vector(h, VECTOR_ORDINARY, v, TOKENS * K);
    fill_act(h, &h->ref, &once, v, TOKENS);
    fill_act(h, &h->ref, &twice, v, TOKENS);
    ops->quantise(v + K + 256, NULL, 256, &twice, 1, 256);
    size_t values = (size_t)TOKENS * once.columns * K;
    if (format == ACT_F32) {
        expect_same(h, once.f, twice.f, values * sizeof *once.f, "quantise disturbs its neighbours");
    } else {
        expect_same(h, once.q, twice.q, values, "quantise disturbs its neighbours");
        expect_same(h, once.s32, twice.s32, values / 32 * 2, "quantise disturbs the sums of its neighbours");
    }
    guards_check(h);
}

static void check_quantise(struct harness *h)
{
    for (unsigned f = 0; f < ACT_FORMAT_COUNT; f++) {
        const uint32_t *ks = input_ks[f];
        for (uint32_t columns = 1; columns <= (f == ACT_F32 ? 1u : 2u); columns++) {
            for (unsigned i = 0; ks[i]; i++)
                for (unsigned kind = 0; kind < VECTOR_KIND_COUNT; kind++)
                    check_quantise_case(h, (enum act_format)f, columns, ks[i], (enum vector_kind)kind, (i + kind) % 2);
            for (unsigned l = 0; l <= h->level_count; l++)
                check_neighbours(h, l ? &h->levels[l - 1] : &h->ref, (enum act_format)f, columns);
        }
        check_refused(h, (enum act_format)f);
    }
}

/* --- elementwise --- */

/* The formula itself in f64, for the ops that have no loop over k. */
static double exact(unsigned op, double y, double a, double b, double r)
{
    switch (op) {
    case 0: return y;
    case 1: case 7: return y * r;
    case 2: case 4: return y + a;
    case 3: return y * r + a;
    case 5: return y * a * r;
    case 6: return a * b * r + y;
    case 8: return a / (1 + exp(-a)) * b;
    case 9: return a / (1 + exp(-2 * sqrt(2 / M_PI) * (a + 0.044715 * a * a * a))) * b;
    case 10: return exp(a);
    default: return NAN;
    }
}

static void check_op(struct harness *h, unsigned op, uint32_t n, enum vector_kind kind)
{
    float *a = guarded(h, n * sizeof *a), *b = guarded(h, n * sizeof *b), *start = guarded(h, n * sizeof *start);
    fill_vector(h, kind, a, n);
    fill_vector(h, VECTOR_ORDINARY, b, n);
    fill_vector(h, kind == VECTOR_OUTLIERS ? kind : VECTOR_ORDINARY, start, n);
    float *ref = guarded_copy(h, start, n * sizeof *start), r = 0.37f + a[0];
    vector_op_call(&h->ref, op, ref, a, b, n);
    for (uint32_t i = 0; i < n && kind == VECTOR_ORDINARY; i++) {
        double want = exact(op, start[i], a[i], b[i], r);
        if (!isnan(want))
            expect(h, fabs(ref[i] - want) <= 4e-7 * (fabs(want) + fabs(start[i]) + 1), "%s: %g instead of %g",
                   vector_ops[op].name, ref[i], want);
    }
    for (unsigned l = 0; l < h->level_count; l++) {
        float *got = guarded_copy(h, start, n * sizeof *start);
        vector_op_call(&h->levels[l], op, got, a, b, n);
        expect_same(h, ref, got, n * sizeof *got, "%s at %s, n %u, kind %d", vector_ops[op].name,
                    kernel_level_name(h->levels[l].level), n, (int)kind);
    }
    guards_check(h);
}

/* One float comes of each vector, and most slips change it by chance only: many vectors. */
static void check_sumsq(struct harness *h)
{
    for (uint32_t i = 0; i < 4000; i++) {
        uint32_t n = i % 4 ? 1 + random_u32(h) % 256 : 256;
        float *x = guarded(h, n * sizeof *x), ref;
        double exact_sum = 0;
        fill_vector(h, i % 5 ? VECTOR_ORDINARY : VECTOR_OUTLIERS, x, n);
        for (uint32_t k = 0; k < n; k++)
            exact_sum += (double)x[k] * x[k];
        ref = h->ref.sumsq(x, n);
        expect(h, fabs(ref - exact_sum) <= 4e-6 * exact_sum, "sumsq of %u: %g instead of %g", n, ref, exact_sum);
        for (unsigned l = 0; l < h->level_count; l++) {
            float got = h->levels[l].sumsq(x, n);
            expect_same(h, &ref, &got, sizeof got, "sumsq of %u at %s", n, kernel_level_name(h->levels[l].level));
        }
        guards_check(h);
    }
}

static void check_rope_case(struct harness *h, uint32_t hd, uint32_t dim, int halves)
{
    float *x = guarded(h, hd * sizeof *x), *cs = guarded(h, dim * sizeof *cs);
    double inv_freq[128];
    fill_vector(h, VECTOR_OUTLIERS, x, hd);
    kernel_rope_freqs(1e4f, dim, 1.0, NULL, inv_freq);
    kernel_rope_table(inv_freq, dim, random_u32(h) % 4096, cs);
    for (unsigned l = 0; l <= h->level_count; l++) {
        const struct kernel_ops *ops = l ? &h->levels[l - 1] : &h->ref;
        float *y = guarded_copy(h, x, hd * sizeof *x);
        (halves ? ops->rope_halves : ops->rope_adjacent)(y, cs, dim);
        for (uint32_t i = 0; i < dim / 2; i++) {
            uint32_t a = halves ? i : 2 * i, b = halves ? i + dim / 2 : 2 * i + 1;
            float c = cs[i], s = cs[dim / 2 + i], want[2] = { fmaf(x[a], c, -(x[b] * s)), fmaf(x[a], s, x[b] * c) };
            float got[2] = { y[a], y[b] };
            expect_same(h, want, got, sizeof got, "rope %s at %s, pair %u of %u", halves ? "halves" : "adjacent",
                        kernel_level_name(ops->level), i, dim);
        }
        expect_same(h, x + dim, y + dim, (hd - dim) * sizeof *x, "rope touches what passes");
    }
    guards_check(h);
}

void check_vector(struct harness *h)
{
    static const uint32_t dims[][2] = { { 16, 16 }, { 64, 64 }, { 64, 32 }, { 80, 20 }, { 96, 96 }, { 128, 128 },
                                        { 256, 256 }, { 256, 64 }, { 48, 6 } };
    check_quantise(h);
    check_sumsq(h);
    for (unsigned op = 0; op < VECTOR_OPS; op++)
        for (unsigned i = 0; i < LENGTHS; i++)
            for (unsigned kind = 0; kind < VECTOR_KIND_COUNT; kind++)
                check_op(h, op, lengths[i], (enum vector_kind)kind);
    for (unsigned i = 0; i < sizeof dims / sizeof *dims; i++)
        for (int halves = 0; halves < 2; halves++)
            check_rope_case(h, dims[i][0], dims[i][1], halves);
}
