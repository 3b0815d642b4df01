/* SPDX-License-Identifier: Apache-2.0 */

/* NUMERICS.md sections 3 to 6 on vectors: the width of this level, and pairs of rope that lie side by side. */

#include <math.h>

#include "kernels/avx2/avx2.h"
#include "kernels/avx2/lanes.h"
#include "kernels/lanes/vector.inc"

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

void kernel_avx2_init_vector(struct kernel_ops *ops)
{
    init_vector(ops);
    ops->rope_adjacent = rope_adjacent;
}
