/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Continuous batching in its simple form: every running sequence gives one token to a step, and the prompts that wait
 * are taken in order of arrival until the chunk is full.  What a sequence answers does not depend on its company.
 */
#include "src/engine/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "src/base/clock.h"
#include "src/engine/instance_internal.h"
#include "src/engine/seats.h"

#define WAITING_MAX 4096u
#define INSTANCES_MAX 32u

/* Not admitted yet. */
struct waiting {
    const struct engine_request *request;
    uint64_t ticket;
    bool parked;                        /* wants no seat: its reader is slow before there is anything to read */
};

struct engine {
    struct workers *workers;
    struct engine_events events;
    struct instance *instances[INSTANCES_MAX];  /* those that have had requests */
    uint32_t instance_count, turn;
    struct waiting waiting[WAITING_MAX];        /* in order of arrival */
    uint32_t waiting_count;
    uint64_t tickets;
    struct engine_stats stats;
    struct engine_alternative alternatives[ENGINE_LOGPROBS_MAX];
};

int engine_new(struct workers *workers, const struct engine_events *events, struct engine **ret_engine,
               struct error *error)
{
    struct engine *e = calloc(1, sizeof(*e));

    if (!e)
        return error_set(error, -ENOMEM, "no memory for the engine");
    e->workers = workers;
    e->events = *events;
    *ret_engine = e;
    return 0;
}

struct engine *engine_free(struct engine *e)
{
    if (!e)
        return NULL;
    for (uint32_t i = 0; i < e->instance_count; i++)
        while (e->instances[i]->first) {
            struct sequence *s = e->instances[i]->first;

            e->instances[i]->first = s->next;
            sequence_free(s, &e->instances[i]->pool);
        }
    free(e);
    return NULL;
}

/* --- the end of a request --- */

static void report_done(struct engine *e, const struct engine_request *q, const struct engine_done *done)
{
    e->stats.requests_done[done->reason]++;
    e->events.done(e->events.arg, q->key, done);
}

/* A request that never ran. */
static void finish_waiting(struct engine *e, uint32_t index, enum engine_reason reason, const char *failure)
{
    const struct engine_request *q = e->waiting[index].request;
    struct engine_done done = { .reason = reason, .prompt_tokens = q->prompt_count,
                                .queue_ns = clock_now_ns() - q->submitted_ns };

    snprintf(done.failure, sizeof(done.failure), "%s", failure);
    e->waiting_count--;
    memmove(&e->waiting[index], &e->waiting[index + 1], (e->waiting_count - index) * sizeof(e->waiting[0]));
    report_done(e, q, &done);
}

static void finish(struct engine *e, struct instance *in, struct sequence *s, enum engine_reason reason,
                   const char *failure)
{
    struct engine_done done = { .reason = reason, .prompt_tokens = s->request->prompt_count,
                                .generated_tokens = sequence_generated(s) };
    uint64_t now = clock_now_ns();
    const struct engine_request *q = s->request;

    done.queue_ns = s->started_ns - q->submitted_ns;
    done.prefill_ns = (s->first_token_ns ? s->first_token_ns : now) - s->started_ns;
    done.decode_ns = s->first_token_ns ? now - s->first_token_ns : 0;
    snprintf(done.failure, sizeof(done.failure), "%s", failure);
    if (!s->answer.stopped) {
        struct span rest = answer_flush(&s->answer, &done.text_offset);

        done.text = rest.data;
        done.text_size = (uint32_t)rest.size;
    } else {
        done.text_offset = s->answer.offset;
    }
    sequence_move(s, SEQUENCE_GONE);
    seats_part(in, s);
    report_done(e, q, &done);
    sequence_free(s, &in->pool);
}

/* --- admission --- */

