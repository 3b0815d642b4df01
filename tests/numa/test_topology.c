/* SPDX-License-Identifier: Apache-2.0 */
#include "numa/topology.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "numa/cgroup.h"
#include "numa/topology_internal.h"
#include "tests/numa/tree.h"

static struct topology *invented(const char *text)
{
    struct error error = ERROR_NULL;
    struct topology *t = NULL;

    assert_int_equal(topology_load(text, &t, &error), 0);
    assert_true(t->synthetic);
    return t;
}

static void check_slices(const struct topology *t)
{
    uint32_t next = 0;

    for (uint32_t n = 0; n < t->node_count; n++) {
        assert_int_equal(t->nodes[n].core_first, next);
        for (uint32_t i = 0; i < t->nodes[n].core_count; i++)
            assert_int_equal(t->cores[next++].node, n);
    }
    assert_int_equal(next, t->core_count);
}

static void test_two_nodes(void **state)
{
    (void)state;
    struct topology *t = invented("numa:2 core:4 pu:2");

    assert_int_equal(t->node_count, 2);
    assert_int_equal(t->core_count, 8);
    check_slices(t);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(t->cores[i].os_cpu, 2 * i);
        assert_int_equal(t->cores[i].os_sibling, 2 * i + 1);
    }
    assert_int_equal(t->nodes[1].os_node, 1);
    assert_int_equal(t->distance[0][0], 10);
    assert_int_equal(t->distance[0][1], 20);
    assert_int_equal(t->quota_cores, 0);
    assert_true(t->nodes[0].memory_bytes > 0);
    topology_free(t);
}

static void test_without_smt_and_without_cores(void **state)
{
    (void)state;
    static const char *const texts[] = { "numa:2 core:3 pu:1", "numa:2 core:3", "numa:2 pu:3", "2 3" };

    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        struct topology *t = invented(texts[i]);
        assert_int_equal(t->node_count, 2);
        assert_int_equal(t->core_count, 6);
        check_slices(t);
        assert_int_equal(t->cores[5].os_cpu, 5);
        assert_int_equal(t->cores[5].os_sibling, UINT32_MAX);
        topology_free(t);
    }
}

static void test_sparse_ids(void **state)
{
    (void)state;
    struct topology *t = invented("numa:4(indexes=0,2,5,9) core:2 pu:1");

    assert_int_equal(t->node_count, 4);
    assert_int_equal(t->nodes[1].os_node, 2);
    assert_int_equal(t->nodes[3].os_node, 9);
    assert_int_equal(t->nodes[3].core_count, 2);
    check_slices(t);
    topology_free(t);
}

/* DRAM and HBM beside the same cores, and a node beside all of them: the narrowest, lowest one has the cores. */
static void test_memory_only(void **state)
{
    (void)state;
    struct topology *t = invented("[numa] pack:2 [numa(memory=16GB)] [numa(memory=8GB)] core:2 pu:1");
    uint32_t with_cores = 0;

    assert_int_equal(t->node_count, 5);
    check_slices(t);
    for (uint32_t n = 0; n < t->node_count; n++) {
        if (t->nodes[n].core_count == 0)
            continue;
        with_cores++;
        assert_int_equal(t->nodes[n].core_count, 2);
        assert_int_equal(t->nodes[n].memory_bytes, UINT64_C(16000000000));
    }
    assert_int_equal(with_cores, 2);
    topology_free(t);
}

/* Nodes that have CPUs but no memory are none: their cores go to the nearest that has. */
static void test_node_without_memory(void **state)
{
    (void)state;
    struct topology_sources sources = { .drop_empty = true,
                                        .synthetic = "[numa(memory=4GB)] pack:2 [numa(memory=0)] core:2 pu:1" };
    struct error error = ERROR_NULL;
    struct topology *t;

    assert_int_equal(topology_build(&sources, &t, &error), 0);
    assert_int_equal(t->node_count, 1);
    assert_int_equal(t->core_count, 4);
    assert_int_equal(t->nodes[0].os_node, 2);
    assert_int_equal(t->distance[0][0], 10);
    check_slices(t);
    topology_free(t);
    sources.synthetic = "pack:2 [numa(memory=0)] core:2 pu:1";
    assert_int_equal(topology_build(&sources, &t, &error), -ENODEV);
    assert_non_null(strstr(error.text, "memory"));
}

