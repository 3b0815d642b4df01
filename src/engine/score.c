/* SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/score.h"

#include <stdlib.h>

#include "src/engine/instance_internal.h"

struct run {
    struct instance *in;
    uint32_t *blocks;
    uint32_t block_count, block_capacity;
};

static int prepare(struct run *run, const uint32_t *ids, uint32_t count, struct error *error)
{
    struct instance *in = run->in;

    if (count == 0 || count > in->info.context)
        return error_set(error, -E2BIG, "%u tokens were given; 1 to %u (the context) can be scored", count,
                         in->info.context);
    for (uint32_t i = 0; i < count; i++)
        if (ids[i] >= in->info.vocab_size)
            return error_set(error, -EINVAL, "token id %u at position %u is not below the vocabulary's %u", ids[i], i,
                             in->info.vocab_size);
    run->block_capacity = kv_blocks_for(count);
    run->blocks = calloc(run->block_capacity, sizeof(*run->blocks));
    if (!run->blocks)
        return error_set(error, -ENOMEM, "no memory for the block table");
    if (kv_pool_reserve(&in->pool, run->block_capacity)) {
        run->block_capacity = 0;
        return error_set(error, -EBUSY, "the KV memory is taken by running requests; try again");
    }
    return 0;
}

static int tell(struct run *run, uint32_t first, uint32_t n, score_fn *fn, void *arg, struct error *error)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = run->in->rows[i];
        int r = 0;

        if (row != GRAPH_NO_LOGITS && !graph_holds(run->in->graph, row))
            graph_head(run->in->graph, row);
        if (graph_failed(run->in->graph, i))
            return error_set(error, -EDOM, "a value was not finite at position %u", first + i);
        if (row != GRAPH_NO_LOGITS)
            r = fn(arg, first + i, graph_logits(run->in->graph, row), run->in->info.vocab_size);
        if (r)
            return r;
    }
    return 0;
}

static int pass(struct run *run, const uint32_t *ids, uint32_t first, uint32_t n, uint32_t from, score_fn *fn,
                void *arg, struct error *error)
{
    struct instance *in = run->in;
    struct graph_batch b = { .tokens = n, .ids = ids + first, .positions = in->positions,
                             .blocks = (const uint32_t *const *)in->tables, .rows = in->rows };

    while (run->block_count < kv_blocks_for((uint64_t)first + n))
        run->blocks[run->block_count++] = kv_pool_take(&in->pool);
    for (uint32_t i = 0; i < n; i++) {
        in->positions[i] = first + i;
        in->tables[i] = run->blocks;
        in->rows[i] = first + i >= from ? b.row_count++ : GRAPH_NO_LOGITS;
    }
    graph_step(in->graph, &b);
    return tell(run, first, n, fn, arg, error);
}

int instance_score(struct instance *in, const uint32_t *ids, uint32_t count, uint32_t from, uint32_t chunk,
                   score_fn *fn, void *arg, struct error *error)
{
    struct run run = { .in = in };
    int r = prepare(&run, ids, count, error);

    if (chunk == 0 || chunk > in->chunk)
        chunk = in->chunk;
    for (uint32_t first = 0; r == 0 && first < count; first += chunk)
        r = pass(&run, ids, first, (uint32_t)min_u64(chunk, count - first), from, fn, arg, error);
    kv_pool_give(&in->pool, run.blocks, run.block_count, run.block_capacity - run.block_count);
    free(run.blocks);
    return r;
}

float instance_logprob(struct instance *in, const float *logits, uint32_t id)
{
    return sampler_logprob(&in->sampler, logits, in->info.vocab_size, id, NULL, 0);
}
