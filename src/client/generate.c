/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that stream: submit, events, cancel, credits. */
#include <stdlib.h>
#include <string.h>

#include "src/client/prompt.h"

_Static_assert(TENON_STOP == (int)WIRE_REASON_STOP && TENON_DEADLINE == (int)WIRE_REASON_DEADLINE,
               "reasons are the wire's");
_Static_assert(sizeof(struct tenon_bias) == sizeof(struct wire_bias), "biases are passed on as they are");

static struct span text_of(const char *text)
{
    return text ? span_of(text, strlen(text)) : span_of("", 0);
}

/* Everything but the prompt.  @stops has room for WIRE_LIMIT_STOP_STRINGS. */
static int fill_request(struct wire_generate *w, const struct tenon_request *q, struct span *stops,
                        struct tenon_error *error)
{
    if (q->stop_count > WIRE_LIMIT_STOP_STRINGS || q->stop_id_count > WIRE_LIMIT_STOP_IDS ||
        q->bias_count > WIRE_LIMIT_LOGIT_BIAS)
        return tenon_error_set(error, TENON_E_LIMIT, "%zu stops, %zu stop ids, %zu biases; at most %u, %u, %u",
                               q->stop_count, q->stop_id_count, q->bias_count, WIRE_LIMIT_STOP_STRINGS,
                               WIRE_LIMIT_STOP_IDS, WIRE_LIMIT_LOGIT_BIAS);
    for (size_t i = 0; i < q->stop_count; i++)
        stops[i] = text_of(q->stops[i]);
    *w = (struct wire_generate){
        .model = text_of(q->model), .max_tokens = q->max_tokens, .temperature = q->temperature, .top_p = q->top_p,
        .min_p = q->min_p, .typical_p = q->typical_p, .repeat_penalty = q->repeat_penalty,
        .presence_penalty = q->presence_penalty, .frequency_penalty = q->frequency_penalty,
        .repeat_last_n = q->repeat_last_n, .top_k = q->top_k, .seed = q->seed_given ? q->seed : 0,
        .n_logprobs = q->logprobs, .credits = q->credits, .deadline_ms = q->deadline_ms,
        .flags = (q->seed_given ? WIRE_FLAG_GENERATE_SEED : 0u) | (q->ignore_eos ? WIRE_FLAG_GENERATE_IGNORE_EOS : 0u) |
                 (q->want_logprob ? WIRE_FLAG_GENERATE_LOGPROB : 0u) | (q->no_bos ? WIRE_FLAG_GENERATE_NO_BOS : 0u),
        .present = (q->stop_count ? WIRE_GENERATE_HAS_STOP_STRINGS : 0u) |
                   (q->stop_id_count ? WIRE_GENERATE_HAS_STOP_IDS : 0u) |
                   (q->bias_count ? WIRE_GENERATE_HAS_LOGIT_BIAS : 0u) | (q->grammar ? WIRE_GENERATE_HAS_GRAMMAR : 0u),
        .stop_strings = { .count = (uint32_t)q->stop_count, .items = stops },
        .stop_ids = { .count = (uint32_t)q->stop_id_count, .items = q->stop_ids },
        .logit_bias = { .count = (uint32_t)q->bias_count, .items = q->biases },
        .grammar = text_of(q->grammar),
    };
    return 0;
}

static int room_in_flight(struct tenon *tenon, struct tenon_error *error)
{
    size_t room = tenon->flight_room ? tenon->flight_room * 2 : 16;
    uint64_t *flight;

    if (tenon->flight_count < tenon->flight_room)
        return 0;
    flight = realloc(tenon->flight, room * sizeof(flight[0]));
    if (!flight)
        return tenon_error_set(error, TENON_E_SYSTEM, "no memory for one request more");
    tenon->flight = flight;
    tenon->flight_room = room;
    return 0;
}

int tenon_submit(struct tenon *tenon, const struct tenon_request *request, uint64_t *ret_request,
                 struct tenon_error *error)
{
    struct span stops[WIRE_LIMIT_STOP_STRINGS];
    struct prompt prompt = PROMPT_NULL;
    struct wire_generate w;
    uint64_t cookie = tenon->next_cookie;
    int r = room_in_flight(tenon, error);

