/* SPDX-License-Identifier: Apache-2.0 */
/* What only a machine with two memory nodes can show. */
#include "numa/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "numa/arena_internal.h"
#include "numa/pages_internal.h"
#include "numa/topology.h"
#include "numa/worker.h"
#include "tests/harness/resources.h"
#include "tests/numa/tree.h"

#define PAGES 8

static struct topology *host;
static uint64_t taken[TOPOLOGY_NODES_MAX];      /* pages of 2 MiB by index of the node */

static int group_setup(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < host->node_count; i++) {
        int64_t got = 0;
        if (geteuid() == 0 && pages_pool_change("", host->nodes[i].os_node, PAGE_2M, PAGES, &got, NULL) == 0)
            taken[i] = (uint64_t)got;
    }
    return 0;
}

static int group_teardown(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < host->node_count; i++) {
        int64_t got;
        if (taken[i] > 0)
            (void)!pages_pool_change("", host->nodes[i].os_node, PAGE_2M, -(int64_t)taken[i], &got, NULL);
    }
    return 0;
}

static void need_pages(void)
{
    for (uint32_t i = 0; i < host->node_count; i++) {
        if (taken[i] < PAGES) {
            print_message("skipped: huge pages could not be reserved on every node\n");
            skip();
        }
    }
}

static struct arena *make(uint32_t os_node, uint64_t pages, enum arena_policy policy)
{
    struct arena_spec spec = { .name = "tenon:test:n", .os_node = os_node, .bytes = pages * PAGE_2M_BYTES,
                               .policy = policy };
    struct error error = ERROR_NULL;
    struct arena *arena;

    if (arena_new(&spec, &arena, &error))
        fail_msg("%s", error.text);
    return arena;
}

static void check_all_on(const struct arena *arena, uint32_t os_node)
{
    struct error error = ERROR_NULL;
    uint64_t bytes[256];

    assert_int_equal(arena_where(arena, bytes, 256, &error), 0);
    for (uint32_t i = 0; i < 256; i++)
        assert_int_equal(bytes[i], i == os_node ? arena->bytes : 0);
}

/* Wherever this thread runs, the pages come from the node that was asked for, before and after sealing. */
static void test_every_node(void **state)
{
    (void)state;
    struct error error = ERROR_NULL;

    need_pages();
    for (uint32_t i = 0; i < host->node_count; i++) {
        for (int huge = 0; huge < 2; huge++) {
            uint32_t os_node = host->nodes[i].os_node;
            struct pages_pool pool;
            assert_int_equal(pages_pool_read(os_node, PAGE_2M, &pool, &error), 0);
            struct arena *arena = make(os_node, huge ? PAGES : pool.free + 2, huge ? ARENA_REQUIRE_HUGE : ARENA_LADDER);
            assert_true(arena->bound);
            assert_int_equal(arena_populate(arena, 0, arena->bytes, &error), 0);
            check_all_on(arena, os_node);
            assert_int_equal(arena_seal(arena, &error), 0);
            check_all_on(arena, os_node);
            arena_free(arena);
        }
    }
}

/* A tree whose pool of every node claims to have plenty. */
static void lying_tree(struct tree *tree)
{
    tree_init(tree);
    for (uint32_t i = 0; i < host->node_count; i++) {
        char path[160];
        snprintf(path, sizeof path, "/sys/devices/system/node/node%u/hugepages/hugepages-2048kB/nr_hugepages",
                 host->nodes[i].os_node);
        tree_file(tree, path, "100000\n");
        strcpy(strrchr(path, '/'), "/free_hugepages");
        tree_file(tree, path, "100000\n");
    }
}

/* The node is short while all nodes together have enough: the policy around mmap() finds it out. */
static void test_short_node(void **state)
{
    (void)state;
    struct error error = ERROR_NULL;
    struct arena *arena = NULL;
    struct tree tree;

    need_pages();
    lying_tree(&tree);
    for (uint32_t i = 0; i < host->node_count; i++) {
        struct arena_spec spec = { .name = "tenon:test:n", .os_node = host->nodes[i].os_node,
                                   .bytes = (PAGES + 2) * PAGE_2M_BYTES, .policy = ARENA_REQUIRE_HUGE };
        assert_int_equal(arena_new_at(tree.root, &spec, &arena, &error), -ENOMEM);
        assert_non_null(strstr(error.text, "could not be mapped"));
        assert_int_equal(arena_new(&spec, &arena, &error), -ENOMEM);
        assert_non_null(strstr(error.text, "nr_hugepages"));
    }
    tree_deinit(&tree);
}

static int forbid_set_mempolicy(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_set_mempolicy, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { .len = ARRAY_LENGTH(code), .filter = code };

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* Without it mmap() and mbind() succeed on a short node, and the first touch would be a SIGBUS. */
static int child_populates_short_node(const char *root, uint32_t os_node)
{
    struct arena_spec spec = { .name = "tenon:test:n", .os_node = os_node, .bytes = (PAGES + 2) * PAGE_2M_BYTES };
    struct error error = ERROR_NULL;
    struct arena *arena;

    if (forbid_set_mempolicy())
        return 1;
    if (arena_new_at(root, &spec, &arena, &error) || arena->bytes_by_size[PAGE_2M] != arena->bytes || !arena->bound)
        return 2;
    if (arena_populate(arena, 0, arena->bytes, &error) != -ENOMEM || !strstr(error.text, "no free page of 2 MiB"))
        return 3;
    return 0;
}

static void test_populate_short_node(void **state)
{
    (void)state;
    struct tree tree;

    need_pages();
    lying_tree(&tree);
    for (uint32_t i = 0; i < host->node_count; i++) {
        int status;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            _exit(child_populates_short_node(tree.root, host->nodes[i].os_node));
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("the child ended with status 0x%x", status);
    }
    tree_deinit(&tree);
}

static void nothing(void *arg, uint32_t worker)
{
    (void)arg;
    (void)worker;
}

/* The plan of the real machine: arenas on its nodes, workers where it says. */
static void test_plan_of_host(void **state)
{
    (void)state;
    struct plan_matrix matrix = { .groups = 64, .group_bytes = PAGE_2M_BYTES / 16 };
    struct plan_request request = { .topology = host, .host = host, .matrices = &matrix, .matrix_count = 1,
                                    .kv_heads = 8 };
    struct error error = ERROR_NULL;
    struct workers *workers;
    struct plan *plan;

    if (plan_make(&request, &plan, &error))
        fail_msg("%s", error.text);
    for (uint32_t n = 0; n < plan->node_count; n++) {
        struct arena *arena = make(plan->nodes[n].os_node, 1, ARENA_LADDER);
        assert_true(plan->nodes[n].weight_bytes > 0);
        assert_int_equal(arena_populate(arena, 0, arena->bytes, &error), 0);
        check_all_on(arena, plan->nodes[n].os_node);
        arena_free(arena);
    }
    if (workers_new(plan, NULL, NULL, &workers, &error))
        fail_msg("%s", error.text);
    assert_true(workers_pinned(workers));
    workers_run(workers, nothing, NULL);
    workers_free(workers);
    plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_node),
        cmocka_unit_test(test_short_node),
        cmocka_unit_test(test_populate_short_node),
        cmocka_unit_test(test_plan_of_host),
    };
    struct error error = ERROR_NULL;

    if (topology_load(NULL, &host, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    if (host->node_count < 2) {
        printf("skipped: this machine has one memory node\n");
        topology_free(host);
        return 77;
    }
    int r = cmocka_run_group_tests(tests, group_setup, group_teardown);
    topology_free(host);
    return r;
}
