/* SPDX-License-Identifier: Apache-2.0 */
/* Requests through the engine on a small random model: each answers as it would alone, and ends exactly once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/base/clock.h"
#include "src/engine/engine.h"
#include "tests/harness/random_model.h"

#define REQUESTS 20u
#define SEQUENCES 4u
#define CONTEXT 192u
#define CHUNK 16u

static struct topology *host;
static struct workers *workers;
static struct instance *instance;
static struct engine *engine;

struct seen {
    uint32_t ids[CONTEXT], count, started, done;
    enum engine_reason reason;
    struct engine_done last;
};

#define QUEUE 4096u                     /* requests that may wait */

static struct seen seen[QUEUE + 8];
static uint32_t prompts[REQUESTS][64];

static void on_started(void *arg, uint64_t key, const struct engine_started *s)
{
    (void)arg;
    assert_int_equal(seen[key].done, 0);
    assert_true(s->prompt_tokens > 0);
    seen[key].started++;
}

static void on_token(void *arg, uint64_t key, const struct engine_token *t)
{
    (void)arg;
    assert_int_equal(seen[key].done, 0);
    assert_true(seen[key].count < CONTEXT);
    seen[key].ids[seen[key].count++] = t->id;
}

static void on_done(void *arg, uint64_t key, const struct engine_done *d)
{
    (void)arg;
    seen[key].done++;
    seen[key].reason = d->reason;
    seen[key].last = *d;
}

static struct engine_request request_of(uint32_t which)
{
    struct engine_request q = { .key = which, .instance = instance, .prompt = prompts[which % REQUESTS],
                                .prompt_count = 1 + which % REQUESTS * 3, .max_tokens = 5 + which % 7,
                                .sampling = SAMPLING_DEFAULT, .ignore_eos = true, .submitted_ns = clock_now_ns() };

    q.sampling.temperature = which % 2 ? 0 : 0.9f;
    q.sampling.seed = which;
    q.sampling.seed_given = true;
    return q;
}

static void drain(void)
{
    uint32_t steps = 0;

    while (engine_step(engine))
        assert_true(++steps < 100000);
}

static int fresh(void **state)
{
    struct engine_events events = { .started = on_started, .token = on_token, .done = on_done };

    (void)state;
    memset(seen, 0, sizeof(seen));
    return engine_new(workers, &events, &engine, NULL);
}

static int gone(void **state)
{
    struct engine_stats s;

    (void)state;
    engine_stats(engine, &s);
    assert_int_equal(s.running + s.waiting + s.parked, 0);
    assert_int_equal(s.kv_blocks_used, 0);      /* every block came back */
    engine = engine_free(engine);
    return 0;
}

static void batched_is_alone(void **state)
{
    struct engine_request q[REQUESTS], again[REQUESTS];

    (void)state;
    for (uint32_t i = 0; i < REQUESTS; i++) {
        q[i] = request_of(i);
        assert_int_equal(engine_submit(engine, &q[i], NULL), 0);
        drain();
    }
    for (uint32_t i = 0; i < REQUESTS; i++) {
        again[i] = q[i];
        again[i].key = REQUESTS + i;
        assert_int_equal(engine_submit(engine, &again[i], NULL), 0);
        if (i % 3 == 0)
            engine_step(engine);        /* arrivals at different moments */
    }
    drain();
    for (uint32_t i = 0; i < REQUESTS; i++) {
        const struct seen *a = &seen[i], *b = &seen[REQUESTS + i];

        assert_int_equal(a->done, 1);
        assert_int_equal(b->done, 1);
        assert_int_equal(b->started, 1);
        assert_int_equal(a->reason, ENGINE_LENGTH);
        assert_int_equal(a->count, q[i].max_tokens);
        assert_int_equal(b->count, a->count);
        assert_memory_equal(a->ids, b->ids, a->count * sizeof(uint32_t));
        assert_int_equal(b->last.generated_tokens, b->count);
    }
}

static void cancel_is_within_a_step(void **state)
{
    struct engine_request q[SEQUENCES + 2];

    (void)state;
    for (uint32_t i = 0; i < SEQUENCES + 2; i++) {
        q[i] = request_of(i);
        q[i].max_tokens = 50;
        assert_int_equal(engine_submit(engine, &q[i], NULL), 0);
    }
    engine_step(engine);
    engine_cancel(engine, 1);                   /* running */
    engine_cancel(engine, SEQUENCES + 1);       /* waiting */
    engine_cancel(engine, 999999);              /* nobody */
    assert_int_equal(seen[1].done, 1);
    assert_int_equal(seen[1].reason, ENGINE_CANCELLED);
    assert_int_equal(seen[SEQUENCES + 1].reason, ENGINE_CANCELLED);
    assert_int_equal(seen[SEQUENCES + 1].started, 0);
    engine_step(engine);
    assert_int_equal(seen[SEQUENCES].started, 1);       /* the place was taken over */
    drain();
    for (uint32_t i = 0; i < SEQUENCES + 2; i++)
        assert_int_equal(seen[i].done, 1);
}

