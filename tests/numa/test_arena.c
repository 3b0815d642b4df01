/* SPDX-License-Identifier: Apache-2.0 */
#include "numa/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/mempolicy.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "numa/arena_internal.h"
#include "numa/where.h"
#include "tests/harness/resources.h"
#include "tests/numa/tree.h"

#define PAGES 24
#define NODES 8

static uint64_t taken_2m, taken_1g;

static int group_setup(void **state)
{
    (void)state;
    uint64_t free_bytes;

    taken_2m = hugepages_take(PAGE_2M, PAGES);
    /* A whole GiB only from a machine that does not miss it. */
    if (pages_node_free(0, &free_bytes, NULL) == 0 && free_bytes >= 8 * PAGE_1G_BYTES)
        taken_1g = hugepages_take(PAGE_1G, 1);
    return 0;
}

static int group_teardown(void **state)
{
    (void)state;
    hugepages_give_back(PAGE_2M, taken_2m);
    hugepages_give_back(PAGE_1G, taken_1g);
    return 0;
}

static void need(uint64_t have, uint64_t wanted, const char *what)
{
    if (have < wanted) {
        print_message("skipped: %s could not be reserved (needs root and free memory)\n", what);
        skip();
    }
}

static struct arena *make(const char *root, struct arena_spec spec)
{
    struct error error = ERROR_NULL;
    struct arena *arena = NULL;

    spec.name = "tenon:test:0";
    if (arena_new_at(root, &spec, &arena, &error))
        fail_msg("%s", error.text);
    assert_int_equal((uintptr_t)arena->base % PAGE_2M_BYTES, 0);
    assert_int_equal(arena->bytes_by_size[0] + arena->bytes_by_size[1] + arena->bytes_by_size[2], arena->bytes);
    return arena;
}

static void populate_all(struct arena *arena)
{
    struct error error = ERROR_NULL;

    /* Ragged slices, as workers have them. */
    for (uint64_t at = 0, step = 700001; at < arena->bytes; at += step) {
        if (arena_populate(arena, at, step < arena->bytes - at ? step : arena->bytes - at, &error))
            fail_msg("%s", error.text);
    }
}

static void check_where(const struct arena *arena, uint64_t expect)
{
    struct error error = ERROR_NULL;
    uint64_t bytes[NODES];

    assert_int_equal(arena_where(arena, bytes, NODES, &error), 0);
    assert_int_equal(bytes[0], expect);
    for (uint32_t i = 1; i < NODES; i++)
        assert_int_equal(bytes[i], 0);
}

static void fill(struct arena *arena)
{
    for (uint64_t i = 0; i < arena->bytes; i += 4096) {
        assert_int_equal(arena->base[i], 0);
        memcpy(arena->base + i, &i, sizeof i);
    }
}

static void check_filled(const struct arena *arena)
{
    for (uint64_t i = 0; i < arena->bytes; i += 4096)
        assert_memory_equal(arena->base + i, &i, sizeof i);
}

static sigjmp_buf fault_jump;
static volatile int fault_code;

static void on_fault(int signo, siginfo_t *info, void *context)
{
    (void)signo;
    (void)context;
    fault_code = info->si_code;
    siglongjmp(fault_jump, 1);
}

/*
 * The si_code of the SIGSEGV that a write raises, 0 when it goes through.  In this process: a child would fault
 * for another reason, since arenas are not inherited.
 */
static int write_faults(uint8_t *at)
{
    struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO }, old;

    fault_code = 0;
    sigaction(SIGSEGV, &action, &old);
    if (sigsetjmp(fault_jump, 1) == 0)
        *(volatile uint8_t *)at = 1;
    sigaction(SIGSEGV, &old, NULL);
    return fault_code;
}

/* Opens every memfd of ours again by its link in /proc and tries what a thief would. */
static uint32_t check_memfds_sealed(void)
{
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;
    uint32_t count = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir))) {
        char path[300], link[300];
        snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
        ssize_t n = readlink(path, link, sizeof link - 1);
        if (n < 0 || (link[n] = '\0', !strstr(link, "memfd:tenon:test")))
            continue;
        int fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd >= 0) {
            assert_true(mmap(NULL, PAGE_2M_BYTES, PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
            assert_int_equal(ftruncate(fd, 0), -1);
            assert_int_equal(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PAGE_2M_BYTES), -1);
            close(fd);
        }
        assert_int_equal(fcntl(atoi(entry->d_name), F_GET_SEALS) & F_SEAL_WRITE, F_SEAL_WRITE);
        count++;
    }
    closedir(dir);
    return count;
}

