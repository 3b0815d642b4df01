/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which level this CPU and its operating system can run.  Reading and judging are apart, so that tests can invent
 * a CPU; a level is hidden by the @highest of kernel_ops_init().
 *
 * A trait is not whether a CPU can, but whether it should.
 */

#include <stdint.h>

#include "kernels/ops.h"

struct cpu_bits {               /* as CPUID and XGETBV give them */
    uint32_t leaf0_ebx, leaf1_ecx, leaf7_ebx, leaf7_ecx, leaf7_edx, leaf7_1_eax;
    uint64_t xcr0;              /* 0 where the operating system does not use XSAVE */
    uint64_t permitted;         /* states of XCR0 that the process was given leave to use */
};

void kernel_cpu_read(struct cpu_bits *ret);
/* Whether these bits allow a level: a higher one need not contain every lower one. */
int kernel_cpu_has(const struct cpu_bits *bits, enum kernel_level level);
/* KERNEL_TRAIT_ bits of levels.h. */
unsigned kernel_cpu_traits(const struct cpu_bits *bits);
/* kernel_ops_init() for the CPU that @bits describe. */
enum kernel_level kernel_ops_init_for(struct kernel_ops *ops, enum kernel_level highest, const struct cpu_bits *bits);
/*
 * Asks the system to let this process use AMX's tiles, before it has threads that compute; once more does no harm.  A
 * negative errno where it refuses: the CPU counts as one without AMX then.  0 where it has none.
 */
int kernel_amx_permission(void);