static void parked_waits_and_goes_on(void **state)
{
    struct engine_request q[3];

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        q[i] = request_of(5);
        q[i].key = i;
    }
    assert_int_equal(engine_submit(engine, &q[0], NULL), 0);
    drain();
    assert_int_equal(engine_submit(engine, &q[1], NULL), 0);
    assert_int_equal(engine_submit(engine, &q[2], NULL), 0);
    engine_step(engine);
    engine_step(engine);
    engine_park(engine, 1, true);
    drain();
    assert_int_equal(seen[2].done, 1);
    assert_int_equal(seen[1].done, 0);
    engine_park(engine, 1, false);
    drain();
    assert_int_equal(seen[1].done, 1);
    assert_memory_equal(seen[1].ids, seen[0].ids, sizeof(seen[0].ids));
    assert_memory_equal(seen[2].ids, seen[0].ids, sizeof(seen[0].ids));
}

/* Slow readers in every seat, with all of the KV memory: others are served meanwhile, and nobody's answer changes. */
static void parked_give_way(void **state)
{
    struct engine_request q[SEQUENCES + 3], alone[SEQUENCES + 3];
    struct engine_stats stats;
    const uint32_t count = SEQUENCES + 3;

    (void)state;
    for (uint32_t i = 0; i < count; i++) {
        alone[i] = request_of(i);
        alone[i].max_tokens = i < SEQUENCES ? 0 : 20;       /* 0: reserves the whole context */
        alone[i].key = 100 + i;
        assert_int_equal(engine_submit(engine, &alone[i], NULL), 0);
        drain();
        q[i] = alone[i];
        q[i].key = i;
    }
    for (uint32_t i = 0; i < SEQUENCES; i++)
        assert_int_equal(engine_submit(engine, &q[i], NULL), 0);
    for (uint32_t i = 0; i < 9; i++)
        engine_step(engine);
    for (uint32_t i = 0; i < SEQUENCES; i++)
        engine_park(engine, i, true);
    for (uint32_t i = SEQUENCES; i < count; i++)
        assert_int_equal(engine_submit(engine, &q[i], NULL), 0);
    drain();
    engine_stats(engine, &stats);
    assert_int_equal(stats.parked, SEQUENCES);
    assert_int_equal(stats.running + stats.waiting, 0);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(seen[i].done, i >= SEQUENCES);
    for (uint32_t i = 0; i < SEQUENCES; i++) {
        engine_park(engine, i, false);
        if (i % 2)
            engine_step(engine);
    }
    drain();
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(seen[i].done, 1);
        assert_int_equal(seen[i].started, 1);
        assert_int_equal(seen[i].count, seen[100 + i].count);
        assert_memory_equal(seen[i].ids, seen[100 + i].ids, sizeof(seen[i].ids));
    }
    engine_stats(engine, &stats);
    for (uint32_t i = 0; i < count; i++)
        stats.prompt_tokens -= 2 * q[i].prompt_count;
    assert_int_equal(stats.prompt_tokens, 0);               /* computed again is not counted again */
}

/* Cancelled or late while parked, with and without blocks: all of it comes back (gone() looks). */
static void parked_may_end(void **state)
{
    struct engine_request q[2 * SEQUENCES];

    (void)state;
    for (uint32_t i = 0; i < 2 * SEQUENCES; i++) {
        q[i] = request_of(i);
        q[i].max_tokens = 0;
        assert_int_equal(engine_submit(engine, &q[i], NULL), 0);
        if (i + 1 == SEQUENCES)
            for (uint32_t k = 0; k < SEQUENCES; k++) {
                engine_step(engine);
                engine_park(engine, k, true);
            }
    }
    engine_step(engine);                /* the second half took the first one's blocks */
    engine_cancel(engine, 0);
    engine_cancel(engine, SEQUENCES);
    engine_park(engine, 1, false);
    engine_park(engine, SEQUENCES + 1, true);
    engine_step(engine);
    for (uint32_t i = 0; i < 2 * SEQUENCES; i++)
        engine_cancel(engine, i);
    for (uint32_t i = 0; i < 2 * SEQUENCES; i++) {
        assert_int_equal(seen[i].done, 1);
        assert_int_equal(seen[i].reason, ENGINE_CANCELLED);
    }
}

