/* SPDX-License-Identifier: Apache-2.0 */
#include "numa/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numa/pages.h"

/* splitmix64: the seed is all there is to repeat a failure. */
static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static uint32_t below(uint64_t *state, uint64_t n) { return (uint32_t)(random_next(state) % n); }

/* Nodes of any size, some without cores, with holes in the numbering of nodes and CPUs. */
static void random_topology(uint64_t *state, bool synthetic, struct topology *t)
{
    uint32_t cpu = below(state, 100), os_node = below(state, 3);

    memset(t, 0, sizeof *t);
    t->synthetic = synthetic;
    do {
        t->node_count = 1 + below(state, 8);
        t->core_count = 0;
        for (uint32_t n = 0; n < t->node_count; n++) {
            t->nodes[n] = (struct topology_node){ .os_node = os_node, .core_first = t->core_count };
            os_node += 1 + below(state, 3);
            t->nodes[n].core_count = below(state, 4) == 0 ? 0 : 1 + below(state, below(state, 3) ? 8 : 100);
            for (uint32_t i = 0; i < t->nodes[n].core_count; i++) {
                cpu += 1 + below(state, 3);
                t->cores[t->core_count++] = (struct topology_core){
                    .node = n, .os_cpu = cpu, .os_sibling = below(state, 2) ? cpu + 10000 : UINT32_MAX };
            }
        }
    } while (t->core_count == 0);
    t->quota_cores = !synthetic && below(state, 4) == 0 ? 1 + below(state, 2 * t->core_count) : 0;
}

#define MATRICES_MAX 12

struct scene {
    struct topology topology, host;
    struct plan_matrix matrices[MATRICES_MAX];
    struct plan_request request;
};

static void random_scene(uint64_t seed, struct scene *s)
{
    uint64_t *state = &seed;
    bool synthetic = below(state, 2);

    random_topology(state, synthetic, &s->topology);
    random_topology(state, false, &s->host);
    uint32_t kv_heads = 1 + below(state, 16);
    uint32_t count = below(state, MATRICES_MAX + 1);
    for (uint32_t m = 0; m < count; m++) {
        uint32_t align = below(state, 3);
        s->matrices[m] = (struct plan_matrix){
            .groups = 1 + below(state, below(state, 2) ? 20 : 20000),
            .group_bytes = 64 * (1 + (uint64_t)below(state, 5000)),
            .align_groups = align < 2 ? align : 1 + below(state, 8),
        };
        if (below(state, 3) == 0) {     /* q, k, v: as many units as KV heads */
            s->matrices[m].align_groups = 1 + below(state, 32);
            s->matrices[m].groups = s->matrices[m].align_groups * kv_heads;
        }
    }
    s->request = (struct plan_request){
        .topology = &s->topology,
        .host = synthetic ? &s->host : &s->topology,
        .policy = (enum plan_policy)below(state, 3),
        .threads = below(state, 2) ? 0 : 1 + below(state, 3 * s->topology.core_count),
        .matrices = s->matrices,
        .matrix_count = count,
        .kv_bytes = random_next(state) >> 24,
        .kv_heads = kv_heads,
        .scratch_bytes = random_next(state) >> 40,
    };
    do
        s->request.local_node = below(state, s->topology.node_count);
    while (s->topology.nodes[s->request.local_node].core_count == 0);
}

static void check_workers(const struct scene *s, const struct plan *p)
{
    const struct plan_request *q = &s->request;
    const struct topology *t = q->topology, *real = t->synthetic ? q->host : t;
    uint32_t next = 0, cores = 0;

    for (uint32_t i = 0; i < t->node_count; i++)
        cores += q->policy != PLAN_LOCAL || i == q->local_node ? t->nodes[i].core_count : 0;
    uint32_t expect = q->threads ? q->threads : cores;
    if (!q->threads && t->quota_cores && t->quota_cores < expect)
        expect = t->quota_cores;
    assert_int_equal(p->worker_count, expect);
    assert_true(p->node_count >= 1 && p->node_count <= t->node_count);
    if (q->policy == PLAN_LOCAL)
        assert_int_equal(p->node_count, 1);
    for (uint32_t n = 0; n < p->node_count; n++) {
        const struct plan_node *node = &p->nodes[n];
        const struct topology_node *tn = &t->nodes[node->topology_node];
        assert_int_equal(node->worker_first, next);
        assert_true(node->worker_count >= 1);
        assert_true(tn->core_count >= 1);
        if (n > 0)
            assert_true(node->topology_node > p->nodes[n - 1].topology_node);
        if (q->policy == PLAN_LOCAL)
            assert_int_equal(node->topology_node, q->local_node);
        /* In proportion: less than a worker off its share, hence never more than it has cores. */
        if (expect <= cores)
            assert_true(node->worker_count <= tn->core_count);
        assert_true((uint64_t)(node->worker_count - 1) * cores < (uint64_t)expect * tn->core_count);
        assert_true((uint64_t)(node->worker_count + 1) * cores > (uint64_t)expect * tn->core_count);
        uint32_t with_cores[TOPOLOGY_NODES_MAX], k = 0;
        for (uint32_t i = 0; i < real->node_count; i++) {
            if (real->nodes[i].core_count > 0)
                with_cores[k++] = real->nodes[i].os_node;
        }
        assert_int_equal(node->os_node, t->synthetic ? with_cores[node->topology_node % k] : tn->os_node);
        for (uint32_t i = 0; i < node->worker_count; i++)
            assert_int_equal(p->workers[next++].node, n);
    }
    assert_int_equal(next, p->worker_count);
}

