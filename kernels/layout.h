/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Packed weights.  A row group (16 output rows) is a stream of records, quants and scales together; a record holds
 * 64 k (32-block types: two blocks) or 256 k (K-quants: one block) of 16 rows and is a multiple of 64 bytes.
 *
 * A *line* is 64 bytes that hold 4 consecutive k (a k-quad) of 16 rows: byte 4 * row + k % 4.  Where a quant is
 * narrower than a byte, a line holds one slice of it for several k-quads; quad i is the i-th of its 32 or 16 k:
 *   nibbles[i]  of 64 k: low nibble = quad i of the first 32 k, high nibble = quad i of the second 32 k
 *   pairs[s]    of 64 k: bits 2i, 2i+1 = quad i of sub-block s (16 k)
 *   bits[h]     of 64 k: bit i = quad i of half h (32 k)
 * Quants are stored unsigned, as the file has them (the offset is taken off by the kernels); Q8_0 is signed.
 * Scales stand in row order.  K % 64 == 32: the last record's second half is zero and is never computed with.
 */

#include <stddef.h>
#include <stdint.h>

#include "kernels/block.h"

#define LINE 64u
#define ROWS 16u

struct packed_q4_0 {
    uint8_t nibbles[8][LINE];
    uint16_t d[2][ROWS];                /* [block] */
};

struct packed_q4_1 {
    uint8_t nibbles[8][LINE];
    uint16_t d[2][ROWS], m[2][ROWS];
};

struct packed_q5_0 {
    uint8_t nibbles[8][LINE], bits[2][LINE];
    uint16_t d[2][ROWS];
};

struct packed_q5_1 {
    uint8_t nibbles[8][LINE], bits[2][LINE];
    uint16_t d[2][ROWS], m[2][ROWS];
};

struct packed_q8_0 {
    int8_t q[2][8][LINE];               /* [block][quad] */
    uint16_t d[2][ROWS];
};

struct packed_q2_k {
    struct {
        uint8_t pairs[4][LINE];
        uint8_t scales[4][ROWS];        /* low nibble: scale, high nibble: min */
    } part[4];
    uint16_t d[ROWS], dmin[ROWS];
};

struct packed_q3_k {
    struct {
        uint8_t pairs[4][LINE], bits[2][LINE];
    } part[4];
    uint8_t scales_low[8][ROWS];        /* low nibble: sub-block j, high nibble: j + 8 */
    uint8_t scales_high[4][ROWS];       /* bits 2i, 2i+1: sub-block j + 4 * i; six bits in all, offset 32 */
    uint16_t d[ROWS];
    uint8_t zero[32];
};

struct packed_q4_k {
    struct {
        uint8_t nibbles[8][LINE];
        uint8_t scales[2][ROWS];        /* [sub-block of 32] */
        uint8_t mins[ROWS][2];          /* a row's two mins side by side: an operand of a pairwise multiply-add */
    } part[4];
    uint16_t d[ROWS], dmin[ROWS];
};

struct packed_q5_k {
    struct {
        uint8_t nibbles[8][LINE], bits[2][LINE];
        uint8_t scales[2][ROWS];
        uint8_t mins[ROWS][2];
    } part[4];
    uint16_t d[ROWS], dmin[ROWS];
};

struct packed_q6_k {
    struct {
        uint8_t nibbles[8][LINE], pairs[4][LINE];
        int8_t scales[4][ROWS];         /* [sub-block of 16] */
    } part[4];
    uint16_t d[ROWS];
    uint8_t zero[32];
};

_Static_assert(sizeof(struct packed_q4_0) == 576 && sizeof(struct packed_q4_1) == 640, "whole lines");
_Static_assert(sizeof(struct packed_q5_0) == 704 && sizeof(struct packed_q5_1) == 768, "whole lines");
_Static_assert(sizeof(struct packed_q8_0) == 1088 && sizeof(struct packed_q2_k) == 1344, "whole lines");
_Static_assert(sizeof(struct packed_q3_k) == 1792 && sizeof(struct packed_q4_k) == 2368, "whole lines");
_Static_assert(sizeof(struct packed_q5_k) == 2880 && sizeof(struct packed_q6_k) == 3392, "whole lines");

/* Floats: k after k, each 16 values (f32: 64 bytes, f16 and bf16: 32); filled up to whole lines with zeros. */

struct layout {
    uint32_t record_values;             /* k in one record */
    uint32_t record_bytes;
};

/* Here, so that sizes of records are constants for those who know the type. */
static const struct layout kernel_layouts[TENSOR_TYPE_COUNT] = {
    [TENSOR_F32]  = { 1, LINE },
    [TENSOR_F16]  = { 2, LINE },
    [TENSOR_BF16] = { 2, LINE },
    [TENSOR_Q4_0] = { 64, sizeof(struct packed_q4_0) },
    [TENSOR_Q4_1] = { 64, sizeof(struct packed_q4_1) },
    [TENSOR_Q5_0] = { 64, sizeof(struct packed_q5_0) },
    [TENSOR_Q5_1] = { 64, sizeof(struct packed_q5_1) },
    [TENSOR_Q8_0] = { 64, sizeof(struct packed_q8_0) },
    [TENSOR_Q2_K] = { 256, sizeof(struct packed_q2_k) },
    [TENSOR_Q3_K] = { 256, sizeof(struct packed_q3_k) },
    [TENSOR_Q4_K] = { 256, sizeof(struct packed_q4_k) },
    [TENSOR_Q5_K] = { 256, sizeof(struct packed_q5_k) },
    [TENSOR_Q6_K] = { 256, sizeof(struct packed_q6_k) },
};
