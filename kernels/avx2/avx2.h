/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The parts of the AVX2 level, hidden: only kernel_ops_init_avx2() leaves the library. */

#include "kernels/ops.h"

void kernel_avx2_init_matmul_32(struct kernel_ops *ops, unsigned traits);
void kernel_avx2_init_matmul_k(struct kernel_ops *ops, unsigned traits);
void kernel_avx2_init_matmul_float(struct kernel_ops *ops);
void kernel_avx2_init_quantise(struct kernel_ops *ops);
void kernel_avx2_init_vector(struct kernel_ops *ops);
void kernel_avx2_init_attend(struct kernel_ops *ops);
