/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One request while it runs: its tokens, its KV blocks, its text.  Engine thread only. */

#include "src/engine/answer.h"
#include "src/engine/kv_pool.h"

enum sequence_state { SEQUENCE_WAITING, SEQUENCE_PREFILL, SEQUENCE_DECODE, SEQUENCE_GONE, SEQUENCE_STATE_COUNT };

struct sequence {
    uint64_t magic;
    enum sequence_state state;
    const struct engine_request *request;   /* borrowed until the done event */
    struct sampling sampling;               /* with the seed that is used */
    uint32_t *tokens;                       /* [capacity] prompt, then what was generated */
    uint32_t count, capacity;               /* accepted tokens; the most there may be */
    uint32_t computed;                      /* tokens whose keys and values are in the cache */
    uint32_t *blocks;                       /* [block_capacity] */
    uint32_t block_count, block_capacity;
    struct answer answer;
    bool parked;                            /* takes no part until its reader catches up */
    bool seated;                            /* has one of the instance's places in a step */
    bool evicted;                           /* its blocks went to others: computed again when it returns */
    uint64_t ticket;                        /* when it began to want its seat: the order in which seats are given */
    uint32_t counted;                       /* tokens that were computed once: what is computed again is no prompt */
    uint32_t batch_first, batch_count;      /* its tokens in the step at hand */
    uint64_t started_ns, first_token_ns;
    struct sequence *next;                  /* in the instance's list, in order of arrival */
};

/* KV blocks that a request may ever need. */
uint32_t sequence_blocks(const struct engine_request *request, uint32_t context);
/* Allocates what the whole life of the sequence needs and reserves its blocks.  1: no room now; -ENOMEM. */
must_check int sequence_new(const struct engine_request *request, uint32_t context, struct kv_pool *pool, uint64_t seed,
                            struct sequence **ret_sequence);
struct sequence *sequence_free(struct sequence *sequence, struct kv_pool *pool);

/* The one place where states change; an illegal step is a program error. */
void sequence_move(struct sequence *sequence, enum sequence_state to);
const char *sequence_state_name(enum sequence_state state);

/* Gives all blocks back; what was computed is lost and what was accepted is kept.  For one that has no seat. */
void sequence_evict(struct sequence *sequence, struct kv_pool *pool);
/* Reserves them again.  1: no room now. */
must_check int sequence_restore(struct sequence *sequence, struct kv_pool *pool);

/* Makes sure that the blocks for positions below @positions are there. */
void sequence_grow(struct sequence *sequence, struct kv_pool *pool, uint32_t positions);

static inline uint32_t sequence_generated(const struct sequence *s) { return s->count - s->request->prompt_count; }
