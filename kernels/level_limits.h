/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a level could do at best, for benches to compare its kernels with; no answer needs it. */

#include <stddef.h>
#include <stdint.h>

struct kernel_limits {
    /* @rounds of the level's own multiply-adds, in registers; returns how many multiplications they were. */
    uint64_t (*int8)(uint32_t rounds);
    uint64_t (*f32)(uint32_t rounds);
    /* Reads with the widest loads; 64-byte aligned, a multiple of 512 bytes. */
    void (*read)(const uint8_t *from, size_t bytes);
};
