/* SPDX-License-Identifier: Apache-2.0 */

/* NUMERICS.md section 2, and the sums of squares of section 4. */

#include "kernels/avx512/avx512.h"
#include "kernels/avx512/lanes.h"
#include "kernels/scalar.h"

static uint32_t largest_magnitude(const float *v, uint32_t n)
{
    __m512i largest = _mm512_setzero_si512();
    for (uint32_t i = 0; i < n; i += 16)
        largest = _mm512_max_epu32(largest, magnitude_bits(lanes_load(v + i, n - i)));
    return _mm512_reduce_max_epu32(largest);
}

/* 16 integers that fit 8 bits. */
INLINE void store_16(int8_t *p, __m512i q) { _mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8(q)); }

INLINE void quantise_16(const float *v, __m512 inv, int8_t *hi, int8_t *lo)
{
    __m512i q = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(v), inv));
    if (lo) {
        __m512i high = _mm512_srai_epi32(_mm512_add_epi32(q, _mm512_set1_epi32(64)), 7);
        store_16(lo, _mm512_sub_epi32(q, _mm512_slli_epi32(high, 7)));
        q = high;
    }
    store_16(hi, q);
}

static int quantise_block(const float *v, uint32_t n, int8_t *hi, int8_t *lo, float *ret_d)
{
    uint32_t bits = largest_magnitude(v, n);
    float largest = bits_float(bits), top = lo ? ACT_TOP_INT16 : ACT_TOP_INT8;
    if (bits >= FLOAT_INFINITY)
        return -1;
    if (largest < ACT_TINY) {
        memset(hi, 0, n);
        if (lo)
            memset(lo, 0, n);
        *ret_d = 0.0f;
        return 0;
    }
    __m512 inv = _mm512_set1_ps(top / largest);
    for (uint32_t i = 0; i < n; i += 16)
        quantise_16(v + i, inv, hi + i, lo ? lo + i : NULL);
    *ret_d = largest / top;
    return 0;
}

/* Sums of 16 and of 32 of n integers: bytes plus 128 are summed by eights, and 8 * 128 comes off again. */
static void sums(const int8_t *q, uint32_t n, int16_t *s32, int16_t *s16)
{
    for (uint32_t i = 0; i < n; i += 32) {
        __m256i bytes = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(q + i)), _mm256_set1_epi8((char)0x80));
        __m256i eights = _mm256_sad_epu8(bytes, _mm256_setzero_si256());
        __m256i both = _mm256_add_epi32(eights, _mm256_shuffle_epi32(eights, 0x4e));
        int first = _mm_cvtsi128_si32(_mm256_castsi256_si128(both)) - 16 * 128;
        int second = _mm_cvtsi128_si32(_mm256_extracti128_si256(both, 1)) - 16 * 128;
        s32[i / 32] = (int16_t)(first + second);
        if (s16) {
            s16[i / 16] = (int16_t)first;
            s16[i / 16 + 1] = (int16_t)second;
        }
    }
}

static int quantise_blocks(const float *v, uint32_t n, const struct kernel_act *out, uint32_t token, uint32_t k_first)
{
    uint32_t block = out->format == ACT_32 ? 32 : KERNEL_BLOCK;
    size_t first = (size_t)token * out->columns * out->k + k_first;
    float *d = out->d + ((size_t)token * out->k + k_first) / block;
    for (uint32_t i = 0; i < n; i += block) {
        int8_t *hi = out->q + first + i, *lo = out->columns == 2 ? hi + out->k : NULL;
        if (quantise_block(v + i, block, hi, lo, d + i / block) < 0)
            return -1;
    }
    for (uint32_t c = 0; c < out->columns; c++, first += out->k)
        sums(out->q + first, n, out->s32 + first / 32, out->format == ACT_256 ? out->s16 + first / 16 : NULL);
    return 0;
}

static int quantise(const float *x, const float *g, uint32_t n, const struct kernel_act *out, uint32_t token,
                    uint32_t k_first)
{
    float product[KERNEL_BLOCK], *to = out->format == ACT_F32 ? out->f + (size_t)token * out->k + k_first : product;
    const float *v = x;
    if (g || out->format == ACT_F32) {
        for (uint32_t i = 0; i < n; i += 16) {
            __m512 p = lanes_load(x + i, n - i);
            lanes_store(to + i, n - i, g ? _mm512_mul_ps(p, lanes_load(g + i, n - i)) : p);
        }
        v = to;
    }
    if (out->format == ACT_F32)
        return largest_magnitude(v, n) < FLOAT_INFINITY ? 0 : -1;
    return quantise_blocks(v, n, out, token, k_first);
}

/* An absent lane adds 0 * 0 to its +0. */
static float sumsq(const float *x, uint32_t n)
{
    __m512 sum = _mm512_setzero_ps();
    for (uint32_t i = 0; i < n; i += 16) {
        __m512 v = lanes_load(x + i, n - i);
        sum = _mm512_fmadd_ps(v, v, sum);
    }
    return lanes_tree16(sum);
}

void kernel_avx512_init_quantise(struct kernel_ops *ops)
{
    ops->quantise = quantise;
    ops->sumsq = sumsq;
}
