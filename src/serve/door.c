/* SPDX-License-Identifier: Apache-2.0 */
#include "src/serve/door.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/base/log.h"
#include "src/serve/door_internal.h"

#define MAIL_BYTES 16384u               /* of the engine's events in one round */
#define LATE_MS 1000u                   /* what is not gone that long after the drain's deadline is cut */

void door_alarm(struct door *door, struct alarm *alarm, uint64_t after_ns)
{
    uint64_t now = clock_now_ns(), deadline;

    if (ckd_add(&deadline, now, after_ns))
        deadline = UINT64_MAX;
    check(timers_set(&door->timers, &alarm->timer, deadline));
}

void door_quiet(struct door *door, struct alarm *alarm)
{
    timers_unset(&door->timers, &alarm->timer);
}

uint32_t door_retry_after_ms(const struct door *door)
{
    uint64_t running = max_u64(1, bridge_gauge(door->bridge, BRIDGE_RUNNING));
    double mean = door->mean_request_ns > 0 ? door->mean_request_ns : (double)NS_PER_S;
    double ms = mean / (double)NS_PER_MS * (double)door->submitted / (double)running / 2;

    return ms < 100 ? 100 : ms > 30000 ? 30000 : (uint32_t)ms;
}

bool door_loading(const struct door *door)
{
    return !models_all_ready(&door->models);
}

uint32_t door_requests(const struct door *door)
{
    return door->request_count;
}

/* --- alarms of the door's own --- */

static void start_listening(struct door *door)
{
    for (uint32_t i = 0; i < door->config.listener_count; i++) {
        if (door->listening[i] || (door->draining && door->config.listeners[i].inherited) || door->stopping)
            continue;
        door->listening[i] = ring_accept(door->ring, door->config.listeners[i].fd, door_cookie(OP_LISTEN, i)) == 0;
        if (!door->listening[i])
            door_alarm(door, &door->listen_alarm, 100 * NS_PER_MS);
    }
}

static void listen_again(struct door *door, struct alarm *alarm)
{
    (void)alarm;
    start_listening(door);
}

static void tell_again(struct door *door, struct alarm *alarm)
{
    (void)door;                         /* requests_tell() runs at the end of each round */
    (void)alarm;
}

static void tick(struct door *door, struct alarm *alarm)
{
    door_alarm(door, alarm, door->config.tick_ns);
    if (door->config.hooks.tick)
        door->config.hooks.tick(door->config.hooks.arg);
}

static void drain_late(struct door *door, struct alarm *alarm)
{
    if (door->late) {
        for (uint32_t i = 0; i < door->limits->connections; i++)
            if (door->conns[i])
                conn_abort(door->conns[i]);
        return;
    }
    door->late = true;
    log_line(LOG_LEVEL_WARNING, "drain: the time is over, %u requests are cancelled", door->request_count);
    for (uint32_t i = 0; i < LIMIT_REQUESTS; i++) {
        struct request *r = door->requests[i];

        if (r && r->state != REQUEST_WATCHING)
            request_cancel(r);
    }
    door_alarm(door, alarm, LATE_MS * NS_PER_MS);
}

/* --- drain --- */

/* On our own sockets whoever comes late is told so, to the end; else it would hang in a queue that nobody reads. */
static void stop_listening(struct door *door, bool all)
{
    for (uint32_t i = 0; i < door->config.listener_count; i++)
        if (door->listening[i] && (all || door->config.listeners[i].inherited) &&
            ring_cancel(door->ring, door_cookie(OP_LISTEN, i)) != 0)
            door->listening[i] = false;
}

