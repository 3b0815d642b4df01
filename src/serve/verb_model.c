/* SPDX-License-Identifier: Apache-2.0 */
/* MODEL_LIST, MODEL_INFO, STATS, SUBSCRIBE: what the daemon knows. */
#include "src/base/clock.h"
#include "src/serve/door_internal.h"

static void refuse_frame(struct conn *c, const struct inbox_frame *frame, const struct refusal *refusal)
{
    reply_error(c, frame->header.type, frame->header.request, refusal);
}

static void begin_body(struct request *r, enum body_kind kind)
{
    r->body.kind = kind;
    request_move(r, REQUEST_REPLYING);
    conn_touch(r->conn);
}

void verb_model_list(struct conn *c, struct inbox_frame *frame)
{
    struct wire_model_list l;
    struct wire_fault fault;
    struct refusal refusal;
    struct request *r;

    if (wire_model_list_decode(frame->payload, &l, &fault))
        refuse_fault(&refusal, &fault);
    else if (request_new(c, &frame->header, &r, &refusal) == 0) {
        begin_body(r, BODY_MODELS);
        return;
    }
    refuse_frame(c, frame, &refusal);
}

void verb_model_info(struct conn *c, struct inbox_frame *frame)
{
    struct wire_model_info m;
    struct wire_fault fault;
    struct refusal refusal;
    struct model *model;
    struct request *r;

    if (wire_model_info_decode(frame->payload, &m, &fault))
        refuse_fault(&refusal, &fault);
    else if (models_find(&c->door->models, m.model, &model, &refusal) == 0 &&
             request_new(c, &frame->header, &r, &refusal) == 0) {
        r->model = model;
        begin_body(r, BODY_INFO);
        return;
    }
    refuse_frame(c, frame, &refusal);
}

static void add_models(const struct models *models, struct wire_stats_reply *s)
{
    for (uint32_t i = 0; i < models->count; i++) {
        const struct model_metrics *m = &models->items[i].metrics;

        s->cached_tokens_total += m->cached_tokens;
        s->done_stop_total += m->ended[ENGINE_STOP];
        s->done_length_total += m->ended[ENGINE_LENGTH];
        s->done_eos_total += m->ended[ENGINE_EOS];
        s->done_cancelled_total += m->ended[ENGINE_CANCELLED];
        s->done_deadline_total += m->ended[ENGINE_DEADLINE];
        s->done_failed_total += m->ended[ENGINE_FAILED];
    }
}

static void send_counters(struct conn *c, uint64_t cookie)
{
    struct bridge *b = c->door->bridge;
    const struct metrics *m = &c->door->metrics;
    struct wire_stats_reply s = {
        .format = WIRE_STATS_FORMAT_COUNTERS,
        .present = WIRE_STATS_REPLY_HAS_SENT_BYTES_TOTAL * 2 - 1,       /* all of them */
        .uptime_ns = clock_now_ns() - m->started_ns, .connections = m->connections,
        .connections_total = m->connections_total, .requests_total = m->requests_total,
        .requests_running = bridge_gauge(b, BRIDGE_RUNNING), .requests_waiting = bridge_gauge(b, BRIDGE_WAITING),
        .requests_parked = bridge_gauge(b, BRIDGE_PARKED), .prompt_tokens_total = bridge_gauge(b, BRIDGE_PROMPT_TOKENS),
        .generated_tokens_total = bridge_gauge(b, BRIDGE_GENERATED_TOKENS), .errors_total = m->errors_total,
        .busy_total = m->busy_total, .framing_errors_total = m->framing_errors_total,
        .steps_total = bridge_gauge(b, BRIDGE_STEPS), .step_ns_total = bridge_gauge(b, BRIDGE_STEP_NS),
        .kv_blocks_used = bridge_gauge(b, BRIDGE_KV_USED), .kv_blocks = bridge_gauge(b, BRIDGE_KV_TOTAL),
        .received_bytes_total = m->received_bytes, .sent_bytes_total = m->sent_bytes,
    };

    add_models(&c->door->models, &s);
    reply_message(c, &wire_stats_reply_message, &s, cookie, FRAME_END);
}

void verb_stats(struct conn *c, struct inbox_frame *frame)
{
    struct door *door = c->door;
    struct wire_fault fault;
    struct refusal refusal;
    struct wire_stats s;
    struct request *r;

    if (wire_stats_decode(frame->payload, &s, &fault)) {
        refuse_fault(&refusal, &fault);
        refuse_frame(c, frame, &refusal);
        return;
    }
    if (s.format == WIRE_STATS_FORMAT_COUNTERS) {
        send_counters(c, frame->header.request);
        return;
    }
    if (request_new(c, &frame->header, &r, &refusal)) {
        refuse_frame(c, frame, &refusal);
        return;
    }
    metrics_write(&door->metrics, &door->models, door->bridge, clock_now_ns(), &r->body.text);
    if (!buffer_ok(&r->body.text)) {
        refuse(&refusal, WIRE_E_NO_MEMORY, 0, "no memory for the statistics");
        reply_refuse(r, &refusal);
    } else if (request_charge(r, r->body.text.capacity, &refusal)) {
        reply_refuse(r, &refusal);
    } else {
        begin_body(r, BODY_STATS);
    }
}

void verb_subscribe(struct conn *c, struct inbox_frame *frame)
{
    struct wire_subscribe s;
    struct wire_fault fault;
    struct refusal refusal;
    struct request *r;

    if (wire_subscribe_decode(frame->payload, &s, &fault)) {
        refuse_fault(&refusal, &fault);
        refuse_frame(c, frame, &refusal);
        return;
    }
    if (request_new(c, &frame->header, &r, &refusal)) {
        refuse_frame(c, frame, &refusal);
        return;
    }
    r->mask = s.mask;
    request_move(r, REQUEST_WATCHING);
    for (uint32_t i = 0; i < c->door->models.count; i++)        /* how things stand, so that nothing is missed */
        reply_event(r, WIRE_EVENT_KIND_STATE, i);
}
