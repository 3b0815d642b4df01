/* SPDX-License-Identifier: Apache-2.0 */
#include "io/staging.h"

#include <linux/mman.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_BYTES (UINT64_C(2) << 20)

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static void leave_out(void *data, size_t bytes)
{
    /* Advice: a kernel that knows none of it still loads models. */
    (void)madvise(data, bytes, MADV_DONTDUMP);
    (void)madvise(data, bytes, MADV_DONTFORK);
}

/*
 * A reservation that succeeded does not promise a page on an allowed node; populating asks for all of them now
 * and answers with an errno where a plain touch would raise SIGBUS.
 */
static int map_hugetlb(struct staging *s, size_t bytes)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_HUGE_2MB;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);

    if (p == MAP_FAILED)
        return -errno;
    if (madvise(p, bytes, MADV_POPULATE_WRITE)) {
        int r = -errno;

        munmap(p, bytes);
        return r;
    }
    s->map = s->data = p;
    s->map_bytes = bytes;
    s->huge = true;
    return 0;
}

static int map_small(struct staging *s, size_t bytes)
{
    size_t map_bytes = bytes + HUGE_BYTES;
    void *p = mmap(NULL, map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p == MAP_FAILED)
        return -errno;
    s->map = p;
    s->map_bytes = map_bytes;
    s->data = (uint8_t *)align_up((uintptr_t)p, HUGE_BYTES);
    (void)madvise(s->data, bytes, MADV_HUGEPAGE);
    if (madvise(s->data, bytes, MADV_POPULATE_WRITE)) {
        if (errno != EINVAL) {
            int r = -errno;

            munmap(p, map_bytes);
            return r;
        }
        memset(s->data, 0, bytes);  /* before Linux 5.14 */
    }
    return 0;
}

int staging_init(struct staging *staging, size_t bytes, struct error *error)
{
    struct staging s = STAGING_NULL;
    int r = bytes % HUGE_BYTES ? -EINVAL : map_hugetlb(&s, bytes);

    if (r) {
        snprintf(s.note, sizeof(s.note), "staging not in hugetlb pages (%s)",
                 r == -EINVAL ? "size is no multiple of 2 MiB" : strerror(-r));
        r = map_small(&s, bytes);
    }
    if (r)
        return error_set(error, r, "no %zu bytes for the loader's staging memory: %s", bytes, strerror(-r));
    s.bytes = bytes;
    leave_out(s.data, bytes);
    *staging = s;
    return 0;
}

void staging_deinit(struct staging *staging)
{
    if (staging->map)
        munmap(staging->map, staging->map_bytes);
    *staging = (struct staging)STAGING_NULL;
}
