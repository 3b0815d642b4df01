/* SPDX-License-Identifier: Apache-2.0 */
#include "numa/pages.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "numa/cgroup.h"
#include "numa/pages_internal.h"
#include "numa/text.h"

#define NODE_DIR "/sys/devices/system/node"
#define POOL_DIR "/sys/kernel/mm/hugepages"
#define MEMINFO_CHARS_MAX 16384

uint64_t pages_bytes(enum page_size size)
{
    static const uint64_t bytes[PAGE_SIZE_COUNT] = { [PAGE_4K] = 4096, [PAGE_2M] = PAGE_2M_BYTES,
                                                     [PAGE_1G] = PAGE_1G_BYTES };
    return bytes[size];
}

const char *pages_name(enum page_size size)
{
    static const char *const names[PAGE_SIZE_COUNT] = { [PAGE_4K] = "4 KiB", [PAGE_2M] = "2 MiB",
                                                        [PAGE_1G] = "1 GiB" };
    return names[size];
}

static bool exists(const char *root, const char *path)
{
    char whole[PATH_MAX];
    int n = snprintf(whole, sizeof whole, "%s%s", root, path);

    return n > 0 && (size_t)n < sizeof whole && access(whole, F_OK) == 0;
}

/* A kernel without NUMA has one pool for all, and calls its memory node 0. */
bool pages_pool_path(const char *root, uint32_t os_node, enum page_size size, char *path, size_t capacity)
{
    unsigned long long kib = pages_bytes(size) / 1024;

    if (exists(root, NODE_DIR))
        snprintf(path, capacity, NODE_DIR "/node%u/hugepages/hugepages-%llukB", os_node, kib);
    else
        snprintf(path, capacity, POOL_DIR "/hugepages-%llukB", kib);
    return size != PAGE_4K && exists(root, path);
}

static int read_count(const char *root, const char *dir, const char *file, uint64_t *ret, struct error *error)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", dir, file);
    int r = text_read_u64(root, path, ret);
    if (r)
        return error_set(error, r, "cannot read the huge-page pool: %s: %s", path,
                         r == -EINVAL ? "not a number" : strerror(-r));
    return 0;
}

static int read_pool(const char *root, const char *dir, struct pages_pool *ret_pool, struct error *error)
{
    struct pages_pool pool;
    int r = read_count(root, dir, "nr_hugepages", &pool.total, error);

    if (r == 0)
        r = read_count(root, dir, "free_hugepages", &pool.free, error);
    if (r)
        return r;
    pool.free = min_u64(pool.free, pool.total);     /* two reads: the pool may have shrunk between */
    *ret_pool = pool;
    return 0;
}

int pages_pool_read_at(const char *root, uint32_t os_node, enum page_size size, struct pages_pool *ret_pool,
                       struct error *error)
{
    char dir[160];

    if (!pages_pool_path(root, os_node, size, dir, sizeof dir)) {
        *ret_pool = (struct pages_pool){ 0, 0 };
        return 0;
    }
    return read_pool(root, dir, ret_pool, error);
}

static int no_pool(uint32_t os_node, enum page_size size, struct error *error)
{
    return error_set(error, -ENODEV, "node %u has no pool of %s pages: there is no such node, or the kernel or the "
                     "CPU lacks them", os_node, pages_name(size));
}

static int write_count(const char *root, const char *dir, uint64_t value, struct error *error)
{
    char path[256];

    snprintf(path, sizeof path, "%s/nr_hugepages", dir);
    int r = text_write_u64(root, path, value);
    if (r)
        return error_set(error, r, "cannot write %llu to %s: %s%s", (unsigned long long)value, path, strerror(-r),
                         r == -EACCES || r == -EPERM || r == -EROFS ? "; only root of the host may" : "");
    return 0;
}

/* Held over read, write and read back.  A lock that cannot be had is no reason to fail. */
static int pool_lock(const char *root, const char *dir)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s%s/nr_hugepages", root, dir);
    int fd = n > 0 && (size_t)n < sizeof path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;

    while (fd >= 0 && flock(fd, LOCK_EX) && errno == EINTR)
        ;
    return fd;
}

static void pool_unlock(int fd)
{
    if (fd >= 0)
        close(fd);
}

static int change_locked(const char *root, const char *dir, uint64_t total, struct pages_pool *ret_after,
                         struct error *error)
{
    int r = write_count(root, dir, total, error);
    return r ? r : read_pool(root, dir, ret_after, error);
}

int pages_pool_reserve_at(const char *root, uint32_t os_node, enum page_size size, uint64_t free_wanted,
                          struct error *error)
{
    char dir[160];
    struct pages_pool pool, after = { 0, 0 };
    uint64_t total = 0;

    if (free_wanted == 0)
        return 0;
    if (!pages_pool_path(root, os_node, size, dir, sizeof dir))
        return no_pool(os_node, size, error);
    int lock = pool_lock(root, dir);
    int r = read_pool(root, dir, &pool, error);
    if (r == 0 && pool.free < free_wanted) {
        if (ckd_add(&total, pool.total, free_wanted - pool.free))
            r = error_set(error, -EINVAL, "%llu pages of %s are more than any machine has",
                          (unsigned long long)free_wanted, pages_name(size));
        else
            r = change_locked(root, dir, total, &after, error);
        if (r == 0 && after.free < free_wanted)
            r = error_set(error, -ENOMEM, "the kernel gave node %u %llu of %llu free pages of %s: its memory is in "
                          "use or in small pieces; reserve at boot (hugepagesz=%s hugepages=%u:%llu) or free memory",
                          os_node, (unsigned long long)after.free, (unsigned long long)free_wanted, pages_name(size),
                          size == PAGE_1G ? "1G" : "2M", os_node, (unsigned long long)total);
    }
    pool_unlock(lock);
    return r;
}

