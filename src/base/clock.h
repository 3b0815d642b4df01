/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Monotonic time in nanoseconds.  Code that decides by time takes `now_ns` as a parameter instead. */

#include <time.h>

#include "src/base/base.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)

static inline uint64_t clock_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}
