/* SPDX-License-Identifier: Apache-2.0 */

/* NUMERICS.md section 7 at this width.  The store of keys and values is that of AVX2: a scatter gains nothing. */

#include "kernels/avx512/avx512.h"
#include "kernels/avx512/lanes.h"

#define AT_ONCE 4u

#include "kernels/lanes/softmax.inc"
#include "kernels/lanes/attend.inc"

void kernel_avx512_init_attend(struct kernel_ops *ops)
{
    ops->attend = attend;
}
