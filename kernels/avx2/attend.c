/* SPDX-License-Identifier: Apache-2.0 */

/* NUMERICS.md section 7.  Scores: 64 positions are eight vectors, eight chains over d; no horizontal sum exists. */

#include "kernels/avx2/avx2.h"
#include "kernels/avx2/lanes.h"
#include "kernels/lanes/math.inc"
#include "kernels/scalar.h"

#define POSITIONS KERNEL_KV_BLOCK
#define VECTORS (KERNEL_KV_BLOCK / 8)

/* Eight floats as f16, clamped; their magnitudes go into *largest. */
INLINE __m128i kv_f16(const float *p, __m256i *largest)
{
    __m256 v = _mm256_loadu_ps(p);
    *largest = _mm256_max_epu32(*largest, _mm256_castps_si256(magnitude(v)));
    v = _mm256_max_ps(_mm256_min_ps(v, _mm256_set1_ps(F16_MAX)), _mm256_set1_ps(-F16_MAX));
    return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT);
}

static int kv_store(uint16_t *block, uint32_t hd, uint32_t position, const float *k, const float *v)
{
    uint16_t *keys = block + (size_t)(position / 16) * hd * 16 + position % 16;
    uint16_t *values = block + (size_t)POSITIONS * hd + (size_t)position * hd;
    uint16_t halves[2][KERNEL_HEAD_DIM_MAX];
    __m256i largest = _mm256_setzero_si256();
    for (uint32_t d = 0; d < hd; d += 8) {
        _mm_storeu_si128((__m128i *)(halves[0] + d), kv_f16(k + d, &largest));
        _mm_storeu_si128((__m128i *)(halves[1] + d), kv_f16(v + d, &largest));
    }
    if (largest_u32(largest) >= FLOAT_INFINITY)
        return -1;
    for (uint32_t d = 0; d < hd; d++)
        keys[16 * d] = halves[0][d];
    memcpy(values, halves[1], hd * sizeof *values);
    return 0;
}

/* All 64 scores of a block; those of untouched positions are finite numbers that nobody looks at. */
INLINE void scores(const float *q, const uint16_t *keys, uint32_t hd, __m256 s[VECTORS])
{
    const size_t sixteen = (size_t)hd * 16;
#pragma GCC unroll 8
    for (int v = 0; v < (int)VECTORS; v++)
        s[v] = _mm256_setzero_ps();
    for (uint32_t d = 0; d < hd; d++, keys += 16) {
        __m256 x = _mm256_broadcast_ss(q + d);
#pragma GCC unroll 8
        for (int v = 0; v < (int)VECTORS; v++)
            s[v] = _mm256_fmadd_ps(x, load_f16(keys + (v / 2) * sixteen + v % 2 * 8), s[v]);
    }
}

/* All ones for positions first..last among 8 * v .. 8 * v + 7. */
INLINE __m256 touched(int v, uint32_t first, uint32_t last)
{
    __m256i at = _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(8 * v));
    __m256i before = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)first), at);
    __m256i behind = _mm256_cmpgt_epi32(at, _mm256_set1_epi32((int)last));
    __m256i out = _mm256_or_si256(before, behind);
    return _mm256_castsi256_ps(_mm256_xor_si256(out, _mm256_set1_epi32(-1)));
}

INLINE float maximum(const __m256 s[VECTORS])
{
    __m256 m = s[0];
#pragma GCC unroll 8
    for (int v = 1; v < (int)VECTORS; v++)
        m = _mm256_max_ps(m, s[v]);
    __m128 q = _mm_max_ps(_mm256_castps256_ps128(m), _mm256_extractf128_ps(m, 1));
    q = _mm_max_ps(q, _mm_movehl_ps(q, q));
    q = _mm_max_ss(q, _mm_shuffle_ps(q, q, 1));
    return _mm_cvtss_f32(q) + 0.0f;
}

