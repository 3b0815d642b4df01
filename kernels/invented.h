/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Made-up input of matmuls, for those who compare levels and those who time them: numbers follow from a seed. */

#include "kernels/ops.h"

uint32_t kernel_invent(uint32_t *seed);         /* 24 bits; the seed moves on */
/* -1 to 1, and now and then an outlier, as activations are. */
void kernel_invent_floats(uint32_t *seed, float *ret, uint32_t n);
/*
 * @groups packed row groups of k columns at @ret_packed.  @rows is room for one of them as a file has it, at most
 * KERNEL_GROUP_ROWS * k floats.
 */
void kernel_invent_groups(uint32_t *seed, enum tensor_type type, uint32_t k, uint32_t groups, uint8_t *rows,
                          uint8_t *ret_packed);
/* Tokens of x->k values at @v, quantised by @ops into @x; not for ACT_F32. */
void kernel_invent_act(const struct kernel_ops *ops, const float *v, uint32_t tokens, const struct kernel_act *x);
