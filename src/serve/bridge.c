/* SPDX-License-Identifier: Apache-2.0 */
#include "src/serve/bridge.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/base/clock.h"

struct record_head { uint32_t kind, model; uint64_t key; };     /* body and text behind it */

#define RECORD_MAX (sizeof(struct record_head) + sizeof(struct bridge_refused) + sizeof(struct bridge_done) + \
                    ENGINE_LOGPROBS_MAX * sizeof(struct engine_alternative) + BRIDGE_TEXT_MAX)

int bridge_new(void (*wake)(void *arg), void *wake_arg, struct bridge **ret_bridge)
{
    struct bridge *b = calloc(1, sizeof(*b));

    if (!b)
        return -ENOMEM;
    b->wake = wake;
    b->wake_arg = wake_arg;
    b->record = malloc(RECORD_MAX);
    if (!b->record || mailbox_new(BRIDGE_COMMAND_BYTES, &b->commands) || mailbox_new(BRIDGE_EVENT_BYTES, &b->events)) {
        bridge_free(b);
        return -ENOMEM;
    }
    *ret_bridge = b;
    return 0;
}

struct bridge *bridge_free(struct bridge *b)
{
    if (!b)
        return NULL;
    mailbox_free(b->commands);
    mailbox_free(b->events);
    free(b->record);
    free(b);
    return NULL;
}

int bridge_command(struct bridge *b, const struct bridge_command *command)
{
    int r = mailbox_put(b->commands, command, sizeof(*command));

    if (r == 0)
        doze_wake(&b->doze);
    return r;
}

static uint32_t body_bytes(uint32_t kind)
{
    static const uint32_t sizes[] = {
        [BRIDGE_LOADING] = sizeof(struct loader_report), [BRIDGE_READY] = sizeof(struct bridge_ready),
        [BRIDGE_FAILED] = sizeof(struct error), [BRIDGE_STARTED] = sizeof(struct engine_started),
        [BRIDGE_TOKEN] = sizeof(struct bridge_token), [BRIDGE_DONE] = sizeof(struct bridge_done),
        [BRIDGE_REFUSED] = sizeof(struct bridge_refused), [BRIDGE_RETURN] = sizeof(struct job *),
        [BRIDGE_TEXT] = 0, [BRIDGE_STOPPED] = 0,
    };

    check(kind < ARRAY_LENGTH(sizes));
    return sizes[kind];
}

bool bridge_peek(struct bridge *b, struct bridge_event *ret_event)
{
    struct record_head head;
    struct cursor c;
    struct span s;

    if (!mailbox_peek(b->events, &s))
        return false;
    check(s.size >= sizeof(head));
    memcpy(&head, s.data, sizeof(head));
    c = cursor_of(s.data + sizeof(head), s.size - sizeof(head));
    *ret_event = (struct bridge_event){ .kind = head.kind, .model = head.model, .key = head.key };
    check(cursor_take(&c, body_bytes(head.kind), &ret_event->body));
    if (head.kind == BRIDGE_TOKEN) {
        struct bridge_token token;
        struct span alternatives;

        memcpy(&token, ret_event->body.data, sizeof(token));
        check(cursor_take(&c, token.alternative_count * sizeof(struct engine_alternative), &alternatives));
        ret_event->alternatives = (const struct engine_alternative *)(const void *)alternatives.data;
    }
    check(cursor_take(&c, cursor_left(&c), &ret_event->text));
    return true;
}

void bridge_drop(struct bridge *b)
{
    mailbox_drop(b->events);
}

bool bridge_take(struct bridge *b, struct bridge_command *ret_command)
{
    struct span s;

    if (!mailbox_peek(b->commands, &s))
        return false;
    check(s.size == sizeof(*ret_command));
    memcpy(ret_command, s.data, sizeof(*ret_command));
    mailbox_drop(b->commands);
    return true;
}

