/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The parts of the AVX-512 level, hidden: only kernel_ops_init_avx512() leaves the library. */

#include "kernels/ops.h"

void kernel_avx512_init_matmul_32(struct kernel_ops *ops, unsigned traits);
void kernel_avx512_init_matmul_k(struct kernel_ops *ops, unsigned traits);
/* Tokens of more than TILE columns in all; @fetch: whether the next segment is fetched meanwhile. */
void kernel_avx512_many_32(enum tensor_type type, const uint8_t *packed, uint32_t groups, const struct kernel_act *x,
                           uint32_t token_first, uint32_t tokens, float *y, size_t y_stride, int fetch);
void kernel_avx512_many_k(enum tensor_type type, const uint8_t *packed, uint32_t groups, const struct kernel_act *x,
                          uint32_t token_first, uint32_t tokens, float *y, size_t y_stride, int fetch);
void kernel_avx512_init_matmul_float(struct kernel_ops *ops);
void kernel_avx512_init_quantise(struct kernel_ops *ops);
void kernel_avx512_init_vector(struct kernel_ops *ops);
void kernel_avx512_init_attend(struct kernel_ops *ops);
void kernel_avx512_init_attend_q8(struct kernel_ops *ops);
void kernel_avx512_init_limits(struct kernel_ops *ops);
