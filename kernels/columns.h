/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Where a tile's columns of activations are: column c at q + c * k, s32, s16 likewise, token t at d + t * d_stride. */

#include "kernels/ops.h"

struct columns {
    size_t k, d_stride;
    const int8_t *q;
    const int16_t *s32, *s16;
    const float *d;
};

static inline struct columns columns_of(const struct kernel_act *x, uint32_t token)
{
    size_t values = x->format == ACT_32 ? 32 : KERNEL_BLOCK, column = (size_t)token * x->columns;
    struct columns c = { .k = x->k, .d_stride = x->k / values };
    c.q = x->q + column * x->k;
    c.s32 = x->s32 + column * (x->k / 32);
    c.s16 = x->s16 ? x->s16 + column * (x->k / 16) : NULL;
    c.d = x->d + (size_t)token * c.d_stride;
    return c;
}

/* The same, from value @k on, a multiple of the format's block. */
static inline struct columns columns_at(const struct kernel_act *x, uint32_t token, uint32_t k)
{
    struct columns c = columns_of(x, token);
    c.q += k;
    c.s32 += k / 32;
    c.s16 = c.s16 ? c.s16 + k / 16 : NULL;
    c.d += k / (x->format == ACT_32 ? 32 : KERNEL_BLOCK);
    return c;
}

/* K-quants: on by @k values, a multiple of 256. */
static inline void step_columns(struct columns *x, uint32_t k)
{
    x->q += k;
    x->s32 += k / 32;
    x->s16 += k / 16;
    x->d += k / KERNEL_BLOCK;
}
