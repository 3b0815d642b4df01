/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/scalar.h"

#include "kernels/ops.h"

/*
 * exp by n = round(x / ln 2), r = x - n ln 2 in two steps (the first product is exact), and a polynomial of order 6
 * in r whose f32 coefficients were fitted for the smallest relative error.
 */
float kernel_exp(float x)
{
    float c = max_f32(x, -87.0f);
    c = c < 88.0f ? c : 88.0f;
    float n = fmaf(c, 0x1.715476p+0f, 0x1.8p23f) - 0x1.8p23f;
    float r = fmaf(n, -0x1.62e4p-1f, c);
    r = fmaf(n, -0x1.7f7d1cp-20f, r);
    float p = 0x1.6a53ecp-10f;
    p = fmaf(p, r, 0x1.123982p-7f);
    p = fmaf(p, r, 0x1.5558aap-5f);
    p = fmaf(p, r, 0x1.555492p-3f);
    p = fmaf(p, r, 0x1.fffffcp-2f);
    p = fmaf(p, r, 1.0f);
    p = fmaf(p, r, 1.0f);
    float y = bits_float(float_bits(p) + ((uint32_t)(int32_t)n << 23));
    return x < -87.0f ? 0.0f : y;
}

static float tanh_f32(float x)
{
    float a = bits_float(float_bits(x) & FLOAT_MAGNITUDE), y;
    if (a < 0.6f) {
        float s = a * a, p = -0x1.828776p-8f;
        p = fmaf(p, s, 0x1.54c3c2p-6f);
        p = fmaf(p, s, -0x1.b89abap-5f);
        p = fmaf(p, s, 0x1.1109bep-3f);
        p = fmaf(p, s, -0x1.55553ep-2f);
        y = fmaf(p * s, a, a);
    } else {
        float e = kernel_exp(-2.0f * a);
        y = (1.0f - e) / (1.0f + e);
    }
    return bits_float(float_bits(y) | (float_bits(x) & FLOAT_SIGN));
}

float kernel_softcap(float x, float cap) { return cap * tanh_f32(x / cap); }

float kernel_inv_rms(float sum_of_squares, uint32_t n, float eps)
{
    return 1.0f / sqrtf(sum_of_squares / (float)n + eps);
}

static double round_even_f64(double x) { return (x + 0x1.8p52) - 0x1.8p52; }

/* x normal and positive: x = m * 2^k, m in [sqrt(1/2), sqrt(2)), log m = 2 atanh((m - 1) / (m + 1)) by its series. */
double kernel_log64(double x)
{
    const uint64_t sqrt_half = 0x3fe6a09e667f3bcdull;
    int64_t k = (int64_t)(double_bits(x) - sqrt_half) >> 52;
    double m = bits_double(double_bits(x) - ((uint64_t)k << 52));
    double s = (m - 1.0) / (m + 1.0), z = s * s, p = 1.0 / 25;
    for (int i = 23; i >= 3; i -= 2)
        p = fma(p, z, 1.0 / i);
    double t = 2.0 * s;
    return fma((double)k, 0x1.62e42fefa39efp-1, fma(p * z, t, t) + (double)k * 0x1.abc9e3b39803fp-56);
}

/* |x| < 700; Taylor to order 13 after the reduction by ln 2 in two parts. */
double kernel_exp64(double x)
{
    static const double factorial[14] = {
        1, 1, 2, 6, 24, 120, 720, 5040, 40320, 362880, 3628800, 39916800, 479001600, 6227020800,
    };
    double n = round_even_f64(x * 0x1.71547652b82fep+0);
    double r = fma(n, -0x1.62e42fefa39efp-1, x);
    r = fma(n, -0x1.abc9e3b39803fp-56, r);
    double p = 1.0 / factorial[13];
    for (int i = 12; i >= 0; i--)
        p = fma(p, r, 1.0 / factorial[i]);
    return bits_double(double_bits(p) + ((uint64_t)(int64_t)n << 52));
}

/* |x| <= 2^24; Taylor to orders 15 and 16 after the reduction by pi/2 in two parts. */
void kernel_sincos64(double x, double *ret_sin, double *ret_cos)
{
    double n = round_even_f64(x * 0x1.45f306dc9c883p-1);
    double r = fma(n, -0x1.921fb54442d18p+0, x);
    r = fma(n, -0x1.1a62633145c07p-54, r);
    double z = r * r, ps = -1.0 / 1307674368000.0, pc = 1.0 / 20922789888000.0;
    ps = fma(ps, z, 1.0 / 6227020800.0);
    ps = fma(ps, z, -1.0 / 39916800.0);
    ps = fma(ps, z, 1.0 / 362880.0);
    ps = fma(ps, z, -1.0 / 5040.0);
    ps = fma(ps, z, 1.0 / 120.0);
    ps = fma(ps, z, -1.0 / 6.0);
    pc = fma(pc, z, -1.0 / 87178291200.0);
    pc = fma(pc, z, 1.0 / 479001600.0);
    pc = fma(pc, z, -1.0 / 3628800.0);
    pc = fma(pc, z, 1.0 / 40320.0);
    pc = fma(pc, z, -1.0 / 720.0);
    pc = fma(pc, z, 1.0 / 24.0);
    pc = fma(pc, z, -0.5);
    double sine = fma(ps * z, r, r), cosine = fma(pc, z, 1.0);
    uint64_t quadrant = (uint64_t)(int64_t)n & 3;
    double s = quadrant & 1 ? cosine : sine, c = quadrant & 1 ? sine : cosine;
    *ret_sin = quadrant & 2 ? -s : s;
    *ret_cos = quadrant == 1 || quadrant == 2 ? -c : c;
}

void kernel_rope_freqs(float base, uint32_t dim, double linear_scale, const float *factors, double *ret_inv_freq)
{
    double log_base = kernel_log64((double)base);
    for (uint32_t i = 0; i < dim / 2; i++) {
        double f = kernel_exp64(-((double)(2 * i) / (double)dim) * log_base) / linear_scale;
        ret_inv_freq[i] = factors ? f / (double)factors[i] : f;
    }
}

void kernel_rope_table(const double *inv_freq, uint32_t dim, uint32_t position, float *ret_cs)
{
    for (uint32_t i = 0; i < dim / 2; i++) {
        double s, c;
        kernel_sincos64((double)position * inv_freq[i], &s, &c);
        ret_cs[i] = (float)c;
        ret_cs[dim / 2 + i] = (float)s;
    }
}

void kernel_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t ret[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xd2511f53u * c0, b = (uint64_t)0xcd9e8d57u * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    ret[0] = c0;
    ret[1] = c1;
    ret[2] = c2;
    ret[3] = c3;
}