/* Every worker on a real thread of its node; nobody shares without being told, nor while a core is free. */
static void check_cpus(const struct scene *s, const struct plan *p)
{
    const struct plan_request *q = &s->request;
    const struct topology *real = q->topology->synthetic ? q->host : q->topology;
    uint32_t used[TOPOLOGY_CORES_MAX] = { 0 }, any = 0;
    bool throttled = q->host->quota_cores && q->host->quota_cores < p->worker_count;

    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t w = 0; w < p->worker_count; w++) {
            uint32_t at = UINT32_MAX;
            for (uint32_t i = 0; i < real->core_count; i++) {
                if (real->cores[i].os_cpu == p->workers[w].os_cpu || real->cores[i].os_sibling == p->workers[w].os_cpu)
                    at = i;
            }
            assert_true(at != UINT32_MAX);
            assert_int_equal(real->nodes[real->cores[at].node].os_node, p->nodes[p->workers[w].node].os_node);
            if (pass == 0)
                used[at]++;
            else
                assert_int_equal(p->workers[w].shared, throttled || used[at] > 1);
            any += p->workers[w].shared;
        }
    }
    assert_int_equal(p->oversubscribed, any > 0);
    if (p->oversubscribed)
        assert_true(p->note[0] != '\0');
    for (uint32_t n = 0; n < real->node_count; n++) {
        uint32_t free_cores = 0, crowded = 0;
        for (uint32_t i = real->nodes[n].core_first; i < real->nodes[n].core_first + real->nodes[n].core_count; i++) {
            free_cores += used[i] == 0;
            crowded += used[i] > 1;
        }
        assert_true(free_cores == 0 || crowded == 0);
    }
}

static void check_shards(const struct scene *s, const struct plan *p)
{
    const struct plan_request *q = &s->request;
    uint64_t end[TOPOLOGY_NODES_MAX] = { 0 };

    assert_int_equal(p->matrix_count, q->matrix_count);
    for (uint32_t m = 0; m < q->matrix_count; m++) {
        const struct plan_matrix *matrix = &q->matrices[m];
        const uint32_t *split = &p->split[m * (p->node_count + 1)];
        uint32_t align = matrix->align_groups ? matrix->align_groups : 1;
        assert_int_equal(split[0], 0);
        assert_int_equal(split[p->node_count], matrix->groups);
        for (uint32_t n = 0; n < p->node_count; n++) {
            uint64_t held = p->policy == PLAN_MIRROR ? matrix->groups : split[n + 1] - split[n];
            assert_true(split[n] <= split[n + 1]);
            assert_true(split[n] % align == 0 || split[n] == matrix->groups);
            double exact = (double)matrix->groups * p->nodes[n].worker_count / p->worker_count;
            double got = split[n + 1] - split[n];
            assert_true(got < exact + 1.5 * align && got > exact - 1.5 * align);
            assert_int_equal(p->offset[m * p->node_count + n], end[n]);
            assert_int_equal(end[n] % 64, 0);
            end[n] += held * matrix->group_bytes;
            /* Rows of a KV head stay with the node that has the head. */
            if (align > 1 && matrix->groups == align * q->kv_heads) {
                assert_int_equal(split[n], p->nodes[n].head_first * align);
                assert_int_equal(split[n + 1] - split[n], p->nodes[n].head_count * align);
            }
        }
    }
    uint64_t kv_bytes = 0, heads = 0, scratch = 0;
    for (uint32_t n = 0; n < p->node_count; n++) {
        const struct plan_node *node = &p->nodes[n];
        assert_int_equal(node->weight_bytes, end[n]);
        assert_int_equal(node->head_first, heads);
        if (node->head_count == 0)
            assert_int_equal(node->kv_bytes, 0);
        heads += node->head_count;
        kv_bytes += node->kv_bytes;
        scratch += node->scratch_bytes;
    }
    assert_int_equal(heads, q->kv_heads);
    assert_int_equal(kv_bytes, q->kv_bytes);
    assert_int_equal(p->nodes[0].scratch_bytes, q->scratch_bytes);
    assert_int_equal(scratch, q->scratch_bytes);
}