static void test_nearest(void **state)
{
    (void)state;
    struct topology *t = invented("numa:4 core:1 pu:1");
    uint32_t order[4];

    topology_nearest(t, 2, order);
    assert_memory_equal(order, ((uint32_t[]){ 2, 0, 1, 3 }), sizeof order);
    t->distance[2][3] = 12;
    t->distance[2][1] = 15;
    topology_nearest(t, 2, order);
    assert_memory_equal(order, ((uint32_t[]){ 2, 3, 1, 0 }), sizeof order);
    topology_free(t);
}

static void test_caches(void **state)
{
    (void)state;
    struct topology *t = invented("numa:1 l3:1(size=32MB) l2:4(size=1MB) core:1 pu:1");

    assert_true(t->l3_bytes >= 32000000 && t->l3_bytes <= 33554432);
    assert_true(t->l2_bytes >= 1000000 && t->l2_bytes <= 1048576);
    topology_free(t);
}

static struct affinity cpus(const uint32_t *list, size_t count)
{
    struct affinity a = { .set = CPU_ALLOC(4096), .bytes = CPU_ALLOC_SIZE(4096) };

    assert_non_null(a.set);
    CPU_ZERO_S(a.bytes, a.set);
    for (size_t i = 0; i < count; i++)
        CPU_SET_S(list[i], a.bytes, a.set);
    return a;
}

/* 2048 hardware threads; the affinity leaves some beyond every fixed-size set, and one node nothing. */
static void test_affinity(void **state)
{
    (void)state;
    static const uint32_t list[] = { 3, 1030, 1031, 1600, 1603 };
    struct affinity mine = cpus(list, ARRAY_LENGTH(list));
    struct topology_sources sources = { .synthetic = "numa:4 core:256 pu:2", .affinity = &mine };
    struct error error = ERROR_NULL;
    struct topology *t;

    assert_int_equal(topology_build(&sources, &t, &error), 0);
    check_slices(t);
    assert_int_equal(t->node_count, 4);
    assert_int_equal(t->core_count, 4);
    assert_int_equal(t->nodes[0].core_count, 1);
    assert_int_equal(t->nodes[1].core_count, 0);
    assert_int_equal(t->nodes[2].core_count, 1);
    assert_int_equal(t->nodes[3].core_count, 2);
    assert_int_equal(t->cores[0].os_cpu, 3);                    /* CPU 2 is not ours: 3 is no sibling */
    assert_int_equal(t->cores[0].os_sibling, UINT32_MAX);
    assert_int_equal(t->cores[1].os_cpu, 1030);
    assert_int_equal(t->cores[1].os_sibling, 1031);
    topology_free(t);
    affinity_deinit(&mine);

    mine = cpus((const uint32_t[]){ 4000 }, 1);
    assert_int_equal(topology_build(&sources, &t, &error), -ENODEV);
    assert_non_null(strstr(error.text, "affinity"));
    affinity_deinit(&mine);
}

static void test_refused(void **state)
{
    (void)state;
    char endless[2000];
    const char *const texts[] = {
        "", " ", "numa:0 core:1", "numa:x", "foo", "numa:2 core:4 pu:2 foo", "numa:-1 core:2 pu:1", "numa:65 core:1",
        "numa:1 core:1025 pu:1", "numa:1 core:4000000000 pu:1", "numa:999999999999999999999999 core:1 pu:1",
        "numa:64 core:64 pu:64", "[numa] [numa] [numa] [numa] numa:64 core:512 pu:2", "((((", "]]]]", "numa:2(",
        endless,
    };

    memset(endless, '1', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        struct error error = ERROR_NULL;
        struct topology *t = NULL;
        int r = topology_load(texts[i], &t, &error);
        if (r >= 0)
            print_error("accepted: \"%.40s\"\n", texts[i]);
        assert_true(r < 0);
        assert_int_equal(error.code, r);
        assert_true(error.text[0] != '\0');
        assert_null(t);
    }
    assert_null(topology_free(NULL));
}

