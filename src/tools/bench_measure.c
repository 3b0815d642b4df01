/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "src/base/clock.h"
#include "src/engine/instance_internal.h"
#include "src/tools/bandwidth.h"
#include "src/tools/bench.h"
#include "src/tools/progress.h"

#define BANDWIDTH_BYTES (UINT64_C(1) << 30)
#define BANDWIDTH_ROUNDS (2 * STREAM_ORDERS)

/* Sequences that run together once. */
struct run {
    uint32_t prompt, generate, batch;
};

/* What its events say. */
struct watch {
    uint64_t prefill_ns, decode_ns;
    uint32_t started, left, generated, tokens;
    bool failed;
    struct bench *bench;
};

struct bench {
    struct session *session;
    const struct bench_options *o;
    struct bench_result *result;
    struct bandwidth *bandwidth;
    uint32_t *prompt;                   /* [bench_context()] */
    struct engine_request *requests;    /* [bench_sequences()] */
    bool *seen;                         /* [bench_sequences()]: whether its first token is there */
    uint64_t done;                      /* tokens of all runs so far */
    struct progress progress;
};

uint32_t bench_context(const struct bench_options *o)
{
    uint64_t n = max_u64((uint64_t)o->prompt + o->generate, o->batches.count ? BENCH_BATCH_PROMPT + o->generate : 0);

    for (uint32_t i = 0; i < o->prefill.count; i++)
        n = max_u64(n, o->prefill.values[i]);
    for (uint32_t i = 0; i < o->contexts.count; i++)
        n = max_u64(n, (uint64_t)o->contexts.values[i] + o->generate + 1);
    return (uint32_t)n + 2;
}

uint32_t bench_sequences(const struct bench_options *o)
{
    uint32_t n = o->batch;

    for (uint32_t i = 0; i < o->batches.count; i++)
        n = (uint32_t)max_u64(n, o->batches.values[i]);
    return n;
}

static void on_started(void *arg, uint64_t key, const struct engine_started *s) { (void)arg; (void)key; (void)s; }

static void count(struct bench *b, uint32_t tokens)
{
    b->done += tokens;
    progress_tell(&b->progress, b->done, "");
}

static void on_token(void *arg, uint64_t key, const struct engine_token *t)
{
    struct watch *w = arg;

    (void)t;
    w->started += !w->bench->seen[key];
    w->bench->seen[key] = true;
    w->tokens++;
    count(w->bench, 1);
}

static void on_done(void *arg, uint64_t key, const struct engine_done *d)
{
    struct watch *w = arg;

    (void)key;
    w->failed |= d->reason == ENGINE_FAILED;
    w->prefill_ns = max_u64(w->prefill_ns, d->prefill_ns);
    w->decode_ns = max_u64(w->decode_ns, d->decode_ns);
    w->generated += d->generated_tokens - 1;
    count(w->bench, d->prompt_tokens);
    w->left--;
}

/* One step; its time is kept where it gave each sequence a token and did nothing else. */
static bool step(struct engine *engine, struct watch *w, uint32_t batch, struct buffer *times)
{
    uint64_t begun = clock_now_ns();
    uint32_t tokens = w->tokens;
    bool all = w->started == batch && w->left == batch, more = engine_step(engine);
    double seconds = (double)(clock_now_ns() - begun) * 1e-9;

    if (all && w->tokens - tokens == batch)
        buffer_put(times, &seconds, sizeof(seconds));
    return more;
}

static int submit(struct bench *b, struct engine *engine, const struct run *run, struct error *error)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < run->batch; i++) {
        b->seen[i] = false;
        b->requests[i] = (struct engine_request){ .key = i, .instance = b->session->instance, .prompt = b->prompt,
                                                  .prompt_count = run->prompt, .max_tokens = run->generate + 1,
                                                  .sampling = SAMPLING_DEFAULT, .ignore_eos = true,
                                                  .submitted_ns = clock_now_ns() };
        r = engine_submit(engine, &b->requests[i], error);
    }
    return r > 0 ? error_set(error, -EBUSY, "the engine takes no more than %u sequences at once", run->batch) : r;
}

/* @times: seconds of the steps that count are added, as doubles. */
static int run_once(struct bench *b, const struct run *run, struct watch *w, struct buffer *times,
                    struct error *error)
{
    struct engine_events events = { .arg = w, .started = on_started, .token = on_token, .done = on_done };
    struct engine *engine;
    int r = engine_new(b->session->workers, &events, &engine, error);

