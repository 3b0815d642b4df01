/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The parts of the AVX-512 level, hidden: only kernel_ops_init_avx512() leaves the library. */

#include "kernels/ops.h"

void kernel_avx512_init_matmul_32(struct kernel_ops *ops, unsigned traits);
void kernel_avx512_init_matmul_k(struct kernel_ops *ops, unsigned traits);
void kernel_avx512_init_matmul_float(struct kernel_ops *ops);