    if (r == 0)
        r = fill_request(&w, request, stops, error);
    if (r == 0)
        r = prompt_init(&prompt, tenon, request->segments, request->segment_count, error);
    if (r == 0) {
        w.segments = prompt.list;
        r = connection_send_message(tenon, &wire_generate_message, &w, cookie, prompt.fds, prompt.fd_count, error);
    }
    prompt_deinit(&prompt);
    if (r)
        return r;
    tenon->next_cookie++;
    tenon->flight[tenon->flight_count++] = cookie;
    *ret_request = cookie;
    return 0;
}

static bool in_flight(const struct tenon *tenon, uint64_t request)
{
    for (size_t i = 0; i < tenon->flight_count; i++)
        if (tenon->flight[i] == request)
            return true;
    return false;
}

static void landed(struct tenon *tenon, uint64_t request)
{
    for (size_t i = 0; i < tenon->flight_count; i++)
        if (tenon->flight[i] == request) {
            tenon->flight[i] = tenon->flight[--tenon->flight_count];
            return;
        }
}

/* ---- events ---- */

static int started_event(struct tenon *tenon, struct span payload, struct tenon_event *event,
                         struct tenon_error *error)
{
    struct wire_started s;
    int r = connection_decode(tenon, &wire_started_message, payload, &s, error);

    if (r)
        return r;
    event->kind = TENON_STARTED;
    event->prompt_tokens = s.prompt_tokens;
    event->cached_tokens = s.cached_tokens;
    event->queue_ns = s.queue_ns;
    event->seed = s.seed;
    return 0;
}

/* Deals text and alternatives of a frame out to its tokens: they must come out even, unless there are no tokens. */
static bool deal(struct tenon *tenon, const struct wire_tokens *w)
{
    uint32_t alternative = 0;
    size_t at = 0;

    for (uint32_t i = 0; i < w->tokens.count; i++) {
        struct wire_token t = wire_token_at(&w->tokens, i);
        struct tenon_token *out = &tenon->tokens[i];

        if (t.text_length > w->text.size - at || t.alternatives > w->alternatives.count - alternative)
            return false;
        *out = (struct tenon_token){
            .id = t.id, .logprob = t.logprob,
            .text = (const char *)w->text.data + at, .text_size = t.text_length,
            .alternatives = tenon->alternatives + alternative, .alternative_count = t.alternatives,
        };
        at += t.text_length;
        alternative += t.alternatives;
    }
    return (at == w->text.size || !w->tokens.count) && alternative == w->alternatives.count;
}

static int tokens_event(struct tenon *tenon, struct span payload, struct tenon_event *event,
                        struct tenon_error *error)
{
    struct wire_tokens w;
    int r = connection_decode(tenon, &wire_tokens_message, payload, &w, error);

    if (r)
        return r;
    free(tenon->tokens);
    free(tenon->alternatives);
    tenon->tokens = calloc((size_t)w.tokens.count + 1, sizeof(tenon->tokens[0]));
    tenon->alternatives = calloc((size_t)w.alternatives.count + 1, sizeof(tenon->alternatives[0]));
    if (!tenon->tokens || !tenon->alternatives)
        return connection_break(tenon, error, TENON_E_SYSTEM, "no memory for %u tokens", w.tokens.count);
    for (uint32_t i = 0; i < w.alternatives.count; i++) {
        struct wire_logprob a = wire_logprob_at(&w.alternatives, i);

        tenon->alternatives[i] = (struct tenon_alternative){ a.id, a.logprob };
    }
    if (!deal(tenon, &w))
        return connection_break(tenon, error, TENON_E_PROTOCOL, "the server sent tokens without their text");
    event->kind = TENON_TOKENS;
    event->text = (const char *)w.text.data;
    event->text_size = w.text.size;
    event->tokens = tenon->tokens;
    event->token_count = w.tokens.count;
    return 0;
}

