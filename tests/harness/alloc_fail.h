/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Makes the n-th allocation fail and counts what is held, in a program linked with `alloc_fail_dep` (which wraps
 * malloc, calloc, realloc and free of our own objects; libraries keep theirs).
 *
 *     for (long n = 1; ; n++) {
 *         alloc_fail_after(n);
 *         r = thing_load(&thing);
 *         if (!alloc_fail_hit()) break;        (all allocations were made to fail once)
 *         … r is -ENOMEM, thing untouched, alloc_held() as before …
 *     }
 *
 * One thread.  Blocks that cross the border (ours, freed by a library, or the reverse) spoil alloc_held() only.
 */

#include "src/base/base.h"

/* The @n-th allocation from now fails; 0: none. */
void alloc_fail_after(long n);
/* Whether it came to that; ends the failing. */
bool alloc_fail_hit(void);

/* Bytes held now, the most that were held since alloc_peak_reset(), allocations since then. */
size_t alloc_held(void);
void alloc_peak_reset(void);
size_t alloc_peak(void);
long alloc_count(void);
