/* SPDX-License-Identifier: Apache-2.0 */

/* NUMERICS.md section 7.  Scores: 64 positions are four vectors, four chains over d; no horizontal sum exists. */

#include "kernels/avx512/avx512.h"
#include "kernels/avx512/lanes.h"
#include "kernels/lanes/math.inc"
#include "kernels/scalar.h"

#define POSITIONS KERNEL_KV_BLOCK
#define VECTORS (KERNEL_KV_BLOCK / 16)

/* All 64 scores of a block; those of untouched positions are finite numbers that nobody looks at. */
INLINE void scores(const float *q, const uint16_t *keys, uint32_t hd, __m512 s[VECTORS])
{
    const size_t sixteen = (size_t)hd * 16;
#pragma GCC unroll 4
    for (int v = 0; v < (int)VECTORS; v++)
        s[v] = _mm512_setzero_ps();
    for (uint32_t d = 0; d < hd; d++, keys += 16) {
        __m512 x = _mm512_set1_ps(q[d]);
#pragma GCC unroll 4
        for (int v = 0; v < (int)VECTORS; v++)
            s[v] = _mm512_fmadd_ps(x, load_f16(keys + (size_t)v * sixteen), s[v]);
    }
}

/* Positions first..last among 16 * v .. 16 * v + 15. */
INLINE __mmask16 touched(int v, uint32_t first, uint32_t last)
{
    uint64_t upto = last == 63 ? ~0ull : (1ull << (last + 1)) - 1;
    return (__mmask16)((upto & ~0ull << first) >> (16 * v));
}

INLINE float maximum(const __m512 s[VECTORS])
{
    __m512 m = _mm512_max_ps(_mm512_max_ps(s[0], s[1]), _mm512_max_ps(s[2], s[3]));
    __m256 h = _mm256_max_ps(_mm512_castps512_ps256(m), _mm512_extractf32x8_ps(m, 1));
    __m128 q = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_max_ps(q, _mm_movehl_ps(q, q));
    q = _mm_max_ss(q, _mm_shuffle_ps(q, q, 1));
    return _mm_cvtss_f32(q) + 0.0f;
}

/* o = o * a, then o = fma(p_j, v_j, o) for touched j ascending, for 16 * n elements d: they stay in registers. */
INLINE void add_values_n(const float *p, const uint16_t *values, uint32_t hd, uint32_t first, uint32_t last, float a,
                         float *o, const int n)
{
    __m512 sum[8];
#pragma GCC unroll 8
    for (int i = 0; i < n; i++)
        sum[i] = _mm512_mul_ps(_mm512_loadu_ps(o + 16 * i), _mm512_set1_ps(a));
    for (uint32_t j = first; j <= last; j++) {
        const __m512 x = _mm512_set1_ps(p[j]);
        const uint16_t *row = values + (size_t)j * hd;
#pragma GCC unroll 8
        for (int i = 0; i < n; i++)
            sum[i] = _mm512_fmadd_ps(x, load_f16(row + 16 * i), sum[i]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < n; i++)
        _mm512_storeu_ps(o + 16 * i, sum[i]);
}

static void add_values(const float *p, const uint16_t *values, uint32_t hd, uint32_t first, uint32_t last, float a,
                       float *o)
{
    uint32_t d = 0;
    for (; d + 128 <= hd; d += 128)
        add_values_n(p, values + d, hd, first, last, a, o + d, 8);
    for (; d + 64 <= hd; d += 64)
        add_values_n(p, values + d, hd, first, last, a, o + d, 4);
    for (; d < hd; d += 16)
        add_values_n(p, values + d, hd, first, last, a, o + d, 1);
}

struct online {                 /* the online softmax of one range */
    float m, *o;
    __m512 l;
    uint32_t hd;
};

static void add_block(struct online *r, const float *q, const uint16_t *block, uint32_t first, uint32_t last,
                      float softcap, int is_first)
{
    const int partial = first != 0 || last != POSITIONS - 1;
    __m512 s[VECTORS];
    float p[POSITIONS] __attribute__((aligned(64)));
    scores(q, block, r->hd, s);
    if (softcap > 0.0f)
        for (int v = 0; v < (int)VECTORS; v++)
            s[v] = lanes_softcap(s[v], softcap);
    if (partial)
        for (int v = 0; v < (int)VECTORS; v++)
            s[v] = _mm512_mask_mov_ps(_mm512_set1_ps(-__builtin_inff()), touched(v, first, last), s[v]);
    float bm = maximum(s), m = is_first ? bm : max_f32(r->m, bm), a = is_first ? 1.0f : kernel_exp(r->m - m);
    r->m = m;
    for (int v = 0; v < (int)VECTORS; v++) {
        s[v] = lanes_exp(_mm512_sub_ps(s[v], _mm512_set1_ps(m)));      /* exp(-infinity) = +0: untouched */
        _mm512_store_ps(p + 16 * v, s[v]);
    }
    __m512 four = _mm512_add_ps(_mm512_add_ps(_mm512_add_ps(s[0], s[1]), s[2]), s[3]);
    r->l = _mm512_add_ps(_mm512_mul_ps(r->l, _mm512_set1_ps(a)), four);
    add_values(p, block + (size_t)POSITIONS * r->hd, r->hd, first, last, a, r->o);
}

static void attend(const float *q, const uint16_t *const blocks[8], uint32_t hd, uint32_t lo, uint32_t hi,
                   float softcap, float *ret_m, float *ret_l, float *ret_o)
{
    struct online r = { .o = ret_o, .hd = hd };
    r.l = _mm512_setzero_ps();
    memset(ret_o, 0, hd * sizeof *ret_o);
    for (uint32_t b = lo / POSITIONS; b <= hi / POSITIONS; b++) {
        uint32_t base = b * POSITIONS;
        uint32_t first = lo > base ? lo - base : 0, last = hi - base < POSITIONS ? hi - base : POSITIONS - 1;
        add_block(&r, q, blocks[b % 8], first, last, softcap, b == lo / POSITIONS);
    }
    *ret_m = r.m;
    *ret_l = lanes_tree16(r.l);
}

void kernel_avx512_init_attend(struct kernel_ops *ops)
{
    ops->attend = attend;
}
