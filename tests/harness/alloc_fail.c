/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/harness/alloc_fail.h"

#include <malloc.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void __wrap_free(void *p);

static long fail_in, count;
static bool hit;
static size_t held, peak;

void alloc_fail_after(long n)
{
    fail_in = n;
    hit = false;
}

bool alloc_fail_hit(void)
{
    fail_in = 0;
    return hit;
}

size_t alloc_held(void) { return held; }
size_t alloc_peak(void) { return peak; }
long alloc_count(void) { return count; }

void alloc_peak_reset(void)
{
    peak = held;
    count = 0;
}

static bool fails(void)
{
    count++;
    if (!fail_in || --fail_in)
        return false;
    hit = true;
    return true;
}

static void *took(void *p)
{
    if (p)
        held += malloc_usable_size(p);
    if (held > peak)
        peak = held;
    return p;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : took(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : took(__real_calloc(n, size));
}

void *__wrap_realloc(void *old, size_t size)
{
    size_t before = old ? malloc_usable_size(old) : 0;
    void *p;

    if (fails())
        return NULL;
    p = __real_realloc(old, size);
    if (p)
        held -= before;
    return took(p);
}

void __wrap_free(void *p)
{
    if (p)
        held -= malloc_usable_size(p);
    __real_free(p);
}
