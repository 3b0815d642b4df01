/* SPDX-License-Identifier: Apache-2.0 */

/* This machine's CPU, and AVX-512, which is emulated with its AVX2. */

#include <stdio.h>

#include "tests/kern/harness.h"

int find_cpu(struct cpu_bits *ret)
{
    kernel_cpu_read(ret);
    if (!kernel_cpu_has(ret, KERNEL_AVX2)) {
        printf("skipped: emulated levels: this CPU lacks AVX2, which they are emulated with\n");
        return -1;
    }
    ret->leaf7_ebx |= 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;        /* F, DQ, BW, VL */
    ret->leaf7_ecx |= 1u << 11;                                         /* VNNI */
    ret->xcr0 |= 0xe0;                                                  /* the state of all three */
    return 0;
}
