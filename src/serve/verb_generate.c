/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "src/base/clock.h"
#include "src/serve/door_internal.h"

#define PRIORITY_DEFAULT 128u

static float off_is_one(float v) { return v == 0 ? 1 : v; }

/* 0, or a code with @refusal: what the engine cannot do is refused, never left out. */
static int check_extras(const struct wire_generate *g, struct refusal *refusal)
{
    if (g->present & WIRE_GENERATE_HAS_GRAMMAR)
        return refuse(refusal, WIRE_E_UNSUPPORTED, 4, "GENERATE.grammar is not there in this version");
    if (g->present & WIRE_GENERATE_HAS_LOGIT_BIAS && g->logit_bias.count)
        return refuse(refusal, WIRE_E_UNSUPPORTED, 3, "GENERATE.logit_bias is not there in this version");
    if (g->present & WIRE_GENERATE_HAS_PRIORITY && g->priority != PRIORITY_DEFAULT)
        return refuse(refusal, WIRE_E_UNSUPPORTED, 6, "GENERATE.priority is not there in this version: all are equal");
    return 0;
}

static int fill_sampling(const struct wire_generate *g, struct sampling *s, struct refusal *refusal)
{
    struct error error = ERROR_NULL;

    *s = (struct sampling){
        .temperature = g->temperature, .top_p = off_is_one(g->top_p), .min_p = g->min_p,
        .typical_p = off_is_one(g->typical_p), .repeat_penalty = off_is_one(g->repeat_penalty),
        .presence_penalty = g->presence_penalty, .frequency_penalty = g->frequency_penalty, .top_k = g->top_k,
        .repeat_last_n = g->repeat_last_n, .seed = g->seed, .seed_given = g->flags & WIRE_FLAG_GENERATE_SEED,
    };
    if (sampling_check(s, &error) < 0)
        return refuse(refusal, WIRE_E_INVALID, 0, "%s", error.text);
    return 0;
}

static void fill_stops(const struct wire_generate *g, struct job *job)
{
    struct engine_request *q = &job->request;

    for (uint32_t i = 0; i < g->stop_strings.count; i++) {
        struct span s = wire_string_at(&g->stop_strings, i);

        memcpy(job->stops[i], s.data, s.size);      /* counts and sizes are the decoder's limits */
        q->stops[q->stop_count++] = (struct engine_stop){ job->stops[i], (uint32_t)s.size };
    }
    for (uint32_t i = 0; i < g->stop_ids.count; i++)
        q->stop_ids[q->stop_id_count++] = wire_u32_at(&g->stop_ids, i);
}

static int fill_job(struct request *r, const struct wire_generate *g, struct refusal *refusal)
{
    struct engine_request *q = &r->job->request;

    q->max_tokens = g->max_tokens;
    q->logprobs = g->n_logprobs;
    q->want_logprob = g->n_logprobs || g->flags & WIRE_FLAG_GENERATE_LOGPROB;
    q->ignore_eos = g->flags & WIRE_FLAG_GENERATE_IGNORE_EOS;
    q->submitted_ns = r->arrived_ns;
    q->deadline_ns = g->deadline_ms ? r->arrived_ns + g->deadline_ms * NS_PER_MS : 0;
    r->job->model = (uint32_t)(r->model - r->door->models.items);
    r->limited = r->job->limited = g->credits != 0;
    r->credits = r->job->credits = g->credits;
    fill_stops(g, r->job);
    return fill_sampling(g, &q->sampling, refusal);
}

static void fill_prompt(const struct request *r, const struct wire_generate *g, struct prompt *p)
{
    p->vocab = instance_vocab(r->model->instance);
    p->segments = g->segments;
    p->no_bos = g->flags & WIRE_FLAG_GENERATE_NO_BOS;
    p->context = instance_info(r->model->instance)->context;
    p->longest_token = r->model->longest_token;
}

/* The prompt, here when it is short, else by the scribe. */
static int read_prompt(struct request *r, struct inbox_frame *frame, struct refusal *refusal)
{
    uint64_t bytes = 0, ids = frame->payload.size;
    struct wire_generate g;
    struct wire_fault fault;
    struct scribe_work *w;
    bool memfd = false;
    int result;

    w = scribe_work_new(SCRIBE_ENCODE, frame->payload, frame->fds, frame->header.nfds);
    if (!w)
        return refuse(refusal, WIRE_E_NO_MEMORY, 0, "no memory for the prompt");
    check(wire_generate_decode((struct span){ w->payload, frame->payload.size }, &g, &fault) == 0);
    fill_prompt(r, &g, &w->prompt);
    result = prompt_measure(&w->prompt, &bytes, &memfd, refusal);
    if (result == 0)
        result = request_charge(r, 3 * ids + (memfd ? bytes : 0) + 8 * bytes, refusal);
    if (result == 0 && (memfd || bytes > r->door->limits->inline_text)) {
        request_give(r, w);
        return 0;
    }
    if (result == 0) {
        scribe_work_do(w);
        verb_read(r, w);
    }
    scribe_work_free(w);
    return result;
}

static int start(struct conn *c, struct inbox_frame *frame, const struct wire_generate *g, struct refusal *refusal)
{
    struct door *door = c->door;
    struct model *model = NULL;
    struct request *r;
    int result;

    if (door->draining)
        return refuse(refusal, WIRE_E_DRAINING, 0, "this server takes no new requests");
    result = models_find_ready(&door->models, g->model, &model, refusal);
    if (result == 0)
        result = check_extras(g, refusal);
    if (result == 0 && door->submitted >= door->limits->queue) {
        result = refuse(refusal, WIRE_E_BUSY, door->limits->queue, "%u requests are queued", door->submitted);
        refusal->retry_after_ms = door_retry_after_ms(door);
    }
    if (result == 0)
        result = request_new(c, &frame->header, &r, refusal);
    if (result) {
        if (model)
            model->metrics.refused[result]++;
        return result;
    }
    door->metrics.requests_total++;
    r->model = model;
    r->job = job_new();
    result = r->job ? fill_job(r, g, refusal) : refuse(refusal, WIRE_E_NO_MEMORY, 0, "no memory for a request");
    if (result == 0)
        result = read_prompt(r, frame, refusal);
    if (result)
        reply_refuse(r, refusal);
    return 0;
}

void verb_generate(struct conn *c, struct inbox_frame *frame)
{
    struct wire_generate g;
    struct wire_fault fault;
    struct refusal refusal;
    int r;

    r = wire_generate_decode(frame->payload, &g, &fault);
    r = r ? refuse_fault(&refusal, &fault) : start(c, frame, &g, &refusal);
    if (r)
        reply_error(c, frame->header.type, frame->header.request, &refusal);
}