/* Many more than fit come back at once, each with the whole context: all are served, in whatever order. */
static void all_return_at_once(void **state)
{
    struct engine_request q[6 * SEQUENCES];
    const uint32_t count = 6 * SEQUENCES;

    (void)state;
    for (uint32_t i = 0; i < count; i++) {
        q[i] = request_of(i);
        q[i].max_tokens = 0;
        assert_int_equal(engine_submit(engine, &q[i], NULL), 0);
        engine_step(engine);
        engine_park(engine, i, true);
    }
    for (uint32_t i = 0; i < count; i++)
        engine_park(engine, i, false);
    drain();
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(seen[i].done, 1);
        assert_int_equal(seen[i].reason, ENGINE_LENGTH);
        assert_int_equal(seen[i].count, CONTEXT - q[i].prompt_count);
    }
}

/* Parked before it ran: it does not begin, and keeps nobody out. */
static void parked_while_waiting(void **state)
{
    struct engine_request q[SEQUENCES + 2];

    (void)state;
    for (uint32_t i = 0; i < SEQUENCES + 2; i++) {
        q[i] = request_of(i);
        assert_int_equal(engine_submit(engine, &q[i], NULL), 0);
    }
    engine_park(engine, 0, true);
    engine_park(engine, SEQUENCES, true);
    drain();
    for (uint32_t i = 0; i < SEQUENCES + 2; i++)
        assert_int_equal(seen[i].started, i % SEQUENCES != 0 || i > SEQUENCES);
    engine_park(engine, SEQUENCES, false);
    engine_park(engine, 0, false);
    drain();
    for (uint32_t i = 0; i < SEQUENCES + 2; i++)
        assert_int_equal(seen[i].done, 1);
}

/* Those that come and go for one token at a time do not overtake a request that waits. */
static void a_storm_of_returns_starves_nobody(void **state)
{
    const uint32_t storm = 3 * SEQUENCES, victim = storm;
    struct engine_request q[3 * SEQUENCES + 1];
    uint32_t steps = 0, had[3 * SEQUENCES];

    (void)state;
    for (uint32_t i = 0; i < storm; i++) {
        q[i] = request_of(i);
        q[i].max_tokens = 0;
        assert_int_equal(engine_submit(engine, &q[i], NULL), 0);
    }
    q[victim] = request_of(victim);
    q[victim].max_tokens = 3;
    assert_int_equal(engine_submit(engine, &q[victim], NULL), 0);
    while (!seen[victim].done) {
        assert_true(steps++ < 40 * SEQUENCES);
        for (uint32_t i = 0; i < storm; i++)
            had[i] = seen[i].count;
        engine_step(engine);
        for (uint32_t i = 0; i < storm; i++)
            if (seen[i].count > had[i]) {           /* a credit of one: used up, and granted at once */
                engine_park(engine, i, true);
                engine_park(engine, i, false);
            }
    }
    for (uint32_t i = 0; i < storm; i++)
        engine_cancel(engine, i);
}

/* Case G5: while a long prompt is read, chunk by chunk, a running answer gets its token in every step. */
static void a_long_prompt_holds_nobody_up(void **state)
{
    static uint32_t text[CONTEXT - 20];
    struct engine_request running = request_of(0), lengthy = request_of(1);

    (void)state;
    running.max_tokens = 60;
    assert_int_equal(engine_submit(engine, &running, NULL), 0);
    engine_step(engine);
    assert_int_equal(seen[0].count, 1);
    lengthy.prompt = text;
    lengthy.prompt_count = ARRAY_LENGTH(text);
    assert_int_equal(engine_submit(engine, &lengthy, NULL), 0);
    for (uint32_t i = 0; i < (lengthy.prompt_count + CHUNK - 1) / CHUNK; i++) {
        assert_int_equal(seen[1].count, 0);
        engine_step(engine);
        assert_int_equal(seen[0].count, 2 + i);
    }
    assert_int_equal(seen[1].count, 1);             /* and the prompt took no more steps than its chunks */
    drain();
}

static void deadlines_end(void **state)
{
    struct engine_request late = request_of(2), soon = request_of(3);

    (void)state;
    late.deadline_ns = clock_now_ns() - 1;
    soon.deadline_ns = clock_now_ns() + NS_PER_S * 3600;
    assert_int_equal(engine_submit(engine, &late, NULL), 0);
    assert_int_equal(engine_submit(engine, &soon, NULL), 0);
    drain();
    assert_int_equal(seen[2].reason, ENGINE_DEADLINE);
    assert_int_equal(seen[3].reason, ENGINE_LENGTH);
}

