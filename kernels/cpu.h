/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which level this CPU and its operating system can run.  Reading and judging are apart, so that tests can invent
 * a CPU; a level is hidden by the @highest of kernel_ops_init().
 */

#include <stdint.h>

#include "kernels/ops.h"

struct cpu_bits {               /* as CPUID and XGETBV give them */
    uint32_t leaf1_ecx, leaf7_ebx;
    uint64_t xcr0;              /* 0 where the operating system does not use XSAVE */
};

void kernel_cpu_read(struct cpu_bits *ret);
/* The highest level these bits allow. */
enum kernel_level kernel_cpu_level(const struct cpu_bits *bits);
