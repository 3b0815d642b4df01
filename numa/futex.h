/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * futex(2) on a private word, and the pause of a spinning hardware thread.  Internal to numa/.
 *
 * A wait may return early (signal, value changed, spurious): callers loop on their own condition.
 */

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "src/base/base.h"

/* Sleeps while *word == value.  @timeout is relative, NULL = none. */
static inline void futex_wait(_Atomic uint32_t *word, uint32_t value, const struct timespec *timeout)
{
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout, NULL, 0);
}

static inline void futex_wake_all(_Atomic uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

static inline void cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}