static void seal_and_check(struct arena *arena, uint32_t memfds)
{
    struct error error = ERROR_NULL;
    uint8_t *base = arena->base;

    if (arena_seal(arena, &error))
        fail_msg("%s", error.text);
    assert_int_equal(arena->sealed, memfds > 0);
    assert_ptr_equal(arena->base, base);
    check_filled(arena);
    check_where(arena, arena->bytes);
    for (uint64_t at = 0; at < arena->bytes; at += PAGE_2M_BYTES)
        assert_int_equal(write_faults(arena->base + at), SEGV_ACCERR);
    if (memfds > 0) {
        assert_int_equal(mprotect(arena->base, arena->bytes, PROT_READ | PROT_WRITE), -1);
        assert_int_equal(check_memfds_sealed(), memfds);
    }
}

static void test_hugetlb(void **state)
{
    (void)state;
    need(taken_2m, 8, "pages of 2 MiB");
    struct resources before = resources_now();
    struct arena *arena = make("", (struct arena_spec){ .bytes = 7 * PAGE_2M_BYTES + 1, .policy = ARENA_REQUIRE_HUGE });

    assert_int_equal(arena->bytes, 8 * PAGE_2M_BYTES);
    assert_int_equal(arena->bytes_by_size[PAGE_2M], arena->bytes);
    assert_true(arena->bound && arena->locked && !arena->sealed && !arena->transparent);
    assert_string_equal(arena->note, "");
    check_where(arena, 0);
    struct error error = ERROR_NULL;
    assert_int_equal(arena_populate(arena, PAGE_2M_BYTES + 5, 1, &error), 0);
    check_where(arena, PAGE_2M_BYTES);
    assert_int_equal(arena_populate(arena, 3, 0, &error), 0);
    check_where(arena, PAGE_2M_BYTES);
    populate_all(arena);
    check_where(arena, arena->bytes);
    uint64_t bytes[NODES] = { 0 };
    assert_int_equal(where_numa_maps("", arena->base, arena->bytes, bytes, NODES), 0);
    assert_int_equal(bytes[0], arena->bytes);
    assert_true(resources_now().free_2m + 8 <= before.free_2m);
    assert_int_equal(write_faults(arena->base), 0);
    arena->base[0] = 0;
    fill(arena);
    seal_and_check(arena, 1);
    assert_null(arena_free(arena));
    resources_same(&before);
}

/* Never populated: sealing must not leave holes that fault later. */
static void test_seal_untouched(void **state)
{
    (void)state;
    need(taken_2m, 8, "pages of 2 MiB");
    struct resources before = resources_now();
    struct arena *arena = make("", (struct arena_spec){ .bytes = 4 * PAGE_2M_BYTES, .policy = ARENA_REQUIRE_HUGE });
    struct error error = ERROR_NULL;

    assert_int_equal(arena_seal(arena, &error), 0);
    check_where(arena, arena->bytes);
    arena_free(arena);
    resources_same(&before);
}

static void test_giant(void **state)
{
    (void)state;
    need(taken_1g, 1, "a page of 1 GiB");
    need(taken_2m, 8, "pages of 2 MiB");
    struct resources before = resources_now();
    struct arena *arena = make("", (struct arena_spec){ .bytes = PAGE_1G_BYTES + 3 * PAGE_2M_BYTES, .allow_1g = true,
                                                        .policy = ARENA_REQUIRE_HUGE });

    assert_int_equal((uintptr_t)arena->base % PAGE_1G_BYTES, 0);
    assert_int_equal(arena->bytes_by_size[PAGE_1G], PAGE_1G_BYTES);
    assert_int_equal(arena->bytes_by_size[PAGE_2M], 3 * PAGE_2M_BYTES);
    struct error error = ERROR_NULL;
    assert_int_equal(arena_populate(arena, 0, arena->bytes, &error), 0);
    check_where(arena, arena->bytes);
    fill(arena);
    seal_and_check(arena, 2);
    arena_free(arena);
    resources_same(&before);
}

