/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Deadlines in order: a binary heap of timers that live inside their owners.  Pure: the clock is the caller's.
 * Equal deadlines expire in the order in which they were set.  One thread.
 */

#include "src/base/base.h"

struct timer {
    uint64_t deadline_ns;
    uint64_t sequence;
    uint32_t place;                 /* in the heap, from 1; 0 = not set */
};

#define TIMER_NULL { .place = 0 }

struct timers {
    struct timer **heap;            /* 1-based */
    uint32_t count, capacity;
    uint64_t sequence;
};

#define TIMERS_NULL { .heap = NULL }

/* 0 or -ENOMEM.  At most @capacity timers are set at once. */
must_check int timers_init(struct timers *timers, uint32_t capacity);
void timers_deinit(struct timers *timers);

/* Sets or moves; false when capacity timers are set. */
must_check bool timers_set(struct timers *timers, struct timer *timer, uint64_t deadline_ns);
/* Harmless on one that is not set. */
void timers_unset(struct timers *timers, struct timer *timer);
/* The earliest deadline, UINT64_MAX = none. */
uint64_t timers_next(const struct timers *timers);
/* Unsets and returns the earliest timer whose deadline is not after @now_ns, or NULL. */
struct timer *timers_expire(struct timers *timers, uint64_t now_ns);