void door_drain(struct door *door, uint32_t reason, uint32_t deadline_ms)
{
    struct wire_goaway goaway = { .reason = reason, .deadline_ms = deadline_ms };

    if (deadline_ms)
        door_alarm(door, &door->drain_alarm, deadline_ms * NS_PER_MS);
    if (door->draining)
        return;
    door->draining = true;
    stop_listening(door, false);
    for (uint32_t i = 0; i < door->limits->connections; i++) {
        struct conn *c = door->conns[i];

        if (!c)
            continue;
        if (c->state == CONN_OPEN)
            reply_message(c, &wire_goaway_message, &goaway, 0, 0);
        else if (c->state == CONN_HANDSHAKE)
            conn_finish(c, true);
        conn_touch(c);
    }
    if (door->config.hooks.draining)
        door->config.hooks.draining(door->config.hooks.arg);
}

/* Nothing is computed or read any more: those who only watch are told the end, and connections close by themselves. */
static void drain_step(struct door *door)
{
    bool working = false;

    for (uint32_t i = 0; i < LIMIT_REQUESTS && !working; i++)
        working = door->requests[i] && door->requests[i]->state != REQUEST_WATCHING;
    if (working)
        return;
    for (uint32_t i = 0; i < LIMIT_REQUESTS; i++) {
        struct request *r = door->requests[i];

        if (r && r->type == WIRE_TYPE_SUBSCRIBE)
            reply_end(r, &wire_event_message, &(struct wire_event){ .event = 0 });
        else if (r)
            reply_end(r, &wire_drain_reply_message, &(struct wire_drain_reply){ .nothing = 0 });
    }
}

/* True when there is nothing left to wait for. */
static bool ended(struct door *door)
{
    struct bridge_command stop = { .kind = BRIDGE_STOP };

    if (!door->draining || door->conn_count || door->closing_orphans || door->request_count)
        return false;
    if (door->host_ended)
        return true;
    if (!door->stopping && bridge_command(door->bridge, &stop) == 0) {
        door->stopping = true;
        stop_listening(door, true);
    }
    if (!door->stopping)
        door_alarm(door, &door->tell_alarm, 2 * NS_PER_MS);
    return false;
}

/* --- events of the engine's thread --- */

static void tell_watchers(struct door *door, uint32_t event, uint32_t model)
{
    for (uint32_t i = 0; i < LIMIT_REQUESTS && door->request_count; i++) {
        struct request *r = door->requests[i];

        if (r && r->state == REQUEST_WATCHING && r->type == WIRE_TYPE_SUBSCRIBE)
            reply_event(r, event, model);
    }
}

static void on_loading(struct door *door, const struct bridge_event *e)
{
    struct model *m = &door->models.items[e->model];

    memcpy(&m->report, e->body.data, sizeof(m->report));
    if (m->report.bytes_total && m->state == WIRE_MODEL_STATE_LOADING)
        tell_watchers(door, WIRE_EVENT_KIND_LOAD, e->model);
    if (door->config.hooks.loading)
        door->config.hooks.loading(door->config.hooks.arg, e->model, &m->report);
}

static void on_ready(struct door *door, const struct bridge_event *e)
{
    struct model *m = &door->models.items[e->model];
    const struct instance_info *info;
    struct bridge_ready ready;

    memcpy(&ready, e->body.data, sizeof(ready));
    info = instance_info(ready.instance);
    m->instance = ready.instance;
    m->longest_token = ready.longest_token;
    m->file_bytes = info->file_bytes;
    m->report = info->load;
    snprintf(m->note, sizeof(m->note), "%s", info->note);
    model_move(m, WIRE_MODEL_STATE_READY);
    tell_watchers(door, WIRE_EVENT_KIND_STATE, e->model);
    if (door->config.hooks.ready)
        door->config.hooks.ready(door->config.hooks.arg, e->model, ready.instance);
    if (door->config.hooks.serving && models_all_ready(&door->models))
        door->config.hooks.serving(door->config.hooks.arg);
}

