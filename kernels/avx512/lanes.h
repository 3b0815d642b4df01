/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Sixteen lanes at a time: loads and stores that respect the end of a vector. */

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

INLINE __m512 load_f16(const uint16_t *p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p)); }

/* Four bytes or two 16-bit integers, in every lane; a memory operand of the instruction that uses it. */
INLINE __m512i broadcast_u32(const void *p)
{
    int32_t v;
    memcpy(&v, p, sizeof v);
    return _mm512_set1_epi32(v);
}
