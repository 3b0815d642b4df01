/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "src/base/base.h"

void check_failed(const char *condition, const char *file, int line, const char *func)
{
    fprintf(stderr, "<2>%s:%d: %s(): check failed: %s\n", file, line, func, condition);
    abort();
}