static int check_request(const struct engine_request *q, struct error *error)
{
    const struct instance_info *info = instance_info(q->instance);
    int r = sampling_check(&q->sampling, error);

    if (r < 0)
        return r;
    if (q->prompt_count == 0)
        return error_set(error, -EINVAL, "the prompt is empty: give at least one token");
    if (q->prompt_count >= info->context)
        return error_set(error, -E2BIG,
                         "the prompt has %u tokens; the context holds %u, and the answer needs at least one",
                         q->prompt_count, info->context);
    for (uint32_t i = 0; i < q->prompt_count; i++)
        if (q->prompt[i] >= info->vocab_size)
            return error_set(error, -EINVAL, "token id %u at position %u is not below the vocabulary's %u",
                             q->prompt[i], i, info->vocab_size);
    if (q->logprobs > ENGINE_LOGPROBS_MAX || q->stop_count > ENGINE_STOPS_MAX || q->stop_id_count > ENGINE_STOP_IDS_MAX)
        return error_set(error, -EINVAL,
                         "%u log-probabilities, %u stop strings, %u stop ids; the limits are %u, %u, %u", q->logprobs,
                         q->stop_count, q->stop_id_count, ENGINE_LOGPROBS_MAX, ENGINE_STOPS_MAX, ENGINE_STOP_IDS_MAX);
    for (uint32_t i = 0; i < q->stop_count; i++)
        if (q->stops[i].size == 0 || q->stops[i].size > ENGINE_STOP_BYTES_MAX)
            return error_set(error, -EINVAL, "stop string %u has %u bytes; 1 to %u are allowed", i, q->stops[i].size,
                             ENGINE_STOP_BYTES_MAX);
    return 0;
}

static int know_instance(struct engine *e, struct instance *in, struct error *error)
{
    for (uint32_t i = 0; i < e->instance_count; i++)
        if (e->instances[i] == in)
            return 0;
    if (e->instance_count == INSTANCES_MAX)
        return error_set(error, -ENOMEM, "%u models are the most one engine serves", INSTANCES_MAX);
    e->instances[e->instance_count++] = in;
    return 0;
}

int engine_submit(struct engine *e, const struct engine_request *q, struct error *error)
{
    int r = check_request(q, error);

    if (r == 0)
        r = know_instance(e, q->instance, error);
    if (r < 0)
        return r;
    if (e->waiting_count == WAITING_MAX)
        return 1;
    e->waiting[e->waiting_count++] = (struct waiting){ .request = q, .ticket = ++e->tickets };
    return 0;
}

static uint64_t fresh_seed(void)
{
    uint64_t seed;

    return getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == sizeof(seed) ? seed : clock_now_ns();
}

/* 0 = runs now, 1 = no blocks now; a request that cannot be allocated for is finished as failed. */
static int admit(struct engine *e, uint32_t index)
{
    const struct waiting w = e->waiting[index];
    const struct engine_request *q = w.request;
    struct engine_started started = { .prompt_tokens = q->prompt_count };
    struct instance *in = q->instance;
    struct sequence *s;
    int r = seats_make_room(in, sequence_blocks(q, in->info.context), w.ticket);

    if (r == 0)
        r = sequence_new(q, in->info.context, &in->pool, fresh_seed(), &s);
    if (r > 0)
        return 1;
    if (r < 0) {
        finish_waiting(e, index, ENGINE_FAILED, "no memory for the sequence");
        return 0;
    }
    e->waiting_count--;
    memmove(&e->waiting[index], &e->waiting[index + 1], (e->waiting_count - index) * sizeof(e->waiting[0]));
    s->ticket = w.ticket;
    seats_join(in, s);
    sequence_move(s, SEQUENCE_PREFILL);
    s->started_ns = clock_now_ns();
    started.seed = s->sampling.seed;
    started.queue_ns = s->started_ns - q->submitted_ns;
    e->events.started(e->events.arg, q->key, &started);
    return 0;
}

/* The first in line among the waiting of an instance, or waiting_count. */
static uint32_t next_waiting(const struct engine *e, const struct instance *in)
{
    uint32_t i = 0;

    while (i < e->waiting_count && (e->waiting[i].request->instance != in || e->waiting[i].parked))
        i++;
    return i;
}

/*
 * Seats go to the lowest ticket, of the waiting and of those that return.  When it finds no blocks, only sequences that
 * have theirs still are seated: they take nothing from it that it could have.
 */
static void fill_seats(struct engine *e, struct instance *in)
{
    bool short_of_blocks = false;

    while (seats_free(in)) {
        struct sequence *s = seats_next(in, short_of_blocks);
        uint32_t w = short_of_blocks ? e->waiting_count : next_waiting(e, in);
        bool is_new = w < e->waiting_count && (!s || e->waiting[w].ticket < s->ticket);

        if (!s && !is_new)
            return;
        if (is_new ? admit(e, w) : seats_take(in, s))
            short_of_blocks = true;
    }
}

static struct waiting *find_waiting(struct engine *e, uint64_t key)
{
    for (uint32_t i = 0; i < e->waiting_count; i++)
        if (e->waiting[i].request->key == key)
            return &e->waiting[i];
    return NULL;
}

