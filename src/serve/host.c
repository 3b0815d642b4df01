/* SPDX-License-Identifier: Apache-2.0 */
#include "src/serve/host.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/serve/key.h"

#define LIVE_SLEEP_NS (100 * NS_PER_MS)     /* requests are alive but none may run: deadlines are looked at */

enum { PARK_READER = 1, PARK_CREDITS = 2 };

struct host {
    struct bridge *bridge;
    const struct instance_config *models;
    uint32_t model_count, loading;
    struct instance *instances[LIMIT_MODELS];
    struct workers *workers;
    struct engine *engine;
    struct job *jobs[LIMIT_REQUESTS];   /* by key_slot() */
    uint32_t live;
    struct job *returning;              /* done: given back when the engine is not inside a call */
    struct job *starved;                /* out of credits: parked then */
    uint64_t beat;
    bool stop;
    pthread_t thread;
};

static struct job *find_job(struct host *h, uint64_t key)
{
    struct job *job = h->jobs[key_slot(key)];

    return job && job->key == key && job->running ? job : NULL;
}

static void end_job(struct host *h, struct job *job)
{
    job->running = false;
    job->next = h->returning;
    h->returning = job;
}

static void on_started(void *arg, uint64_t key, const struct engine_started *started)
{
    struct host *h = arg;

    bridge_emit(h->bridge, BRIDGE_STARTED, 0, key, started, sizeof(*started));
}

static void on_token(void *arg, uint64_t key, const struct engine_token *token)
{
    struct host *h = arg;
    struct job *job = find_job(h, key);

    check(job);
    bridge_emit_token(h->bridge, key, token);
    if (job->limited && job->credits && --job->credits == 0) {
        job->next_starved = h->starved;
        h->starved = job;
    }
}

static void on_done(void *arg, uint64_t key, const struct engine_done *done)
{
    struct host *h = arg;
    struct job *job = find_job(h, key);

    check(job);
    bridge_emit_done(h->bridge, key, done);
    end_job(h, job);
}

/* --- commands --- */

static void set_park(struct host *h, struct job *job, uint32_t reason, bool on)
{
    uint32_t before = job->park_reasons;

    job->park_reasons = on ? before | reason : before & ~reason;
    if (job->running && !before != !job->park_reasons)
        engine_park(h->engine, job->key, job->park_reasons != 0);
}

/* The engine is not inside a call: what its events asked for is done now. */
static void settle(struct host *h)
{
    while (h->starved) {
        struct job *job = h->starved;

        h->starved = job->next_starved;
        set_park(h, job, PARK_CREDITS, true);
    }
    while (h->returning) {
        struct job *job = h->returning;

        h->returning = job->next;
        h->jobs[key_slot(job->key)] = NULL;
        h->live--;
        bridge_emit(h->bridge, BRIDGE_RETURN, 0, job->key, &job, sizeof(job));
    }
}

static void submit(struct host *h, struct job *job)
{
    struct bridge_refused refused = { .code = 0 };
    struct error error = ERROR_NULL;

    check(!h->jobs[key_slot(job->key)] && job->model < h->model_count);
    h->jobs[key_slot(job->key)] = job;
    h->live++;
    job->request.key = job->key;
    job->request.instance = h->instances[job->model];
    job->running = true;
    refused.code = h->stop ? -ECANCELED : engine_submit(h->engine, &job->request, &error);
    if (refused.code == 0)
        return;
    memcpy(refused.text, error.text, sizeof(refused.text));
    bridge_emit(h->bridge, BRIDGE_REFUSED, 0, job->key, &refused, sizeof(refused));
    end_job(h, job);
}

static void stop(struct host *h)
{
    h->stop = true;
    for (uint32_t i = 0; i < LIMIT_REQUESTS; i++)
        if (h->jobs[i] && h->jobs[i]->running)
            engine_cancel(h->engine, h->jobs[i]->key);
}

static void obey(struct host *h, const struct bridge_command *c)
{
    struct job *job = find_job(h, c->key);

    switch ((enum bridge_command_kind)c->kind) {
    case BRIDGE_SUBMIT:
        submit(h, c->job);
        break;
    case BRIDGE_CANCEL:
        if (job)
            engine_cancel(h->engine, c->key);
        break;
    case BRIDGE_PARK:
        if (job)
            set_park(h, job, PARK_READER, c->value);
        break;
    case BRIDGE_GRANT:
        if (!job || !job->limited)
            break;
        job->credits += c->value;
        set_park(h, job, PARK_CREDITS, false);
        break;
    case BRIDGE_STOP:
        stop(h);
        break;
    }
}

/* --- the loop --- */

