/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One block of a quantised tensor as the file has it, taken apart (the table of NUMERICS.md section 1).  Block bytes
 * are trusted in size; every bit pattern is a valid block.
 */

#include <stdint.h>

#include "kernels/block.h"

struct file_block {
    uint8_t q[256];             /* the integers before their offset: 0..63, or int8 (Q8_0) */
    uint8_t scale[16];          /* per sub-block, before their offset: 0..63, or int8 (Q6_K) */
    uint8_t min[16];
    uint16_t d, m;              /* f16; m is the m of Q4_1 and Q5_1 or the dmin of K-quants */
};

typedef void file_block_read(const uint8_t *p, struct file_block *ret);

struct file_format {
    file_block_read *read;
    int q_offset;               /* the integer is (int8_t)q - q_offset */
    int scale_offset;           /* the same for the scale */
    unsigned sub_values;        /* values of a sub-block: 16 or 32; 0 where the block has no sub-scales */
    int has_m;
};

/* Quantised types only; float types have read == NULL. */
extern const struct file_format kernel_file_formats[TENSOR_TYPE_COUNT];
