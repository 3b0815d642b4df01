/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The weights of a model in memory: placed by a plan, read once, packed by the workers that will use them.
 *
 * weights_load() runs on worker 0 of the pool.  While it runs, the loader's thread keeps reads in flight and every
 * worker packs what belongs to its node.  Afterwards everything is read-only and any thread may read it.
 */

#include "io/loader.h"
#include "numa/arena.h"
#include "numa/worker.h"
#include "src/model/model.h"

struct weights {
    const struct model *model;          /* borrowed */
    const struct plan *plan;            /* borrowed */
    struct arena **arenas;              /* [plan->node_count]; NULL where a node holds nothing */
    float *vectors;                     /* the f32 pool of model->vectors, 64-byte aligned */
    uint64_t checksum;                  /* of packed groups and vectors; does not depend on the plan */
    struct loader_report report;        /* as the load ended */
};

struct weights_config {
    enum io_kind io;
    enum arena_policy memory;
    bool allow_1g;
    const struct source_ops *source;    /* NULL = the real ones; tests give fakes */
    void *source_arg;
    void (*progress)(void *arg, const struct loader_report *report);
    void *progress_arg;
};

/* The part of a plan request that the model decides: ret_matrices[model->matrix_count]. */
void weights_plan_matrices(const struct model *model, struct plan_matrix *ret_matrices);

must_check int weights_load(const struct model *model, const struct plan *plan, struct workers *workers,
                            const struct weights_config *config, struct weights **ret_weights, struct error *error);
struct weights *weights_free(struct weights *weights);

/* Packed group @group of a matrix as @node reads it: its own copy, or the shard on the node that has it. */
const uint8_t *weights_group(const struct weights *weights, uint32_t matrix, uint32_t group, uint32_t node);

/* The values of a vector; NULL for MODEL_NONE. */
static inline const float *weights_vector(const struct weights *w, uint32_t vector)
{
    return vector == MODEL_NONE ? NULL : w->vectors + w->model->vectors[vector].first;
}
