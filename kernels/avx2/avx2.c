/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/avx2/avx2.h"

#include "kernels/levels.h"

void kernel_ops_init_avx2(struct kernel_ops *ops, unsigned traits)
{
    ops->level = KERNEL_AVX2;
    kernel_avx2_init_matmul_32(ops, traits);
    kernel_avx2_init_matmul_k(ops, traits);
    kernel_avx2_init_matmul_float(ops);
    kernel_avx2_init_quantise(ops);
    kernel_avx2_init_vector(ops);
    kernel_avx2_init_attend(ops);
    kernel_avx2_init_attend_q8(ops);
    kernel_avx2_init_limits(ops);
}
