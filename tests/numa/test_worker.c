/* SPDX-License-Identifier: Apache-2.0 */
#include "numa/worker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "numa/affinity.h"
#include "src/base/clock.h"

#define WORKERS_MAX 16

#if defined(__SANITIZE_THREAD__)
#define BARRIERS 10000
#else
#define BARRIERS 100000
#endif

/* A plan by hand: @nodes nodes of about equal size, workers dealt over the CPUs that this process may use. */
struct bench {
    struct plan plan;
    struct plan_node nodes[WORKERS_MAX];
    struct plan_worker workers[WORKERS_MAX];
    uint32_t cpus[WORKERS_MAX], cpu_count;
};

static void bench_init(struct bench *b, uint32_t threads, uint32_t nodes)
{
    struct affinity mine;

    memset(b, 0, sizeof *b);
    assert_int_equal(affinity_get(0, &mine), 0);
    for (uint32_t cpu = 0; cpu < AFFINITY_CPUS_MAX && b->cpu_count < WORKERS_MAX; cpu++) {
        if (affinity_has(&mine, cpu))
            b->cpus[b->cpu_count++] = cpu;
    }
    affinity_deinit(&mine);
    assert_true(b->cpu_count > 0 && threads <= WORKERS_MAX && nodes <= threads);
    b->plan = (struct plan){ .node_count = nodes, .nodes = b->nodes, .worker_count = threads, .workers = b->workers };
    for (uint32_t n = 0, w = 0; n < nodes; n++) {
        b->nodes[n].worker_first = w;
        b->nodes[n].worker_count = threads * (n + 1) / nodes - threads * n / nodes;
        for (uint32_t i = 0; i < b->nodes[n].worker_count; i++, w++) {
            b->workers[w] = (struct plan_worker){ .node = n, .os_cpu = b->cpus[w % b->cpu_count],
                                                  .shared = threads > b->cpu_count };
        }
    }
}

struct count {
    struct workers *workers;
    uint32_t threads, rounds;
    _Atomic uint32_t calls;
    uint64_t plain[WORKERS_MAX][16];    /* not atomic on purpose: the barrier orders them, or TSan complains */
    _Atomic uint32_t wrong;
};

/* Each worker bumps its own counter and, behind the barrier, must see everybody's at the same value. */
static void count_rounds(void *arg, uint32_t worker)
{
    struct count *c = arg;

    atomic_fetch_add(&c->calls, 1);
    for (uint64_t round = 1; round <= c->rounds; round++) {
        c->plain[worker][0] = round;
        workers_barrier(c->workers, worker);
        for (uint32_t i = 0; i < c->threads; i++) {
            if (c->plain[i][0] != round)
                atomic_fetch_add(&c->wrong, 1);
        }
        workers_barrier(c->workers, worker);
    }
}

static void run_counted(uint32_t threads, uint32_t nodes, uint32_t rounds)
{
    struct error error = ERROR_NULL;
    struct bench b;
    static struct count c;

    bench_init(&b, threads, nodes);
    memset(&c, 0, sizeof c);
    c.threads = threads;
    c.rounds = rounds;
    assert_int_equal(workers_new(&b.plan, NULL, NULL, &c.workers, &error), 0);
    assert_int_equal(workers_count(c.workers), threads);
    workers_run(c.workers, count_rounds, &c);
    assert_int_equal(c.calls, threads);
    assert_int_equal(c.wrong, 0);
    for (uint32_t i = 0; i < threads; i++) {
        assert_int_equal(c.plain[i][0], rounds);
        assert_true(workers_busy_ns(c.workers, i) > 0);
    }
    c.workers = workers_free(c.workers);
    assert_null(c.workers);
}

static void test_barrier_one(void **state) { (void)state; run_counted(1, 1, BARRIERS / 2); }
static void test_barrier_two(void **state) { (void)state; run_counted(2, 1, BARRIERS / 2); }
static void test_barrier_two_nodes(void **state) { (void)state; run_counted(2, 2, BARRIERS / 2); }
static void test_barrier_three(void **state) { (void)state; run_counted(3, 2, BARRIERS / 8); }
static void test_barrier_eight(void **state) { (void)state; run_counted(8, 3, BARRIERS / 20); }

struct uneven {
    struct workers *workers;
    const struct plan *plan;
    uint64_t plain[WORKERS_MAX][16];
    _Atomic uint32_t wrong;
};

/* Nodes do different numbers of rounds among themselves, then all meet. */
static void node_rounds(void *arg, uint32_t worker)
{
    struct uneven *u = arg;
    uint32_t node = u->plan->workers[worker].node;
    const struct plan_node *n = &u->plan->nodes[node];

    for (uint64_t outer = 1; outer <= 200; outer++) {
        for (uint64_t inner = 0; inner <= node; inner++) {
            uint64_t value = outer * 100 + inner;
            u->plain[worker][0] = value;
            workers_barrier_node(u->workers, worker);
            for (uint32_t i = n->worker_first; i < n->worker_first + n->worker_count; i++)
                atomic_fetch_add(&u->wrong, u->plain[i][0] != value);
            workers_barrier_node(u->workers, worker);
        }
        workers_barrier(u->workers, worker);
        for (uint32_t i = 0; i < u->plan->worker_count; i++)
            atomic_fetch_add(&u->wrong, u->plain[i][0] != outer * 100 + u->plan->workers[i].node);
        workers_barrier(u->workers, worker);
    }
}

static void test_barrier_node(void **state)
{
    (void)state;
    struct error error = ERROR_NULL;
    struct bench b;
    static struct uneven u;

    bench_init(&b, 7, 3);
    memset(&u, 0, sizeof u);
    u.plan = &b.plan;
    assert_int_equal(workers_new(&b.plan, NULL, NULL, &u.workers, &error), 0);
    workers_run(u.workers, node_rounds, &u);
    assert_int_equal(u.wrong, 0);
    workers_free(u.workers);
}

