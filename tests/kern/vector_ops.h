/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Everything of the table that walks a vector, by number: one way to call it for those who compare and who time. */

#include "kernels/ops.h"

#define VECTOR_OPS 14u

struct vector_op {
    const char *name;
    uint32_t touched;                   /* vectors that are read or written */
};

extern const struct vector_op vector_ops[VECTOR_OPS];

void vector_op_call(const struct kernel_ops *ops, unsigned op, float *y, const float *a, const float *b, uint32_t n);