    if (r < 0)
        return r;
    *w = (struct watch){ .left = run->batch, .bench = b };
    r = submit(b, engine, run, error);
    while (r == 0 && w->left && step(engine, w, run->batch, times))
        ;
    if (r == 0 && (w->failed || w->left))
        r = error_set(error, -EDOM, "a request of the bench failed");
    engine_free(engine);
    return r;
}

static struct spread take_spread(struct buffer *times)
{
    struct spread s = spread_of((double *)(void *)times->data, (uint32_t)(times->size / sizeof(double)));

    buffer_deinit(times);
    *times = (struct buffer)BUFFER_NULL;
    return s;
}

static void keep_best(double *best, double value) { *best = value > *best ? value : *best; }

static double rate(double tokens, uint64_t ns) { return ns ? tokens / ((double)ns * 1e-9) : 0; }

static void measure_bandwidth(struct bench *b)
{
    for (uint32_t i = 0; i < BANDWIDTH_ROUNDS; i++)
        keep_best(&b->result->bandwidth, bandwidth_round(b->bandwidth));
}

/*
 * Tokens per second of the steps that @times holds from @first on.  Where none counted, the events' own rate: it is too
 * low where one sequence decodes while others' prompts are still computed.
 */
static double decode_rate(const struct buffer *times, uint64_t first, uint32_t batch, const struct watch *w)
{
    const double *s = (const double *)(const void *)times->data;
    uint64_t n = times->size / sizeof(*s);
    double sum = 0;

    for (uint64_t i = first; i < n; i++)
        sum += s[i];
    return sum > 0 ? batch * (double)(n - first) / sum : rate(w->generated, w->decode_ns);
}

static int measure_base(struct bench *b, struct error *error)
{
    const struct run run = { .prompt = b->o->prompt, .generate = b->o->generate, .batch = b->o->batch };
    struct buffer times = BUFFER_NULL;
    struct watch w;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < b->o->repeat; i++) {
        uint64_t first = times.size / sizeof(double);

        measure_bandwidth(b);
        graph_time(b->session->instance->graph, b->result->times);
        r = run_once(b, &run, &w, &times, error);
        graph_time(b->session->instance->graph, NULL);
        if (r == 0) {
            keep_best(&b->result->prefill_tokens_per_s, rate((double)run.prompt * run.batch, w.prefill_ns));
            keep_best(&b->result->decode_tokens_per_s, decode_rate(&times, first, run.batch, &w));
        }
    }
    b->result->step = take_spread(&times);
    return r;
}

/* What a sweep does at one of its values. */
static struct run run_of(const struct bench *b, const struct bench_list *list, uint32_t value)
{
    if (list == &b->o->prefill)
        return (struct run){ .prompt = value, .batch = 1 };
    if (list == &b->o->batches)
        return (struct run){ .prompt = BENCH_BATCH_PROMPT, .generate = b->o->generate, .batch = value };
    return (struct run){ .prompt = (uint32_t)max_u64(value, 1), .generate = b->o->generate, .batch = 1 };
}

static void point_done(struct bench_point *p, const struct run *run, struct buffer *times)
{
    p->seconds = take_spread(times);
    if (p->seconds.min > 0)
        p->tokens_per_s = (run->generate ? run->batch : run->prompt) / p->seconds.min;
}

/* Round by round over all values, so that what else the machine does hits each of them. */
static int sweep(struct bench *b, const struct bench_list *list, uint32_t rounds, struct bench_point *points,
                 struct error *error)
{
    struct buffer times[BENCH_POINTS_MAX] = { BUFFER_NULL }, unused = BUFFER_NULL;
    int r = 0;

    for (uint32_t round = 0; r == 0 && round < rounds; round++)
        for (uint32_t i = 0; r == 0 && i < list->count; i++) {
            struct run run = run_of(b, list, list->values[i]);
            struct watch w;

            r = run_once(b, &run, &w, run.generate ? &times[i] : &unused, error);
            if (r == 0 && !run.generate) {
                double seconds = (double)w.prefill_ns * 1e-9;

                buffer_put(&times[i], &seconds, sizeof(seconds));
            }
            if (r == 0 && !buffer_ok(&times[i]))
                r = error_set(error, -ENOMEM, "no memory for the times of the bench");
        }
    buffer_deinit(&unused);
    for (uint32_t i = 0; i < list->count; i++) {
        struct run run = run_of(b, list, list->values[i]);

        point_done(&points[i], &run, &times[i]);
    }
    return r;
}

