/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/file.h"

#include "kernels/bits.h"

static void nibbles_32(const uint8_t *qs, uint8_t *q)
{
    for (unsigned i = 0; i < 16; i++) {
        q[i] = qs[i] & 15;
        q[16 + i] = qs[i] >> 4;
    }
}

/* Adds bit k of the little-endian word @qh as bit 4 of q[k]. */
static void fifth_bits_32(const uint8_t *qh, uint8_t *q)
{
    for (unsigned byte = 0; byte < 4; byte++)
        for (unsigned i = 0; i < 8; i++)
            q[8 * byte + i] |= (uint8_t)((qh[byte] >> i & 1) << 4);
}

static void read_q4_0(const uint8_t *p, struct file_block *ret)
{
    ret->d = load_u16(p);
    nibbles_32(p + 2, ret->q);
}

static void read_q4_1(const uint8_t *p, struct file_block *ret)
{
    ret->d = load_u16(p);
    ret->m = load_u16(p + 2);
    nibbles_32(p + 4, ret->q);
}

static void read_q5_0(const uint8_t *p, struct file_block *ret)
{
    ret->d = load_u16(p);
    nibbles_32(p + 6, ret->q);
    fifth_bits_32(p + 2, ret->q);
}

static void read_q5_1(const uint8_t *p, struct file_block *ret)
{
    ret->d = load_u16(p);
    ret->m = load_u16(p + 2);
    nibbles_32(p + 8, ret->q);
    fifth_bits_32(p + 4, ret->q);
}

static void read_q8_0(const uint8_t *p, struct file_block *ret)
{
    ret->d = load_u16(p);
    memcpy(ret->q, p + 2, 32);
}

/* 64 bytes: two halves of 128 values, each 32 bytes of four pairs. */
static void pairs_256(const uint8_t *qs, uint8_t *q)
{
    for (unsigned half = 0; half < 2; half++, qs += 32, q += 128) {
        for (unsigned i = 0; i < 32; i++) {
            q[i] = qs[i] & 3;
            q[32 + i] = qs[i] >> 2 & 3;
            q[64 + i] = qs[i] >> 4 & 3;
            q[96 + i] = qs[i] >> 6;
        }
    }
}

static void read_q2_k(const uint8_t *p, struct file_block *ret)
{
    for (unsigned j = 0; j < 16; j++) {
        ret->scale[j] = p[j] & 15;
        ret->min[j] = p[j] >> 4;
    }
    pairs_256(p + 16, ret->q);
    ret->d = load_u16(p + 80);
    ret->m = load_u16(p + 82);
}

static void read_q3_k(const uint8_t *p, struct file_block *ret)
{
    const uint8_t *mask = p, *scales = p + 96;
    pairs_256(p + 32, ret->q);
    for (unsigned j = 0; j < 8; j++)
        for (unsigned i = 0; i < 32; i++)
            ret->q[32 * j + i] |= (uint8_t)((mask[i] >> j & 1) << 2);
    for (unsigned j = 0; j < 16; j++) {
        unsigned low = j < 8 ? scales[j] & 15 : scales[j - 8] >> 4;
        ret->scale[j] = (uint8_t)(low | (scales[8 + j % 4] >> 2 * (j / 4) & 3) << 4);
    }
    ret->d = load_u16(p + 108);
}

/* Eight six-bit scales and mins in 12 bytes. */
static void scales_k4(const uint8_t *s, struct file_block *ret)
{
    for (unsigned j = 0; j < 4; j++) {
        ret->scale[j] = s[j] & 63;
        ret->min[j] = s[j + 4] & 63;
        ret->scale[j + 4] = (uint8_t)((s[j + 8] & 15) | (s[j] >> 6) << 4);
        ret->min[j + 4] = (uint8_t)((s[j + 8] >> 4) | (s[j + 4] >> 6) << 4);
    }
}

static void nibbles_256(const uint8_t *qs, uint8_t *q)
{
    for (unsigned c = 0; c < 4; c++, qs += 32, q += 64) {
        for (unsigned i = 0; i < 32; i++) {
            q[i] = qs[i] & 15;
            q[32 + i] = qs[i] >> 4;
        }
    }
}

static void read_q4_k(const uint8_t *p, struct file_block *ret)
{
    ret->d = load_u16(p);
    ret->m = load_u16(p + 2);
    scales_k4(p + 4, ret);
    nibbles_256(p + 16, ret->q);
}

static void read_q5_k(const uint8_t *p, struct file_block *ret)
{
    const uint8_t *qh = p + 16;
    ret->d = load_u16(p);
    ret->m = load_u16(p + 2);
    scales_k4(p + 4, ret);
    nibbles_256(p + 48, ret->q);
    for (unsigned j = 0; j < 8; j++)
        for (unsigned i = 0; i < 32; i++)
            ret->q[32 * j + i] |= (uint8_t)((qh[i] >> j & 1) << 4);
}

static void read_q6_k(const uint8_t *p, struct file_block *ret)
{
    const uint8_t *ql = p, *qh = p + 128;
    uint8_t *q = ret->q;
    for (unsigned half = 0; half < 2; half++, ql += 64, qh += 32, q += 128) {
        for (unsigned i = 0; i < 32; i++) {
            q[i] = (uint8_t)((ql[i] & 15) | (qh[i] & 3) << 4);
            q[32 + i] = (uint8_t)((ql[32 + i] & 15) | (qh[i] >> 2 & 3) << 4);
            q[64 + i] = (uint8_t)(ql[i] >> 4 | (qh[i] >> 4 & 3) << 4);
            q[96 + i] = (uint8_t)(ql[32 + i] >> 4 | (qh[i] >> 6) << 4);
        }
    }
    memcpy(ret->scale, p + 192, 16);
    ret->d = load_u16(p + 208);
}

const struct file_format kernel_file_formats[TENSOR_TYPE_COUNT] = {
    [TENSOR_Q4_0] = { .read = read_q4_0, .q_offset = 8 },
    [TENSOR_Q4_1] = { .read = read_q4_1, .has_m = 1 },
    [TENSOR_Q5_0] = { .read = read_q5_0, .q_offset = 16 },
    [TENSOR_Q5_1] = { .read = read_q5_1, .has_m = 1 },
    [TENSOR_Q8_0] = { .read = read_q8_0 },
    [TENSOR_Q2_K] = { .read = read_q2_k, .sub_values = 16, .has_m = 1 },
    [TENSOR_Q3_K] = { .read = read_q3_k, .q_offset = 4, .scale_offset = 32, .sub_values = 16 },
    [TENSOR_Q4_K] = { .read = read_q4_k, .sub_values = 32, .has_m = 1 },
    [TENSOR_Q5_K] = { .read = read_q5_k, .sub_values = 32, .has_m = 1 },
    [TENSOR_Q6_K] = { .read = read_q6_k, .q_offset = 32, .sub_values = 16 },
};