static void on_failed(struct door *door, const struct bridge_event *e)
{
    struct model *m;

    memcpy(&door->failure_error, e->body.data, sizeof(door->failure_error));
    door->failure = door->failure_error.code;
    door->host_ended = true;
    if (e->model < door->models.count && door->models.items[e->model].state == WIRE_MODEL_STATE_LOADING) {
        m = &door->models.items[e->model];
        snprintf(m->note, sizeof(m->note), "%s", door->failure_error.text);
        model_move(m, WIRE_MODEL_STATE_FAILED);
        tell_watchers(door, WIRE_EVENT_KIND_STATE, e->model);
    }
    for (uint32_t i = 0; i < door->models.count; i++)
        door->models.items[i].instance = NULL;          /* the thread has freed them */
    door_drain(door, WIRE_GOAWAY_REASON_SHUTDOWN, LATE_MS);
}

static void on_token(struct door *door, struct request *r, const struct bridge_event *e)
{
    struct bridge_token token;
    struct histogram *h;

    memcpy(&token, e->body.data, sizeof(token));
    h = r->token_ns ? &r->model->metrics.inter_token : &r->model->metrics.first_token;
    histogram_add(h, door->now_ns - (r->token_ns ? r->token_ns : r->arrived_ns));
    r->token_ns = door->now_ns;
    r->model->metrics.generated_tokens++;
    reply_token(r, &token, e->alternatives, e->text);
    if (r->limited && r->credits && --r->credits == 0)
        door_alarm(door, &r->starved, door->limits->stall_ms * NS_PER_MS);
}

static void count_done(struct door *door, const struct request *r, const struct bridge_done *d)
{
    struct model_metrics *m = &r->model->metrics;
    double took = (double)(door->now_ns - r->arrived_ns);

    m->ended[d->reason]++;
    m->prompt_tokens += d->prompt_tokens;
    m->cached_tokens += d->cached_tokens;
    histogram_add(&m->duration, door->now_ns - r->arrived_ns);
    histogram_add(&m->queue, d->queue_ns);
    histogram_add(&m->prefill, d->prefill_ns);
    histogram_add(&m->decode, d->decode_ns);
    door->mean_request_ns = door->mean_request_ns > 0 ? door->mean_request_ns * 0.9 + took * 0.1 : took;
}

static void on_done(struct door *door, struct request *r, const struct bridge_event *e)
{
    struct bridge_done d;

    memcpy(&d, e->body.data, sizeof(d));
    count_done(door, r, &d);
    if (r->state != REQUEST_ENDED)
        reply_done(r, &d, e->text);
}

static void on_refused(struct request *r, const struct bridge_event *e)
{
    struct bridge_refused refused;
    struct refusal refusal;

    if (r->state == REQUEST_ENDED)
        return;
    memcpy(&refused, e->body.data, sizeof(refused));
    if (refused.code == 1) {
        refuse(&refusal, WIRE_E_BUSY, 0, "the engine's queue is full");
        refusal.retry_after_ms = door_retry_after_ms(r->door);
    } else if (refused.code == -E2BIG) {
        refuse(&refusal, WIRE_E_CONTEXT_TOO_LONG, instance_info(r->model->instance)->context, "%s", refused.text);
    } else if (refused.code == -EINVAL) {
        refuse(&refusal, WIRE_E_INVALID, 0, "%s", refused.text);
    } else if (refused.code == -ECANCELED) {
        refuse(&refusal, WIRE_E_DRAINING, 0, "this server takes no new requests");
    } else {
        refuse_error(&refusal, refused.code, "the engine");
    }
    reply_refuse(r, &refusal);
}

static void on_return(struct door *door, struct request *r, const struct bridge_event *e)
{
    struct job *job;

    memcpy(&job, e->body.data, sizeof(job));
    check(r->at_engine && r->job == job);
    r->at_engine = false;
    door->submitted--;
    request_settle(r);
}