/* Whole GiB but no page of 1 GiB: the next size takes over, also where huge pages are required. */
static void test_short(void **state)
{
    (void)state;
    struct resources before = resources_now();
    struct error error = ERROR_NULL;
    struct arena *arena = NULL;
    struct arena_spec spec = { .name = "tenon:test:0", .policy = ARENA_REQUIRE_HUGE,
                               .bytes = (before.free_2m + 1000) * PAGE_2M_BYTES };

    assert_int_equal(arena_new(&spec, &arena, &error), -ENOMEM);
    assert_null(arena);
    assert_non_null(strstr(error.text, "node 0 has "));
    assert_non_null(strstr(error.text, "tenon:test:0"));
    assert_non_null(strstr(error.text, "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages"));
    spec.bytes += PAGE_1G_BYTES;
    spec.allow_1g = true;
    assert_int_equal(arena_new(&spec, &arena, &error), -ENOMEM);
    resources_same(&before);
}

static void test_ladder(void **state)
{
    (void)state;
    struct resources before = resources_now();
    struct arena *arena = make("", (struct arena_spec){ .bytes = (before.free_2m + 3) * PAGE_2M_BYTES });
    uint32_t pieces = (before.free_2m > 0) + 1u;

    assert_true(arena->bytes_by_size[PAGE_4K] >= 3 * PAGE_2M_BYTES);
    assert_non_null(strstr(arena->note, "of 2 MiB"));
    assert_false(arena->locked);
    populate_all(arena);
    check_where(arena, arena->bytes);
    fill(arena);
    seal_and_check(arena, pieces);
    arena_free(arena);
    resources_same(&before);
}

/* From a lower rung on, whatever the pools hold. */
static void test_rungs(void **state)
{
    (void)state;
    for (unsigned policy = ARENA_FROM_2M; policy <= ARENA_FROM_4K; policy++) {
        uint64_t free_2m = policy == ARENA_FROM_2M ? resources_now().free_2m * PAGE_2M_BYTES : 0;
        struct arena_spec spec = { .bytes = free_2m + PAGE_1G_BYTES, .policy = policy, .allow_1g = true };
        struct arena *arena = make("", spec);

        assert_int_equal(arena->bytes_by_size[PAGE_1G], 0);
        assert_int_equal(arena->bytes_by_size[PAGE_2M], free_2m);
        assert_int_equal(arena->transparent, policy != ARENA_FROM_4K);
        arena_free(arena);
    }
}

/* The pool says 1000 free pages that are not there: reservations of others, or a race. */
static void test_lying_pool(void **state)
{
    (void)state;
    struct resources before = resources_now();
    struct tree tree;
    struct error error = ERROR_NULL;
    struct arena *arena = NULL;
    struct arena_spec spec = { .name = "tenon:test:0", .policy = ARENA_REQUIRE_HUGE,
                               .bytes = (before.free_2m + 3) * PAGE_2M_BYTES };

    tree_init(&tree);
    tree_file(&tree, "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "100000");
    tree_file(&tree, "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages", "100000");
    assert_int_equal(arena_new_at(tree.root, &spec, &arena, &error), -ENOMEM);
    assert_non_null(strstr(error.text, "could not be mapped"));
    arena = make(tree.root, (struct arena_spec){ .bytes = spec.bytes });
    assert_int_equal(arena->bytes_by_size[PAGE_4K], arena->bytes);
    assert_non_null(strstr(arena->note, "could not be mapped"));
    arena_free(arena);

    /* And the other lies: no number, none that the cgroup allows. */
    tree_file(&tree, "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages", "many");
    arena = make(tree.root, (struct arena_spec){ .bytes = 1 });
    assert_int_equal(arena->bytes_by_size[PAGE_4K], PAGE_2M_BYTES);
    assert_non_null(strstr(arena->note, "not a number"));
    arena_free(arena);
    tree_file(&tree, "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages", "100000");
    tree_file(&tree, "/proc/self/cgroup", "0::/a\n");
    tree_file(&tree, "/proc/self/mountinfo", "30 21 0:26 / /cg rw - cgroup2 cgroup2 rw\n");
    tree_file(&tree, "/cg/a/hugetlb.2MB.max", "2097151\n");
    assert_int_equal(arena_new_at(tree.root, &spec, &arena, &error), -ENOMEM);
    assert_non_null(strstr(error.text, "hugetlb cgroup"));
    tree_deinit(&tree);
    resources_same(&before);
}

static void ordinary_tree(struct tree *tree, const char *shmem_enabled)
{
    tree_init(tree);
    tree_file(tree, "/sys/kernel/mm/transparent_hugepage/shmem_enabled", "%s\n", shmem_enabled);
}

static void test_transparent(void **state)
{
    (void)state;
    static const struct {
        const char *shmem_enabled;
        uint32_t memfds;
    } cases[] = { { "always within_size advise [never] deny force", 1 },
                  { "always within_size [advise] never deny force", 1 },
                  { "always within_size advise never [deny] force", 0 } };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct resources before = resources_now();
        struct tree tree;
        ordinary_tree(&tree, cases[i].shmem_enabled);
        struct arena *arena = make(tree.root, (struct arena_spec){ .bytes = 5 * PAGE_2M_BYTES - 77, .allow_1g = true });
        assert_int_equal(arena->bytes, 5 * PAGE_2M_BYTES);
        assert_int_equal(arena->bytes_by_size[PAGE_4K], arena->bytes);
        assert_int_equal(strstr(arena->note, "anonymous") != NULL, cases[i].memfds == 0);
        populate_all(arena);
        check_where(arena, arena->bytes);
        fill(arena);
        seal_and_check(arena, cases[i].memfds);
        arena_free(arena);
        tree_deinit(&tree);
        resources_same(&before);
    }
}

