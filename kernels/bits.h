/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Floats and their bits, f16, unaligned loads: what the portable C of this room shares.  Every function here is
 * exact or rounds once, as NUMERICS.md says, and none calls libm.
 */

#include <float.h>
#include <stdint.h>
#include <string.h>

_Static_assert(FLT_EVAL_METHOD == 0, "excess precision would change bits");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files and packed weights are little-endian");

#define FLOAT_SIGN 0x80000000u
#define FLOAT_MAGNITUDE 0x7fffffffu
#define FLOAT_INFINITY 0x7f800000u      /* as a magnitude: this and above is Inf or NaN */
#define F16_INFINITY 0x7c00u            /* as an exponent mask: Inf or NaN where all its bits are set */
#define BF16_INFINITY 0x7f80u
#define F16_MAX 65504.0f

static inline uint32_t float_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static inline float bits_float(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static inline uint64_t double_bits(double d)
{
    uint64_t u;
    memcpy(&u, &d, sizeof u);
    return u;
}

static inline double bits_double(uint64_t u)
{
    double d;
    memcpy(&d, &u, sizeof d);
    return d;
}

static inline uint16_t load_u16(const uint8_t *p)
{
    uint16_t u;
    memcpy(&u, p, sizeof u);
    return u;
}

static inline uint32_t load_u32(const uint8_t *p)
{
    uint32_t u;
    memcpy(&u, p, sizeof u);
    return u;
}

static inline uint64_t load_u64(const uint8_t *p)
{
    uint64_t u;
    memcpy(&u, p, sizeof u);
    return u;
}

static inline void store_u32(uint8_t *p, uint32_t u) { memcpy(p, &u, sizeof u); }
static inline void store_u64(uint8_t *p, uint64_t u) { memcpy(p, &u, sizeof u); }

static inline int float_is_finite(float f) { return (float_bits(f) & FLOAT_MAGNITUDE) < FLOAT_INFINITY; }

/* Nearest integer, ties to even; |x| < 2^22. */
static inline float round_even(float x) { return (x + 0x1.8p23f) - 0x1.8p23f; }

/* Exact.  The exponent is moved by a multiplication, which makes subnormals right as well. */
static inline float f16_to_f32(uint16_t h)
{
    uint32_t u = (uint32_t)(h & 0x7fffu) << 13;
    uint32_t special = (h & F16_INFINITY) == F16_INFINITY ? FLOAT_INFINITY : 0;
    uint32_t magnitude = float_bits(bits_float(u) * 0x1p112f);
    return bits_float((special ? special | u : magnitude) | (uint32_t)(h & 0x8000u) << 16);
}

/* Nearest, ties to even, subnormals included; |f| <= 65504. */
static inline uint16_t f32_to_f16(float f)
{
    uint32_t u = float_bits(f) & FLOAT_MAGNITUDE, sign = (float_bits(f) & FLOAT_SIGN) >> 16;
    if (u < 0x38800000u)                                    /* below 2^-14: a multiple of 2^-24 */
        return (uint16_t)(sign | (uint32_t)round_even(bits_float(u) * 0x1p24f));
    u += 0xfffu + ((u >> 13) & 1);
    return (uint16_t)(sign | (u - 0x38000000u) >> 13);
}

static inline float bf16_to_f32(uint16_t h) { return bits_float((uint32_t)h << 16); }