void bridge_sleep(struct bridge *b, uint64_t timeout_ns)
{
    uint32_t begun = doze_begin(&b->doze);

    if (mailbox_empty(b->commands))
        doze_sleep(&b->doze, begun, timeout_ns);
}

/* --- events --- */

static uint32_t begin_record(struct bridge *b, enum bridge_event_kind kind, uint32_t model, uint64_t key)
{
    struct record_head head = { .kind = kind, .model = model, .key = key };

    memcpy(b->record, &head, sizeof(head));
    return sizeof(head);
}

static uint32_t add(struct bridge *b, uint32_t at, const void *data, uint32_t size)
{
    check(size <= RECORD_MAX - at);
    if (size)
        memcpy(b->record + at, data, size);
    return at + size;
}

/* The door empties the mailbox whenever it wakes, so waiting for room is short, and rare. */
static void put(struct bridge *b, uint32_t size, bool may_drop)
{
    while (mailbox_put(b->events, b->record, size)) {
        if (may_drop)
            return;
        b->wake(b->wake_arg);
        nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
    }
    b->wake(b->wake_arg);
}

void bridge_emit(struct bridge *b, enum bridge_event_kind kind, uint32_t model, uint64_t key, const void *body,
                 uint32_t size)
{
    uint32_t at = begin_record(b, kind, model, key);

    check(size == body_bytes(kind));
    put(b, add(b, at, body, size), kind == BRIDGE_LOADING);
}

/* Text beyond what one event holds. */
static void emit_rest(struct bridge *b, uint64_t key, const uint8_t *text, uint32_t size)
{
    while (size) {
        uint32_t n = (uint32_t)min_u64(size, BRIDGE_TEXT_MAX);
        uint32_t at = begin_record(b, BRIDGE_TEXT, 0, key);

        put(b, add(b, at, text, n), false);
        text += n;
        size -= n;
    }
}

void bridge_emit_token(struct bridge *b, uint64_t key, const struct engine_token *token)
{
    uint32_t n = (uint32_t)min_u64(token->text_size, BRIDGE_TEXT_MAX), at = begin_record(b, BRIDGE_TOKEN, 0, key);
    struct bridge_token t = { .id = token->id, .logprob = token->logprob, .text_offset = token->text_offset,
                              .text_size = token->text_size, .alternative_count = token->alternative_count };

    check(token->alternative_count <= ENGINE_LOGPROBS_MAX);
    at = add(b, at, &t, sizeof(t));
    at = add(b, at, token->alternatives, token->alternative_count * (uint32_t)sizeof(struct engine_alternative));
    put(b, add(b, at, token->text, n), false);
    if (token->text_size > n)
        emit_rest(b, key, token->text + n, token->text_size - n);
}

void bridge_emit_done(struct bridge *b, uint64_t key, const struct engine_done *done)
{
    struct bridge_done d = {
        .reason = done->reason, .text_offset = done->text_offset, .text_size = done->text_size,
        .prompt_tokens = done->prompt_tokens, .cached_tokens = done->cached_tokens,
        .generated_tokens = done->generated_tokens, .queue_ns = done->queue_ns, .prefill_ns = done->prefill_ns,
        .decode_ns = done->decode_ns,
    };
    const uint8_t *text = done->text;
    uint32_t size = done->text_size, at;

    memcpy(d.failure, done->failure, sizeof(d.failure));
    d.failure[sizeof(d.failure) - 1] = '\0';
    if (size > BRIDGE_TEXT_MAX) {       /* DONE comes last: what does not fit goes before it */
        uint32_t before = size - BRIDGE_TEXT_MAX;

        emit_rest(b, key, text, before);
        text += before;
        size -= before;
        d.text_offset += before;
        d.text_size = size;
    }
    at = begin_record(b, BRIDGE_DONE, 0, key);
    at = add(b, at, &d, sizeof(d));
    put(b, add(b, at, text, size), false);
}
