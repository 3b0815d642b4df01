/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/amx/amx.h"

#include "kernels/levels.h"

/* Products of many columns or queries; all the rest stays as AVX-512 has it. */
void kernel_ops_init_amx(struct kernel_ops *ops, unsigned traits)
{
    (void)traits;
    ops->level = KERNEL_AMX;
    kernel_amx_init_matmul_32(ops);
    kernel_amx_init_matmul_k(ops);
    kernel_amx_init_attend_q8(ops);
    kernel_amx_init_limits(ops);
}
