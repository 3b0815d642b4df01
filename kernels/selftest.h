/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A level against `ref` before it is used: a CPU, a hypervisor or a compiler that computes something else is found by
 * comparing bits, not by reading CPUID.
 */

#include <stdint.h>

#include "kernels/ops.h"

#define KERNEL_SELFTEST_BYTES (1u << 20)
#define KERNEL_SELFTEST_NAME 64u

/*
 * Runs every entry of @ops on made-up input, the matmuls of the types whose bit (1 << type) is in @types, and compares
 * with ref.  Returns NULL where all bits are equal, else the name of the first that differs: "attend", or the name of a
 * matmul.  @work: KERNEL_SELFTEST_BYTES, 64-byte aligned, written to.  Some milliseconds; the thread has run
 * kernel_thread_init().
 *
 * @now, unless NULL, has the name of what runs, and is written before it does: a kernel that never comes back leaves
 * its name there.
 */
const char *kernel_selftest(const struct kernel_ops *ops, uint32_t types, void *work, char now[KERNEL_SELFTEST_NAME]);
