/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kern/harness.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096u
#define PATTERN 0xa5
#define REPORTS_MAX 40

void seed(struct harness *h, uint64_t value) { h->rng = value * 0x9e3779b97f4a7c15ull + 1; }

/* PCG's multiplier on a 64-bit state; the upper half is the number. */
uint32_t random_u32(struct harness *h)
{
    h->rng = h->rng * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(h->rng >> 32);
}

float random_normal(struct harness *h)
{
    float sum = 0.0f;
    for (int i = 0; i < 4; i++)
        sum += (float)(random_u32(h) >> 8) * 0x1p-24f;
    return (sum - 2.0f) * 1.75f;
}

uint16_t random_f16(struct harness *h, int any)
{
    uint32_t r = random_u32(h);
    return any ? (uint16_t)((r >> 16) % 0x7c00u | (r & 1u) << 15) : (uint16_t)(0x1800u + r % 0x0800u);
}

void *guarded(struct harness *h, size_t bytes)
{
    struct guard *g = &h->guards[h->guard_count++];
    size_t usable = (bytes + 2 * PAGE - 1) / PAGE * PAGE;       /* at least one byte before the buffer is watched */
    if (h->guard_count > GUARDS_MAX)
        abort();
    g->map_bytes = usable + PAGE;
    g->map = mmap(NULL, g->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g->map == MAP_FAILED || mprotect(g->map + usable, PAGE, h->soft_guards ? PROT_READ : PROT_NONE) != 0) {
        perror("guarded buffer");
        exit(2);
    }
    g->offset = usable - bytes;
    g->bytes = bytes;
    memset(g->map, PATTERN, usable);
    return g->map + g->offset;
}

void *guarded_copy(struct harness *h, const void *data, size_t bytes)
{
    void *copy = guarded(h, bytes);
    memcpy(copy, data, bytes);
    return copy;
}

void guards_release(struct harness *h, unsigned keep)
{
    while (h->guard_count > keep) {
        struct guard *g = &h->guards[--h->guard_count];
        size_t changed = 0;
        for (size_t b = 0; b < g->offset; b++)
            changed += g->map[b] != PATTERN;
        expect(h, changed == 0, "%zu bytes written before a buffer of %zu", changed, g->bytes);
        munmap(g->map, g->map_bytes);
    }
}

void guards_check(struct harness *h) { guards_release(h, 0); }

static int report(struct harness *h, const char *format, va_list arguments)
{
    h->failed++;
    if (h->reported++ < REPORTS_MAX) {
        fprintf(stderr, "FAILED %s: ", h->what);
        vfprintf(stderr, format, arguments);
        fputc('\n', stderr);
    }
    return 0;
}

int expect(struct harness *h, int good, const char *format, ...)
{
    h->compared++;
    if (good)
        return 1;
    va_list arguments;
    va_start(arguments, format);
    report(h, format, arguments);
    va_end(arguments);
    return 0;
}

int expect_same(struct harness *h, const void *ref, const void *got, size_t bytes, const char *format, ...)
{
    const uint8_t *a = ref, *b = got;
    h->compared += bytes / 4 + 1;
    if (memcmp(a, b, bytes) == 0)
        return 1;
    va_list arguments;
    va_start(arguments, format);
    report(h, format, arguments);
    va_end(arguments);
    size_t at = 0;
    while (a[at] == b[at])
        at++;
    if (h->reported <= REPORTS_MAX)
        fprintf(stderr, "    first difference at byte %zu of %zu: ref %02x, got %02x\n", at, bytes, a[at], b[at]);
    return 0;
}

int harness_finish(struct harness *h)
{
    guards_check(h);
    expect(h, h->compared > 20, "only %llu comparisons", (unsigned long long)h->compared);
    return h->failed != 0;
}