static int done_event(struct tenon *tenon, struct span payload, struct tenon_event *event, struct tenon_error *error)
{
    struct wire_done d;
    int r = connection_decode(tenon, &wire_done_message, payload, &d, error);

    if (r)
        return r;
    event->kind = TENON_DONE;
    event->reason = d.reason;
    event->text = (const char *)d.text.data;
    event->text_size = d.text.size;
    event->prompt_tokens = d.prompt_tokens;
    event->cached_tokens = d.cached_tokens;
    event->generated_tokens = d.generated_tokens;
    event->queue_ns = d.queue_ns;
    event->prefill_ns = d.prefill_ns;
    event->decode_ns = d.decode_ns;
    return 0;
}

static int event_of(struct tenon *tenon, const struct frame *frame, struct tenon_event *event,
                    struct tenon_error *error)
{
    struct span payload = frame_payload(frame);
    const struct wire_message *m = wire_message_find(&frame->header, payload);
    bool end = frame->header.flags & FRAME_END;

    event->text = "";
    if (m == &wire_error_message) {
        event->kind = TENON_ERROR;
        connection_error(tenon, payload, &event->error);
        return tenon->broken ? tenon_error_set(error, TENON_E_PROTOCOL, "%s", event->error.message) : 0;
    }
    if (m == &wire_done_message && end)
        return done_event(tenon, payload, event, error);
    if (m == &wire_started_message && !end)
        return started_event(tenon, payload, event, error);
    if (m == &wire_tokens_message && !end)
        return tokens_event(tenon, payload, event, error);
    return connection_break(tenon, error, TENON_E_PROTOCOL, "the server answered GENERATE with type 0x%04x, flags %u",
                            frame->header.type, frame->header.flags);
}

static bool is_wanted(const struct tenon *tenon, uint64_t cookie, uint64_t request)
{
    return cookie ? cookie == request : in_flight(tenon, request);
}

int tenon_next(struct tenon *tenon, uint64_t request, int timeout_ms, struct tenon_event *ret_event,
               struct tenon_error *error)
{
    struct tenon_event event = { .request = 0 };
    struct frame *frame;
    int r;

    if (request ? !in_flight(tenon, request) : tenon->flight_count == 0)
        return tenon_error_set(error, TENON_E_ARGUMENT, "no such request is in flight");
    r = connection_next(tenon, is_wanted, request, connection_deadline(timeout_ms), &frame, error);
    if (r)
        return r;
    free(tenon->held);
    tenon->held = frame;                /* the event's texts lie in it */
    event.request = frame->header.request;
    r = event_of(tenon, frame, &event, error);
    if (r)
        return r;
    if (frame->header.flags & FRAME_END)
        landed(tenon, event.request);
    *ret_event = event;
    return 0;
}

int tenon_cancel(struct tenon *tenon, uint64_t request, struct tenon_error *error)
{
    if (!in_flight(tenon, request))
        return 0;                       /* it has ended: nothing to cancel */
    return connection_send_message(tenon, &wire_cancel_message, &(struct wire_cancel){ 0 }, request, NULL, 0, error);
}

int tenon_grant(struct tenon *tenon, uint64_t request, uint32_t credits, struct tenon_error *error)
{
    if (!in_flight(tenon, request))
        return 0;
    return connection_send_message(tenon, &wire_grant_message, &(struct wire_grant){ .credits = credits }, request,
                                   NULL, 0, error);
}

int tenon_generate(struct tenon *tenon, const struct tenon_request *request, tenon_on_event *on_event, void *arg,
                   struct tenon_event *ret_done, struct tenon_error *error)
{
    struct tenon_event event;
    uint64_t id;
    bool cancelled = false;
    int r = tenon_submit(tenon, request, &id, error);

    if (r)
        return r;
    do {
        r = tenon_next(tenon, id, -1, &event, error);
        if (r)
            return r;
        if (on_event && !on_event(arg, &event) && !cancelled) {
            cancelled = true;
            r = tenon_cancel(tenon, id, error);
            if (r)
                return r;
        }
    } while (event.kind != TENON_DONE && event.kind != TENON_ERROR);
    if (event.kind == TENON_ERROR) {
        if (error)
            *error = event.error;
        return event.error.code;
    }
    if (ret_done) {
        *ret_done = event;
        ret_done->text = "";
        ret_done->text_size = 0;
    }
    return 0;
}