static void on_request_event(struct door *door, const struct bridge_event *e)
{
    struct request *r = request_by_key(door, e->key);
    struct engine_started started;

    check(r && r->at_engine);           /* it stays in the table until BRIDGE_RETURN */
    if (e->kind == BRIDGE_DONE) {
        on_done(door, r, e);
    } else if (e->kind == BRIDGE_REFUSED) {
        on_refused(r, e);
    } else if (e->kind == BRIDGE_RETURN) {
        on_return(door, r, e);
    } else if (r->state == REQUEST_ENDED) {
        return;
    } else if (e->kind == BRIDGE_STARTED) {
        memcpy(&started, e->body.data, sizeof(started));
        reply_started(r, &started);
    } else if (e->kind == BRIDGE_TOKEN) {
        on_token(door, r, e);
    } else {
        reply_text(r, e->text);
    }
}

/* A portion of it, so that an engine that is quicker than its readers is parked in time. */
static void take_mail(struct door *door)
{
    struct scribe_work *work;
    struct bridge_event e;
    size_t bytes = 0;

    door->more_mail = false;
    while (!door->more_mail && bridge_peek(door->bridge, &e)) {
        bytes += e.body.size + e.text.size;
        door->more_mail = bytes > MAIL_BYTES;
        switch ((enum bridge_event_kind)e.kind) {
        case BRIDGE_LOADING:
            on_loading(door, &e);
            break;
        case BRIDGE_READY:
            on_ready(door, &e);
            break;
        case BRIDGE_FAILED:
            on_failed(door, &e);
            break;
        case BRIDGE_STOPPED:
            door->host_ended = true;
            break;
        case BRIDGE_STARTED:
        case BRIDGE_TOKEN:
        case BRIDGE_TEXT:
        case BRIDGE_DONE:
        case BRIDGE_REFUSED:
        case BRIDGE_RETURN:
            on_request_event(door, &e);
            break;
        }
        bridge_drop(door->bridge);
    }
    while ((work = scribe_take(door->scribe)))
        request_read(door, work);
}

/* --- the loop --- */

static void start_signals(struct door *door)
{
    if (door->config.signal_fd < 0)
        return;
    if (ring_poll(door->ring, door->config.signal_fd, POLLIN, door_cookie(OP_SIGNAL, 0)) != 0)
        log_line(LOG_LEVEL_ERROR, "signals cannot be waited for");
}

static void on_listen(struct door *door, const struct ring_event *e)
{
    uint32_t index = (uint32_t)(e->cookie >> 8);

    door->listening[index] = e->more;
    if (e->result >= 0) {
        conn_accept(door, e->result, door->config.listeners[index].admin);
    } else if (e->result != -ECANCELED) {
        log_line(LOG_LEVEL_WARNING, "no connection can be taken: %s", strerror(-e->result));
        door_alarm(door, &door->listen_alarm, 100 * NS_PER_MS);
        return;
    }
    if (!e->more)
        start_listening(door);
}

static void dispatch(struct door *door, const struct ring_event *e)
{
    struct conn *c = NULL;

    if (e->kind == RING_WAKE)
        return;                         /* the mail is looked at in every round */
    if ((e->cookie & 0xff) <= OP_CLOSE) {
        check(e->cookie >> 8 < door->limits->connections);
        c = door->conns[e->cookie >> 8];
        check(c && c->magic == CONN_MAGIC);
    }
    switch ((enum door_op)(e->cookie & 0xff)) {
    case OP_RECEIVE:
        conn_received(c, e->result);
        break;
    case OP_SEND:
        conn_sent(c, e->result);
        break;
    case OP_HANGUP:
        conn_hung_up(c);
        break;
    case OP_CLOSE:
        conn_closed(c);
        break;
    case OP_LISTEN:
        on_listen(door, e);
        break;
    case OP_SIGNAL:
        if (e->result >= 0 && door->config.hooks.signal)
            door->config.hooks.signal(door->config.hooks.arg, door->config.signal_fd);
        if (e->result >= 0)
            start_signals(door);
        break;
    case OP_ORPHAN:
        door->closing_orphans--;
        break;
    }
}

