/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that ask and wait: ping, tokenize, detokenize, statistics, raw frames. */
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/client/prompt.h"

#define ANSWER_BYTES_MAX (256u << 20)   /* more than this is no answer to a prompt of 64 MiB */

/* NULL is the empty name: the only model there is. */
static struct span name_of(const char *model)
{
    return model ? span_of(model, strlen(model)) : span_of("", 0);
}

static int full(struct tenon *tenon, struct tenon_error *error)
{
    return connection_break(tenon, error, TENON_E_SYSTEM, "no memory for the answer, or one of more than %u MiB",
                            ANSWER_BYTES_MAX >> 20);
}

struct ping_result { uint64_t opaque; bool seen; };

static int on_pong(void *arg, struct tenon *tenon, struct span payload, struct tenon_error *error)
{
    struct ping_result *p = arg;
    struct wire_pong pong;
    int r = connection_decode(tenon, &wire_pong_message, payload, &pong, error);

    if (r == 0 && pong.opaque != p->opaque)
        return connection_break(tenon, error, TENON_E_PROTOCOL, "the server answered another PING");
    return r;
}

int tenon_ping(struct tenon *tenon, uint64_t *ret_round_trip_ns, struct tenon_error *error)
{
    struct ping_result p = { .opaque = clock_now_ns() };
    struct wire_ping ping = { .opaque = p.opaque };
    int r = connection_call(tenon, &wire_ping_message, &ping, NULL, 0, on_pong, &p, error);

    if (r == 0 && ret_round_trip_ns)
        *ret_round_trip_ns = clock_now_ns() - p.opaque;
    return r;
}

/* ---- tokens ---- */

struct tokens_result {
    struct tenon_tokens public;
    struct buffer ids, offsets;
};

static int on_tokens(void *arg, struct tenon *tenon, struct span payload, struct tenon_error *error)
{
    struct tokens_result *t = arg;
    struct wire_tokenize_reply reply;
    int r = connection_decode(tenon, &wire_tokenize_reply_message, payload, &reply, error);

    if (r)
        return r;
    if (reply.first != t->ids.size / 4)
        return connection_break(tenon, error, TENON_E_PROTOCOL, "the server left tokens out");
    for (uint32_t i = 0; i < reply.ids.count; i++) {
        buffer_put_u32(&t->ids, wire_u32_at(&reply.ids, i));
        buffer_put_u32(&t->offsets, wire_u32_at(&reply.offsets, i));
    }
    return buffer_ok(&t->ids) && buffer_ok(&t->offsets) ? 0 : full(tenon, error);
}

int tenon_tokenize(struct tenon *tenon, const char *model, const struct tenon_segment *segments, size_t count,
                   uint32_t flags, struct tenon_tokens **ret_tokens, struct tenon_error *error)
{
    struct tokens_result *t = calloc(1, sizeof(*t));
    struct wire_tokenize ask = { .model = name_of(model), .flags = flags & TENON_NO_BOS ? WIRE_FLAG_PROMPT_NO_BOS : 0 };
    struct prompt prompt = PROMPT_NULL;
    int r;

    if (!t)
        return tenon_error_set(error, TENON_E_SYSTEM, "no memory for tokens");
    t->ids.limit = t->offsets.limit = ANSWER_BYTES_MAX;
    r = flags & ~(uint32_t)TENON_NO_BOS ? tenon_error_set(error, TENON_E_ARGUMENT, "flags %#x", flags)
                                        : prompt_init(&prompt, tenon, segments, count, error);
    if (r == 0) {
        ask.segments = prompt.list;
        r = connection_call(tenon, &wire_tokenize_message, &ask, prompt.fds, prompt.fd_count, on_tokens, t, error);
    }
    prompt_deinit(&prompt);
    t->public = (struct tenon_tokens){ t->ids.size / 4, (const uint32_t *)t->ids.data,
                                       (const uint32_t *)t->offsets.data };
    if (r)
        tenon_tokens_free(&t->public);
    else
        *ret_tokens = &t->public;
    return r;
}

struct tenon_tokens *tenon_tokens_free(struct tenon_tokens *tokens)
{
    struct tokens_result *t = (struct tokens_result *)tokens;

    if (t) {
        buffer_deinit(&t->ids);
        buffer_deinit(&t->offsets);
        free(t);
    }
    return NULL;
}

/* ---- texts ---- */

struct text_result {
    struct tenon_text public;
    struct buffer text;
};

static int finish_text(struct text_result *t, int r, struct tenon_text **ret_text, struct tenon_error *error)
{
    if (r == 0) {
        buffer_put_u8(&t->text, 0);
        if (!buffer_ok(&t->text))
            r = tenon_error_set(error, TENON_E_SYSTEM, "no memory for the text");
    }
    t->public = (struct tenon_text){ t->text.size ? t->text.size - 1 : 0, (const char *)t->text.data };
    if (r)
        tenon_text_free(&t->public);
    else
        *ret_text = &t->public;
    return r;
}

struct tenon_text *tenon_text_free(struct tenon_text *text)
{
    struct text_result *t = (struct text_result *)text;

    if (t) {
        buffer_deinit(&t->text);
        free(t);
    }
    return NULL;
}

static int on_text(void *arg, struct tenon *tenon, struct span payload, struct tenon_error *error)
{
    struct text_result *t = arg;
    struct wire_detokenize_reply reply;
    int r = connection_decode(tenon, &wire_detokenize_reply_message, payload, &reply, error);

    if (r)
        return r;
    buffer_put(&t->text, reply.text.data, reply.text.size);
    return buffer_ok(&t->text) ? 0 : full(tenon, error);
}

