/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A product in the way that the number of its columns (tokens times columns of a token) asks for.  A level may have a
 * second way, which pays from ops->many_columns[type] on.  That number is a guess until somebody measures and sets it
 * (src/engine/crossover.h): both ways give the same bits.
 */

#include "kernels/ops.h"

static inline void kernel_matmul(const struct kernel_ops *ops, enum tensor_type type, const uint8_t *packed,
                                 uint32_t groups, const struct kernel_act *x, uint32_t token_first, uint32_t tokens,
                                 float *y, size_t y_stride)
{
    const int many = tokens * x->columns >= ops->many_columns[type];
    (many ? ops->matmul_many : ops->matmul)[type](packed, groups, x, token_first, tokens, y, y_stride);
}