static void flush(struct door *door)
{
    while (door->dirty) {
        struct conn *c = door->dirty;

        door->dirty = c->next_dirty;
        conn_flush(c);
    }
}

static int round_of_events(struct door *door, struct error *error)
{
    struct ring_event event;
    struct timer *timer;
    int r = ring_wait(door->ring, door->more_mail ? 0 : timers_next(&door->timers));

    if (r < 0)
        return error_set(error, r, "waiting for events (%s): %s", ring_name(door->ring), strerror(-r));
    door->now_ns = clock_now_ns();
    while (ring_next(door->ring, &event))
        dispatch(door, &event);
    take_mail(door);
    while ((timer = timers_expire(&door->timers, door->now_ns))) {
        struct alarm *alarm = alarm_owner(timer, struct alarm, timer);

        alarm->fire(door, alarm);
    }
    flush(door);
    if (door->draining)
        drain_step(door);
    flush(door);
    requests_tell(door);
    return 0;
}

int door_run(struct door *door, struct error *error)
{
    start_signals(door);
    start_listening(door);
    if (door->config.tick_ns)
        door_alarm(door, &door->tick_alarm, door->config.tick_ns);
    while (!ended(door)) {
        int r = round_of_events(door, error);

        if (r < 0)
            return r;
    }
    if (door->failure && error)
        *error = door->failure_error;
    return door->failure;
}

/* --- birth and death --- */

static void wake_ring(void *arg)
{
    ring_wake(arg);
}

static int allocate(struct door *door)
{
    int r = models_init(&door->models, door->config.models, door->config.model_count);

    door->conns = calloc(door->limits->connections, sizeof(door->conns[0]));
    door->scratch = malloc(FRAME_HEADER_BYTES + WIRE_LIMIT_FRAME_SERVER);
    if (r < 0 || !door->conns || !door->scratch)
        return -ENOMEM;
    return timers_init(&door->timers, 2 * door->limits->connections + LIMIT_REQUESTS + 8);
}

int door_new(const struct door_config *config, struct door **ret_door, struct error *error)
{
    struct door *door = calloc(1, sizeof(*door));
    int r;

    check(config->model_count <= LIMIT_MODELS && config->listener_count <= DOOR_LISTENERS_MAX);
    if (!door)
        return error_set(error, -ENOMEM, "no memory for the door");
    door->config = *config;
    door->ring = config->ring;
    door->bridge = config->bridge;
    door->limits = &door->config.limits;
    door->log_level = config->log_level;
    door->now_ns = door->metrics.started_ns = clock_now_ns();
    door->listen_alarm.fire = listen_again;
    door->tell_alarm.fire = tell_again;
    door->drain_alarm.fire = drain_late;
    door->tick_alarm.fire = tick;
    for (uint32_t i = 0; i < LIMIT_REQUESTS; i++)
        door->free_slots[door->free_count++] = (uint16_t)(LIMIT_REQUESTS - 1 - i);
    r = allocate(door);
    if (r < 0) {
        door_free(door);
        return error_set(error, r, "no memory for %u connections", config->limits.connections);
    }
    r = scribe_new(wake_ring, door->ring, &door->scribe, error);
    if (r < 0) {
        door_free(door);
        return r;
    }
    *ret_door = door;
    return 0;
}

struct door *door_free(struct door *door)
{
    if (!door)
        return NULL;
    scribe_free(door->scribe);
    for (uint32_t i = 0; door->conns && i < door->limits->connections; i++) {
        struct conn *c = door->conns[i];

        if (!c)
            continue;                   /* the ring broke down: nothing came to its end by itself */
        while (c->requests)
            request_end(c->requests);
        conn_free(c);
    }
    timers_deinit(&door->timers);
    models_deinit(&door->models);
    chunks_deinit(&door->chunks);
    free(door->conns);
    free(door->scratch);
    free(door);
    return NULL;
}
