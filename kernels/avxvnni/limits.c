/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/avxvnni/avxvnni.h"
#include "kernels/avxvnni/ints.h"
#include "kernels/vnni/limits.inc"

void kernel_avxvnni_init_limits(struct kernel_ops *ops)
{
    static const struct kernel_limits limits = { limit_int8, limit_f32, limit_read };
    ops->limits = &limits;
}