static void bad_requests_are_told_what_is_wrong(void **state)
{
    struct engine_request q = request_of(0);
    struct error e = ERROR_NULL;
    static uint32_t many[CONTEXT + 10];
    const uint32_t bad_id = UINT32_MAX;

    (void)state;
    q.prompt_count = 0;
    assert_int_equal(engine_submit(engine, &q, &e), -EINVAL);
    q.prompt = many;
    q.prompt_count = CONTEXT;
    assert_int_equal(engine_submit(engine, &q, &e), -E2BIG);
    assert_non_null(strstr(e.text, "192"));
    q.prompt = &bad_id;
    q.prompt_count = 1;
    assert_int_equal(engine_submit(engine, &q, &e), -EINVAL);
    q = request_of(0);
    q.stop_count = 1;
    assert_int_equal(engine_submit(engine, &q, &e), -EINVAL);
    q = request_of(0);
    q.logprobs = ENGINE_LOGPROBS_MAX + 1;
    assert_int_equal(engine_submit(engine, &q, &e), -EINVAL);
    assert_false(engine_step(engine));
}

static void the_context_is_the_end(void **state)
{
    struct engine_request q = request_of(7);

    (void)state;
    q.max_tokens = 0;
    assert_int_equal(engine_submit(engine, &q, NULL), 0);
    drain();
    assert_int_equal(seen[7].reason, ENGINE_LENGTH);
    assert_int_equal(seen[7].count, CONTEXT - q.prompt_count);
}

static void stop_ids_and_strings(void **state)
{
    struct engine_request q = request_of(5), stopped = request_of(5);

    (void)state;
    q.max_tokens = stopped.max_tokens = 12;
    assert_int_equal(engine_submit(engine, &q, NULL), 0);
    drain();
    stopped.key = 6;
    stopped.stop_ids[0] = seen[5].ids[4];
    stopped.stop_id_count = 1;
    assert_int_equal(engine_submit(engine, &stopped, NULL), 0);
    drain();
    assert_int_equal(seen[6].reason, ENGINE_STOP);
    assert_true(seen[6].count <= 4);
    assert_memory_equal(seen[6].ids, seen[5].ids, seen[6].count * sizeof(uint32_t));
}

static void a_full_queue_says_so(void **state)
{
    static struct engine_request q[QUEUE + 8];
    uint32_t taken = 0;
    int r = 0;

    (void)state;
    for (; taken < QUEUE + 8 && r == 0; taken += r == 0) {
        q[taken] = request_of(taken);
        q[taken].prompt_count = 2;
        q[taken].max_tokens = 1;
        r = engine_submit(engine, &q[taken], NULL);
    }
    assert_int_equal(r, 1);
    assert_int_equal(taken, QUEUE);
    drain();
    for (uint32_t i = 0; i < taken; i++)
        assert_int_equal(seen[i].done, 1);
}

static int load(void **state)
{
    struct random_model_spec spec;
    struct instance_config c = { .id = "t", .threads = 2, .level = KERNEL_LEVEL_COUNT - 1, .context = CONTEXT,
                                 .sequences = SEQUENCES, .prefill_chunk = CHUNK };
    struct error error = ERROR_NULL;
    char path[64];

    (void)state;
    for (uint32_t i = 0; i < REQUESTS; i++)
        for (uint32_t k = 0; k < 64; k++)
            prompts[i][k] = (i * 31 + k * 7 + 1) % 300;
    snprintf(path, sizeof(path), "engine_%d.gguf", (int)getpid());
    if (random_model_spec_init(&spec, "qwen3", 3) < 0 || random_model_write(&spec, path, &error) < 0 ||
        topology_load(NULL, &host, &error) < 0)
        return -1;
    c.path = path;
    c.host = c.topology = host;
    if (instance_load(&c, &workers, &instance, &error) < 0)
        print_error("%s\n", error.text);
    unlink(path);
    return instance ? 0 : -1;
}

static int unload(void **state)
{
    (void)state;
    instance = instance_free(instance);
    workers = workers_free(workers);
    topology_free(host);
    return 0;
}

#define with_engine(test) cmocka_unit_test_setup_teardown(test, fresh, gone)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_engine(batched_is_alone), with_engine(cancel_is_within_a_step), with_engine(parked_waits_and_goes_on),
        with_engine(parked_give_way), with_engine(parked_may_end),
        with_engine(all_return_at_once), with_engine(parked_while_waiting),
        with_engine(a_storm_of_returns_starves_nobody), with_engine(a_long_prompt_holds_nobody_up),
        with_engine(deadlines_end), with_engine(bad_requests_are_told_what_is_wrong),
        with_engine(the_context_is_the_end), with_engine(stop_ids_and_strings), with_engine(a_full_queue_says_so),
    };

    return cmocka_run_group_tests(tests, load, unload);
}
