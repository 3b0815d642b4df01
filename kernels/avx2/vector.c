/* SPDX-License-Identifier: Apache-2.0 */

/* NUMERICS.md sections 3 (epilogue), 4, 5 and 6: what walks a vector element by element. */

#include <math.h>

#include "kernels/avx2/avx2.h"
#include "kernels/avx2/lanes.h"

static void epilogue(float *y, uint32_t n, int use_r, float r, const float *bias)
{
    const __m256 rr = _mm256_set1_ps(r);
    if (!use_r && !bias)
        return;
    for (uint32_t i = 0; i < n; i += 8) {
        __m256 v = lanes_load(y + i, n - i), b = bias ? lanes_load(bias + i, n - i) : _mm256_setzero_ps();
        if (!bias)
            v = _mm256_mul_ps(v, rr);
        else
            v = use_r ? _mm256_fmadd_ps(v, rr, b) : _mm256_add_ps(v, b);
        lanes_store(y + i, n - i, v);
    }
}

static void add(float *x, const float *y, uint32_t n)
{
    for (uint32_t i = 0; i < n; i += 8)
        lanes_store(x + i, n - i, _mm256_add_ps(lanes_load(x + i, n - i), lanes_load(y + i, n - i)));
}

static void norm(float *t, const float *g, float r, uint32_t n)
{
    const __m256 rr = _mm256_set1_ps(r);
    for (uint32_t i = 0; i < n; i += 8) {
        __m256 v = _mm256_mul_ps(lanes_load(t + i, n - i), lanes_load(g + i, n - i));
        lanes_store(t + i, n - i, _mm256_mul_ps(v, rr));
    }
}

static void norm_add(float *x, const float *h, const float *g, float r, uint32_t n)
{
    const __m256 rr = _mm256_set1_ps(r);
    for (uint32_t i = 0; i < n; i += 8) {
        __m256 v = _mm256_mul_ps(lanes_load(h + i, n - i), lanes_load(g + i, n - i));
        lanes_store(x + i, n - i, _mm256_fmadd_ps(v, rr, lanes_load(x + i, n - i)));
    }
}

static void scale(float *x, float c, uint32_t n)
{
    const __m256 cc = _mm256_set1_ps(c);
    for (uint32_t i = 0; i < n; i += 8)
        lanes_store(x + i, n - i, _mm256_mul_ps(lanes_load(x + i, n - i), cc));
}

static void gated_silu(const float *gate, const float *up, float *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i += 8) {
        __m256 x = lanes_load(gate + i, n - i);
        lanes_store(v + i, n - i, _mm256_mul_ps(lanes_gate(x, x), lanes_load(up + i, n - i)));
    }
}

static void gated_gelu(const float *gate, const float *up, float *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i += 8) {
        __m256 x = lanes_load(gate + i, n - i);
        lanes_store(v + i, n - i, _mm256_mul_ps(lanes_gelu(x), lanes_load(up + i, n - i)));
    }
}

static void exp_each(const float *x, float *y, uint32_t n)
{
    for (uint32_t i = 0; i < n; i += 8)
        lanes_store(y + i, n - i, lanes_exp(lanes_load(x + i, n - i)));
}

/* a' = fma(a, c, -(b * s)), b' = fma(a, s, b * c): four pairs side by side, even lanes minus and odd lanes plus. */
INLINE __m256 rotate_pairs(__m256 x, __m128 c, __m128 s)
{
    __m256 cs = _mm256_set_m128(_mm_unpackhi_ps(c, s), _mm_unpacklo_ps(c, s));
    __m256 sc = _mm256_set_m128(_mm_unpackhi_ps(s, c), _mm_unpacklo_ps(s, c));
    return _mm256_fmaddsub_ps(_mm256_moveldup_ps(x), cs, _mm256_mul_ps(_mm256_movehdup_ps(x), sc));
}

static void rope_adjacent(float *x, const float *cs, uint32_t dim)
{
    const float *cosines = cs, *sines = cs + dim / 2;
    uint32_t i = 0;
    for (; i + 4 <= dim / 2; i += 4) {
        __m256 v = rotate_pairs(_mm256_loadu_ps(x + 2 * i), _mm_loadu_ps(cosines + i), _mm_loadu_ps(sines + i));
        _mm256_storeu_ps(x + 2 * i, v);
    }
    for (; i < dim / 2; i++) {
        float a = x[2 * i], b = x[2 * i + 1];
        x[2 * i] = fmaf(a, cosines[i], -(b * sines[i]));
        x[2 * i + 1] = fmaf(a, sines[i], b * cosines[i]);
    }
}

static void rope_halves(float *x, const float *cs, uint32_t dim)
{
    const uint32_t n = dim / 2;
    for (uint32_t i = 0; i < n; i += 8) {
        __m256 a = lanes_load(x + i, n - i), b = lanes_load(x + n + i, n - i);
        __m256 c = lanes_load(cs + i, n - i), s = lanes_load(cs + n + i, n - i);
        lanes_store(x + i, n - i, _mm256_fmsub_ps(a, c, _mm256_mul_ps(b, s)));
        lanes_store(x + n + i, n - i, _mm256_fmadd_ps(a, s, _mm256_mul_ps(b, c)));
    }
}

void kernel_avx2_init_vector(struct kernel_ops *ops)
{
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