int pages_pool_change(const char *root, uint32_t os_node, enum page_size size, int64_t delta, int64_t *ret_delta,
                      struct error *error)
{
    char dir[160];
    struct pages_pool before, after;

    if (!pages_pool_path(root, os_node, size, dir, sizeof dir))
        return no_pool(os_node, size, error);
    int lock = pool_lock(root, dir);
    int r = read_pool(root, dir, &before, error);
    if (r == 0) {
        uint64_t less = delta < 0 ? min_u64(-(uint64_t)delta, before.total) : 0;
        uint64_t total = before.total - less + (delta > 0 ? (uint64_t)delta : 0);
        r = change_locked(root, dir, total, &after, error);
    }
    pool_unlock(lock);
    if (r)
        return r;
    *ret_delta = (int64_t)(after.total - before.total);
    return 0;
}

/* The page cache counts as used, but gives way: "inactive_file 123" and "active_file 123" are taken off. */
uint64_t pages_cgroup_room_at(const char *root, enum page_size size)
{
    static const struct cgroup_pair memory[] = {
        { "memory.max", "memory.current", "memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat" },
        { "memory.high", "memory.current", NULL, NULL, "memory.stat" },
    };
    static const struct cgroup_pair huge_2m[] = {
        { "hugetlb.2MB.max", "hugetlb.2MB.current", "hugetlb.2MB.limit_in_bytes", "hugetlb.2MB.usage_in_bytes", NULL },
        { "hugetlb.2MB.rsvd.max", "hugetlb.2MB.rsvd.current", "hugetlb.2MB.rsvd.limit_in_bytes",
          "hugetlb.2MB.rsvd.usage_in_bytes", NULL },
    };
    static const struct cgroup_pair huge_1g[] = {
        { "hugetlb.1GB.max", "hugetlb.1GB.current", "hugetlb.1GB.limit_in_bytes", "hugetlb.1GB.usage_in_bytes", NULL },
        { "hugetlb.1GB.rsvd.max", "hugetlb.1GB.rsvd.current", "hugetlb.1GB.rsvd.limit_in_bytes",
          "hugetlb.1GB.rsvd.usage_in_bytes", NULL },
    };
    const struct cgroup_pair *pairs = size == PAGE_4K ? memory : size == PAGE_2M ? huge_2m : huge_1g;
    const char *controller = size == PAGE_4K ? "memory" : "hugetlb";

    return min_u64(cgroup_room(root, controller, &pairs[0]), cgroup_room(root, controller, &pairs[1]));
}

/* "Node 0 MemFree:  123 kB" or "MemFree:  123 kB" */
static bool meminfo_value(const char *line, const char *key, uint64_t *ret_bytes)
{
    const char *at = strstr(line, key);
    uint64_t kib;

    if (!at || (at != line && at[-1] != ' '))
        return false;
    at += strlen(key);
    return text_u64(&at, &kib) && strcmp(at, " kB") == 0 && !ckd_mul(ret_bytes, kib, UINT64_C(1024));
}

int pages_node_free_at(const char *root, uint32_t os_node, uint64_t *ret_bytes, struct error *error)
{
    static const char *const node_keys[] = { "MemFree:", "Active(file):", "Inactive(file):" };
    static const char *const host_keys[] = { "MemAvailable:" };
    bool by_node = exists(root, NODE_DIR);
    const char *const *keys = by_node ? node_keys : host_keys;
    size_t count = by_node ? ARRAY_LENGTH(node_keys) : ARRAY_LENGTH(host_keys), found = 0, size;
    char path[64] = "/proc/meminfo", text[MEMINFO_CHARS_MAX];
    uint64_t sum = 0;

    if (by_node)
        snprintf(path, sizeof path, NODE_DIR "/node%u/meminfo", os_node);
    int r = text_read(root, path, text, sizeof text, &size);
    if (r)
        return error_set(error, r, "cannot read the free memory of node %u: %s: %s", os_node, path, strerror(-r));
    char *rest = text;
    for (char *line; (line = text_next(&rest, '\n'));) {
        for (size_t i = 0; i < count; i++) {
            uint64_t bytes;
            if (meminfo_value(line, keys[i], &bytes) && !ckd_add(&sum, sum, bytes))
                found++;
        }
    }
    if (found != count)
        return error_set(error, -EINVAL, "cannot read the free memory of node %u: %s does not look like itself",
                         os_node, path);
    *ret_bytes = sum;
    return 0;
}

int pages_pool_read(uint32_t os_node, enum page_size size, struct pages_pool *ret_pool, struct error *error)
{
    return pages_pool_read_at("", os_node, size, ret_pool, error);
}

int pages_pool_reserve(uint32_t os_node, enum page_size size, uint64_t free_wanted, struct error *error)
{
    return pages_pool_reserve_at("", os_node, size, free_wanted, error);
}

uint64_t pages_cgroup_room(enum page_size size)
{
    return pages_cgroup_room_at("", size);
}

int pages_node_free(uint32_t os_node, uint64_t *ret_bytes, struct error *error)
{
    return pages_node_free_at("", os_node, ret_bytes, error);
}
