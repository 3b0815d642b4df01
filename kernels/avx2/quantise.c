/* SPDX-License-Identifier: Apache-2.0 */

/* NUMERICS.md section 2, and the sums of squares of section 4. */

#include "kernels/avx2/avx2.h"
#include "kernels/avx2/lanes.h"
#include "kernels/scalar.h"

/* Bits of the magnitudes, as unsigned integers: their maximum sees a NaN. */
INLINE __m256i magnitude_bits(__m256 v) { return _mm256_castps_si256(magnitude(v)); }

static uint32_t largest_magnitude(const float *v, uint32_t n)
{
    __m256i largest = _mm256_setzero_si256();
    for (uint32_t i = 0; i < n; i += 8)
        largest = _mm256_max_epu32(largest, magnitude_bits(lanes_load(v + i, n - i)));
    return largest_u32(largest);
}

/* 32 integers that fit 8 bits, in order. */
INLINE void store_32(int8_t *p, const __m256i q[4])
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i a = _mm256_packs_epi32(q[0], q[1]), b = _mm256_packs_epi32(q[2], q[3]);
    _mm256_storeu_si256((__m256i *)p, _mm256_permutevar8x32_epi32(_mm256_packs_epi16(a, b), order));
}

INLINE void quantise_32(const float *v, __m256 inv, int8_t *hi, int8_t *lo)
{
    __m256i q[4];
    for (int i = 0; i < 4; i++)
        q[i] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(v + 8 * i), inv));
    if (lo) {
        __m256i low[4];
        for (int i = 0; i < 4; i++) {
            __m256i high = _mm256_srai_epi32(_mm256_add_epi32(q[i], _mm256_set1_epi32(64)), 7);
            low[i] = _mm256_sub_epi32(q[i], _mm256_slli_epi32(high, 7));
            q[i] = high;
        }
        store_32(lo, low);
    }
    store_32(hi, q);
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
    __m256 inv = _mm256_set1_ps(top / largest);
    for (uint32_t i = 0; i < n; i += 32)
        quantise_32(v + i, inv, hi + i, lo ? lo + i : NULL);
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
        for (uint32_t i = 0; i < n; i += 8) {
            __m256 p = lanes_load(x + i, n - i);
            lanes_store(to + i, n - i, g ? _mm256_mul_ps(p, lanes_load(g + i, n - i)) : p);
        }
        v = to;
    }
    if (out->format == ACT_F32)
        return largest_magnitude(v, n) < FLOAT_INFINITY ? 0 : -1;
    return quantise_blocks(v, n, out, token, k_first);
}

/* Lanes 0..7 and 8..15; an absent lane adds 0 * 0 to its +0. */
static float sumsq(const float *x, uint32_t n)
{
    __m256 low = _mm256_setzero_ps(), high = low;
    for (uint32_t i = 0; i < n; i += 16) {
        __m256 a = lanes_load(x + i, n - i), b = n - i > 8 ? lanes_load(x + i + 8, n - i - 8) : _mm256_setzero_ps();
        low = _mm256_fmadd_ps(a, a, low);
        high = _mm256_fmadd_ps(b, b, high);
    }
    return lanes_tree16(low, high);
}

void kernel_avx2_init_quantise(struct kernel_ops *ops)
{
    ops->quantise = quantise;
    ops->sumsq = sumsq;
}
