/* SPDX-License-Identifier: Apache-2.0 */
#include "src/serve/reply.h"

#include <string.h>

#include "src/base/clock.h"
#include "src/serve/door_internal.h"

#define PIECE_BYTES 16384u              /* payload of one frame of a long reply */
#define DONE_TEXT_MAX 448u              /* so that DONE fits into LIMIT_END_BYTES */
#define MODELS_PER_FRAME 8u             /* with the longest names below the smallest frame a client may ask for */
#define EVENT_BYTES 2560u

static struct frame_out scratch(struct door *door)
{
    return (struct frame_out){ .data = door->scratch, .capacity = FRAME_HEADER_BYTES + WIRE_LIMIT_FRAME_SERVER };
}

static struct span text_of(const char *s)
{
    return (struct span){ (const uint8_t *)s, strlen(s) };
}

void reply_error(struct conn *c, uint16_t type, uint64_t cookie, const struct refusal *refusal)
{
    struct frame_header head = { .type = type | FRAME_REPLY, .flags = FRAME_END | FRAME_ERROR, .request = cookie };
    struct wire_error error = { .code = refusal->code, .detail = refusal->detail,
                                .retry_after_ms = refusal->retry_after_ms, .message = text_of(refusal->text) };
    struct frame_out out = scratch(c->door);

    check(wire_error_encode(&error, head, &out) == 0);
    c->door->metrics.errors_total++;
    c->door->metrics.busy_total += refusal->code == WIRE_E_BUSY;
    conn_put(c, out.data, out.size);
}

void reply_message(struct conn *c, const struct wire_message *message, const void *value, uint64_t cookie,
                   uint8_t flags)
{
    struct frame_header head = { .flags = flags, .request = cookie };
    struct frame_out out = scratch(c->door);

    check(wire_encode(message, value, head, &out, NULL) == 0);
    conn_put(c, out.data, out.size);
}

void reply_refuse(struct request *r, const struct refusal *refusal)
{
    if (r->model && r->type == WIRE_TYPE_GENERATE && refusal->code < METRICS_CODES)
        r->model->metrics.refused[refusal->code]++;
    reply_error(r->conn, r->type, r->cookie, refusal);
    request_end(r);
}

void reply_end(struct request *r, const struct wire_message *message, const void *value)
{
    reply_message(r->conn, message, value, r->cookie, FRAME_END);
    request_end(r);
}

/* --- GENERATE --- */

void reply_started(struct request *r, const struct engine_started *started)
{
    struct wire_started s = { .kind = WIRE_STARTED_KIND_STARTED, .prompt_tokens = started->prompt_tokens,
                              .cached_tokens = started->cached_tokens, .queue_ns = started->queue_ns,
                              .seed = started->seed };

    request_move(r, REQUEST_STREAMING);
    reply_message(r->conn, &wire_started_message, &s, r->cookie, 0);
}

/* Text without a token of its own: it continues that of the last token. */
void reply_text(struct request *r, struct span text)
{
    size_t most = r->conn->max_frame - 256u;

    while (text.size) {
        size_t n = min_u64(text.size, most);
        struct wire_tokens t = { .kind = WIRE_TOKENS_KIND_TOKENS, .text = { text.data, n } };

        reply_message(r->conn, &wire_tokens_message, &t, r->cookie, 0);
        text.data += n;
        text.size -= n;
    }
}

void reply_token(struct request *r, const struct bridge_token *token, const struct engine_alternative *alternatives,
                 struct span text)
{
    struct wire_logprob best[ENGINE_LOGPROBS_MAX];
    struct wire_token one = { .id = token->id, .logprob = token->logprob, .text_offset = token->text_offset,
                              .alternatives = token->alternative_count };
    struct wire_tokens t = { .kind = WIRE_TOKENS_KIND_TOKENS, .tokens = { .count = 1, .items = &one },
                             .alternatives = { .count = token->alternative_count, .items = best } };
    size_t n = min_u64(text.size, r->conn->max_frame - 256u - sizeof(best));

