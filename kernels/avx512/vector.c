/* SPDX-License-Identifier: Apache-2.0 */

/* NUMERICS.md sections 3 to 6 on vectors: the width of this level, and pairs of rope that lie side by side. */

#include "kernels/avx512/avx512.h"
#include "kernels/avx512/lanes.h"
#include "kernels/lanes/vector.inc"

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

void kernel_avx512_init_vector(struct kernel_ops *ops)
{
    init_vector(ops);
    ops->rope_adjacent = rope_adjacent;
}