/* Ordinary memory that the node or the cgroup does not have is refused before the OOM killer comes. */
static void test_ordinary_short(void **state)
{
    (void)state;
    struct error error = ERROR_NULL;
    struct arena *arena = NULL;
    struct arena_spec spec = { .name = "tenon:test:0", .bytes = 4 * PAGE_2M_BYTES };
    struct tree tree;

    ordinary_tree(&tree, "[never]");
    tree_file(&tree, "/sys/devices/system/node/node0/meminfo",
              "Node 0 MemFree: 8000 kB\nNode 0 Active(file): 100 kB\nNode 0 Inactive(file): 0 kB\n");
    assert_int_equal(arena_new_at(tree.root, &spec, &arena, &error), -ENOMEM);
    assert_non_null(strstr(error.text, "node 0 has 7 MiB of free memory"));
    tree_file(&tree, "/sys/devices/system/node/node0/meminfo",
              "Node 0 MemFree: 8000 kB\nNode 0 Active(file): 100 kB\nNode 0 Inactive(file): 92 kB\n");
    arena_free(make(tree.root, spec));
    tree_file(&tree, "/proc/self/cgroup", "0::/a\n");
    tree_file(&tree, "/proc/self/mountinfo", "30 21 0:26 / /cg rw - cgroup2 cgroup2 rw\n");
    tree_file(&tree, "/cg/a/memory.max", "8388607\n");
    assert_int_equal(arena_new_at(tree.root, &spec, &arena, &error), -ENOMEM);
    assert_non_null(strstr(error.text, "memory cgroup"));
    tree_deinit(&tree);
}

/* Pages that cannot be had are an error text, no signal. */
static void test_populate_fails(void **state)
{
    (void)state;
    struct error error = ERROR_NULL;
    struct arena *arena = make("", (struct arena_spec){ .bytes = 4 * PAGE_2M_BYTES });

    munmap(arena->base + PAGE_2M_BYTES, PAGE_2M_BYTES);
    assert_int_equal(arena_populate(arena, 0, PAGE_2M_BYTES, &error), 0);
    assert_int_equal(arena_populate(arena, 0, arena->bytes, &error), -ENOMEM);
    assert_non_null(strstr(error.text, "tenon:test:0"));
    assert_non_null(strstr(error.text, "node 0"));
    arena_free(arena);
}

static void test_refused(void **state)
{
    (void)state;
    struct arena_spec specs[] = {
        { .name = "a", .bytes = 0 },
        { .name = "a", .bytes = UINT64_MAX },
        { .name = "a", .bytes = UINT64_C(1) << 62 },
        { .name = "a", .bytes = UINT64_C(1) << 56 },
        { .name = "a", .bytes = 1, .os_node = 1024 },
        { .name = "a", .bytes = 1, .os_node = 999 },        /* no such node */
    };
    struct resources before = resources_now();
    char endless[1000];

    memset(endless, 'x', sizeof endless);
    endless[sizeof endless - 1] = '\0';
    for (size_t i = 0; i < ARRAY_LENGTH(specs); i++) {
        struct error error = ERROR_NULL;
        struct arena *arena = NULL;
        assert_true(arena_new(&specs[i], &arena, &error) < 0);
        assert_null(arena);
        assert_true(error.text[0] != '\0');
    }
    struct arena_spec long_name = { .name = endless, .bytes = 1 };
    struct arena *arena = NULL;
    assert_int_equal(arena_new(&long_name, &arena, NULL), -EINVAL);
    assert_null(arena_free(NULL));
    resources_same(&before);
}

