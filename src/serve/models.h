/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The models this daemon serves, as the door sees them: names, states, what is known of each.  Door thread only. */

#include "src/serve/metrics.h"
#include "src/serve/refusal.h"

#define MODEL_ID_MAX 256u
#define MODEL_NOTE_MAX 1536u

struct model {
    const char *id;                     /* the configuration's */
    enum wire_model_state state;
    const struct instance *instance;    /* from READY on */
    uint32_t longest_token;             /* bytes; 0 where tokens may stand for more than their text */
    struct loader_report report;
    uint64_t file_bytes;
    char note[MODEL_NOTE_MAX];
    struct model_metrics metrics;
};

struct models {
    struct model *items;
    uint32_t count;
};

#define MODELS_NULL { .items = NULL }

must_check int models_init(struct models *models, const struct instance_config *configs, uint32_t count);  /* -ENOMEM */
void models_deinit(struct models *models);

/* The one place where states change; an illegal step is a program error. */
void model_move(struct model *model, enum wire_model_state to);
const char *model_state_name(enum wire_model_state state);
/* Percent of the load that is done, 0 .. 99 while loading. */
uint32_t model_progress(const struct model *model);

/* By name; an empty one means the only model there is.  0, or a code with @refusal. */
must_check int models_find(struct models *models, struct span id, struct model **ret_model, struct refusal *refusal);
/* The same, and it must be READY: LOADING with the progress, DRAINING, NOT_FOUND otherwise. */
must_check int models_find_ready(struct models *models, struct span id, struct model **ret_model,
                                 struct refusal *refusal);
bool models_all_ready(const struct models *models);
