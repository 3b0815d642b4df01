/* SPDX-License-Identifier: Apache-2.0 */

/* NUMERICS.md section 7 with keys and values in 8 bits: VNNI has an unsigned side. */

#include "kernels/avxvnni/avxvnni.h"
#include "kernels/avxvnni/ints.h"

#define AT_ONCE 2u

#include "kernels/lanes/softmax.inc"
#include "kernels/vnni/attend_q8.inc"

void kernel_avxvnni_init_attend_q8(struct kernel_ops *ops) { ops->attend_q8 = attend_q8; }
