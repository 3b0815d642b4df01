/* SPDX-License-Identifier: Apache-2.0 */
#include "io/timer.h"

#include <stdlib.h>

int timers_init(struct timers *timers, uint32_t capacity)
{
    *timers = (struct timers){ .capacity = capacity };
    timers->heap = calloc((size_t)capacity + 1, sizeof(struct timer *));
    return timers->heap ? 0 : -ENOMEM;
}

void timers_deinit(struct timers *timers)
{
    free(timers->heap);
    *timers = (struct timers)TIMERS_NULL;
}

static bool earlier(const struct timer *a, const struct timer *b)
{
    return a->deadline_ns != b->deadline_ns ? a->deadline_ns < b->deadline_ns : a->sequence < b->sequence;
}

static void put(struct timers *t, uint32_t place, struct timer *timer)
{
    t->heap[place] = timer;
    timer->place = place;
}

/* Moves @timer up from a hole at @place as far as it must go. */
static void rise(struct timers *t, uint32_t place, struct timer *timer)
{
    for (; place > 1 && earlier(timer, t->heap[place / 2]); place /= 2)
        put(t, place, t->heap[place / 2]);
    put(t, place, timer);
}

static void sink(struct timers *t, uint32_t place, struct timer *timer)
{
    for (;;) {
        uint32_t child = place * 2;

        if (child > t->count)
            break;
        if (child < t->count && earlier(t->heap[child + 1], t->heap[child]))
            child++;
        if (!earlier(t->heap[child], timer))
            break;
        put(t, place, t->heap[child]);
        place = child;
    }
    put(t, place, timer);
}

bool timers_set(struct timers *timers, struct timer *timer, uint64_t deadline_ns)
{
    timers_unset(timers, timer);
    if (timers->count == timers->capacity)
        return false;
    timer->deadline_ns = deadline_ns;
    timer->sequence = timers->sequence++;
    rise(timers, ++timers->count, timer);
    return true;
}

void timers_unset(struct timers *timers, struct timer *timer)
{
    uint32_t place = timer->place;
    struct timer *last;

    if (!place)
        return;
    timer->place = 0;
    last = timers->heap[timers->count--];
    if (last == timer)
        return;
    if (place > 1 && earlier(last, timers->heap[place / 2]))
        rise(timers, place, last);
    else
        sink(timers, place, last);
}

uint64_t timers_next(const struct timers *timers)
{
    return timers->count ? timers->heap[1]->deadline_ns : UINT64_MAX;
}

struct timer *timers_expire(struct timers *timers, uint64_t now_ns)
{
    struct timer *first;

    if (!timers->count || timers->heap[1]->deadline_ns > now_ns)
        return NULL;
    first = timers->heap[1];
    timers_unset(timers, first);
    return first;
}
