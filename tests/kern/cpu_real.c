/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kern/harness.h"

int find_cpu(struct cpu_bits *ret)
{
    kernel_cpu_read(ret);
    return 0;
}
