/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Eight 32-bit integers at a time, or 32 bytes of them. */

#include "kernels/avx2/lanes.h"

typedef __m256i ints;

INLINE ints ints_load(const void *p) { return _mm256_load_si256(p); }
INLINE ints ints_all(int32_t x) { return _mm256_set1_epi32(x); }
INLINE ints ints_left(ints v, int by) { return _mm256_slli_epi32(v, by); }
INLINE ints ints_right(ints v, int by) { return _mm256_srli_epi32(v, by); }
INLINE ints ints_sum(ints a, ints b) { return _mm256_add_epi32(a, b); }
INLINE lanes lanes_of(ints v) { return _mm256_cvtepi32_ps(v); }
INLINE ints ints_of(lanes x) { return _mm256_cvtps_epi32(x); }