int tenon_detokenize(struct tenon *tenon, const char *model, const uint32_t *ids, size_t count, bool control,
                     struct tenon_text **ret_text, struct tenon_error *error)
{
    struct text_result *t = calloc(1, sizeof(*t));
    struct wire_detokenize ask = { .model = name_of(model), .flags = control ? WIRE_FLAG_DETOKENIZE_CONTROL : 0 };
    int r;

    if (!t)
        return tenon_error_set(error, TENON_E_SYSTEM, "no memory for a text");
    t->text.limit = ANSWER_BYTES_MAX;
    if (count > WIRE_LIMIT_FRAME_CLIENT / 4) {
        r = tenon_error_set(error, TENON_E_LIMIT, "%zu ids, at most %u", count, WIRE_LIMIT_FRAME_CLIENT / 4);
    } else {
        ask.ids = (struct wire_list){ .count = (uint32_t)count, .items = ids };
        r = connection_call(tenon, &wire_detokenize_message, &ask, NULL, 0, on_text, t, error);
    }
    return finish_text(t, r, ret_text, error);
}

/* ---- statistics ---- */

struct stats_result {
    struct tenon_stats public;
    struct buffer text;                 /* with PROMETHEUS */
    struct tenon_counter counters[WIRE_LIMIT_TLVS];
};

static int on_stats(void *arg, struct tenon *tenon, struct span payload, struct tenon_error *error)
{
    const struct wire_message *m = &wire_stats_reply_message;
    struct stats_result *s = arg;
    struct wire_stats_reply reply;
    int r = connection_decode(tenon, m, payload, &reply, error);

    if (r)
        return r;
    for (uint32_t i = 0; i < m->tlv_count; i++) {
        struct tenon_counter *c = &s->counters[s->public.count];

        if (!(reply.present >> i & 1) || s->public.count == ARRAY_LENGTH(s->counters))
            continue;
        c->name = m->tlvs[i].name;
        memcpy(&c->value, (const uint8_t *)&reply + m->tlvs[i].member, sizeof(c->value));
        s->public.count++;
    }
    buffer_put(&s->text, reply.text.data, reply.text.size);
    return buffer_ok(&s->text) ? 0 : full(tenon, error);
}

int tenon_stats(struct tenon *tenon, struct tenon_stats **ret_stats, struct tenon_error *error)
{
    struct stats_result *s = calloc(1, sizeof(*s));
    struct wire_stats ask = { .format = WIRE_STATS_FORMAT_COUNTERS };
    int r;

    if (!s)
        return tenon_error_set(error, TENON_E_SYSTEM, "no memory for statistics");
    s->public.items = s->counters;
    s->text.limit = ANSWER_BYTES_MAX;
    r = connection_call(tenon, &wire_stats_message, &ask, NULL, 0, on_stats, s, error);
    if (r)
        tenon_stats_free(&s->public);
    else
        *ret_stats = &s->public;
    return r;
}

struct tenon_stats *tenon_stats_free(struct tenon_stats *stats)
{
    struct stats_result *s = (struct stats_result *)stats;

    if (s) {
        buffer_deinit(&s->text);
        free(s);
    }
    return NULL;
}

static int on_metrics(void *arg, struct tenon *tenon, struct span payload, struct tenon_error *error)
{
    struct text_result *t = arg;
    struct wire_stats_reply reply;
    int r = connection_decode(tenon, &wire_stats_reply_message, payload, &reply, error);

    if (r)
        return r;
    buffer_put(&t->text, reply.text.data, reply.text.size);
    return buffer_ok(&t->text) ? 0 : full(tenon, error);
}

int tenon_metrics(struct tenon *tenon, struct tenon_text **ret_text, struct tenon_error *error)
{
    struct text_result *t = calloc(1, sizeof(*t));
    struct wire_stats ask = { .format = WIRE_STATS_FORMAT_PROMETHEUS };

    if (!t)
        return tenon_error_set(error, TENON_E_SYSTEM, "no memory for a text");
    t->text.limit = ANSWER_BYTES_MAX;
    return finish_text(t, connection_call(tenon, &wire_stats_message, &ask, NULL, 0, on_metrics, t, error), ret_text,
                       error);
}

/* ---- raw frames ---- */

int tenon_raw_send(struct tenon *tenon, const void *frame, size_t size, struct tenon_error *error)
{
    struct cursor c = cursor_of(frame, size);
    uint32_t length;
    uint64_t request;

    if (!cursor_u32(&c, &length) || !cursor_skip(&c, 4) || !cursor_u64(&c, &request) ||
        length != size - FRAME_HEADER_BYTES)
        return tenon_error_set(error, TENON_E_ARGUMENT, "%zu bytes are no frame: its length says otherwise", size);
    if (request >= RAW_COOKIE_END)
        return tenon_error_set(error, TENON_E_ARGUMENT, "cookie %llu of a raw frame must be below 2^32",
                               (unsigned long long)request);
    tenon->raw = true;
    return connection_send(tenon, frame, size, NULL, 0, error);
}

static bool is_raw(const struct tenon *tenon, uint64_t cookie, uint64_t request)
{
    (void)tenon, (void)cookie;
    return request < RAW_COOKIE_END;
}

int tenon_raw_next(struct tenon *tenon, int timeout_ms, const void **ret_frame, size_t *ret_size,
                   struct tenon_error *error)
{
    struct frame *frame;
    int r;

    tenon->raw = true;
    r = connection_next(tenon, is_raw, 0, connection_deadline(timeout_ms), &frame, error);
    if (r)
        return r;
    free(tenon->held);
    tenon->held = frame;
    *ret_frame = frame->bytes;
    *ret_size = FRAME_HEADER_BYTES + frame->header.length;
    return 0;
}
