/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A computation that may end its process is tried in a child first: a copy of this process with one thread, which
 * leaves no core file and runs no exit handlers.  What it should tell must lie in shared memory.
 */

#include <stddef.h>

#include "src/base/base.h"

/* Verdicts that are no signal's number. */
#define TRIAL_LATE 1000                 /* it was ended after @limit_ms */
#define TRIAL_LOST 1001                 /* it is gone, nobody knows how */

/*
 * Runs what(arg), which must only compute: other threads of this process may hold locks, and nobody lets go of them in
 * the child.  0 where it returned, else how it ended: a signal's number or a TRIAL_ constant.  A negative errno where
 * there can be no child.
 */
must_check int trial_run(void (*what)(void *arg), void *arg, uint32_t limit_ms);
/* A verdict as the end of a sentence: "ends with SIGILL". */
void trial_describe(int verdict, char *text, size_t size);