/* o = o * a, then o = fma(p_j, v_j, o) for touched j ascending, for 8 * n elements d: they stay in registers. */
INLINE void add_values_n(const float *p, const uint16_t *values, uint32_t hd, uint32_t first, uint32_t last, float a,
                         float *o, const int n)
{
    __m256 sum[8];
#pragma GCC unroll 8
    for (int i = 0; i < n; i++)
        sum[i] = _mm256_mul_ps(_mm256_loadu_ps(o + 8 * i), _mm256_set1_ps(a));
    for (uint32_t j = first; j <= last; j++) {
        const __m256 x = _mm256_broadcast_ss(p + j);
        const uint16_t *row = values + (size_t)j * hd;
#pragma GCC unroll 8
        for (int i = 0; i < n; i++)
            sum[i] = _mm256_fmadd_ps(x, load_f16(row + 8 * i), sum[i]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < n; i++)
        _mm256_storeu_ps(o + 8 * i, sum[i]);
}

static void add_values(const float *p, const uint16_t *values, uint32_t hd, uint32_t first, uint32_t last, float a,
                       float *o)
{
    uint32_t d = 0;
    for (; d + 64 <= hd; d += 64)
        add_values_n(p, values + d, hd, first, last, a, o + d, 8);
    if (d + 32 <= hd) {
        add_values_n(p, values + d, hd, first, last, a, o + d, 4);
        d += 32;
    }
    if (d < hd)
        add_values_n(p, values + d, hd, first, last, a, o + d, 2);
}

struct online {                 /* the online softmax of one range */
    float m, *o;
    __m256 l[2];
    uint32_t hd;
};

static void add_block(struct online *r, const float *q, const uint16_t *block, uint32_t first, uint32_t last,
                      float softcap, int is_first)
{
    const int partial = first != 0 || last != POSITIONS - 1;
    __m256 s[VECTORS];
    float p[POSITIONS] __attribute__((aligned(32)));
    scores(q, block, r->hd, s);
    if (softcap > 0.0f)
        for (int v = 0; v < (int)VECTORS; v++)
            s[v] = lanes_softcap(s[v], softcap);
    if (partial)
        for (int v = 0; v < (int)VECTORS; v++)
            s[v] = _mm256_blendv_ps(_mm256_set1_ps(-__builtin_inff()), s[v], touched(v, first, last));
    float bm = maximum(s), m = is_first ? bm : max_f32(r->m, bm), a = is_first ? 1.0f : kernel_exp(r->m - m);
    r->m = m;
    for (int v = 0; v < (int)VECTORS; v++) {
        s[v] = lanes_exp(_mm256_sub_ps(s[v], _mm256_set1_ps(m)));      /* exp(-infinity) = +0: untouched */
        _mm256_store_ps(p + 8 * v, s[v]);
    }
    for (int i = 0; i < 2; i++) {
        __m256 four = _mm256_add_ps(_mm256_add_ps(_mm256_add_ps(s[i], s[i + 2]), s[i + 4]), s[i + 6]);
        r->l[i] = _mm256_add_ps(_mm256_mul_ps(r->l[i], _mm256_set1_ps(a)), four);
    }
    add_values(p, block + (size_t)POSITIONS * r->hd, r->hd, first, last, a, r->o);
}

static void attend(const float *q, const uint16_t *const blocks[8], uint32_t hd, uint32_t lo, uint32_t hi,
                   float softcap, float *ret_m, float *ret_l, float *ret_o)
{
    struct online r = { .o = ret_o, .hd = hd };
    r.l[0] = r.l[1] = _mm256_setzero_ps();
    memset(ret_o, 0, hd * sizeof *ret_o);
    for (uint32_t b = lo / POSITIONS; b <= hi / POSITIONS; b++) {
        uint32_t base = b * POSITIONS;
        uint32_t first = lo > base ? lo - base : 0, last = hi - base < POSITIONS ? hi - base : POSITIONS - 1;
        add_block(&r, q, blocks[b % 8], first, last, softcap, b == lo / POSITIONS);
    }
    *ret_m = r.m;
    *ret_l = lanes_tree16(r.l[0], r.l[1]);
}

void kernel_avx2_init_attend(struct kernel_ops *ops)
{
    ops->kv_store = kv_store;
    ops->attend = attend;
}