static void test_this_host(void **state)
{
    (void)state;
    struct error error = ERROR_NULL;
    struct affinity mine;
    struct topology *t;

    assert_int_equal(affinity_get(0, &mine), 0);
    assert_int_equal(topology_load(NULL, &t, &error), 0);
    assert_false(t->synthetic);
    check_slices(t);
    for (uint32_t i = 0; i < t->core_count; i++)
        assert_true(affinity_has(&mine, t->cores[i].os_cpu));
    assert_true(t->nodes[0].memory_bytes > 0);
    topology_free(t);

    /* One CPU of ours: one core, and no sibling that we may not use. */
    uint32_t only = 0;
    while (!affinity_has(&mine, only))
        only++;
    assert_int_equal(affinity_pin(only), 0);
    assert_int_equal(topology_load(NULL, &t, &error), 0);
    assert_int_equal(t->core_count, 1);
    assert_int_equal(t->cores[0].os_cpu, only);
    assert_int_equal(t->cores[0].os_sibling, UINT32_MAX);
    topology_free(t);
    assert_int_equal(affinity_set(&mine), 0);
    affinity_deinit(&mine);
}

static void test_foreign_environment(void **state)
{
    (void)state;
    struct error error = ERROR_NULL;
    struct topology *t = NULL;

    setenv("HWLOC_SYNTHETIC", "numa:4 core:16 pu:1", 1);
    int r = topology_load(NULL, &t, &error);
    unsetenv("HWLOC_SYNTHETIC");
    assert_int_equal(r, -EINVAL);
    assert_non_null(strstr(error.text, "HWLOC_"));
}

