/* SPDX-License-Identifier: Apache-2.0 */
/* One frame of a client: what it asks for, and whether it may. */
#include <string.h>

#include "src/base/clock.h"
#include "src/base/log.h"
#include "src/serve/door_internal.h"

static void refuse_frame(struct conn *c, const struct inbox_frame *frame, const struct refusal *refusal)
{
    reply_error(c, frame->header.type, frame->header.request, refusal);
}

/* --- the connection itself --- */

static void answer_hello(struct conn *c)
{
    const struct limits *l = c->door->limits;
    struct wire_hello_ok ok = {
        .version = WIRE_VERSION, .max_fds = WIRE_LIMIT_FDS,
        .capabilities = WIRE_CAP_PROMPT_MEMFD | WIRE_CAP_CREDITS | WIRE_CAP_SUBSCRIBE | (c->admin ? WIRE_CAP_ADMIN : 0),
        .max_frame = WIRE_LIMIT_FRAME_CLIENT, .max_in_flight = l->in_flight,
        .max_prompt_bytes = WIRE_LIMIT_PROMPT_INLINE, .boot_id = c->door->config.boot_id,
        .server = { (const uint8_t *)"tenond " TENON_VERSION, sizeof("tenond " TENON_VERSION) - 1 },
        .present = WIRE_HELLO_OK_HAS_LIMIT_STALL_MS * 2 - 1,    /* all of them */
        .limit_prompt_memfd = WIRE_LIMIT_PROMPT_MEMFD, .limit_tlvs = WIRE_LIMIT_TLVS,
        .limit_segments = WIRE_LIMIT_SEGMENTS, .limit_grammar = WIRE_LIMIT_GRAMMAR,
        .limit_stop_strings = WIRE_LIMIT_STOP_STRINGS, .limit_stop_string = WIRE_LIMIT_STOP_STRING,
        .limit_stop_ids = WIRE_LIMIT_STOP_IDS, .limit_logit_bias = WIRE_LIMIT_LOGIT_BIAS,
        .limit_logprobs = WIRE_LIMIT_LOGPROBS, .limit_in_flight_uid = l->in_flight_uid,
        .limit_connections = l->connections, .limit_connections_uid = l->connections_uid,
        .limit_output_queue = l->output_queue, .limit_handshake_ms = l->handshake_ms, .limit_frame_ms = l->frame_ms,
        .limit_stall_ms = l->stall_ms,
    };

    reply_message(c, &wire_hello_ok_message, &ok, 0, FRAME_END);
}

/* The first frame.  Whatever is wrong with it ends the connection after the answer. */
static void hello(struct conn *c, struct inbox_frame *frame)
{
    struct wire_fault fault;
    struct wire_hello h;
    struct refusal refusal = REFUSAL_NULL;

    if (frame->header.type != WIRE_TYPE_HELLO)
        refuse(&refusal, WIRE_E_PROTOCOL, frame->header.type, "the first frame must be HELLO");
    else if (frame->header.nfds)
        refuse(&refusal, WIRE_E_PROTOCOL, 7, "HELLO takes no descriptors");
    else if (wire_hello_decode(frame->payload, &h, &fault))
        refuse_fault(&refusal, &fault);
    else if (h.version_min > WIRE_VERSION || h.version_max < h.version_min)
        refuse(&refusal, WIRE_E_VERSION, WIRE_VERSION, "the client speaks versions %u to %u, this server %u",
               h.version_min, h.version_max, WIRE_VERSION);
    if (refusal.code) {
        log_line(LOG_LEVEL_INFO, "uid %u: %s", c->peer.uid, refusal.text);
        c->door->metrics.framing_errors_total += refusal.code == WIRE_E_PROTOCOL;
        reply_error(c, frame->header.type == WIRE_TYPE_HELLO ? WIRE_TYPE_HELLO : WIRE_TYPE_ERROR, 0, &refusal);
        conn_finish(c, true);
        return;
    }
    for (size_t i = 0; i < h.client.size && i < sizeof(c->client) - 1; i++)
        c->client[i] = h.client.data[i] >= 0x20 && h.client.data[i] < 0x7f ? (char)h.client.data[i] : '?';
    if (h.max_frame)
        c->max_frame = (uint32_t)min_u64(h.max_frame, WIRE_LIMIT_FRAME_SERVER) & ~7u;
    c->inbox.max_payload = WIRE_LIMIT_FRAME_CLIENT;
    conn_move(c, CONN_OPEN);
    door_quiet(c->door, &c->input_alarm);
    answer_hello(c);
}

static void again_hello(struct conn *c, struct inbox_frame *frame)
{
    struct refusal refusal;

    refuse(&refusal, WIRE_E_INVALID, 0, "HELLO was said already");
    refuse_frame(c, frame, &refusal);
}

static void ping(struct conn *c, struct inbox_frame *frame)
{
    struct wire_pong pong = { .server_ns = clock_now_ns() };
    struct wire_fault fault;
    struct refusal refusal;
    struct wire_ping p;

    if (wire_ping_decode(frame->payload, &p, &fault)) {
        refuse_fault(&refusal, &fault);
        refuse_frame(c, frame, &refusal);
        return;
    }
    pong.opaque = p.opaque;
    reply_message(c, &wire_pong_message, &pong, frame->header.request, FRAME_END);
}

static void cancel(struct conn *c, struct inbox_frame *frame)
{
    struct request *r = request_find(c, frame->header.request);

    if (r)
        request_cancel(r);
}

static void grant(struct conn *c, struct inbox_frame *frame)
{
    struct request *r = request_find(c, frame->header.request);
    struct wire_fault fault;
    struct wire_grant g;

    if (r && wire_grant_decode(frame->payload, &g, &fault) == 0)
        request_grant(r, g.credits);
}

