/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "tests/kern/harness.h"

int find_cpu(struct cpu_bits *ret)
{
    int r = kernel_amx_permission();
    if (r < 0)
        printf("skipped: level amx, for which the system gives no permission (errno %d)\n", -r);
    kernel_cpu_read(ret);
    return 0;
}