static struct sequence *find_sequence(struct engine *e, uint64_t key, struct instance **ret_instance)
{
    for (uint32_t i = 0; i < e->instance_count; i++)
        for (struct sequence *s = e->instances[i]->first; s; s = s->next)
            if (s->request->key == key) {
                *ret_instance = e->instances[i];
                return s;
            }
    return NULL;
}

void engine_cancel(struct engine *e, uint64_t key)
{
    struct instance *in;
    struct sequence *s = find_sequence(e, key, &in);
    struct waiting *w;

    if (s) {
        finish(e, in, s, ENGINE_CANCELLED, "");
        return;
    }
    w = find_waiting(e, key);
    if (w)
        finish_waiting(e, (uint32_t)(w - e->waiting), ENGINE_CANCELLED, "");
}

void engine_park(struct engine *e, uint64_t key, bool parked)
{
    struct instance *in;
    struct sequence *s = find_sequence(e, key, &in);
    struct waiting *w = s ? NULL : find_waiting(e, key);

    if (w)
        w->parked = parked;
    if (!s || s->parked == parked)
        return;
    s->parked = parked;
    if (parked)
        seats_leave(in, s);             /* what it returns to is decided with the next step */
    else
        s->ticket = ++e->tickets;
}

static void drop_late(struct engine *e)
{
    uint64_t now = clock_now_ns();

    for (uint32_t i = 0; i < e->waiting_count;)
        if (e->waiting[i].request->deadline_ns && now >= e->waiting[i].request->deadline_ns)
            finish_waiting(e, i, ENGINE_DEADLINE, "");
        else
            i++;
    for (uint32_t i = 0; i < e->instance_count; i++)
        for (struct sequence *s = e->instances[i]->first, *next; s; s = next) {
            next = s->next;
            if (s->request->deadline_ns && now >= s->request->deadline_ns)
                finish(e, e->instances[i], s, ENGINE_DEADLINE, "");
        }
}

/* --- a step --- */

struct batch_builder { uint32_t tokens, rows; };

static void add_tokens(struct instance *in, struct batch_builder *b, struct sequence *s, uint32_t count)
{
    sequence_grow(s, &in->pool, s->computed + count);
    s->batch_first = b->tokens;
    s->batch_count = count;
    for (uint32_t i = 0; i < count; i++, b->tokens++) {
        in->ids[b->tokens] = s->tokens[s->computed + i];
        in->positions[b->tokens] = s->computed + i;
        in->tables[b->tokens] = s->blocks;
        in->rows[b->tokens] = s->computed + i + 1 == s->count ? b->rows++ : GRAPH_NO_LOGITS;
    }
}

/* Among those with a seat whose prompt is not in the batch yet, the first in line. */
static struct sequence *next_prompt(const struct instance *in)
{
    struct sequence *first = NULL;

    for (struct sequence *s = in->first; s; s = s->next)
        if (s->state == SEQUENCE_PREFILL && s->seated && !s->batch_count && (!first || s->ticket < first->ticket))
            first = s;
    return first;
}

/* Running sequences first, one token each; then prompts in the order of their tickets, until the chunk is full. */
static void build_batch(struct instance *in, struct batch_builder *b)
{
    uint32_t room = in->chunk;

    *b = (struct batch_builder){ .tokens = 0 };
    for (struct sequence *s = in->first; s; s = s->next) {
        s->batch_count = 0;
        if (s->state == SEQUENCE_DECODE && s->seated)
            add_tokens(in, b, s, 1);
    }
    while (room) {
        struct sequence *s = next_prompt(in);
        uint32_t n = s ? (uint32_t)min_u64(room, s->count - s->computed) : 0;

        if (!s)
            return;
        add_tokens(in, b, s, n);
        room -= n;
    }
}

static bool failed(const struct instance *in, const struct sequence *s)
{
    for (uint32_t i = 0; i < s->batch_count; i++)
        if (graph_failed(in->graph, s->batch_first + i))
            return true;
    return false;
}

static bool is_stop_id(const struct engine_request *q, uint32_t id)
{
    for (uint32_t i = 0; i < q->stop_id_count; i++)
        if (q->stop_ids[i] == id)
            return true;
    return false;
}

static void emit(struct engine *e, struct instance *in, struct sequence *s, uint32_t id, const float *logits)
{
    const struct engine_request *q = s->request;
    struct engine_token t = { .id = id, .alternatives = e->alternatives };
    struct span text;

    vocab_decode(in->model->vocab, id, false, answer_input(&s->answer));
    text = answer_release(&s->answer, &t.text_offset);
    t.text = text.data;
    t.text_size = (uint32_t)text.size;
    if (q->want_logprob || q->logprobs) {
        t.alternative_count = (uint32_t)min_u64(q->logprobs, in->info.vocab_size);
        t.logprob =
            sampler_logprob(&in->sampler, logits, in->info.vocab_size, id, e->alternatives, t.alternative_count);
    }
    e->events.token(e->events.arg, q->key, &t);
}

