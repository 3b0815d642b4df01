/* SPDX-License-Identifier: Apache-2.0 */

/* NUMERICS.md section 7 with keys and values in 8 bits, at this width. */

#include "kernels/avx512/avx512.h"
#include "kernels/avx512/ints.h"

#define AT_ONCE 4u

#include "kernels/lanes/softmax.inc"
#include "kernels/vnni/attend_q8.inc"

void kernel_avx512_init_attend_q8(struct kernel_ops *ops) { ops->attend_q8 = attend_q8; }
