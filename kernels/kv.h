/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A block of keys and values: 64 positions, one layer, one KV head; NUMERICS.md section 7.
 *   KV_F16   K f16 [4][hd][16] (16 positions are 16 lanes), V f16 [64][hd]
 *   KV_Q8    K int8 [4][hd/4][64]: byte 4 * (position % 16) + d % 4 of line d / 4
 *            V int8 [hd/16][16][64]: byte 4 * (d % 16) + position % 4 of line position / 4
 *            scales f32 [64] of K, f32 [64] of V
 * one part right behind the other.  Both are a multiple of 64 bytes long; KV_Q8 is aligned to 64.
 */

#include <stddef.h>
#include <stdint.h>

#define KERNEL_KV_BLOCK 64u             /* KV positions in a block */

enum kv_format { KV_F16, KV_Q8, KV_FORMAT_COUNT };

static inline size_t kernel_kv_bytes(enum kv_format format, uint32_t hd)
{
    const size_t each = format == KV_F16 ? hd * sizeof(uint16_t) : hd + sizeof(float);
    return KERNEL_KV_BLOCK * 2 * each;
}