    check(token->alternative_count <= ENGINE_LOGPROBS_MAX);
    for (uint32_t i = 0; i < token->alternative_count; i++)
        best[i] = (struct wire_logprob){ alternatives[i].id, alternatives[i].logprob };
    one.text_length = (uint32_t)n;
    t.text = (struct span){ text.data, n };
    reply_message(r->conn, &wire_tokens_message, &t, r->cookie, 0);
    if (text.size > n)
        reply_text(r, (struct span){ text.data + n, text.size - n });
}

static void reply_never_started(struct request *r, const struct bridge_done *done)
{
    struct refusal refusal;

    if (done->reason == ENGINE_CANCELLED)
        refuse(&refusal, WIRE_E_CANCELLED, 0, "cancelled before it started");
    else if (done->reason == ENGINE_DEADLINE)
        refuse(&refusal, WIRE_E_DEADLINE, 0, "the deadline passed before it started");
    else
        refuse(&refusal, WIRE_E_INTERNAL, 0, "%s", done->failure[0] ? done->failure : "it ended before it started");
    reply_refuse(r, &refusal);
}

void reply_done(struct request *r, const struct bridge_done *done, struct span text)
{
    static const uint32_t reasons[] = {
        [ENGINE_STOP] = WIRE_REASON_STOP, [ENGINE_LENGTH] = WIRE_REASON_LENGTH, [ENGINE_EOS] = WIRE_REASON_EOS,
        [ENGINE_CANCELLED] = WIRE_REASON_CANCELLED, [ENGINE_DEADLINE] = WIRE_REASON_DEADLINE,
    };
    struct wire_done d = {
        .kind = WIRE_DONE_KIND_DONE, .prompt_tokens = done->prompt_tokens, .cached_tokens = done->cached_tokens,
        .generated_tokens = done->generated_tokens, .text_offset = done->text_offset, .queue_ns = done->queue_ns,
        .prefill_ns = done->prefill_ns, .decode_ns = done->decode_ns,
    };
    struct refusal refusal;

    if (r->state == REQUEST_WAITING) {
        reply_never_started(r, done);
        return;
    }
    if (done->reason >= ENGINE_FAILED) {
        refuse(&refusal, WIRE_E_INTERNAL, 0, "%s", done->failure);
        reply_error(r->conn, r->type, r->cookie, &refusal);
        request_end(r);
        return;
    }
    if (text.size > DONE_TEXT_MAX) {
        size_t before = text.size - DONE_TEXT_MAX;

        reply_text(r, (struct span){ text.data, before });
        text.data += before;
        text.size -= before;
        d.text_offset += (uint32_t)before;
    }
    d.reason = reasons[done->reason];
    d.text = text;
    reply_end(r, &wire_done_message, &d);
}

/* --- long replies --- */

static uint8_t body_tokens(struct request *r, size_t most, struct frame_header head, struct frame_out *out)
{
    struct body *b = &r->body;
    size_t n = min_u64(b->tokens.count - b->position, (most - 128) / 8);
    struct wire_tokenize_reply t = {
        .first = (uint32_t)b->position, .total = (uint32_t)b->tokens.count,
        .ids = { .count = (uint32_t)n, .items = n ? b->tokens.ids + b->position : NULL },
        .offsets = { .count = (uint32_t)n, .items = n ? b->tokens.offsets + b->position : NULL },
    };

    b->position += n;
    head.flags = b->position == b->tokens.count ? FRAME_END : 0;
    check(wire_tokenize_reply_encode(&t, head, out) == 0);
    return head.flags;
}

