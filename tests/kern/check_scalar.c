/* SPDX-License-Identifier: Apache-2.0 */

/* The functions of NUMERICS.md sections 5, 6 and 9 against libm in a wider type. */

#include <float.h>
#include <math.h>
#include <string.h>

#include "tests/kern/harness.h"

static uint32_t bits_of(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}

static float float_of(uint32_t u)
{
    float f;
    memcpy(&f, &u, 4);
    return f;
}

static double ulp_at(double value)
{
    float f = (float)fabs(value);
    f = f < FLT_MIN ? FLT_MIN : f;
    return (double)float_of(bits_of(f) + 1) - f;
}

static void check_exp_values(struct harness *h)
{
    expect(h, kernel_exp(0.0f) == 1.0f && kernel_exp(-0.0f) == 1.0f, "exp(0)");
    expect(h, kernel_exp(-87.0f) == 0x1.666d0ep-126f, "exp(-87) = %a", kernel_exp(-87.0f));
    expect(h, bits_of(kernel_exp(nextafterf(-87.0f, -INFINITY))) == 0, "exp just below -87");
    expect(h, bits_of(kernel_exp(-INFINITY)) == 0 && bits_of(kernel_exp(-FLT_MAX)) == 0, "exp of the most negative");
    expect(h, kernel_exp(FLT_MAX) == kernel_exp(88.0f), "exp is not clamped at 88");
}

static void check_exp_error(struct harness *h)
{
    double worst = 0, worst_at = 0;
    uint32_t step = h->exhaustive ? 1 : 1009;
    for (uint32_t sign = 0; sign < 2; sign++) {
        for (uint32_t u = 0; u <= bits_of(sign ? 87.0f : 88.0f); u += step, h->compared++) {
            float x = float_of(u | sign << 31);
            double exact = exp(x), error = fabs(kernel_exp(x) - exact) / ulp_at(exact);
            if (error > worst) {
                worst = error;
                worst_at = x;
            }
        }
    }
    expect(h, worst < 0.9 && worst > 0.5, "exp: %.4f ulp at %a", worst, worst_at);
}

static void check_tanh(struct harness *h)
{
    double worst = 0;
    for (uint32_t u = bits_of(0x1p-40f); u <= bits_of(10.0f); u += 1009, h->compared++) {
        double exact = tanh(float_of(u)), error = fabs(kernel_softcap(float_of(u), 1.0f) - exact) / ulp_at(exact);
        worst = error > worst ? error : worst;
        if (kernel_softcap(-float_of(u), 1.0f) != -kernel_softcap(float_of(u), 1.0f))
            expect(h, 0, "tanh is not odd at %a", float_of(u));
    }
    expect(h, worst < 1.6 && worst > 0.5, "tanh: %.4f ulp", worst);
    expect(h, kernel_softcap(300.0f, 30.0f) == 30.0f && kernel_softcap(0.0f, 30.0f) == 0.0f, "softcap at its ends");
}

static double silu_exact(double x) { return x / (1 + exp(-x)); }