static void test_policy_restored(void **state)
{
    (void)state;
    unsigned long mask[16] = { 1 }, now[16] = { 0 };
    int mode = -1;

    if (syscall(SYS_set_mempolicy, MPOL_PREFERRED, mask, 1025ul)) {
        print_message("skipped: set_mempolicy is not allowed here\n");
        skip();
    }
    struct arena *arena = make("", (struct arena_spec){ .bytes = 1 });
    assert_int_equal(syscall(SYS_get_mempolicy, &mode, now, 1024ul, NULL, 0ul), 0);
    assert_int_equal(mode, MPOL_PREFERRED);
    assert_int_equal(now[0], 1);
    arena_free(arena);
    assert_int_equal(syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0ul), 0);
    arena = make("", (struct arena_spec){ .bytes = 1 });
    assert_int_equal(syscall(SYS_get_mempolicy, &mode, now, 1024ul, NULL, 0ul), 0);
    assert_int_equal(mode, MPOL_DEFAULT);
    arena_free(arena);
}

/* Runs @fn in a child and fails when it does not return 0. */
static void in_child(int (*fn)(void))
{
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0)
        _exit(fn());
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("the child ended with status 0x%x", status);
}

/* As containers do it: no NUMA system calls. */
static int forbid_numa_calls(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mbind, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_set_mempolicy, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_get_mempolicy, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_move_pages, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    struct sock_fprog program = { .len = ARRAY_LENGTH(code), .filter = code };

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int child_without_mbind(void)
{
    struct arena_spec spec = { .name = "tenon:test:0", .bytes = 3 * PAGE_2M_BYTES };
    struct error error = ERROR_NULL;
    struct arena *arena;
    uint64_t bytes[NODES];

    if (forbid_numa_calls())
        return 1;
    if (arena_new(&spec, &arena, &error) || arena->bound || !strstr(arena->note, "mbind is not allowed"))
        return 2;
    if (arena_populate(arena, 0, arena->bytes, &error) || arena_seal(arena, &error))
        return 3;
    /* move_pages is forbidden as well: the numbers come from numa_maps. */
    if (arena_where(arena, bytes, NODES, &error) || bytes[0] != arena->bytes)
        return 4;
    arena_free(arena);
    return 0;
}

static void test_without_mbind(void **state)
{
    (void)state;
    in_child(child_without_mbind);
}

static int child_without_memlock(void)
{
    struct arena_spec spec = { .name = "tenon:test:0", .bytes = 1, .lock = true };
    struct error error = ERROR_NULL;
    struct tree tree;
    struct arena *arena;

    ordinary_tree(&tree, "[never]");
    if (arena_new_at(tree.root, &spec, &arena, &error) || !arena->locked)
        return 1;
    arena_free(arena);
    tree_deinit(&tree);
    /* 65534: nobody, without capabilities. */
    if (setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){ 4096, 4096 }) || setresuid(65534, 65534, 65534))
        return 2;
    if (arena_new_at("/nowhere", &spec, &arena, &error) || arena->locked || !strstr(arena->note, "not locked"))
        return 3;
    if (arena_populate(arena, 0, arena->bytes, &error) || arena_seal(arena, &error) || arena->locked)
        return 4;
    arena_free(arena);
    return 0;
}

static void test_memlock(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("skipped: needs root to become nobody\n");
        skip();
    }
    in_child(child_without_memlock);
}

static struct arena *inherited;

/* Arenas are not inherited: in a child their addresses are empty. */
/* No memfd is mapped there.  A touch would tell too, but a sanitizer may have put something of its own in the gap. */
static int child_looks(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    unsigned long begin, end, base = (uintptr_t)inherited->base;
    char line[512];

    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx", &begin, &end) == 2 && base >= begin && base < end && strstr(line, "memfd"))
            return 1;
    return maps ? 0 : 2;
}

static void test_not_inherited(void **state)
{
    (void)state;
    inherited = make("", (struct arena_spec){ .bytes = 1 });
    in_child(child_looks);
    inherited = arena_free(inherited);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hugetlb),        cmocka_unit_test(test_seal_untouched),
        cmocka_unit_test(test_giant),          cmocka_unit_test(test_short),
        cmocka_unit_test(test_ladder),         cmocka_unit_test(test_lying_pool),    cmocka_unit_test(test_rungs),
        cmocka_unit_test(test_transparent),    cmocka_unit_test(test_ordinary_short),
        cmocka_unit_test(test_populate_fails), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_policy_restored), cmocka_unit_test(test_without_mbind),
        cmocka_unit_test(test_memlock),        cmocka_unit_test(test_not_inherited),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
