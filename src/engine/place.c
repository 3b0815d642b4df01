/* SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/place.h"

#include <stdlib.h>

#include "kernels/ops.h"
#include "src/graph/graph.h"

#define SEQUENCES_DEFAULT 8u
#define CHUNK_DEFAULT 512u
#define CHUNK_MIN 32u
#define SCRATCH_BYTES_MAX (UINT64_C(24) << 20)  /* part of the 32 MiB that are neither weights, KV nor staging */
#define LOGITS_BYTES_MAX (UINT64_C(8) << 20)

uint32_t place_sequences(const struct place_request *q) { return q->sequences ? q->sequences : SEQUENCES_DEFAULT; }

static uint64_t scratch_bytes(const struct place_request *q, const struct place_steps *s, uint32_t workers)
{
    return graph_scratch_bytes(q->model, q->wide_mask, s->chunk + place_sequences(q), s->rows, workers);
}

/* The largest chunk up to what was asked for whose scratch memory stays within the promise. */
static struct place_steps choose_steps(const struct place_request *q, uint32_t workers)
{
    uint64_t row_bytes = (uint64_t)q->model->matrices[q->model->head].groups * KERNEL_GROUP_ROWS * sizeof(float);
    struct place_steps s = { .chunk = q->prefill_chunk ? q->prefill_chunk : CHUNK_DEFAULT };

    s.rows = (uint32_t)max_u64(1, min_u64(place_sequences(q), LOGITS_BYTES_MAX / row_bytes));
    while (s.chunk > CHUNK_MIN && scratch_bytes(q, &s, workers) > SCRATCH_BYTES_MAX)
        s.chunk /= 2;
    return s;
}

static int make(const struct plan_request *r, struct plan **plan, struct error *error)
{
    *plan = plan_free(*plan);
    return plan_make(r, plan, error);
}

/* Scratch grows with the number of workers, which only a plan knows: it is planned without scratch first. */
int place_plan(const struct place_request *q, uint32_t kv_blocks, struct plan **plan, struct place_steps *ret_steps,
               struct error *error)
{
    struct plan_matrix *matrices = calloc(q->model->matrix_count, sizeof(*matrices));
    struct plan_request r = { .topology = q->topology, .host = q->host, .policy = q->policy, .threads = q->threads,
                              .matrices = matrices, .matrix_count = q->model->matrix_count,
                              .kv_bytes = kv_blocks * kv_bytes_per_block(&q->model->hparams, q->kv),
                              .kv_heads = q->model->hparams.n_kv_head };
    int code;

    if (!matrices)
        return error_set(error, -ENOMEM, "no memory for the plan");
    weights_plan_matrices(q->model, matrices);
    code = make(&r, plan, error);
    if (code == 0) {
        *ret_steps = choose_steps(q, (*plan)->worker_count);
        r.scratch_bytes = scratch_bytes(q, ret_steps, (*plan)->worker_count);
        code = make(&r, plan, error);
    }
    free(matrices);
    return code;
}
