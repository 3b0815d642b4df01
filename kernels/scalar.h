/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Small formulas that several portable sources need inline (NUMERICS.md sections 0, 4, 5). */

#include <math.h>
#include <stdint.h>

#include "kernels/bits.h"

#define ACT_TOP_INT8 127.0f
#define ACT_TOP_INT16 16256.0f
#define ACT_TINY 0x1p-100f              /* a block whose largest magnitude is below this is zero */

#define KV_Q8_LIMIT 0x58800000u         /* bits of 2^50: what is kept in 8 bits is below, so that scores are finite */

/* MAXPS order, so that zeros and the order of operands are the same at every level. */
static inline float max_f32(float a, float b) { return a > b ? a : b; }

static inline float tree16(const float l[16])
{
    float t[8], q[4];
    for (int i = 0; i < 8; i++)
        t[i] = l[i] + l[i + 8];
    for (int i = 0; i < 4; i++)
        q[i] = t[i] + t[i + 4];
    return (q[0] + q[2]) + (q[1] + q[3]);
}
