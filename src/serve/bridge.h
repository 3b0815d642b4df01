/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Between the door and the engine's thread: a mailbox each way, and gauges.  No lock and no allocation.
 *
 * The door never blocks: bridge_command() says when there is no room and the door tries again.  The engine's thread
 * may: an event that finds no room waits until the door has read (it reads all, whenever it wakes).
 */

#include <stdatomic.h>

#include "numa/mailbox.h"
#include "src/serve/job.h"

#define BRIDGE_COMMAND_BYTES (64u << 10)
#define BRIDGE_EVENT_BYTES (128u << 10) /* also what tokens may overshoot by before the engine sees a park */
#define BRIDGE_TEXT_MAX 32768u          /* text in one event; more follows in BRIDGE_TEXT */

enum bridge_command_kind {
    BRIDGE_SUBMIT,                      /* job: now the engine's */
    BRIDGE_CANCEL,                      /* key */
    BRIDGE_PARK,                        /* key; value 1 = park, 0 = go on: a slow reader */
    BRIDGE_GRANT,                       /* key; value more credits */
    BRIDGE_STOP,                        /* cancel all, free the engine and the models, end the thread */
};

struct bridge_command {
    uint32_t kind, value;
    uint64_t key;
    struct job *job;
};

enum bridge_event_kind {
    BRIDGE_LOADING,                     /* model: body struct loader_report; may be left out when the door is busy */
    BRIDGE_READY,                       /* model: body struct bridge_ready; the instance is shared from here on */
    BRIDGE_FAILED,                      /* model: body struct error; the thread has ended */
    BRIDGE_STARTED,                     /* key: body struct engine_started */
    BRIDGE_TOKEN,                       /* key: body struct bridge_token, alternatives, text */
    BRIDGE_TEXT,                        /* key: text that continues the last token's */
    BRIDGE_DONE,                        /* key: body struct bridge_done, text */
    BRIDGE_REFUSED,                     /* key: body struct bridge_refused; instead of all others */
    BRIDGE_RETURN,                      /* key: body struct job *; after BRIDGE_DONE or BRIDGE_REFUSED, the last */
    BRIDGE_STOPPED,                     /* the thread has ended */
};

struct bridge_ready {
    const struct instance *instance;
    uint32_t longest_token;             /* bytes one token stands for at most; 0 where text may vanish in tokenising */
    uint32_t reserved;
};
struct bridge_token { uint32_t id; float logprob; uint32_t text_offset, text_size, alternative_count, reserved; };
struct bridge_refused { int32_t code; char text[ERROR_TEXT_MAX]; };     /* code: 1 = the queue is full, or -errno */

struct bridge_done {
    uint32_t reason;                    /* enum engine_reason */
    uint32_t text_offset, text_size;
    uint32_t prompt_tokens, cached_tokens, generated_tokens;
    uint64_t queue_ns, prefill_ns, decode_ns;
    char failure[160];
};

struct bridge_event {                   /* as the door reads it: spans into the mailbox, until bridge_drop() */
    uint32_t kind, model;
    uint64_t key;
    struct span body;                   /* at least as long as the kind's struct */
    struct span text;                   /* TOKEN, TEXT, DONE */
    const struct engine_alternative *alternatives;  /* TOKEN */
};

/* What the engine's thread tells of itself, for metrics and the watchdog.  Relaxed: each is right, not all at once. */
enum bridge_gauge {
    BRIDGE_BEAT,                        /* grows while the thread is alive and gets on */
    BRIDGE_STEPS, BRIDGE_STEP_NS, BRIDGE_PROMPT_TOKENS, BRIDGE_GENERATED_TOKENS,
    BRIDGE_RUNNING, BRIDGE_WAITING, BRIDGE_PARKED, BRIDGE_KV_USED, BRIDGE_KV_TOTAL, BRIDGE_BUSY_NS, BRIDGE_WORKERS,
    BRIDGE_GAUGE_COUNT,
};

struct bridge {
    struct mailbox *commands, *events;
    struct doze doze;                   /* where the engine's thread sleeps */
    void (*wake)(void *arg);            /* wakes the door; costs a system call only when it sleeps */
    void *wake_arg;
    uint8_t *record;                    /* engine's side: an event being built */
    _Atomic uint64_t gauges[BRIDGE_GAUGE_COUNT];
};

must_check int bridge_new(void (*wake)(void *arg), void *wake_arg, struct bridge **ret_bridge);  /* 0 or -ENOMEM */
struct bridge *bridge_free(struct bridge *bridge);

/* --- the door's side --- */

/* 0, or 1: no room now. */
must_check int bridge_command(struct bridge *bridge, const struct bridge_command *command);
/* Wakes the engine's thread for nothing, so that BRIDGE_BEAT grows if it is alive. */
static inline void bridge_nudge(struct bridge *bridge) { doze_wake(&bridge->doze); }
/* The oldest event, or false. */
bool bridge_peek(struct bridge *bridge, struct bridge_event *ret_event);
void bridge_drop(struct bridge *bridge);
static inline uint64_t bridge_gauge(struct bridge *bridge, enum bridge_gauge gauge)
{
    return atomic_load_explicit(&bridge->gauges[gauge], memory_order_relaxed);
}

/* --- the engine's side --- */

bool bridge_take(struct bridge *bridge, struct bridge_command *ret_command);
/* Sleeps until a command comes, at most @timeout_ns (UINT64_MAX = no limit). */
void bridge_sleep(struct bridge *bridge, uint64_t timeout_ns);
static inline void bridge_set(struct bridge *bridge, enum bridge_gauge gauge, uint64_t value)
{
    atomic_store_explicit(&bridge->gauges[gauge], value, memory_order_relaxed);
}

/* Events without text; waits for room, unless the kind is BRIDGE_LOADING. */
void bridge_emit(struct bridge *bridge, enum bridge_event_kind kind, uint32_t model, uint64_t key, const void *body,
                 uint32_t size);
void bridge_emit_token(struct bridge *bridge, uint64_t key, const struct engine_token *token);
void bridge_emit_done(struct bridge *bridge, uint64_t key, const struct engine_done *done);
