/* SPDX-License-Identifier: Apache-2.0 */
#include "numa/worker.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numa/affinity.h"
#include "numa/barrier.h"
#include "numa/futex.h"
#include "src/base/clock.h"

/* Longer than the gap between two phases of a step, shorter than what a core's energy is worth. */
#define SPIN_NS UINT64_C(50000)
/* Kernels keep their scratch in arenas. */
#define STACK_BYTES (UINT64_C(1) << 20)

struct worker {
    _Alignas(BARRIER_ALIGN) _Atomic uint64_t busy_ns;   /* written by this worker only */
    struct workers *pool;
    uint32_t index, node, os_cpu;
    pthread_t thread;
    pid_t tid;                  /* valid once the worker has reported in */
    int start_result;
};

struct workers {
    struct gate run;            /* opened by worker 0 for each run, and once to stop */
    worker_fn *fn;              /* written before the gate opens, read after */
    void *arg;
    bool stop;

    struct barrier *done;       /* arrived at by all when a run is over; worker 0 waits at its machine gate */
    struct barrier *barrier;
    worker_init_fn *init;
    void *init_arg;
    uint64_t spin_ns;
    pthread_t owner;
    bool running, unpinned;
    uint32_t count, thread_count;           /* workers, threads created so far */
    _Alignas(BARRIER_ALIGN) _Atomic uint32_t started;
    struct affinity caller_affinity;
    struct worker workers[];
};

static void worker_call(struct worker *worker, worker_fn *fn, void *arg)
{
    uint64_t begin_ns = clock_now_ns();

    fn(arg, worker->index);
    uint64_t busy_ns = atomic_load_explicit(&worker->busy_ns, memory_order_relaxed);
    atomic_store_explicit(&worker->busy_ns, busy_ns + (clock_now_ns() - begin_ns), memory_order_relaxed);
}

/* A CPU that went away since the plan was made is no reason to fail: workers_pinned() tells. */
static void worker_start(struct worker *worker)
{
    struct workers *pool = worker->pool;

    worker->tid = (pid_t)syscall(SYS_gettid);
    if (!pool->unpinned)
        (void)!affinity_pin(worker->os_cpu);
    worker->start_result = pool->init ? pool->init(pool->init_arg, worker->index) : 0;
}

static void *worker_main(void *arg)
{
    struct worker *worker = arg;
    struct workers *pool = worker->pool;
    char name[16];
    /* Worker 0 runs nothing before all have reported in, so the gate is still at its first generation. */
    uint32_t seen = gate_generation(&pool->run);

    snprintf(name, sizeof name, "tenon-w%u", worker->index % 100000);
    pthread_setname_np(pthread_self(), name);
    worker_start(worker);
    atomic_fetch_add_explicit(&pool->started, 1, memory_order_release);
    futex_wake_all(&pool->started);

    for (;;) {
        seen = gate_wait(&pool->run, seen, pool->spin_ns);
        if (pool->stop)
            return NULL;
        worker_call(worker, pool->fn, pool->arg);
        barrier_arrive(pool->done, worker->node);
    }
}

/*
 * Signals are the business of the thread that expects them; those that a fault raises stay open, so that a
 * handler can still tell what happened.
 */
static void block_signals(sigset_t *ret_old)
{
    static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT };
    sigset_t set;

    sigfillset(&set);
    for (size_t i = 0; i < ARRAY_LENGTH(faults); i++)
        sigdelset(&set, faults[i]);
    pthread_sigmask(SIG_BLOCK, &set, ret_old);
}

static int create_threads(struct workers *pool, struct error *error)
{
    pthread_attr_t attr;
    sigset_t old;
    int r = 0;

    if (pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, STACK_BYTES)) {
        return error_set(error, -ENOMEM, "no memory for the attributes of a worker thread");
    }
    block_signals(&old);
    for (uint32_t i = 1; i < pool->count && r == 0; i++) {
        r = -pthread_create(&pool->workers[i].thread, &attr, worker_main, &pool->workers[i]);
        if (r == 0)
            pool->thread_count++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    if (r)
        error_set(error, r, "cannot create worker thread %u of %u: %s; see the limits on tasks and on memory "
                  "(ulimit -u, pids.max)", pool->thread_count + 1, pool->count, strerror(-r));
    return r;
}

