/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the engine's own files know of an instance. */

#include "src/engine/kv_pool.h"
#include "src/engine/sampler.h"
#include "src/graph/graph.h"

struct sequence;

struct instance {
    struct instance_info info;
    char *id;
    struct model *model;
    struct plan *plan;
    struct weights *weights;
    struct kv *kv;
    struct kv_pool pool;
    struct graph *graph;
    struct kernel_ops ops;
    struct sampler sampler;
    uint32_t chunk;                     /* prompt tokens in a step, as the scratch memory allows */
    uint32_t max_tokens, max_rows;      /* of the graph */
    /* arrays of a batch, [max_tokens] */
    uint32_t *ids, *positions, *rows;
    const uint32_t **tables;
    /* sequences of this instance, in order of arrival; the engine's */
    struct sequence *first;
    uint32_t seated;                    /* of them, those in a step; at most info.sequences */
};

/* What is told of an instance (describe.c): of the file when it is open, of the memory when it is loaded. */
void instance_describe_model(struct instance *instance, const struct instance_config *config);
void instance_describe_load(struct instance *instance, const struct workers *workers);
/* Adds to info.note what is not in it yet. */
void instance_note(struct instance *instance, const char *note);