/* --- administration --- */

static void drain(struct conn *c, struct inbox_frame *frame)
{
    struct wire_fault fault;
    struct refusal refusal;
    struct wire_drain d;
    struct request *r;

    if (wire_drain_decode(frame->payload, &d, &fault))
        refuse_fault(&refusal, &fault);
    else if (door_loading(c->door))
        refuse(&refusal, WIRE_E_LOADING, 0, "a model is loading: wait, or stop the process");
    else if (request_new(c, &frame->header, &r, &refusal) == 0) {
        request_move(r, REQUEST_WATCHING);
        log_line(LOG_LEVEL_NOTICE, "uid %u drains this server", c->peer.uid);
        door_drain(c->door, WIRE_GOAWAY_REASON_DRAIN, d.deadline_ms);
        return;
    }
    refuse_frame(c, frame, &refusal);
}

static void set_log_level(struct conn *c, struct inbox_frame *frame)
{
    struct wire_log_level_reply reply = { .previous = c->door->log_level };
    struct wire_log_level l;
    struct wire_fault fault;
    struct refusal refusal;

    if (wire_log_level_decode(frame->payload, &l, &fault)) {
        refuse_fault(&refusal, &fault);
        refuse_frame(c, frame, &refusal);
        return;
    }
    c->door->log_level = l.level;
    log_set_level((enum log_level)l.level);
    log_line(LOG_LEVEL_NOTICE, "uid %u sets the log level to %u", c->peer.uid, l.level);
    reply_message(c, &wire_log_level_reply_message, &reply, frame->header.request, FRAME_END);
}

/* --- all of them --- */

enum verb_flag {
    VERB_ZERO = 1,                      /* request 0 is legal */
    VERB_ABOUT = 2,                     /* the cookie names another request; no answer of its own */
};

struct verb {
    uint16_t type;
    uint16_t flags;
    void (*handle)(struct conn *conn, struct inbox_frame *frame);
};

static const struct verb verbs[] = {
    { WIRE_TYPE_HELLO, VERB_ZERO, again_hello },
    { WIRE_TYPE_PING, VERB_ZERO, ping },
    { WIRE_TYPE_CANCEL, VERB_ABOUT, cancel },
    { WIRE_TYPE_GRANT, VERB_ABOUT, grant },
    { WIRE_TYPE_MODEL_LIST, 0, verb_model_list },
    { WIRE_TYPE_MODEL_INFO, 0, verb_model_info },
    { WIRE_TYPE_TOKENIZE, 0, verb_tokenize },
    { WIRE_TYPE_DETOKENIZE, 0, verb_detokenize },
    { WIRE_TYPE_GENERATE, 0, verb_generate },
    { WIRE_TYPE_STATS, 0, verb_stats },
    { WIRE_TYPE_SUBSCRIBE, 0, verb_subscribe },
    { WIRE_TYPE_DRAIN, 0, drain },
    { WIRE_TYPE_LOG_LEVEL, 0, set_log_level },
};

static const struct verb *verb_of(uint16_t type)
{
    for (size_t i = 0; i < ARRAY_LENGTH(verbs); i++)
        if (verbs[i].type == type)
            return &verbs[i];
    return NULL;
}

/* What may be said before the payload is looked at.  0, or a code with @refusal. */
static int check_frame(struct conn *c, const struct inbox_frame *frame, const struct wire_type *type,
                       const struct verb *verb, struct refusal *refusal)
{
    const struct frame_header *h = &frame->header;

    if (!type)
        return refuse(refusal, WIRE_E_UNSUPPORTED, h->type, "type 0x%04x is not known", h->type);
    if (h->flags & FRAME_ERROR)
        return refuse(refusal, WIRE_E_INVALID, 6, "a client sends no error frames");
    if (!type->from_client)
        return refuse(refusal, WIRE_E_INVALID, h->type, "%s comes from servers only", type->name);
    if (type->admin && !c->admin)
        return refuse(refusal, WIRE_E_PERMISSION, h->type, "%s is taken on the admin socket only", type->name);
    if (!verb)
        return refuse(refusal, WIRE_E_UNSUPPORTED, h->type, "%s is not there in this version", type->name);
    if (h->nfds > type->fds)
        return refuse(refusal, WIRE_E_INVALID, 7, "%s takes %u descriptors; %u came", type->name, type->fds, h->nfds);
    if (h->request == 0 && !(verb->flags & VERB_ZERO))
        return refuse(refusal, WIRE_E_INVALID, 8, "%s needs a cookie that is not 0", type->name);
    if (h->request && !(verb->flags & VERB_ABOUT) && request_find(c, h->request))
        return refuse(refusal, WIRE_E_INVALID, 8, "the cookie %llu is that of a request in flight",
                      (unsigned long long)h->request);
    return 0;
}

void verb_handle(struct conn *c, struct inbox_frame *frame)
{
    const struct wire_type *type;
    const struct verb *verb;
    struct refusal refusal;

    if (c->state == CONN_HANDSHAKE) {
        hello(c, frame);
        return;
    }
    if (frame->header.type == WIRE_TYPE_PONG)
        return;                         /* to a PING of ours */
    type = wire_type_find(frame->header.type);
    if (!type && frame->header.flags & FRAME_SKIP)
        return;
    verb = verb_of(frame->header.type);
    if (check_frame(c, frame, type, verb, &refusal) == 0)
        verb->handle(c, frame);
    else if (verb && verb->flags & VERB_ABOUT)      /* an answer to that cookie would end the request it names */
        reply_error(c, frame->header.type, 0, &refusal);
    else
        refuse_frame(c, frame, &refusal);
}