static double gelu_exact(double x) { return x / (1 + exp(-2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }

static void check_gated(struct harness *h)
{
    const float one = 1.0f;
    double worst[2] = { 0, 0 };
    for (uint32_t u = bits_of(0x1p-40f); u <= bits_of(80.0f); u += 7 * 1009, h->compared++) {
        for (uint32_t sign = 0; sign < 2; sign++) {
            float x = float_of(u | sign << 31), y[2];
            h->ref.gated_silu(&x, &one, &y[0], 1);
            h->ref.gated_gelu(&x, &one, &y[1], 1);
            double error[2] = { fabs(y[0] - silu_exact(x)), fabs(y[1] - gelu_exact(x)) };
            for (int i = 0; i < 2; i++)
                worst[i] = fmax(worst[i], error[i] / fmax(1, fabs(x)));
        }
    }
    expect(h, worst[0] < 1.4e-7 && worst[1] < 1.4e-7, "silu is off by %g, gelu by %g", worst[0], worst[1]);
}

static void check_f64(struct harness *h)
{
    long double worst_log = 0, worst_exp = 0, worst_sin = 0;
    for (int i = 0; i < 200000; i++, h->compared++) {
        double m = 1 + random_u32(h) * 0x1p-32, x = ldexp(m, (int)(random_u32(h) % 120) - 60);
        long double exact = logl(x), size = fabsl(exact) > 1e-3L ? fabsl(exact) : 1;
        worst_log = fmaxl(worst_log, fabsl(kernel_log64(x) - exact) / size);
        double e = (m - 1.5) * 1000, s, c, a = (m - 1) * 0x1p24;
        worst_exp = fmaxl(worst_exp, fabsl(kernel_exp64(e) - expl(e)) / expl(e));
        kernel_sincos64(i & 1 ? a : -a, &s, &c);
        worst_sin = fmaxl(worst_sin, fmaxl(fabsl(s - sinl(i & 1 ? a : -a)), fabsl(c - cosl(a))));
    }
    expect(h, worst_log < 3e-16L, "log64: %Lg", worst_log);
    expect(h, worst_exp < 4e-16L, "exp64: %Lg", worst_exp);
    expect(h, worst_sin < 3e-16L, "sincos64: %Lg", worst_sin);
    expect(h, kernel_log64(1.0) == 0.0 && kernel_exp64(0.0) == 1.0, "log64(1) or exp64(0)");
}

static void check_rope(struct harness *h)
{
    static const float bases[] = { 1e4f, 1e5f, 1.3e5f, 5e5f, 1e6f, 8e6f };
    double f[128], scaled[128];
    float cs[256], factors[128];
    long double worst = 0;
    for (unsigned b = 0; b < sizeof bases / sizeof *bases; b++) {
        for (uint32_t dim = 32; dim <= 256; dim *= 2) {
            kernel_rope_freqs(bases[b], dim, 1.0, NULL, f);
            for (uint32_t i = 0; i < dim / 2; i++, h->compared++) {
                long double exact = powl(bases[b], -(long double)(2 * i) / dim);
                worst = fmaxl(worst, fabsl(f[i] - exact) / exact);
                factors[i] = (float)(i + 1);
            }
            kernel_rope_freqs(bases[b], dim, 8.0, factors, scaled);
            kernel_rope_table(f, dim, 65537, cs);
            for (uint32_t i = 0; i < dim / 2; i++) {
                expect(h, scaled[i] == f[i] / 8.0 / (double)factors[i], "scaled frequency %u of %u", i, dim);
                long double angle = (double)65537 * f[i];
                expect(h, cs[i] == (float)cosl(angle), "rope table: cosine %u of %u", i, dim);
                expect(h, cs[dim / 2 + i] == (float)sinl(angle), "rope table: sine %u of %u", i, dim);
            }
        }
    }
    expect(h, worst < 2e-15L, "rope frequencies: %Lg", worst);
}

static void check_philox(struct harness *h)
{
    static const uint32_t inputs[2][6] = {
        { 0, 0, 0, 0, 0, 0 },
        { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0 },
    };
    static const uint32_t answers[2][4] = {
        { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 },
        { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 },
    };
    for (int i = 0; i < 2; i++) {
        uint32_t got[4];
        kernel_philox(inputs[i], inputs[i] + 4, got);
        expect_same(h, answers[i], got, sizeof got, "philox, known answer %d", i);
    }
}

void check_scalar(struct harness *h)
{
    check_exp_values(h);
    check_exp_error(h);
    check_tanh(h);
    check_gated(h);
    check_f64(h);
    check_rope(h);
    check_philox(h);
    expect(h, kernel_inv_rms(64.0f, 4, 9.0f) == 0.2f, "inv_rms(64, 4, 9)");
    expect(h, kernel_inv_rms(3.0f, 3, 0x1p-30f) == 1.0f, "inv_rms(3, 3, tiny)");
}

/* Every level's exp, bit for bit, over the whole range of floats. */
void check_exp(struct harness *h)
{
    enum { N = 4096 };
    static float x[N], ref[N], got[N];
    uint64_t step = h->exhaustive ? 1 : h->fast ? 4001 : 127;
    for (uint64_t u = 0; u < 1ull << 32; u += N * step) {
        for (uint32_t i = 0; i < N; i++) {
            x[i] = float_of((uint32_t)(u + i * step));
            x[i] = isnan(x[i]) ? 0.0f : x[i];
        }
        h->ref.exp(x, ref, N);
        for (unsigned l = 0; l < h->level_count; l++) {
            h->levels[l].exp(x, got, N);
            expect_same(h, ref, got, sizeof got, "exp at level %s from bits %#x", kernel_level_name(h->levels[l].level),
                        (unsigned)u);
        }
        h->compared++;
    }
}
