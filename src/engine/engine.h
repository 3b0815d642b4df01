/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The engine: running sequences, one forward pass after another, tokens out.
 *
 * One thread owns an engine (worker 0 of its pool); every function here is called on it.  Other threads talk
 * to it through mailboxes (src/serve).  All is allocated at admission, but for the held-back text of an answer, which
 * may grow while tokens flow.
 */

#include "src/engine/instance.h"
#include "src/engine/sampling.h"

#define ENGINE_STOPS_MAX 16
#define ENGINE_STOP_BYTES_MAX 256
#define ENGINE_STOP_IDS_MAX 64
#define ENGINE_LOGPROBS_MAX 20

enum engine_reason { ENGINE_STOP, ENGINE_LENGTH, ENGINE_EOS, ENGINE_CANCELLED, ENGINE_DEADLINE, ENGINE_FAILED };

struct engine_stop { const uint8_t *text; uint32_t size; };

/* Borrowed by the engine from engine_submit() to the done event; the caller keeps it alive. */
struct engine_request {
    uint64_t key;                       /* the caller's, unique among live requests */
    struct instance *instance;
    const uint32_t *prompt;             /* token ids, BOS included where wanted; at least 1 */
    uint32_t prompt_count;
    uint32_t max_tokens;                /* 0 = up to the context */
    struct sampling sampling;
    uint32_t logprobs;                  /* alternatives per token, 0 .. ENGINE_LOGPROBS_MAX */
    bool want_logprob;                  /* of the chosen token itself */
    bool ignore_eos;
    struct engine_stop stops[ENGINE_STOPS_MAX];
    uint32_t stop_count;
    uint32_t stop_ids[ENGINE_STOP_IDS_MAX];
    uint32_t stop_id_count;
    uint64_t deadline_ns;               /* monotonic; 0 = none */
    uint64_t submitted_ns;
};

struct engine_started { uint32_t prompt_tokens, cached_tokens; uint64_t queue_ns, seed; };

struct engine_alternative { uint32_t id; float logprob; };

struct engine_token {
    uint32_t id;
    float logprob;                      /* of raw logits at temperature 1; 0 unless asked for */
    uint32_t text_offset;               /* in the answer; where the bytes released with this token begin */
    const uint8_t *text;                /* released bytes: whole UTF-8, clear of stop strings; may be empty */
    uint32_t text_size;
    const struct engine_alternative *alternatives;
    uint32_t alternative_count;
};

struct engine_done {
    enum engine_reason reason;
    const uint8_t *text;                /* bytes still held back, released now */
    uint32_t text_offset, text_size;
    uint32_t prompt_tokens, cached_tokens, generated_tokens;
    uint64_t queue_ns, prefill_ns, decode_ns;
    char failure[160];                  /* with ENGINE_FAILED */
};

/* Called on the engine's thread from engine_step() (or engine_cancel()); pointers live for the call. */
struct engine_events {
    void *arg;
    void (*started)(void *arg, uint64_t key, const struct engine_started *started);
    void (*token)(void *arg, uint64_t key, const struct engine_token *token);
    void (*done)(void *arg, uint64_t key, const struct engine_done *done);
};

struct engine_stats {
    uint64_t steps, prompt_tokens, generated_tokens, requests_done[ENGINE_FAILED + 1];
    uint64_t step_ns;
    uint32_t running, waiting, parked;
    uint32_t kv_blocks_used, kv_blocks_total;
};

struct engine;

must_check int engine_new(struct workers *workers, const struct engine_events *events, struct engine **ret_engine,
                          struct error *error);
struct engine *engine_free(struct engine *engine);

/*
 * Queues a request.  0; 1 when the queue is full (BUSY); -EINVAL, -E2BIG (prompt + 1 > context) with @error.
 * Events for it come from later steps, exactly one done event in the end.
 */
must_check int engine_submit(struct engine *engine, const struct engine_request *request, struct error *error);
/* The done event comes within one step.  Unknown keys are ignored. */
void engine_cancel(struct engine *engine, uint64_t key);
/*
 * A parked request (a slow reader) takes no part in steps, and its place goes to others.  Where they are short of KV
 * memory it gives its blocks too, and is computed again when it returns: the same bits, by another way.
 */
void engine_park(struct engine *engine, uint64_t key, bool parked);
/* One forward pass over what is ready.  Returns false when there was nothing to do. */
bool engine_step(struct engine *engine);
void engine_stats(const struct engine *engine, struct engine_stats *ret_stats);
