/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The parts of the AVX-VNNI level, hidden: only kernel_ops_init_avxvnni() leaves the library. */

#include "kernels/ops.h"

void kernel_avxvnni_init_matmul_32(struct kernel_ops *ops, unsigned traits);
void kernel_avxvnni_init_matmul_k(struct kernel_ops *ops, unsigned traits);
void kernel_avxvnni_init_attend_q8(struct kernel_ops *ops);
void kernel_avxvnni_init_limits(struct kernel_ops *ops);
/* Tokens of more than TILE columns in all; @fetch: whether the next segment is fetched meanwhile. */
void kernel_avxvnni_many_32(enum tensor_type type, const uint8_t *packed, uint32_t groups, const struct kernel_act *x,
                            uint32_t token_first, uint32_t tokens, float *y, size_t y_stride, int fetch);
void kernel_avxvnni_many_k(enum tensor_type type, const uint8_t *packed, uint32_t groups, const struct kernel_act *x,
                           uint32_t token_first, uint32_t tokens, float *y, size_t y_stride, int fetch);
