/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/harness/random_weights.h"

#include <string.h>

#define BLOCK_BYTES_MAX 256

/*
 * Where a block keeps its f16 scales, and what random bytes in the rest of it amount to.  @unit is the deviation of
 * the weights when d = 1, worked out from the uniform distribution of the fields (NUMERICS.md section 1 has the
 * formulas); @shift makes the mean zero: the second scale is shift * d.  Where q is centred by the type itself, real
 * quantisers write negative d as well, so these do.
 */
struct block_shape {
    int scale_at, second_at;        /* -1: there is none */
    float unit, shift;
    bool either_sign;
};

static const struct block_shape shapes[TENSOR_TYPE_COUNT] = {
    [TENSOR_Q4_0] = { 0, -1, 4.64f, 0, true },
    [TENSOR_Q4_1] = { 0, 2, 4.61f, -7.5f, false },
    [TENSOR_Q5_0] = { 0, -1, 9.25f, 0, true },
    [TENSOR_Q5_1] = { 0, 2, 9.23f, -15.5f, false },
    [TENSOR_Q8_0] = { 0, -1, 73.9f, 0, false },
    [TENSOR_Q2_K] = { 80, 82, 13.9f, 1.5f, false },     /* q 0..3, s and min 0..15 */
    [TENSOR_Q3_K] = { 108, -1, 43.4f, 0, true },        /* q -4..3, s -32..31 */
    [TENSOR_Q4_K] = { 0, 2, 258.0f, 7.5f, false },      /* q 0..15, s and min 0..63 */
    [TENSOR_Q5_K] = { 0, 2, 527.0f, 15.5f, false },
    [TENSOR_Q6_K] = { 208, -1, 1366.0f, 0, true },      /* q -32..31, s -128..127 */
};

uint64_t random_u64(struct random_stream *r)
{
    uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

float random_signed(struct random_stream *r)
{
    return (float)((int32_t)(random_u64(r) >> 40) - (1 << 23)) * 0x1p-23f;
}

/* Nearest, ties to even; finite and below 65520. */
static uint16_t to_f16(float f)
{
    uint32_t bits, sign, magnitude;
    int shift;

    memcpy(&bits, &f, sizeof(bits));
    sign = bits >> 16 & 0x8000;
    magnitude = bits & 0x7fffffff;
    check(magnitude < 0x477ff000);
    if (magnitude >= 0x38800000) {          /* normal: drop 13 bits, move the exponent's bias */
        magnitude += 0xfff + (magnitude >> 13 & 1);
        return (uint16_t)(sign | ((magnitude - 0x38000000) >> 13));
    }
    shift = 126 - (int)(magnitude >> 23);   /* subnormal: a multiple of 2^-24 */
    if (shift > 24)
        return (uint16_t)sign;
    magnitude = (magnitude & 0x7fffff) | 0x800000;
    bits = magnitude >> shift;
    magnitude &= (1u << shift) - 1;
    bits += magnitude > 1u << (shift - 1) || (magnitude == 1u << (shift - 1) && bits & 1);
    return (uint16_t)(sign | bits);
}

static uint16_t to_bf16(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof(bits));
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void put_block(struct random_stream *r, enum tensor_type type, float deviation, struct buffer *out)
{
    const struct block_shape *shape = &shapes[type];
    size_t size = tensor_types[type].block_bytes;
    uint8_t block[BLOCK_BYTES_MAX];
    float d = deviation / shape->unit * (1 + 0.25f * random_signed(r));
    float second = d * shape->shift * (1 + 0.05f * random_signed(r));
    uint16_t half;

    check(shape->unit > 0 && size <= sizeof(block));
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = random_u64(r);

        memcpy(block + i, &word, size - i < 8 ? size - i : 8);
    }
    half = to_f16(shape->either_sign && random_u64(r) & 1 ? -d : d);
    memcpy(block + shape->scale_at, &half, 2);
    if (shape->second_at >= 0) {
        half = to_f16(second);
        memcpy(block + shape->second_at, &half, 2);
    }
    buffer_put(out, block, size);
}

void random_floats(struct random_stream *r, uint64_t values, float base, float spread, struct buffer *out)
{
    for (uint64_t i = 0; i < values; i++) {
        float f = base + spread * random_signed(r);

        buffer_put(out, &f, sizeof(f));
    }
}

void random_weights(struct random_stream *r, enum tensor_type type, uint64_t values, float deviation,
                    struct buffer *out)
{
    float spread = deviation * 1.7320508f;      /* of a uniform distribution */

    check(values % tensor_types[type].block_values == 0);
    if (type == TENSOR_F32) {
        random_floats(r, values, 0, spread, out);
    } else if (type == TENSOR_F16 || type == TENSOR_BF16) {
        for (uint64_t i = 0; i < values; i++) {
            float f = spread * random_signed(r);

            buffer_put_u16(out, type == TENSOR_F16 ? to_f16(f) : to_bf16(f));
        }
    } else {
        for (uint64_t i = 0; i < values / tensor_types[type].block_values; i++)
            put_block(r, type, deviation, out);
    }
}
