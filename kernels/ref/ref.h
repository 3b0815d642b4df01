/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The parts of the reference level, hidden: only kernel_ops_init_ref() leaves the library. */

#include "kernels/ops.h"

void kernel_ref_init_matmul(struct kernel_ops *ops);
void kernel_ref_init_vector(struct kernel_ops *ops);
void kernel_ref_init_attend(struct kernel_ops *ops);
void kernel_ref_init_attend_q8(struct kernel_ops *ops);
void kernel_ref_init_limits(struct kernel_ops *ops);
