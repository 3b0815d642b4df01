/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The plan of a model: its matrices, KV memory and scratch over the nodes, and the shape of a step.
 * Pure: `tenon plan` draws what the engine will do.
 */

#include "numa/plan.h"
#include "src/model/model.h"

struct place_request {
    const struct model *model;
    const struct topology *topology, *host;
    enum plan_policy policy;
    uint32_t threads;                   /* 0 = as the plan says */
    uint32_t wide_mask;                 /* activation profile */
    enum kv_format kv;
    uint32_t prefill_chunk;             /* tokens of prompts per step; 0 = 512 */
    uint32_t sequences;                 /* that may run at once; 0 = 8 */
};

/* Tokens of prompts and rows of logits in a step: what was asked for, or less where scratch would pass its bound. */
struct place_steps { uint32_t chunk, rows; };

uint32_t place_sequences(const struct place_request *request);

/* The plan with @kv_blocks blocks of keys and values.  Replaces *plan_inout; NULL at first. */
must_check int place_plan(const struct place_request *request, uint32_t kv_blocks, struct plan **plan_inout,
                          struct place_steps *ret_steps, struct error *error);