static void test_random(void **state)
{
    (void)state;
    static struct scene s;

    for (uint64_t seed = 1; seed <= 4000; seed++) {
        struct error error = ERROR_NULL;
        struct plan *p = NULL;
        random_scene(seed, &s);
        if (plan_make(&s.request, &p, &error))
            fail_msg("seed %" PRIu64 ": %s", seed, error.text);
        check_workers(&s, p);
        check_cpus(&s, p);
        check_shards(&s, p);
        assert_null(plan_free(p));
    }
}

/* The same request gives the same plan. */
static void test_pure(void **state)
{
    (void)state;
    static struct scene s;

    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct plan *a, *b;
        random_scene(seed, &s);
        assert_int_equal(plan_make(&s.request, &a, NULL), 0);
        assert_int_equal(plan_make(&s.request, &b, NULL), 0);
        assert_memory_equal(a->workers, b->workers, a->worker_count * sizeof *a->workers);
        assert_memory_equal(a->nodes, b->nodes, a->node_count * sizeof *a->nodes);
        assert_string_equal(a->note, b->note);
        plan_free(a);
        plan_free(b);
    }
}

static struct topology *invented(const char *text)
{
    struct topology *t;

    assert_int_equal(topology_load(text, &t, NULL), 0);
    return t;
}

/* As a host of its own, not as an invented one. */
static struct topology *as_host(const char *text)
{
    struct topology *t = invented(text);
    t->synthetic = false;
    return t;
}

static struct plan *make(const struct plan_request *request)
{
    struct error error = ERROR_NULL;
    struct plan *p;

    if (plan_make(request, &p, &error))
        fail_msg("%s", error.text);
    return p;
}

static void test_notes(void **state)
{
    (void)state;
    struct topology *t = as_host("numa:2 core:4 pu:2");
    struct plan_request q = { .topology = t, .host = t, .kv_heads = 2 };
    struct plan *p = make(&q);

    assert_int_equal(p->worker_count, 8);
    assert_non_null(strstr(p->note, "8 SMT siblings"));
    p = plan_free(p);

    t->quota_cores = 3;
    p = make(&q);
    assert_int_equal(p->worker_count, 3);
    assert_int_equal(p->nodes[0].worker_count, 2);
    assert_int_equal(p->nodes[1].worker_count, 1);
    assert_false(p->oversubscribed);
    assert_non_null(strstr(p->note, "quota of 3 cores: 3 of 8"));
    p = plan_free(p);

    q.threads = 5;                  /* asked for: done, with a warning, without spinning */
    p = make(&q);
    assert_int_equal(p->worker_count, 5);
    assert_true(p->oversubscribed && p->workers[4].shared);
    assert_non_null(strstr(p->note, "throttled"));
    p = plan_free(p);

    t->quota_cores = 0;
    q.threads = 1;
    strcpy(t->note, "the quota made no sense");
    p = make(&q);
    assert_int_equal(p->node_count, 1);
    assert_non_null(strstr(p->note, "the quota made no sense; 1 node without a worker"));
    p = plan_free(p);

    q.threads = 12;                 /* the second thread of a core before any thread twice */
    t->note[0] = '\0';
    p = make(&q);
    assert_true(p->oversubscribed);
    for (uint32_t a = 0; a < 12; a++) {
        for (uint32_t b = 0; b < a; b++)
            assert_true(p->workers[a].os_cpu != p->workers[b].os_cpu);
    }
    p = plan_free(p);
    topology_free(t);

    t = as_host("[numa] pack:2 [numa] core:2 pu:1");
    q = (struct plan_request){ .topology = t, .host = t, .kv_heads = 1, .policy = PLAN_MIRROR };
    p = make(&q);
    assert_int_equal(p->node_count, 2);
    assert_non_null(strstr(p->note, "mirror: the weights 2 times"));
    assert_non_null(strstr(p->note, "1 node without usable cores"));
    plan_free(p);
    topology_free(t);

    t = as_host("numa:1 core:2 pu:1");
    q = (struct plan_request){ .topology = t, .host = t, .kv_heads = 1 };
    p = make(&q);
    assert_string_equal(p->note, "");
    plan_free(p);
    topology_free(t);
}

