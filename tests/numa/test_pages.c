/* SPDX-License-Identifier: Apache-2.0 */
#include "numa/pages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <string.h>

#include "numa/pages_internal.h"
#include "tests/harness/resources.h"
#include "tests/numa/tree.h"

#define NODE1_2M "/sys/devices/system/node/node1/hugepages/hugepages-2048kB"

static void test_pool(void **state)
{
    (void)state;
    struct error error = ERROR_NULL;
    struct pages_pool pool;
    struct tree tree;

    tree_init(&tree);
    tree_file(&tree, NODE1_2M "/nr_hugepages", "64\n");
    tree_file(&tree, NODE1_2M "/free_hugepages", "60\n");
    tree_file(&tree, "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "999\n");
    assert_int_equal(pages_pool_read_at(tree.root, 1, PAGE_2M, &pool, &error), 0);
    assert_int_equal(pool.total, 64);
    assert_int_equal(pool.free, 60);
    assert_int_equal(pages_pool_read_at(tree.root, 1, PAGE_1G, &pool, &error), 0);
    assert_int_equal(pool.total + pool.free, 0);
    assert_int_equal(pages_pool_read_at(tree.root, 0, PAGE_2M, &pool, &error), 0);
    assert_int_equal(pool.total + pool.free, 0);
    assert_int_equal(pages_pool_read_at(tree.root, 1, PAGE_4K, &pool, &error), 0);
    assert_int_equal(pool.total + pool.free, 0);
    tree_deinit(&tree);

    tree_init(&tree);                   /* a kernel without NUMA */
    tree_file(&tree, "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "3\n");
    tree_file(&tree, "/sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages", "4\n");
    assert_int_equal(pages_pool_read_at(tree.root, 0, PAGE_1G, &pool, &error), 0);
    assert_int_equal(pool.total, 3);
    assert_int_equal(pool.free, 3);     /* never more than there are */
    tree_deinit(&tree);
}

static void test_pool_hostile(void **state)
{
    (void)state;
    static const char *const texts[] = { "", "\n", "-1\n", "x\n", "12 13\n", "12\n13\n", "18446744073709551616\n",
                                         "0x10\n", "1.5\n" };
    struct tree tree;

    tree_init(&tree);
    tree_file(&tree, NODE1_2M "/nr_hugepages", "64\n");
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        struct error error = ERROR_NULL;
        struct pages_pool pool = { 7, 7 };
        tree_file(&tree, NODE1_2M "/free_hugepages", "%s", texts[i]);
        assert_int_equal(pages_pool_read_at(tree.root, 1, PAGE_2M, &pool, &error), -EINVAL);
        assert_non_null(strstr(error.text, NODE1_2M "/free_hugepages"));
        assert_int_equal(pool.total, 7);
    }
    tree_deinit(&tree);
}

static void test_reserve(void **state)
{
    (void)state;
    struct error error = ERROR_NULL;
    struct pages_pool pool;
    struct tree tree;
    int64_t delta;

    tree_init(&tree);
    tree_file(&tree, NODE1_2M "/nr_hugepages", "100\n");
    tree_file(&tree, NODE1_2M "/free_hugepages", "40\n");
    assert_int_equal(pages_pool_reserve_at(tree.root, 1, PAGE_2M, 40, &error), 0);
    assert_int_equal(pages_pool_read_at(tree.root, 1, PAGE_2M, &pool, &error), 0);
    assert_int_equal(pool.total, 100);                          /* enough is free: untouched */
    /* A file gives no pages: written as 100 + 2, found short on reading back. */
    assert_int_equal(pages_pool_reserve_at(tree.root, 1, PAGE_2M, 42, &error), -ENOMEM);
    assert_non_null(strstr(error.text, "node 1 40 of 42"));
    assert_int_equal(pages_pool_read_at(tree.root, 1, PAGE_2M, &pool, &error), 0);
    assert_int_equal(pool.total, 102);
    assert_int_equal(pages_pool_reserve_at(tree.root, 1, PAGE_2M, UINT64_MAX, &error), -EINVAL);
    assert_int_equal(pages_pool_reserve_at(tree.root, 2, PAGE_2M, 1, &error), -ENODEV);
    assert_int_equal(pages_pool_reserve_at(tree.root, 1, PAGE_1G, 1, &error), -ENODEV);
    assert_int_equal(pages_pool_reserve_at(tree.root, 1, PAGE_1G, 0, &error), 0);

    assert_int_equal(pages_pool_change(tree.root, 1, PAGE_2M, -2, &delta, &error), 0);
    assert_int_equal(delta, -2);
    assert_int_equal(pages_pool_change(tree.root, 1, PAGE_2M, INT64_MIN, &delta, &error), 0);
    assert_int_equal(delta, -100);
    tree_deinit(&tree);
}

static void tree_cgroup(struct tree *tree)
{
    tree_init(tree);
    tree_file(tree, "/proc/self/cgroup", "0::/pod/box\n");
    tree_file(tree, "/proc/self/mountinfo", "30 21 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
}

static void test_cgroup_room(void **state)
{
    (void)state;
    struct tree tree;

    tree_cgroup(&tree);
    for (int size = 0; size < PAGE_SIZE_COUNT; size++)
        assert_int_equal(pages_cgroup_room_at(tree.root, (enum page_size)size), UINT64_MAX);
    tree_file(&tree, "/sys/fs/cgroup/pod/box/hugetlb.2MB.max", "max\n");
    tree_file(&tree, "/sys/fs/cgroup/pod/hugetlb.2MB.max", "1073741824\n");
    tree_file(&tree, "/sys/fs/cgroup/pod/hugetlb.2MB.current", "2097152\n");
    assert_int_equal(pages_cgroup_room_at(tree.root, PAGE_2M), 1073741824 - 2097152);
    assert_int_equal(pages_cgroup_room_at(tree.root, PAGE_1G), UINT64_MAX);
    tree_file(&tree, "/sys/fs/cgroup/pod/box/hugetlb.2MB.rsvd.max", "4194304\n");
    tree_file(&tree, "/sys/fs/cgroup/pod/box/hugetlb.2MB.rsvd.current", "8388608\n");
    assert_int_equal(pages_cgroup_room_at(tree.root, PAGE_2M), 0);      /* already above it */

    tree_file(&tree, "/sys/fs/cgroup/pod/box/memory.max", "1000000\n");
    assert_int_equal(pages_cgroup_room_at(tree.root, PAGE_4K), 1000000);
    tree_file(&tree, "/sys/fs/cgroup/pod/box/memory.current", "900000\n");
    assert_int_equal(pages_cgroup_room_at(tree.root, PAGE_4K), 100000);
    tree_file(&tree, "/sys/fs/cgroup/pod/box/memory.stat", "anon 5\ninactive_file 300000\nactive_file 100000\n");
    assert_int_equal(pages_cgroup_room_at(tree.root, PAGE_4K), 500000);
    tree_file(&tree, "/sys/fs/cgroup/pod/memory.high", "5000\n");
    assert_int_equal(pages_cgroup_room_at(tree.root, PAGE_4K), 5000);
    tree_file(&tree, "/sys/fs/cgroup/pod/memory.high", "99999999999999999999999999\n");
    tree_file(&tree, "/sys/fs/cgroup/pod/box/memory.max", "lots\n");
    assert_int_equal(pages_cgroup_room_at(tree.root, PAGE_4K), UINT64_MAX);
    tree_deinit(&tree);
}

static void test_cgroup_room_v1(void **state)
{
    (void)state;
    struct tree tree;

    tree_init(&tree);
    tree_file(&tree, "/proc/self/cgroup", "8:memory:/box\n7:hugetlb:/box\n0::/\n");
    tree_file(&tree, "/proc/self/mountinfo",
              "30 21 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
              "31 21 0:27 / /sys/fs/cgroup/hugetlb rw - cgroup cgroup rw,hugetlb\n");
    tree_file(&tree, "/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "9223372036854771712\n");
    tree_file(&tree, "/sys/fs/cgroup/memory/box/memory.usage_in_bytes", "123456\n");
    assert_int_equal(pages_cgroup_room_at(tree.root, PAGE_4K), UINT64_MAX);
    tree_file(&tree, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "200000\n");
    tree_file(&tree, "/sys/fs/cgroup/memory/memory.usage_in_bytes", "150000\n");
    tree_file(&tree, "/sys/fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 20000\n");
    assert_int_equal(pages_cgroup_room_at(tree.root, PAGE_4K), 70000);
    tree_file(&tree, "/sys/fs/cgroup/hugetlb/box/hugetlb.1GB.limit_in_bytes", "2147483648\n");
    assert_int_equal(pages_cgroup_room_at(tree.root, PAGE_1G), 2147483648);
    tree_deinit(&tree);
}

static void test_node_free(void **state)
{
    (void)state;
    struct error error = ERROR_NULL;
    struct tree tree;
    uint64_t bytes;

    tree_init(&tree);
    tree_file(&tree, "/sys/devices/system/node/node3/meminfo",
              "\nNode 3 MemTotal:       1000 kB\nNode 3 MemFree:         100 kB\nNode 3 Inactive(anon):  7 kB\n"
              "Node 3 Active(file):    20 kB\nNode 3 Inactive(file):  3 kB\n");
    assert_int_equal(pages_node_free_at(tree.root, 3, &bytes, &error), 0);
    assert_int_equal(bytes, 123 * 1024);
    assert_int_equal(pages_node_free_at(tree.root, 0, &bytes, &error), -ENOENT);
    static const char *const texts[] = {
        "", "Node 3 MemFree: 100 kB\n", "Node 3 MemFree: 100\nNode 3 Active(file): 1 kB\nNode 3 Inactive(file): 1 kB\n",
        "Node 3 MemFree: -1 kB\nNode 3 Active(file): 1 kB\nNode 3 Inactive(file): 1 kB\n",
        "Node 3 MemFree: 18446744073709551615 kB\nNode 3 Active(file): 1 kB\nNode 3 Inactive(file): 1 kB\n",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        tree_file(&tree, "/sys/devices/system/node/node3/meminfo", "%s", texts[i]);
        assert_int_equal(pages_node_free_at(tree.root, 3, &bytes, &error), -EINVAL);
    }
    tree_deinit(&tree);

    tree_init(&tree);
    tree_file(&tree, "/proc/meminfo", "MemTotal: 10 kB\nMemFree: 4 kB\nMemAvailable:   6 kB\n");
    assert_int_equal(pages_node_free_at(tree.root, 0, &bytes, &error), 0);
    assert_int_equal(bytes, 6 * 1024);
    tree_deinit(&tree);
}

static void test_this_host(void **state)
{
    (void)state;
    struct error error = ERROR_NULL;
    struct pages_pool before, after;
    uint64_t bytes;

    assert_int_equal(pages_node_free(0, &bytes, &error), 0);
    assert_true(bytes > 0);
    assert_int_equal(pages_pool_read(0, PAGE_2M, &before, &error), 0);
    (void)pages_cgroup_room(PAGE_2M);
    uint64_t got = hugepages_take(PAGE_2M, 3);
    if (got == 0) {
        print_message("skipped: no right to reserve huge pages\n");
        skip();
    }
    assert_int_equal(pages_pool_read(0, PAGE_2M, &after, &error), 0);
    assert_int_equal(after.total, before.total + got);
    hugepages_give_back(PAGE_2M, got);
    assert_int_equal(pages_pool_read(0, PAGE_2M, &after, &error), 0);
    assert_int_equal(after.total, before.total);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool),        cmocka_unit_test(test_pool_hostile),
        cmocka_unit_test(test_reserve),     cmocka_unit_test(test_cgroup_room),
        cmocka_unit_test(test_cgroup_room_v1), cmocka_unit_test(test_node_free),
        cmocka_unit_test(test_this_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
