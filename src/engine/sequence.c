/* SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/sequence.h"

#include <stdlib.h>
#include <string.h>

#define SEQUENCE_MAGIC UINT64_C(0x71e5e0ce53c0de01)

static const struct {
    const char *name;
    uint32_t next;                      /* bits of the states that may follow */
} states[SEQUENCE_STATE_COUNT] = {
    [SEQUENCE_WAITING] = { "waiting", 1u << SEQUENCE_PREFILL | 1u << SEQUENCE_GONE },
    [SEQUENCE_PREFILL] = { "prefill", 1u << SEQUENCE_DECODE | 1u << SEQUENCE_GONE },
    [SEQUENCE_DECODE] = { "decode", 1u << SEQUENCE_PREFILL | 1u << SEQUENCE_GONE },
    [SEQUENCE_GONE] = { "gone", 0 },
};

const char *sequence_state_name(enum sequence_state state)
{
    return states[state].name;
}

void sequence_move(struct sequence *s, enum sequence_state to)
{
    check(s->magic == SEQUENCE_MAGIC);
    check(states[s->state].next & 1u << to);
    s->state = to;
}

/* Prompt and answer at their longest. */
static uint32_t capacity_of(const struct engine_request *request, uint32_t context)
{
    uint32_t room = context - request->prompt_count;

    return request->prompt_count + (request->max_tokens ? (uint32_t)min_u64(request->max_tokens, room) : room);
}

uint32_t sequence_blocks(const struct engine_request *request, uint32_t context)
{
    return kv_blocks_for(capacity_of(request, context));
}

int sequence_new(const struct engine_request *request, uint32_t context, struct kv_pool *pool, uint64_t seed,
                 struct sequence **ret_sequence)
{
    uint32_t blocks = sequence_blocks(request, context);
    struct sequence *s;

    if (kv_pool_reserve(pool, blocks))
        return 1;
    s = calloc(1, sizeof(*s));
    if (!s) {
        kv_pool_give(pool, NULL, 0, blocks);
        return -ENOMEM;
    }
    *s = (struct sequence){ .magic = SEQUENCE_MAGIC, .state = SEQUENCE_WAITING, .request = request,
                            .sampling = request->sampling, .count = request->prompt_count,
                            .capacity = capacity_of(request, context), .block_capacity = blocks };
    if (!request->sampling.seed_given)
        s->sampling.seed = seed;
    s->tokens = calloc(s->capacity + 1, sizeof(*s->tokens));
    s->blocks = calloc(s->block_capacity, sizeof(*s->blocks));
    if (!s->tokens || !s->blocks) {
        sequence_free(s, pool);
        return -ENOMEM;
    }
    memcpy(s->tokens, request->prompt, request->prompt_count * sizeof(*s->tokens));
    answer_init(&s->answer, request);
    *ret_sequence = s;
    return 0;
}

struct sequence *sequence_free(struct sequence *s, struct kv_pool *pool)
{
    if (!s)
        return NULL;
    check(s->magic == SEQUENCE_MAGIC);
    if (!s->evicted)
        kv_pool_give(pool, s->blocks, s->block_count, s->block_capacity - s->block_count);
    answer_deinit(&s->answer);
    free(s->tokens);
    free(s->blocks);
    s->magic = 0;
    free(s);
    return NULL;
}

void sequence_evict(struct sequence *s, struct kv_pool *pool)
{
    check(s->magic == SEQUENCE_MAGIC && !s->seated && !s->evicted);
    kv_pool_give(pool, s->blocks, s->block_count, s->block_capacity - s->block_count);
    s->block_count = 0;
    s->computed = 0;
    s->evicted = true;
    if (s->state == SEQUENCE_DECODE)
        sequence_move(s, SEQUENCE_PREFILL);     /* of all its tokens, the answer's so far included */
}

int sequence_restore(struct sequence *s, struct kv_pool *pool)
{
    check(s->magic == SEQUENCE_MAGIC && s->evicted);
    if (kv_pool_reserve(pool, s->block_capacity))
        return 1;
    s->evicted = false;
    return 0;
}

void sequence_grow(struct sequence *s, struct kv_pool *pool, uint32_t positions)
{
    uint32_t need = kv_blocks_for(positions);

    check(need <= s->block_capacity);
    while (s->block_count < need)
        s->blocks[s->block_count++] = kv_pool_take(pool);
}
