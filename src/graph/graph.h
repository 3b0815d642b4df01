/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One forward pass over a batch of tokens, in phases over the workers.
 *
 * The graph of an architecture is a static list of phases, built once.  Bits do not depend on how many tokens are in
 * the batch, how many workers compute, where weights lie, or who takes which task (NUMERICS.md). graph_step() is called
 * on worker 0 of the pool; everything else in here is read-only between steps.
 */

#include "src/graph/kv.h"
#include "src/model/weights.h"

#define GRAPH_NO_LOGITS UINT32_MAX

/* Inputs of matmuls (NUMERICS.md section 2): what an activation profile names. */
enum act_input { ACT_QKV, ACT_ATTN_OUTPUT, ACT_GATE_UP, ACT_FFN_DOWN, ACT_OUTPUT, ACT_INPUT_COUNT };
#define ACT_ALL_WIDE ((1u << ACT_INPUT_COUNT) - 1)

struct graph_config {
    const struct model *model;
    const struct weights *weights;
    const struct plan *plan;
    const struct kv *kv;
    struct workers *workers;
    const struct kernel_ops *ops;
    uint32_t wide_mask;                 /* inputs in the int16 profile */
    enum arena_policy memory;           /* of the scratch memory */
    uint32_t max_tokens;                /* in a step */
    uint32_t max_rows;                  /* of logits that are held at once */
    uint32_t max_context;               /* positions of one sequence */
};

struct graph_batch {
    uint32_t tokens;                    /* 1 .. max_tokens */
    const uint32_t *ids;                /* [tokens], below n_vocab */
    const uint32_t *positions;          /* [tokens] */
    const uint32_t *const *blocks;      /* [tokens]: block table of the token's sequence, up to its position */
    const uint32_t *rows;               /* [tokens]: logits row, dense from 0, or GRAPH_NO_LOGITS */
    uint32_t row_count;                 /* 0 .. tokens */
};

struct graph;

/* Bytes of scratch that such a graph takes, for the plan. */
uint64_t graph_scratch_bytes(const struct model *model, uint32_t wide_mask, uint32_t max_tokens, uint32_t max_rows,
                             uint32_t workers);
must_check int graph_new(const struct graph_config *config, struct graph **ret_graph, struct error *error);
struct graph *graph_free(struct graph *graph);

/* Afterwards logits of rows 0 .. min(row_count, max_rows) - 1 are held. */
void graph_step(struct graph *graph, const struct graph_batch *batch);
/* Computes the logits of rows first .. of the last step in place of those held. */
void graph_head(struct graph *graph, uint32_t first);
bool graph_holds(const struct graph *graph, uint32_t row);
/* f32 [n_vocab] of a row that is held. */
const float *graph_logits(const struct graph *graph, uint32_t row);
/*
 * Where worker 0's time goes, for a bench: in the tasks of each kind of phase, and until the other workers arrived.
 * Nanoseconds are added to times[0] by steps of few tokens, to times[1] by those of many, from now on; NULL, as at the
 * start: no clock is read.
 */
#define GRAPH_PHASE_KINDS 9u
struct graph_times { uint64_t steps, run_ns[GRAPH_PHASE_KINDS], wait_ns[GRAPH_PHASE_KINDS]; };
void graph_time(struct graph *graph, struct graph_times times[2]);
/* "qkv", "attend", ... of @kind below GRAPH_PHASE_KINDS. */
const char *graph_phase_name(uint32_t kind);
/* The scratch memory, to be told of. */
const struct arena *graph_arena(const struct graph *graph);
/* Whether something of this token's was not finite: its sequence has failed, others have not. */
bool graph_failed(const struct graph *graph, uint32_t token);

/* The phases and what is fused into each, for `tenon inspect --graph`. */
void graph_print(const struct model *model, struct buffer *out);
