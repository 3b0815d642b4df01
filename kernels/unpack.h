/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One block of a packed row group taken apart: what the reference kernels compute with.
 */

#include <stdint.h>

#include "kernels/block.h"
#include "kernels/layout.h"

struct unpacked_block {
    int16_t w[ROWS][256];       /* [row][k]: the integer with its sub-scale folded in, |w| <= 4096 */
    int16_t min[ROWS][16];      /* [row][sub-block of 16 k] of Q2_K, Q4_K, Q5_K, else 0 */
    float d[ROWS];
    float m[ROWS];              /* the m of Q4_1, Q5_1; minus dmin of K-quants */
};

/* Block @index (of 32 or 256 k) of a group of a quantised type. */
void kernel_unpack_block(enum tensor_type type, const uint8_t *packed, uint32_t index, struct unpacked_block *ret);
/* Column k (16 rows) of a group of a float type. */
void kernel_unpack_floats(enum tensor_type type, const uint8_t *packed, uint32_t k, float ret[ROWS]);