/* Every node's workers over every node's memory. */
static int measure_links(struct bench *b, struct error *error)
{
    const struct plan *plan = b->session->instance->plan;
    uint32_t n = plan->node_count;
    struct bench_link *links = calloc((size_t)n * n, sizeof(*links));

    if (!links)
        return error_set(error, -ENOMEM, "no memory for the bench");
    for (uint32_t i = 0; i < n * n; i++) {
        links[i].reading_node = plan->nodes[i / n].topology_node;
        links[i].memory_node = plan->nodes[i % n].topology_node;
        for (uint32_t round = 0; round < BANDWIDTH_ROUNDS; round++)
            keep_best(&links[i].bytes_per_s, bandwidth_link_round(b->bandwidth, i / n, i % n));
    }
    b->result->links = links;
    b->result->link_count = n * n;
    return 0;
}

static uint64_t tokens_of(const struct bench *b)
{
    const struct bench_options *o = b->o;
    uint64_t n = ((uint64_t)o->prompt + o->generate + 1) * o->batch;

    for (uint32_t i = 0; i < o->prefill.count; i++)
        n += o->prefill.values[i] + 1;
    for (uint32_t i = 0; i < o->batches.count; i++)
        n += (BENCH_BATCH_PROMPT + (uint64_t)o->generate + 1) * o->batches.values[i];
    n *= o->repeat;
    for (uint32_t i = 0; i < o->contexts.count; i++)
        n += (uint64_t)o->contexts.values[i] + o->generate + 1;
    return n;
}

/* A long context is filled once: its steps are many. */
static int measure_all(struct bench *b, struct error *error)
{
    const struct bench_options *o = b->o;
    int r;

    b->progress = progress_begin("bench", tokens_of(b), o->quiet);
    r = measure_base(b, error);
    if (r == 0)
        r = sweep(b, &o->prefill, o->repeat, b->result->prefill, error);
    if (r == 0)
        r = sweep(b, &o->batches, o->repeat, b->result->batches, error);
    if (r == 0)
        r = sweep(b, &o->contexts, 1, b->result->contexts, error);
    progress_end(&b->progress);
    if (r == 0)
        r = measure_links(b, error);
    if (r == 0)
        measure_bandwidth(b);
    return r;
}

double bench_kv_bytes(const struct instance *in)
{
    return (double)kv_bytes_per_block(&in->model->hparams, in->kv->format) / KERNEL_KV_BLOCK;
}

/* Weights that a decode step reads: every matrix, or for tied embeddings each once; an embedding row is nothing. */
static double decode_bytes(const struct instance *in, const struct bench_options *o)
{
    const struct model *m = in->model;
    double bytes = 0;

    for (uint32_t i = 0; i < m->matrix_count; i++)
        if (i != m->embed || m->embed == m->head)
            bytes += (double)m->matrices[i].groups * (double)m->matrices[i].group_bytes;
    return bytes + bench_kv_bytes(in) * (o->prompt + o->generate / 2.0) * o->batch;
}

static int make_requests(struct bench *b, struct error *error)
{
    uint32_t n = bench_context(b->o), sequences = bench_sequences(b->o);
    uint32_t vocab = instance_info(b->session->instance)->vocab_size;

    b->prompt = calloc(n, sizeof(*b->prompt));
    b->requests = calloc(sequences, sizeof(*b->requests));
    b->seen = calloc(sequences, sizeof(*b->seen));
    if (!b->prompt || !b->requests || !b->seen)
        return error_set(error, -ENOMEM, "no memory for the bench");
    for (uint32_t i = 0; i < n; i++)
        b->prompt[i] = (uint32_t)((i * UINT64_C(2654435761) >> 7) % (vocab - 1));
    return 0;
}

int bench_measure(struct session *s, const struct bench_options *o, struct bench_result *result, struct error *error)
{
    const struct instance_info *i = instance_info(s->instance);
    struct bench b = { .session = s, .o = o, .result = result };
    int r;

    *result = (struct bench_result){ .load_s = (double)(i->load.now_ns - i->load.started_ns) * 1e-9,
                                     .step_bytes = decode_bytes(s->instance, o) };
    if (result->load_s > 0)
        result->load_bytes_per_s = (double)i->load.bytes_done / result->load_s;
    r = bandwidth_new(s->instance->plan, s->workers, BANDWIDTH_BYTES, &b.bandwidth, error);
    if (r == 0)
        r = make_requests(&b, error);
    if (r == 0)
        r = measure_all(&b, error);
    bandwidth_free(b.bandwidth);
    free(b.prompt);
    free(b.requests);
    free(b.seen);
    if (r < 0)
        bench_result_deinit(result);
    return r;
}

void bench_result_deinit(struct bench_result *r)
{
    free(r->links);
    *r = (struct bench_result){ .links = NULL };
}
