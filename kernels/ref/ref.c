/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/levels.h"
#include "kernels/ref/ref.h"

void kernel_ops_init_ref(struct kernel_ops *ops, unsigned traits)
{
    (void)traits;
    ops->level = KERNEL_REF;
    kernel_ref_init_matmul(ops);
    kernel_ref_init_vector(ops);
    kernel_ref_init_attend(ops);
    kernel_ref_init_attend_q8(ops);
    kernel_ref_init_limits(ops);
}
