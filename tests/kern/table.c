/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The table of NUMERICS.md section 1 read a second time, one element at a time and in the table's own words, so that
 * a slip in kernels/file.c cannot hide behind itself.
 */

#include <math.h>
#include <string.h>

#include "tests/kern/inputs.h"

static float f16_at(const uint8_t *p)
{
    int sign = p[1] >> 7, exponent = p[1] >> 2 & 31, fraction = (p[1] & 3) << 8 | p[0];
    double magnitude = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return (float)(sign ? -magnitude : magnitude);
}

static int nibble(const uint8_t *qs, uint32_t k) { return k < 16 ? qs[k] & 15 : qs[k - 16] >> 4; }

static float value_32(enum tensor_type type, const uint8_t *b, uint32_t k)
{
    float d = f16_at(b), m = f16_at(b + 2);
    if (type == TENSOR_Q8_0)
        return d * (float)(int8_t)b[2 + k];
    if (type == TENSOR_Q4_0)
        return d * (float)(nibble(b + 2, k) - 8);
    if (type == TENSOR_Q4_1)
        return d * (float)nibble(b + 4, k) + m;
    const uint8_t *qh = type == TENSOR_Q5_0 ? b + 2 : b + 4;
    int q = nibble(qh + 4, k) | (qh[k / 8] >> k % 8 & 1) << 4;
    return type == TENSOR_Q5_0 ? d * (float)(q - 16) : d * (float)q + m;
}

static float value_q2_k(const uint8_t *b, uint32_t k)
{
    int q = b[16 + 32 * (k / 128) + k % 32] >> 2 * (k % 128 / 32) & 3, s = b[k / 16] & 15, min = b[k / 16] >> 4;
    return f16_at(b + 80) * (float)s * (float)q - f16_at(b + 82) * (float)min;
}

static float value_q3_k(const uint8_t *b, uint32_t k)
{
    const uint8_t *sc = b + 96;
    uint32_t j = k / 16;
    int q = (b[32 + 32 * (k / 128) + k % 32] >> 2 * (k % 128 / 32) & 3) + 4 * (b[k % 32] >> k / 32 & 1) - 4;
    int s = ((j < 8 ? sc[j] & 15 : sc[j - 8] >> 4) | (sc[8 + j % 4] >> 2 * (j / 4) & 3) << 4) - 32;
    return f16_at(b + 108) * (float)s * (float)q;
}

static float value_q45_k(enum tensor_type type, const uint8_t *b, uint32_t k)
{
    const uint8_t *sc = b + 4, *qs = type == TENSOR_Q5_K ? b + 48 : b + 16;
    uint32_t j = k / 32;
    int q = qs[32 * (j / 2) + k % 32] >> 4 * (j % 2) & 15, s, min;
    if (type == TENSOR_Q5_K)
        q |= (b[16 + k % 32] >> j & 1) << 4;
    if (j < 4) {
        s = sc[j] & 63;
        min = sc[j + 4] & 63;
    } else {
        s = (sc[j + 4] & 15) | (sc[j - 4] >> 6) << 4;
        min = (sc[j + 4] >> 4) | (sc[j] >> 6) << 4;
    }
    return f16_at(b) * (float)s * (float)q - f16_at(b + 2) * (float)min;
}

static float value_q6_k(const uint8_t *b, uint32_t k)
{
    uint32_t n = k / 128, g = k % 128 / 32, i = k % 32;
    int low = b[64 * n + 32 * (g & 1) + i] >> 4 * (g >> 1) & 15, high = b[128 + 32 * n + i] >> 2 * g & 3;
    return f16_at(b + 208) * (float)(int8_t)b[192 + k / 16] * (float)((low | high << 4) - 32);
}

static float value_float(enum tensor_type type, const uint8_t *p)
{
    if (type == TENSOR_F16)
        return f16_at(p);
    uint32_t u = 0;
    memcpy((uint8_t *)&u + (type == TENSOR_F32 ? 0 : 2), p, type == TENSOR_F32 ? 4 : 2);
    float f;
    memcpy(&f, &u, 4);
    return f;
}

float table_value(enum tensor_type type, const uint8_t *row, uint32_t k)
{
    const struct tensor_type_info *info = &tensor_types[type];
    const uint8_t *b = row + (size_t)(k / info->block_values) * info->block_bytes;
    if (info->act == ACT_F32)
        return value_float(type, b);
    if (info->act == ACT_32)
        return value_32(type, b, k % 32);
    if (type == TENSOR_Q2_K)
        return value_q2_k(b, k % 256);
    if (type == TENSOR_Q3_K)
        return value_q3_k(b, k % 256);
    return type == TENSOR_Q6_K ? value_q6_k(b, k % 256) : value_q45_k(type, b, k % 256);
}
