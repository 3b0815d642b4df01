/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The parts of the AVX2 level, hidden: only kernel_ops_init_avx2() leaves the library. */

#include "kernels/ops.h"

void kernel_avx2_init_matmul_32(struct kernel_ops *ops, unsigned traits);
void kernel_avx2_init_matmul_k(struct kernel_ops *ops, unsigned traits);
/* Any number of tokens of Q2_K, Q3_K, Q5_K, Q6_K; pays from MANY_COLUMNS on. */
#define MANY_COLUMNS 16u
void kernel_avx2_matmul_many(enum tensor_type type, const uint8_t *packed, uint32_t groups, const struct kernel_act *x,
                             uint32_t token_first, uint32_t tokens, float *y, size_t y_stride, int fetch);

void kernel_avx2_init_matmul_float(struct kernel_ops *ops);
void kernel_avx2_init_quantise(struct kernel_ops *ops);
void kernel_avx2_init_vector(struct kernel_ops *ops);
void kernel_avx2_init_attend(struct kernel_ops *ops);
void kernel_avx2_init_attend_q8(struct kernel_ops *ops);
void kernel_avx2_init_limits(struct kernel_ops *ops);
