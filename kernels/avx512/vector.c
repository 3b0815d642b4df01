/* SPDX-License-Identifier: Apache-2.0 */

/* NUMERICS.md sections 3 (epilogue), 4, 5 and 6: what walks a vector element by element. */

#include "kernels/avx512/avx512.h"
#include "kernels/avx512/lanes.h"

static void epilogue(float *y, uint32_t n, int use_r, float r, const float *bias)
{
    const __m512 rr = _mm512_set1_ps(r);
    if (!use_r && !bias)
        return;
    for (uint32_t i = 0; i < n; i += 16) {
        __m512 v = lanes_load(y + i, n - i), b = bias ? lanes_load(bias + i, n - i) : _mm512_setzero_ps();
        if (!bias)
            v = _mm512_mul_ps(v, rr);
        else
            v = use_r ? _mm512_fmadd_ps(v, rr, b) : _mm512_add_ps(v, b);
        lanes_store(y + i, n - i, v);
    }
}

static void add(float *x, const float *y, uint32_t n)
{
    for (uint32_t i = 0; i < n; i += 16)
        lanes_store(x + i, n - i, _mm512_add_ps(lanes_load(x + i, n - i), lanes_load(y + i, n - i)));
}

static void norm(float *t, const float *g, float r, uint32_t n)
{
    const __m512 rr = _mm512_set1_ps(r);
    for (uint32_t i = 0; i < n; i += 16) {
        __m512 v = _mm512_mul_ps(lanes_load(t + i, n - i), lanes_load(g + i, n - i));
        lanes_store(t + i, n - i, _mm512_mul_ps(v, rr));
    }
}

static void norm_add(float *x, const float *h, const float *g, float r, uint32_t n)
{
    const __m512 rr = _mm512_set1_ps(r);
    for (uint32_t i = 0; i < n; i += 16) {
        __m512 v = _mm512_mul_ps(lanes_load(h + i, n - i), lanes_load(g + i, n - i));
        lanes_store(x + i, n - i, _mm512_fmadd_ps(v, rr, lanes_load(x + i, n - i)));
    }
}

static void scale(float *x, float c, uint32_t n)
{
    const __m512 cc = _mm512_set1_ps(c);
    for (uint32_t i = 0; i < n; i += 16)
        lanes_store(x + i, n - i, _mm512_mul_ps(lanes_load(x + i, n - i), cc));
}

static void gated_silu(const float *gate, const float *up, float *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i += 16) {
        __m512 x = lanes_load(gate + i, n - i);
        lanes_store(v + i, n - i, _mm512_mul_ps(lanes_gate(x, x), lanes_load(up + i, n - i)));
    }
}

static void gated_gelu(const float *gate, const float *up, float *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i += 16) {
        __m512 x = lanes_load(gate + i, n - i);
        lanes_store(v + i, n - i, _mm512_mul_ps(lanes_gelu(x), lanes_load(up + i, n - i)));
    }
}

static void exp_each(const float *x, float *y, uint32_t n)
{
    for (uint32_t i = 0; i < n; i += 16)
        lanes_store(y + i, n - i, lanes_exp(lanes_load(x + i, n - i)));
}

/* a' = fma(a, c, -(b * s)), b' = fma(a, s, b * c): eight pairs side by side, even lanes minus and odd lanes plus. */
INLINE __m512 rotate_pairs(__m512 x, __m256 c, __m256 s)
{
    const __m512i twice = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    __m512 cc = _mm512_castps256_ps512(c), ss = _mm512_castps256_ps512(s);
    __m512 cs = _mm512_permutex2var_ps(cc, twice, ss), sc = _mm512_permutex2var_ps(ss, twice, cc);
    return _mm512_fmaddsub_ps(_mm512_moveldup_ps(x), cs, _mm512_mul_ps(_mm512_movehdup_ps(x), sc));
}

static void rope_adjacent(float *x, const float *cs, uint32_t dim)
{
    const float *cosines = cs, *sines = cs + dim / 2;
    for (uint32_t i = 0; i < dim / 2; i += 8) {
        __mmask8 pairs = (__mmask8)lanes_mask(dim / 2 - i);
        __m256 c = _mm256_maskz_loadu_ps(pairs, cosines + i), s = _mm256_maskz_loadu_ps(pairs, sines + i);
        __m512 v = rotate_pairs(lanes_load(x + 2 * i, dim - 2 * i), c, s);
        lanes_store(x + 2 * i, dim - 2 * i, v);
    }
}

static void rope_halves(float *x, const float *cs, uint32_t dim)
{
    const uint32_t n = dim / 2;
    for (uint32_t i = 0; i < n; i += 16) {
        __m512 a = lanes_load(x + i, n - i), b = lanes_load(x + n + i, n - i);
        __m512 c = lanes_load(cs + i, n - i), s = lanes_load(cs + n + i, n - i);
        lanes_store(x + i, n - i, _mm512_fmsub_ps(a, c, _mm512_mul_ps(b, s)));
        lanes_store(x + n + i, n - i, _mm512_fmadd_ps(a, s, _mm512_mul_ps(b, c)));
    }
}

void kernel_avx512_init_vector(struct kernel_ops *ops)
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
