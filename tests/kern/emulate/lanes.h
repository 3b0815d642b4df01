/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What SIMDe 0.7.4 lacks of AVX-512, by half its width or lane by lane. */

#ifdef KERNEL_EMULATE

#include <stdint.h>
#include <string.h>

#define EMULATED static __attribute__((noinline, unused))

union emulated {
    __m512i i;
    __m512 f;
    __m256i half[2];
    __m256 float_half[2];
    int32_t s32[16];
    uint32_t u32[16];
    int8_t s8[64];
};

/* --- memory: alignment is what the instruction asks for, and what a mask leaves out is not touched --- */

EMULATED void *emulated_aligned(const void *p)
{
    if ((uintptr_t)p % 64)
        __builtin_trap();
    return (void *)(uintptr_t)p;
}

EMULATED __m512 emulated_maskz_loadu_ps(__mmask16 mask, const void *p)
{
    union emulated r = { .s32 = { 0 } };
    for (int i = 0; i < 16; i++)
        if (mask >> i & 1)
            memcpy(&r.s32[i], (const int32_t *)p + i, sizeof(int32_t));
    return r.f;
}

EMULATED __m256 emulated_256_maskz_loadu_ps(__mmask8 mask, const void *p)
{
    union emulated r = { .s32 = { 0 } };
    for (int i = 0; i < 8; i++)
        if (mask >> i & 1)
            memcpy(&r.s32[i], (const int32_t *)p + i, sizeof(int32_t));
    return r.float_half[0];
}

EMULATED void emulated_mask_storeu_ps(void *p, __mmask16 mask, __m512 v)
{
    union emulated r = { .f = v };
    for (int i = 0; i < 16; i++)
        if (mask >> i & 1)
            memcpy((int32_t *)p + i, &r.s32[i], sizeof(int32_t));
}

/* --- one result from two of half the width --- */

#define EMULATE_WIDENED(name, from, lower, upper, to)                                                                  \
    EMULATED __m512i emulated_##name(from v)                                                                           \
    {                                                                                                                  \
        union emulated r;                                                                                              \
        r.half[0] = to(lower);                                                                                         \
        r.half[1] = to(upper);                                                                                         \
        return r.i;                                                                                                    \
    }
#define EMULATE_FROM_16(name, to)                                                                                      \
    EMULATE_WIDENED(name, __m256i, _mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1), to)
#define EMULATE_FROM_8(name, to) EMULATE_WIDENED(name, __m128i, v, _mm_srli_si128(v, 8), to)

EMULATE_FROM_16(cvtepi16_epi32, _mm256_cvtepi16_epi32)
EMULATE_FROM_16(cvtepu16_epi32, _mm256_cvtepu16_epi32)
EMULATE_FROM_16(cvtepu8_epi16, _mm256_cvtepu8_epi16)
EMULATE_FROM_8(cvtepi8_epi32, _mm256_cvtepi8_epi32)
EMULATE_FROM_8(cvtepu8_epi32, _mm256_cvtepu8_epi32)

EMULATED __m512 emulated_cvtph_ps(__m256i v)
{
    union emulated r;
    r.float_half[0] = _mm256_cvtph_ps(_mm256_castsi256_si128(v));
    r.float_half[1] = _mm256_cvtph_ps(_mm256_extracti128_si256(v, 1));
    return r.f;
}

#define EMULATE_HALVES(to, from, name, whole, half_of, ret_whole, ret_half)                                            \
    EMULATED to emulated_##name(from v)                                                                                \
    {                                                                                                                  \
        union emulated a = { .whole = v }, r;                                                                          \
        for (int h = 0; h < 2; h++)                                                                                    \
            r.ret_half[h] = _mm256_##name(a.half_of[h]);                                                               \
        return r.ret_whole;                                                                                            \
    }

EMULATE_HALVES(__m512, __m512i, cvtepi32_ps, i, half, f, float_half)
EMULATE_HALVES(__m512i, __m512, cvtps_epi32, f, float_half, i, half)
EMULATE_HALVES(__m512, __m512, moveldup_ps, f, float_half, f, float_half)
EMULATE_HALVES(__m512, __m512, movehdup_ps, f, float_half, f, float_half)

EMULATED __m512 emulated_fmaddsub_ps(__m512 x, __m512 y, __m512 z)
{
    union emulated a = { .f = x }, b = { .f = y }, c = { .f = z }, r;
    for (int h = 0; h < 2; h++)
        r.float_half[h] = _mm256_fmaddsub_ps(a.float_half[h], b.float_half[h], c.float_half[h]);
    return r.f;
}

EMULATED __m512i emulated_srai_epi32(__m512i v, unsigned by)
{
    union emulated a = { .i = v }, r;
    for (int h = 0; h < 2; h++)
        r.half[h] = _mm256_srai_epi32(a.half[h], (int)by);
    return r.i;
}

EMULATED __m256 emulated_extractf32x8_ps(__m512 v, int which)
{
    union emulated a = { .f = v };
    return a.float_half[which];
}

EMULATED __m512i emulated_shuffle_epi32(__m512i v, int order)
{
    union emulated a = { .i = v }, r;
    for (int i = 0; i < 16; i++)
        r.s32[i] = a.s32[i / 4 * 4 + (order >> 2 * (i % 4) & 3)];
    return r.i;
}

EMULATED __m128i emulated_cvtepi32_epi8(__m512i v)
{
    union emulated a = { .i = v };
    union {
        int8_t s8[16];
        __m128i i;
    } r;
    for (int i = 0; i < 16; i++)
        r.s8[i] = (int8_t)a.s32[i];
    return r.i;
}

#endif