static void tell_gauges(struct host *h)
{
    struct engine_stats s;
    uint64_t busy = 0;

    engine_stats(h->engine, &s);
    for (uint32_t i = 0; i < workers_count(h->workers); i++)
        busy += workers_busy_ns(h->workers, i);
    bridge_set(h->bridge, BRIDGE_STEPS, s.steps);
    bridge_set(h->bridge, BRIDGE_STEP_NS, s.step_ns);
    bridge_set(h->bridge, BRIDGE_PROMPT_TOKENS, s.prompt_tokens);
    bridge_set(h->bridge, BRIDGE_GENERATED_TOKENS, s.generated_tokens);
    bridge_set(h->bridge, BRIDGE_RUNNING, s.running);
    bridge_set(h->bridge, BRIDGE_WAITING, s.waiting);
    bridge_set(h->bridge, BRIDGE_PARKED, s.parked);
    bridge_set(h->bridge, BRIDGE_KV_USED, s.kv_blocks_used);
    bridge_set(h->bridge, BRIDGE_KV_TOTAL, s.kv_blocks_total);
    bridge_set(h->bridge, BRIDGE_BUSY_NS, busy);
    bridge_set(h->bridge, BRIDGE_WORKERS, workers_count(h->workers));
    bridge_set(h->bridge, BRIDGE_BEAT, ++h->beat);
}

static void serve(struct host *h)
{
    struct bridge_command command;

    while (!h->stop) {
        bool worked;

        while (bridge_take(h->bridge, &command)) {
            obey(h, &command);
            settle(h);
        }
        worked = engine_step(h->engine);
        settle(h);
        tell_gauges(h);
        if (!worked && !h->stop)
            bridge_sleep(h->bridge, h->live ? LIVE_SLEEP_NS : UINT64_MAX);
    }
    while (bridge_take(h->bridge, &command)) {
        obey(h, &command);
        settle(h);
    }
}

static void on_progress(void *arg, const struct loader_report *report)
{
    struct host *h = arg;

    bridge_set(h->bridge, BRIDGE_BEAT, ++h->beat);
    bridge_emit(h->bridge, BRIDGE_LOADING, h->loading, 0, report, sizeof(*report));
}

/* Byte-level BPE keeps every byte: the longest token bounds how much text a context can hold. */
static uint32_t longest_token(const struct vocab *vocab)
{
    struct buffer text = BUFFER_NULL;
    size_t longest = 0;

    if (strcmp(vocab_model_name(vocab), "bpe") != 0)
        return 0;
    for (uint32_t id = 0; id < vocab_size(vocab); id++) {
        text.size = 0;
        vocab_decode(vocab, id, true, &text);
        longest = max_u64(longest, text.size);
    }
    if (!buffer_ok(&text))
        longest = 0;
    buffer_deinit(&text);
    return (uint32_t)longest;
}

static int load(struct host *h, struct error *error)
{
    struct engine_events events = { .arg = h, .started = on_started, .token = on_token, .done = on_done };

    int r;

    for (h->loading = 0; h->loading < h->model_count; h->loading++) {
        struct instance_config config = h->models[h->loading];

        config.progress = on_progress;
        config.progress_arg = h;
        r = instance_load(&config, &h->workers, &h->instances[h->loading], error);
        if (r < 0) {
            error_prefix(error, "model %s (%s)", config.id, config.path);
            return r;
        }
    }
    r = engine_new(h->workers, &events, &h->engine, error);
    for (uint32_t i = 0; i < h->model_count && r == 0; i++) {
        struct bridge_ready ready = { .instance = h->instances[i],
                                      .longest_token = longest_token(instance_vocab(h->instances[i])) };

        bridge_emit(h->bridge, BRIDGE_READY, i, 0, &ready, sizeof(ready));
    }
    return r;
}

static void *thread_main(void *arg)
{
    struct error error = ERROR_NULL;
    struct host *h = arg;
    int r = load(h, &error);

    if (r == 0)
        serve(h);
    h->engine = engine_free(h->engine);
    for (uint32_t i = 0; i < h->model_count; i++)
        h->instances[i] = instance_free(h->instances[i]);
    h->workers = workers_free(h->workers);
    if (r < 0) {
        error.code = r;
        bridge_emit(h->bridge, BRIDGE_FAILED, h->loading, 0, &error, sizeof(error));
    } else {
        bridge_emit(h->bridge, BRIDGE_STOPPED, 0, 0, NULL, 0);
    }
    return NULL;
}

int host_start(struct bridge *bridge, const struct instance_config *models, uint32_t model_count,
               struct host **ret_host, struct error *error)
{
    struct host *h = calloc(1, sizeof(*h));
    int r;

    check(model_count >= 1 && model_count <= LIMIT_MODELS);
    if (!h)
        return error_set(error, -ENOMEM, "no memory for the engine's thread");
    h->bridge = bridge;
    h->models = models;
    h->model_count = model_count;
    r = pthread_create(&h->thread, NULL, thread_main, h);
    if (r) {
        free(h);
        return error_set(error, -r, "cannot start the engine's thread: %s", strerror(r));
    }
    *ret_host = h;
    return 0;
}

struct host *host_join(struct host *h)
{
    if (!h)
        return NULL;
    pthread_join(h->thread, NULL);
    free(h);
    return NULL;
}
