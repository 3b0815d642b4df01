/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/harness/resources.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <dirent.h>
#include <inttypes.h>
#include <unistd.h>

#include "numa/pages_internal.h"

static uint32_t count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    uint32_t count = 0;

    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static uint64_t count_free(enum page_size size)
{
    struct pages_pool pool;
    struct error error = ERROR_NULL;

    if (pages_pool_read(0, size, &pool, &error))
        fail_msg("%s", error.text);
    return pool.free;
}

struct resources resources_now(void)
{
    return (struct resources){ count_fds(), count_free(PAGE_2M), count_free(PAGE_1G) };
}

void resources_same(const struct resources *before)
{
    struct resources now = resources_now();

    /* A hugetlb file that was just closed gives its pages back a moment later where a ring had pinned them. */
    for (int i = 0; i < 100 && (now.free_2m < before->free_2m || now.free_1g < before->free_1g); i++) {
        usleep(10000);
        now = resources_now();
    }
    if (now.fds != before->fds)
        fail_msg("file descriptors: %u before, %u after", before->fds, now.fds);
    if (now.free_2m < before->free_2m || now.free_1g < before->free_1g)
        fail_msg("free huge pages: %" PRIu64 " of 2 MiB, %" PRIu64 " of 1 GiB before; %" PRIu64 ", %" PRIu64 " after",
                 before->free_2m, before->free_1g, now.free_2m, now.free_1g);
}

uint64_t hugepages_take(enum page_size size, uint64_t pages)
{
    int64_t got;

    if (geteuid() != 0 || pages_pool_change("", 0, size, (int64_t)pages, &got, NULL))
        return 0;
    return got > 0 ? (uint64_t)got : 0;
}

void hugepages_give_back(enum page_size size, uint64_t pages)
{
    int64_t got;

    if (pages > 0)
        assert_int_equal(pages_pool_change("", 0, size, -(int64_t)pages, &got, NULL), 0);
}
