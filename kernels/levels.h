/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The one symbol that each level exports.  An init overwrites what its level does better and sets ops->level; @traits
 * say what suits this CPU.
 */

#include "kernels/ops.h"

#define KERNEL_LEVEL_INIT __attribute__((visibility("default")))

/* matmul_NAME(): the file's matmul() of one type. */
#define MATMUL(name, type)                                                                                             \
    static void matmul_##name(const uint8_t *packed, uint32_t groups, const struct kernel_act *x,                      \
                              uint32_t token_first, uint32_t tokens, float *y, size_t y_stride)                        \
    {                                                                                                                  \
        matmul(type, packed, groups, x, token_first, tokens, y, y_stride);                                             \
    }

#define KERNEL_TRAIT_AHEAD 1u           /* prefetch weights in software */

KERNEL_LEVEL_INIT void kernel_ops_init_ref(struct kernel_ops *ops, unsigned traits);
KERNEL_LEVEL_INIT void kernel_ops_init_avx2(struct kernel_ops *ops, unsigned traits);
KERNEL_LEVEL_INIT void kernel_ops_init_avxvnni(struct kernel_ops *ops, unsigned traits);
KERNEL_LEVEL_INIT void kernel_ops_init_avx512(struct kernel_ops *ops, unsigned traits);
KERNEL_LEVEL_INIT void kernel_ops_init_amx(struct kernel_ops *ops, unsigned traits);
