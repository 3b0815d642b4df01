/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * AVX-512 for a CPU with AVX2: what the compiler includes first when it compiles a level with -DKERNEL_EMULATE.  Most
 * of it is SIMDe's.  None of it is inlined, since the compiler would take minutes.
 */

#ifdef KERNEL_EMULATE

#define SIMDE_NO_INLINE
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

#include "tests/kern/emulate/lanes.h"
#include "tests/kern/emulate/tile.h"

/* --- across all lanes --- */

EMULATED int32_t emulated_reduce_max_epi32(__m512i v)
{
    union emulated a = { .i = v };
    int32_t most = a.s32[0];
    for (int i = 1; i < 16; i++)
        most = a.s32[i] > most ? a.s32[i] : most;
    return most;
}

EMULATED uint32_t emulated_reduce_max_epu32(__m512i v)
{
    union emulated a = { .i = v };
    uint32_t most = a.u32[0];
    for (int i = 1; i < 16; i++)
        most = a.u32[i] > most ? a.u32[i] : most;
    return most;
}

/* --- VNNI, which SIMDe has, but slowly --- */

/* Bytes are widened, since vpmaddubsw would saturate: even and odd ones apart, each pair one product and its sum. */
EMULATED __m256i emulated_dpbusd_half(__m256i sum, __m256i a, __m256i b)
{
    const __m256i low = _mm256_set1_epi16(255);
    __m256i even = _mm256_madd_epi16(_mm256_and_si256(a, low), _mm256_srai_epi16(_mm256_slli_epi16(b, 8), 8));
    __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(a, 8), _mm256_srai_epi16(b, 8));
    return _mm256_add_epi32(sum, _mm256_add_epi32(even, odd));
}

EMULATED __m512i emulated_dpbusd_epi32(__m512i sum, __m512i x, __m512i y)
{
    union emulated s = { .i = sum }, a = { .i = x }, b = { .i = y };
    for (int h = 0; h < 2; h++)
        s.half[h] = emulated_dpbusd_half(s.half[h], a.half[h], b.half[h]);
    return s.i;
}

EMULATED __m512i emulated_dpwssd_epi32(__m512i sum, __m512i x, __m512i y)
{
    union emulated s = { .i = sum }, a = { .i = x }, b = { .i = y };
    for (int h = 0; h < 2; h++)
        s.half[h] = _mm256_add_epi32(s.half[h], _mm256_madd_epi16(a.half[h], b.half[h]));
    return s.i;
}

/* --- the names --- */

#undef _mm512_dpbusd_epi32
#undef _mm512_dpwssd_epi32
#undef _mm512_extractf32x8_ps
#undef _mm512_shuffle_epi32
#undef _mm512_srai_epi32
#undef _mm512_load_ps
#undef _mm512_load_si512
#undef _mm512_store_ps
#undef _mm512_store_si512
#define _mm512_load_ps(p) simde_mm512_load_ps(emulated_aligned(p))
#define _mm512_load_si512(p) simde_mm512_load_si512(emulated_aligned(p))
#define _mm512_store_ps(p, v) simde_mm512_store_ps(emulated_aligned(p), v)
#define _mm512_store_si512(p, v) simde_mm512_store_si512(emulated_aligned(p), v)
#define _mm256_maskz_loadu_ps emulated_256_maskz_loadu_ps
#define _mm512_cvtepi16_epi32 emulated_cvtepi16_epi32
#define _mm512_cvtepi32_epi8 emulated_cvtepi32_epi8
#define _mm512_cvtepi32_ps emulated_cvtepi32_ps
#define _mm512_cvtepi8_epi32 emulated_cvtepi8_epi32
#define _mm512_cvtepu16_epi32 emulated_cvtepu16_epi32
#define _mm512_cvtepu8_epi16 emulated_cvtepu8_epi16
#define _mm512_cvtepu8_epi32 emulated_cvtepu8_epi32
#define _mm512_cvtph_ps emulated_cvtph_ps
#define _mm512_cvtps_epi32 emulated_cvtps_epi32
#define _mm512_dpbusd_epi32 emulated_dpbusd_epi32
#define _mm512_dpwssd_epi32 emulated_dpwssd_epi32
#define _mm512_extractf32x8_ps emulated_extractf32x8_ps
#define _mm512_fmaddsub_ps emulated_fmaddsub_ps
#define _mm512_mask_storeu_ps emulated_mask_storeu_ps
#define _mm512_maskz_loadu_ps emulated_maskz_loadu_ps
#define _mm512_movehdup_ps emulated_movehdup_ps
#define _mm512_moveldup_ps emulated_moveldup_ps
#define _mm512_reduce_max_epi32 emulated_reduce_max_epi32
#define _mm512_reduce_max_epu32 emulated_reduce_max_epu32
#define _mm512_shuffle_epi32 emulated_shuffle_epi32
#define _mm512_srai_epi32 emulated_srai_epi32

#endif
