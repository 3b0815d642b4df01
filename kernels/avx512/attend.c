/* SPDX-License-Identifier: Apache-2.0 */

/* NUMERICS.md section 7 at this width.  The store of keys and values is that of AVX2: a scatter gains nothing. */

#include "kernels/avx512/avx512.h"
#include "kernels/avx512/lanes.h"

#define AT_ONCE 4u

INLINE lanes lanes_touched(lanes s, uint32_t v, uint32_t first, uint32_t last)
{
    uint64_t upto = last == 63 ? ~0ull : (1ull << (last + 1)) - 1;
    __mmask16 in = (__mmask16)((upto & ~0ull << first) >> (16 * v));
    return _mm512_mask_mov_ps(lanes_all(-__builtin_inff()), in, s);
}

INLINE float lanes_largest(lanes m)
{
    __m256 h = _mm256_max_ps(_mm512_castps512_ps256(m), _mm512_extractf32x8_ps(m, 1));
    __m128 q = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_max_ps(q, _mm_movehl_ps(q, q));
    q = _mm_max_ss(q, _mm_shuffle_ps(q, q, 1));
    return _mm_cvtss_f32(q);
}

INLINE float lanes_tree(const lanes l[1]) { return lanes_tree16(l[0]); }

#include "kernels/lanes/attend.inc"

void kernel_avx512_init_attend(struct kernel_ops *ops)
{
    ops->attend = attend;
}