static uint8_t body_text(struct request *r, size_t most, struct frame_header head, struct frame_out *out)
{
    struct body *b = &r->body;
    size_t n = min_u64(b->text.size - b->position, most - 128);
    struct span text = { n ? b->text.data + b->position : NULL, n };   /* of nothing there is no memory to point into */

    b->position += n;
    head.flags = b->position == b->text.size ? FRAME_END : 0;
    if (b->kind == BODY_STATS) {
        struct wire_stats_reply s = { .format = WIRE_STATS_FORMAT_PROMETHEUS, .text = text };

        check(wire_stats_reply_encode(&s, head, out) == 0);
    } else {
        struct wire_detokenize_reply d = { .text = text };

        check(wire_detokenize_reply_encode(&d, head, out) == 0);
    }
    return head.flags;
}

static uint8_t body_models(struct request *r, struct frame_header head, struct frame_out *out)
{
    const struct models *models = &r->door->models;
    struct wire_model_entry entries[MODELS_PER_FRAME];
    struct wire_model_list_reply list = { .models = { .items = entries } };
    struct body *b = &r->body;

    for (; b->position < models->count && list.models.count < MODELS_PER_FRAME; b->position++) {
        const struct model *m = &models->items[b->position];

        entries[list.models.count++] = (struct wire_model_entry){
            .id = text_of(m->id), .state = m->state, .bytes = m->file_bytes,
            .context = m->instance ? instance_info(m->instance)->context : 0,
        };
    }
    head.flags = b->position == models->count ? FRAME_END : 0;
    check(wire_model_list_reply_encode(&list, head, out) == 0);
    return head.flags;
}

bool reply_body(struct request *r)
{
    struct conn *c = r->conn;
    size_t most = min_u64(c->max_frame, PIECE_BYTES), position = r->body.position;
    struct frame_header head = { .request = r->cookie };
    struct frame_out out = scratch(r->door);
    uint8_t flags = 0;

    switch (r->body.kind) {
    case BODY_TOKENS:
        flags = body_tokens(r, most, head, &out);
        break;
    case BODY_TEXT:
    case BODY_STATS:
        flags = body_text(r, most, head, &out);
        break;
    case BODY_MODELS:
        flags = body_models(r, head, &out);
        break;
    case BODY_INFO:
        flags = reply_info(r, head, &out);
        break;
    }
    if (out.size > conn_room(c) && c->outbox.bytes) {
        r->body.position = position;    /* when there is room */
        return false;
    }
    conn_put(c, out.data, out.size);
    if (flags & FRAME_END)
        request_end(r);
    return true;
}

/* --- SUBSCRIBE --- */

static void send_event(struct request *r, uint32_t event, uint32_t index)
{
    const struct model *m = &r->door->models.items[index];
    struct wire_event e = {
        .event = event, .state = m->state, .model = text_of(m->id), .bytes_done = m->report.bytes_done,
        .bytes_total = m->report.bytes_total, .time_ns = clock_now_ns(), .note = text_of(m->note),
    };

    reply_message(r->conn, &wire_event_message, &e, r->cookie, 0);
}

void reply_event(struct request *r, uint32_t event, uint32_t model)
{
    uint32_t *stale = event == WIRE_EVENT_KIND_LOAD ? &r->stale_loads : &r->stale_states;

    if (r->mask && !(r->mask & 1u << (event - 1)))
        return;
    *stale |= 1u << model;
    conn_touch(r->conn);
}

void reply_stale_events(struct request *r)
{
    for (uint32_t i = 0; i < r->door->models.count; i++) {
        if (conn_room(r->conn) < EVENT_BYTES && r->conn->outbox.bytes)
            return;                     /* the newest of each kind when there is room */
        if (r->stale_states & 1u << i)
            send_event(r, WIRE_EVENT_KIND_STATE, i);
        else if (r->stale_loads & 1u << i)
            send_event(r, WIRE_EVENT_KIND_LOAD, i);
        r->stale_states &= ~(1u << i);
        r->stale_loads &= ~(1u << i);
    }
}