/* Two invented nodes on a host of one node with two cores get a core each. */
static void test_mapped(void **state)
{
    (void)state;
    struct topology *host = as_host("numa:1 core:2 pu:1"), *t = invented("numa:2 core:1 pu:1");
    struct plan_matrix matrix = { .groups = 7, .group_bytes = 128 };
    struct plan_request q = { .topology = t, .host = host, .kv_heads = 3, .kv_bytes = 301, .matrices = &matrix,
                              .matrix_count = 1 };
    struct plan *p = make(&q);

    assert_int_equal(p->node_count, 2);
    assert_int_equal(p->nodes[0].os_node, 0);
    assert_int_equal(p->nodes[1].os_node, 0);
    assert_int_equal(p->workers[0].os_cpu, 0);
    assert_int_equal(p->workers[1].os_cpu, 1);
    assert_false(p->oversubscribed);
    assert_memory_equal(p->split, ((uint32_t[]){ 0, 4, 7 }), 12);
    assert_int_equal(p->nodes[0].head_count, 2);
    assert_int_equal(p->nodes[0].kv_bytes, 200);
    assert_int_equal(p->nodes[1].kv_bytes, 101);
    plan_free(p);
    topology_free(t);

    t = invented("numa:2 core:28 pu:2");
    q.topology = t;
    p = make(&q);
    assert_int_equal(p->worker_count, 56);
    assert_true(p->oversubscribed && p->workers[0].shared && p->workers[55].shared);
    plan_free(p);
    topology_free(t);
    topology_free(host);
}

static void refuse(const struct plan_request *q, int code, const char *word)
{
    struct error error = ERROR_NULL;
    struct plan *p = NULL;

    assert_int_equal(plan_make(q, &p, &error), code);
    assert_null(p);
    assert_non_null(strstr(error.text, word));
}

static void test_refused(void **state)
{
    (void)state;
    struct topology *t = as_host("[numa] pack:2 [numa] core:2 pu:1");
    uint32_t bare = 0;
    while (t->nodes[bare].core_count > 0)
        bare++;
    struct plan_matrix matrices[3] = { { 1, 64, 0 }, { 1, 64, 0 }, { 1, 64, 0 } };
    const struct plan_request good = { .topology = t, .host = t, .kv_heads = 1, .matrices = matrices,
                                       .matrix_count = 3 };
    struct plan_request q = good;

    plan_free(make(&q));
    q.kv_heads = 0;
    refuse(&q, -EINVAL, "KV heads");
    q = good;
    q.threads = 1000000;
    refuse(&q, -EINVAL, "threads");
    q = good;
    q.policy = PLAN_LOCAL;
    q.local_node = 3;
    refuse(&q, -EINVAL, "no node 3");
    q.local_node = bare;
    refuse(&q, -EINVAL, "no usable core");
    q = good;
    matrices[1].group_bytes = 65;
    refuse(&q, -EINVAL, "matrix 1");
    matrices[1] = (struct plan_matrix){ 0, 64, 0 };
    refuse(&q, -EINVAL, "matrix 1");
    matrices[1] = (struct plan_matrix){ UINT32_MAX, UINT64_C(1) << 40, 0 };
    refuse(&q, -EOVERFLOW, "address space");
    matrices[0] = matrices[1] = matrices[2] = (struct plan_matrix){ UINT32_MAX, UINT64_C(1) << 31, 0 };
    refuse(&q, -EOVERFLOW, "address space");
    matrices[1] = (struct plan_matrix){ UINT32_MAX, 64, UINT32_MAX };
    q.matrix_count = 2;
    matrices[0] = matrices[1];
    plan_free(make(&q));
    struct topology none = { .node_count = 1 };
    q.topology = &none;
    refuse(&q, -EINVAL, "topology");
    assert_null(plan_free(NULL));
    topology_free(t);
}

static void test_pages(void **state)
{
    (void)state;
    uint64_t giga, mega;

    plan_pages(0, true, &giga, &mega);
    assert_int_equal(giga + mega, 0);
    plan_pages(1, false, &giga, &mega);
    assert_int_equal(mega, 1);
    plan_pages(PAGE_1G_BYTES * 2 + PAGE_2M_BYTES + 1, true, &giga, &mega);
    assert_int_equal(giga, 2);
    assert_int_equal(mega, 2);
    plan_pages(PAGE_1G_BYTES * 2, false, &giga, &mega);
    assert_int_equal(giga, 0);
    assert_int_equal(mega, 1024);
    plan_pages(UINT64_MAX, true, &giga, &mega);
    assert_int_equal(giga, UINT64_MAX / PAGE_1G_BYTES);
    assert_int_equal(mega, 512);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random), cmocka_unit_test(test_pure),    cmocka_unit_test(test_notes),
        cmocka_unit_test(test_mapped), cmocka_unit_test(test_refused), cmocka_unit_test(test_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