/* Version 2, as systemd mounts it. */
static void tree_v2(struct tree *tree, const char *group)
{
    tree_init(tree);
    tree_file(tree, "/proc/self/cgroup", "0::%s\n", group);
    tree_file(tree, "/proc/self/mountinfo",
              "21 1 0:19 / /sys rw - sysfs sysfs rw\n"
              "30 21 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
}

static uint32_t quota_of(const struct tree *tree, int expect, char note[160])
{
    uint32_t cores = 4711;

    note[0] = '\0';
    assert_int_equal(cgroup_cpu_quota(tree->root, &cores, note, 160), expect);
    return cores;
}

static void test_quota_v2(void **state)
{
    (void)state;
    struct tree tree;
    char note[160];

    tree_v2(&tree, "/system.slice/tenond.service");
    assert_int_equal(quota_of(&tree, 0, note), 0);
    tree_file(&tree, "/sys/fs/cgroup/system.slice/tenond.service/cpu.max", "max 100000\n");
    assert_int_equal(quota_of(&tree, 0, note), 0);
    tree_file(&tree, "/sys/fs/cgroup/system.slice/tenond.service/cpu.max", "250000 100000\n");
    assert_int_equal(quota_of(&tree, 0, note), 2);
    tree_file(&tree, "/sys/fs/cgroup/system.slice/tenond.service/cpu.max", "50000 100000\n");
    assert_int_equal(quota_of(&tree, 0, note), 1);
    tree_file(&tree, "/sys/fs/cgroup/system.slice/tenond.service/cpu.max", "800000 100000\n");
    tree_file(&tree, "/sys/fs/cgroup/system.slice/cpu.max", "390000 100000\n");     /* the parent is tighter */
    assert_int_equal(quota_of(&tree, 0, note), 3);
    tree_file(&tree, "/sys/fs/cgroup/cpu.max", "100000 100000\n");                  /* and the root of a namespace */
    assert_int_equal(quota_of(&tree, 0, note), 1);
    tree_deinit(&tree);
}

static void test_quota_v1(void **state)
{
    (void)state;
    struct tree tree;
    char note[160];

    tree_init(&tree);
    tree_file(&tree, "/proc/self/cgroup", "9:name=systemd:/\n4:cpu,cpuacct:/docker/abc/x\n3:cpuset:/y\n0::/\n");
    tree_file(&tree, "/proc/self/mountinfo",
              "28 21 0:24 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
              "31 21 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
              "32 21 0:28 /docker/abc /cg\\040roup/cpu,cpuacct ro,nosuid master:1 - cgroup cgroup rw,cpu,cpuacct\n");
    tree_file(&tree, "/cg roup/cpu,cpuacct/x/cpu.cfs_quota_us", "-1\n");
    tree_file(&tree, "/cg roup/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
    assert_int_equal(quota_of(&tree, 0, note), 0);
    tree_file(&tree, "/cg roup/cpu,cpuacct/cpu.cfs_quota_us", "300000\n");
    tree_file(&tree, "/cg roup/cpu,cpuacct/cpu.cfs_period_us", "50000\n");
    assert_int_equal(quota_of(&tree, 0, note), 6);
    tree_file(&tree, "/cg roup/cpu,cpuacct/x/cpu.cfs_quota_us", "150000\n");
    assert_int_equal(quota_of(&tree, 0, note), 1);
    tree_deinit(&tree);
}

/* The group lies outside what is mounted here (a container): the mount point itself is read. */
static void test_quota_outside(void **state)
{
    (void)state;
    static const char *const groups[] = { "/../../x", "/other/..", "/elsewhere", "/system" };
    char note[160];

    for (size_t i = 0; i < ARRAY_LENGTH(groups); i++) {
        struct tree tree;
        tree_init(&tree);
        tree_file(&tree, "/proc/self/cgroup", "0::%s\n", groups[i]);
        tree_file(&tree, "/proc/self/mountinfo", "30 21 0:26 /system.slice /cg rw - cgroup2 none rw\n");
        tree_file(&tree, "/cg/cpu.max", "400000 100000\n");
        assert_int_equal(quota_of(&tree, 0, note), 4);
        tree_deinit(&tree);
    }
}

static void test_quota_hostile(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "\n", "max", "-5 100000\n", "100000\n", "100000 0\n", "100000 100000 100000\n", "abc def\n",
        "maximum 1\n",
        "99999999999999999999999999 100000\n", "100000 99999999999999999999999\n", "0x10 0x10\n", "100000 -1\n",
        "                                                                                                            "
        "                                                                        100000 100000\n",
    };
    struct tree tree;
    char note[160];

    tree_v2(&tree, "/a");
    tree_file(&tree, "/sys/fs/cgroup/cpu.max", "700000 100000\n");
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        tree_file(&tree, "/sys/fs/cgroup/a/cpu.max", "%s", texts[i]);
        bool fine = strcmp(texts[i], "max") == 0;
        assert_int_equal(quota_of(&tree, fine ? 0 : -EINVAL, note), 7);
        assert_int_equal(note[0] != '\0', !fine);
    }
    tree_file(&tree, "/sys/fs/cgroup/a/cpu.max", "18446744073709551615 1\n");
    tree_file(&tree, "/sys/fs/cgroup/cpu.max", "max 100000\n");
    assert_int_equal(quota_of(&tree, 0, note), UINT32_MAX);

    static const char *const tables[] = {
        "", "\n\n\n", "0", "0:", "0::", "0::relative", "::::", "0:cpu", ":cpu:/", "0::/\n0::/\n0::/",
        "x:cpu:/a/../../b",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(tables); i++) {
        tree_file(&tree, "/proc/self/cgroup", "%s", tables[i]);
        tree_file(&tree, "/sys/fs/cgroup/cpu.max", "200000 100000\n");
        quota_of(&tree, 0, note);
    }
    tree_file(&tree, "/proc/self/cgroup", "0::/a\n");
    static const char *const mounts[] = {
        "", "\n", "1", "1 2 3 4 5", "1 2 3 4 5 - cgroup2 x y", "1 2 3 / / - cgroup2 x", "1 2 3 / / -", " - cgroup2 x y",
        "1 2 3 / \\777 - cgroup2 x y", "1 2 3 / /\\ - cgroup2 x y", "1 2 3 / /\\04 - cgroup2 x y",
        "1 2 3 /a /nowhere - cgroup2 x y",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(mounts); i++) {
        tree_file(&tree, "/proc/self/mountinfo", "%s", mounts[i]);
        assert_int_equal(quota_of(&tree, 0, note), 0);
    }
    tree_deinit(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_nodes),
        cmocka_unit_test(test_without_smt_and_without_cores),
        cmocka_unit_test(test_sparse_ids),
        cmocka_unit_test(test_memory_only),
        cmocka_unit_test(test_node_without_memory),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_caches),
        cmocka_unit_test(test_affinity),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_this_host),
        cmocka_unit_test(test_foreign_environment),
        cmocka_unit_test(test_quota_v2),
        cmocka_unit_test(test_quota_v1),
        cmocka_unit_test(test_quota_outside),
        cmocka_unit_test(test_quota_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