static void add_one(void *arg, uint32_t worker)
{
    uint64_t (*plain)[16] = arg;
    plain[worker][0]++;
}

/* Many short runs: what worker 0 reads between two runs must be complete, and nobody runs twice. */
static void test_runs(void **state)
{
    (void)state;
    static const uint32_t shapes[][2] = { { 1, 1 }, { 2, 2 }, { 5, 2 }, { 8, 4 } };

    for (size_t s = 0; s < ARRAY_LENGTH(shapes); s++) {
        struct error error = ERROR_NULL;
        struct bench b;
        struct workers *workers;
        static uint64_t plain[WORKERS_MAX][16];

        bench_init(&b, shapes[s][0], shapes[s][1]);
        memset(plain, 0, sizeof plain);
        assert_int_equal(workers_new(&b.plan, NULL, NULL, &workers, &error), 0);
        for (uint64_t run = 1; run <= 2000; run++) {
            workers_run(workers, add_one, plain);
            for (uint32_t i = 0; i < shapes[s][0]; i++)
                assert_int_equal(plain[i][0], run);
        }
        workers_free(workers);
    }
}

static void test_affinity(void **state)
{
    (void)state;
    struct error error = ERROR_NULL;
    struct affinity before, after;
    struct workers *workers;
    struct bench b;

    bench_init(&b, 2, 1);
    assert_int_equal(affinity_get(0, &before), 0);
    assert_int_equal(workers_new(&b.plan, NULL, NULL, &workers, &error), 0);
    assert_true(workers_pinned(workers));
    assert_true(affinity_is_pinned(0, b.cpus[0]));
    workers_free(workers);
    assert_int_equal(affinity_get(0, &after), 0);
    assert_int_equal(before.bytes, after.bytes);
    assert_memory_equal(before.set, after.set, before.bytes);
    affinity_deinit(&after);
    b.plan.unpinned = true;
    assert_int_equal(workers_new(&b.plan, NULL, NULL, &workers, &error), 0);
    assert_int_equal(affinity_get(0, &after), 0);
    assert_memory_equal(before.set, after.set, before.bytes);
    workers_free(workers);
    affinity_deinit(&before);
    affinity_deinit(&after);
}

/* A CPU that is not there (the cpuset shrank after the plan was made): works on, and says so. */
static void test_cpu_gone(void **state)
{
    (void)state;
    struct error error = ERROR_NULL;
    struct workers *workers;
    struct bench b;
    static uint64_t plain[WORKERS_MAX][16];

    bench_init(&b, 2, 1);
    b.workers[1].os_cpu = 60000;
    memset(plain, 0, sizeof plain);
    assert_int_equal(workers_new(&b.plan, NULL, NULL, &workers, &error), 0);
    assert_false(workers_pinned(workers));
    workers_run(workers, add_one, plain);
    assert_int_equal(plain[1][0], 1);
    workers_free(workers);
}

static uint64_t cpu_ns(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return ((uint64_t)u.ru_utime.tv_sec + (uint64_t)u.ru_stime.tv_sec) * NS_PER_S +
           ((uint64_t)u.ru_utime.tv_usec + (uint64_t)u.ru_stime.tv_usec) * 1000;
}

static void test_idle(void **state)
{
    (void)state;
    static const uint32_t threads[] = { 2, 8 };

    for (size_t i = 0; i < ARRAY_LENGTH(threads); i++) {
        struct error error = ERROR_NULL;
        struct workers *workers;
        struct bench b;
        static uint64_t plain[WORKERS_MAX][16];

        bench_init(&b, threads[i], 1);
        assert_int_equal(workers_new(&b.plan, NULL, NULL, &workers, &error), 0);
        workers_run(workers, add_one, plain);
        nanosleep(&(struct timespec){ .tv_nsec = 5 * 1000 * 1000 }, NULL);
        uint64_t begin_ns = cpu_ns();
        nanosleep(&(struct timespec){ .tv_nsec = 300 * 1000 * 1000 }, NULL);
        assert_true(cpu_ns() - begin_ns < 5 * NS_PER_MS);
        workers_free(workers);
    }
}

static _Atomic uint32_t init_calls;

static int init_fails_on(void *arg, uint32_t worker)
{
    atomic_fetch_add(&init_calls, 1);
    return worker == *(const uint32_t *)arg ? -EOPNOTSUPP : 0;
}

static void test_init(void **state)
{
    (void)state;
    struct error error = ERROR_NULL;
    struct workers *workers = NULL;
    struct bench b;
    uint32_t nobody = UINT32_MAX;

    bench_init(&b, 4, 2);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(workers_new(&b.plan, init_fails_on, &i, &workers, &error), -EOPNOTSUPP);
        assert_null(workers);
        assert_non_null(strstr(error.text, "worker"));
    }
    init_calls = 0;
    assert_int_equal(workers_new(&b.plan, init_fails_on, &nobody, &workers, &error), 0);
    assert_int_equal(init_calls, 4);
    workers_free(workers);
    assert_null(workers_free(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_barrier_one),  cmocka_unit_test(test_barrier_two),
        cmocka_unit_test(test_barrier_two_nodes), cmocka_unit_test(test_barrier_three),
        cmocka_unit_test(test_barrier_eight), cmocka_unit_test(test_barrier_node),
        cmocka_unit_test(test_runs),         cmocka_unit_test(test_affinity),
        cmocka_unit_test(test_cpu_gone),     cmocka_unit_test(test_idle),
        cmocka_unit_test(test_init),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
