/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From how many columns on a level's second way of multiplying (kernels/matmul.h) is the faster one here.  Both ways
 * give the same bits, which the self-test has compared, so a clock may choose, and differently each time.
 */

#include "kernels/ops.h"
#include "src/base/base.h"

#define CROSSOVER_BUDGET_NS UINT64_C(20000000)  /* for all types together, and the call that is running then */

struct crossover_clock {
    uint64_t (*now_ns)(void *arg);
    void *arg;
};

extern const struct crossover_clock crossover_monotonic;

/*
 * Sets ops->many_columns of the types whose bit (1 << type) is in @types and which have a second way: the least number
 * measured from which on that way was never the slower one, or UINT32_MAX where there is none.  What could not be
 * measured (no memory, no time, a clock that stands) stays as it was.  Costs nothing where no type has a second way.
 */
void crossover_measure(struct kernel_ops *ops, uint32_t types, const struct crossover_clock *clock);