static int start(struct workers *pool, struct error *error)
{
    int r = create_threads(pool, error);

    worker_start(&pool->workers[0]);
    for (;;) {
        uint32_t started = atomic_load_explicit(&pool->started, memory_order_acquire);
        if (started == pool->thread_count)
            break;
        futex_wait(&pool->started, started, NULL);
    }
    for (uint32_t i = 0; i <= pool->thread_count && r == 0; i++) {
        if (pool->workers[i].start_result)
            r = error_set(error, pool->workers[i].start_result, "worker %u cannot start on CPU %u: %s", i,
                          pool->workers[i].os_cpu, strerror(-pool->workers[i].start_result));
    }
    return r;
}

static int create_barriers(struct workers *pool, const struct plan *plan)
{
    uint32_t *sizes = calloc(plan->node_count, sizeof *sizes);

    if (!sizes)
        return -ENOMEM;
    for (uint32_t i = 0; i < plan->node_count; i++)
        sizes[i] = plan->nodes[i].worker_count;
    int r = barrier_new(sizes, plan->node_count, pool->spin_ns, &pool->barrier);
    if (r == 0)
        r = barrier_new(sizes, plan->node_count, pool->spin_ns, &pool->done);
    free(sizes);
    return r;
}

int workers_new(const struct plan *plan, worker_init_fn *init, void *init_arg, struct workers **ret_workers,
                struct error *error)
{
    check(plan->worker_count > 0 && plan->node_count > 0);

    size_t bytes = sizeof(struct workers) + plan->worker_count * sizeof(struct worker);
    struct workers *pool = aligned_alloc(BARRIER_ALIGN, align_up(bytes, BARRIER_ALIGN));
    if (!pool)
        return error_set(error, -ENOMEM, "no memory for %u workers", plan->worker_count);
    memset(pool, 0, bytes);
    pool->count = plan->worker_count;
    pool->init = init;
    pool->init_arg = init_arg;
    pool->owner = pthread_self();
    pool->spin_ns = SPIN_NS;
    pool->unpinned = plan->unpinned;
    for (uint32_t i = 0; i < pool->count; i++) {
        const struct plan_worker *w = &plan->workers[i];
        check(w->node < plan->node_count);
        pool->workers[i] = (struct worker){ .pool = pool, .index = i, .node = w->node, .os_cpu = w->os_cpu };
        if (w->shared)
            pool->spin_ns = 0;
    }

    int r = create_barriers(pool, plan);
    if (r) {
        workers_free(pool);
        return error_set(error, r, "no memory for the barriers of %u workers", plan->worker_count);
    }
    if (affinity_get(0, &pool->caller_affinity))
        pool->caller_affinity = (struct affinity)AFFINITY_NULL;
    r = start(pool, error);
    if (r) {
        workers_free(pool);
        return r;
    }
    *ret_workers = pool;
    return 0;
}

struct workers *workers_free(struct workers *workers)
{
    if (!workers)
        return NULL;
    check(pthread_equal(workers->owner, pthread_self()) && !workers->running);
    workers->stop = true;
    gate_open(&workers->run);
    for (uint32_t i = 1; i <= workers->thread_count; i++)
        pthread_join(workers->workers[i].thread, NULL);
    if (workers->caller_affinity.set)
        (void)!affinity_set(&workers->caller_affinity);
    affinity_deinit(&workers->caller_affinity);
    barrier_free(workers->done);
    barrier_free(workers->barrier);
    free(workers);
    return NULL;
}

uint32_t workers_count(const struct workers *workers)
{
    return workers->count;
}

bool workers_pinned(const struct workers *workers)
{
    for (uint32_t i = 0; i < workers->count; i++) {
        if (!affinity_is_pinned(workers->workers[i].tid, workers->workers[i].os_cpu))
            return false;
    }
    return true;
}

uint64_t workers_busy_ns(const struct workers *workers, uint32_t worker)
{
    check(worker < workers->count);
    return atomic_load_explicit(&workers->workers[worker].busy_ns, memory_order_relaxed);
}

void workers_run(struct workers *workers, worker_fn *fn, void *arg)
{
    struct worker *self = &workers->workers[0];

    check(pthread_equal(workers->owner, pthread_self()) && !workers->running);
    workers->running = true;
    workers->fn = fn;
    workers->arg = arg;
    uint32_t seen = gate_generation(&workers->done->machine.gate);
    gate_open(&workers->run);
    worker_call(self, fn, arg);
    barrier_arrive(workers->done, self->node);
    gate_wait(&workers->done->machine.gate, seen, workers->spin_ns);
    workers->running = false;
}

void workers_barrier(struct workers *workers, uint32_t worker)
{
    check(worker < workers->count);
    barrier_wait(workers->barrier, workers->workers[worker].node);
}

void workers_barrier_node(struct workers *workers, uint32_t worker)
{
    check(worker < workers->count);
    barrier_wait_group(workers->barrier, workers->workers[worker].node);
}
