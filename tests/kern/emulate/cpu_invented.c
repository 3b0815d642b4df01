/* SPDX-License-Identifier: Apache-2.0 */

/* This machine's CPU, and AVX-512 and AMX, which are emulated with its AVX2. */

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
    ret->leaf7_edx |= 1u << 24 | 1u << 25;                              /* AMX-TILE, AMX-INT8 */
    ret->xcr0 |= 0x600e0;                                               /* their state */
    ret->permitted |= 1u << 18;
    return 0;
}