/* One sequence has logits: draw, tell, and see whether that was the end. */
static void accept(struct engine *e, struct instance *in, struct sequence *s, const float *logits)
{
    const struct engine_request *q = s->request;
    uint32_t id = sampler_draw(&in->sampler, &s->sampling, logits, in->info.vocab_size, s->tokens, s->count,
                               sequence_generated(s));

    if (s->state == SEQUENCE_PREFILL)
        sequence_move(s, SEQUENCE_DECODE);
    if (!s->first_token_ns)
        s->first_token_ns = clock_now_ns();
    if (!q->ignore_eos && vocab_is_eog(in->model->vocab, id)) {
        finish(e, in, s, ENGINE_EOS, "");
        return;
    }
    if (is_stop_id(q, id)) {
        finish(e, in, s, ENGINE_STOP, "");
        return;
    }
    s->tokens[s->count++] = id;
    e->stats.generated_tokens++;
    emit(e, in, s, id, logits);
    if (!buffer_ok(&s->answer.held))
        finish(e, in, s, ENGINE_FAILED, "no memory for the answer's text");
    else if (s->answer.stopped)
        finish(e, in, s, ENGINE_STOP, "");
    else if (s->count == s->capacity)
        finish(e, in, s, ENGINE_LENGTH, "");
}

static void settle(struct engine *e, struct instance *in, struct sequence *s)
{
    uint32_t last = s->batch_first + s->batch_count - 1, row = in->rows[last];

    s->computed += s->batch_count;
    if (s->computed > s->counted) {
        uint32_t prompt = s->request->prompt_count;

        e->stats.prompt_tokens += min_u64(s->computed, prompt) - min_u64(s->counted, prompt);
        s->counted = s->computed;
    }
    if (row != GRAPH_NO_LOGITS && !graph_holds(in->graph, row))
        graph_head(in->graph, row / in->max_rows * in->max_rows);   /* more rows than are held at once */
    if (failed(in, s)) {
        finish(e, in, s, ENGINE_FAILED, "a value was not finite: the model or the prompt drives it out of range");
        return;
    }
    if (row != GRAPH_NO_LOGITS)
        accept(e, in, s, graph_logits(in->graph, row));
}

static bool step_instance(struct engine *e, struct instance *in)
{
    struct batch_builder b;
    struct graph_batch batch;
    uint64_t begun = clock_now_ns();

    build_batch(in, &b);
    if (b.tokens == 0)
        return false;
    batch = (struct graph_batch){.tokens = b.tokens,
                                 .ids = in->ids,
                                 .positions = in->positions,
                                 .blocks = (const uint32_t *const *)in->tables,
                                 .rows = in->rows,
                                 .row_count = b.rows};
    graph_step(in->graph, &batch);
    for (struct sequence *s = in->first, *next; s; s = next) {
        next = s->next;
        if (s->batch_count)
            settle(e, in, s);
    }
    e->stats.steps++;
    e->stats.step_ns += clock_now_ns() - begun;
    return true;
}

bool engine_step(struct engine *e)
{
    drop_late(e);
    for (uint32_t i = 0; i < e->instance_count; i++)
        fill_seats(e, e->instances[i]);
    for (uint32_t i = 0; i < e->instance_count; i++) {
        struct instance *in = e->instances[(e->turn + i) % e->instance_count];

        if (step_instance(e, in)) {
            e->turn = (e->turn + i + 1) % e->instance_count;
            return true;
        }
    }
    return false;
}

void engine_stats(const struct engine *e, struct engine_stats *ret_stats)
{
    *ret_stats = e->stats;
    ret_stats->waiting = e->waiting_count;
    ret_stats->running = ret_stats->parked = 0;
    for (uint32_t i = 0; i < e->instance_count; i++) {
        ret_stats->kv_blocks_used += kv_pool_used(&e->instances[i]->pool);
        ret_stats->kv_blocks_total += e->instances[i]->kv->blocks;
        for (const struct sequence *s = e->instances[i]->first; s; s = s->next) {
            ret_stats->running += s->seated;
            ret_stats->parked += s->parked;
            ret_stats->waiting += !s->seated && !s->parked;
        }
    }
}
