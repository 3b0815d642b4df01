/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/avxvnni/avxvnni.h"

#include "kernels/levels.h"

/* What is no product of integers stays AVX2's. */
void kernel_ops_init_avxvnni(struct kernel_ops *ops, unsigned traits)
{
    ops->level = KERNEL_AVXVNNI;
    kernel_avxvnni_init_matmul_32(ops, traits);
    kernel_avxvnni_init_matmul_k(ops, traits);
    kernel_avxvnni_init_attend_q8(ops);
    kernel_avxvnni_init_limits(ops);
}
