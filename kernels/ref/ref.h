/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The parts of the reference level; ref.c put_rows them together.  Hidden: kernel_ops_init_ref() alone leaves the library. */

#include "kernels/ops.h"

void kernel_ref_init_matmul(struct kernel_ops *ops);
void kernel_ref_init_vector(struct kernel_ops *ops);
void kernel_ref_init_attend(struct kernel_ops *ops);
