/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/file.h"

#include "kernels/bits.h"

/*
 * Bytes four at a time, so that the compiler makes vectors of them (there are no 8-bit shifts): q = p >> shift & mask,
 * or q |= (p >> shift & mask) << up.  A mask repeats one byte's and holds nothing that a shift brings across bytes.
 */
static inline void cut(uint8_t *q, const uint8_t *p, unsigned bytes, unsigned shift, uint32_t mask)
{
    for (unsigned i = 0; i < bytes; i += 4)
        store_u32(q + i, load_u32(p + i) >> shift & mask);
}

static inline void cut_or(uint8_t *q, const uint8_t *p, unsigned bytes, unsigned shift, uint32_t mask, unsigned up)
{
    for (unsigned i = 0; i < bytes; i += 4)
        store_u32(q + i, load_u32(q + i) | (load_u32(p + i) >> shift & mask) << up);
}

#define MASK_1 0x01010101u
#define MASK_2 0x03030303u
#define MASK_4 0x0f0f0f0fu

/* @bytes low nibbles, then as many high ones. */
static inline void nibbles(uint8_t *q, const uint8_t *qs, unsigned bytes)
{
    cut(q, qs, bytes, 0, MASK_4);
    cut(q + bytes, qs, bytes, 4, MASK_4);
}

/*
 * Adds bit k of the little-endian word at @qh as bit 4 of q[k]: each byte goes to eight places, each place keeps its
 * own bit of it, and what is not zero carries into bit 7 when 127 is added.
 */
static inline void fifth_bits_32(const uint8_t *qh, uint8_t *q)
{
    for (unsigned byte = 0; byte < 4; byte++) {
        uint64_t kept = qh[byte] * 0x0101010101010101ull & 0x8040201008040201ull;
        uint64_t fifth = (kept + 0x7f7f7f7f7f7f7f7full) >> 3 & 0x1010101010101010ull;
        store_u64(q + 8 * byte, load_u64(q + 8 * byte) | fifth);
    }
}

static void read_q4_0(const uint8_t *p, struct file_block *ret)
{
    ret->d = load_u16(p);
    nibbles(ret->q, p + 2, 16);
}

static void read_q4_1(const uint8_t *p, struct file_block *ret)
{
    ret->d = load_u16(p);
    ret->m = load_u16(p + 2);
    nibbles(ret->q, p + 4, 16);
}

static void read_q5_0(const uint8_t *p, struct file_block *ret)
{
    ret->d = load_u16(p);
    nibbles(ret->q, p + 6, 16);
    fifth_bits_32(p + 2, ret->q);
}

static void read_q5_1(const uint8_t *p, struct file_block *ret)
{
    ret->d = load_u16(p);
    ret->m = load_u16(p + 2);
    nibbles(ret->q, p + 8, 16);
    fifth_bits_32(p + 4, ret->q);
}

static void read_q8_0(const uint8_t *p, struct file_block *ret)
{
    ret->d = load_u16(p);
    memcpy(ret->q, p + 2, 32);
}

/* 64 bytes: two halves of 128 values, each 32 bytes of four pairs. */
static inline void pairs_256(const uint8_t *qs, uint8_t *q)
{
    for (unsigned half = 0; half < 2; half++)
        for (unsigned g = 0; g < 4; g++)
            cut(q + 128 * half + 32 * g, qs + 32 * half, 32, 2 * g, MASK_2);
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
        cut_or(ret->q + 32 * j, mask, 32, j, MASK_1, 2);
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

static inline void nibbles_256(const uint8_t *qs, uint8_t *q)
{
    for (unsigned c = 0; c < 4; c++)
        nibbles(q + 64 * c, qs + 32 * c, 32);
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
        cut_or(ret->q + 32 * j, qh, 32, j, MASK_1, 4);
}

static void read_q6_k(const uint8_t *p, struct file_block *ret)
{
    for (unsigned half = 0; half < 2; half++) {
        const uint8_t *ql = p + 64 * half, *qh = p + 128 + 32 * half;
        uint8_t *q = ret->q + 128 * half;
        nibbles(q, ql, 64);                 /* the four groups of 32 in order */
        for (unsigned g = 0; g < 4; g++)
            cut_or(q + 32 * g, qh, 32, 2 * g, MASK_2, 4);
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
