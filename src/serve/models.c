/* SPDX-License-Identifier: Apache-2.0 */
#include "src/serve/models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct { const char *name; uint32_t next; } states[] = {
    [WIRE_MODEL_STATE_LOADING] = { "loading", 1u << WIRE_MODEL_STATE_READY | 1u << WIRE_MODEL_STATE_FAILED },
    [WIRE_MODEL_STATE_READY] = { "ready", 1u << WIRE_MODEL_STATE_DRAINING },
    [WIRE_MODEL_STATE_DRAINING] = { "draining", 1u << WIRE_MODEL_STATE_GONE },
    [WIRE_MODEL_STATE_GONE] = { "gone", 0 },
    [WIRE_MODEL_STATE_FAILED] = { "failed", 0 },
};

int models_init(struct models *models, const struct instance_config *configs, uint32_t count)
{
    *models = (struct models){ .items = calloc(count, sizeof(models->items[0])), .count = count };
    if (!models->items)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        struct stat st;

        models->items[i].id = configs[i].id;
        models->items[i].state = WIRE_MODEL_STATE_LOADING;
        if (stat(configs[i].path, &st) == 0)        /* for MODEL_LIST while it loads; what is read is looked at anew */
            models->items[i].file_bytes = (uint64_t)st.st_size;
    }
    return 0;
}

void models_deinit(struct models *models)
{
    free(models->items);
    *models = (struct models)MODELS_NULL;
}

void model_move(struct model *model, enum wire_model_state to)
{
    check(states[model->state].next & 1u << to);
    model->state = to;
}

const char *model_state_name(enum wire_model_state state)
{
    return states[state].name;
}

uint32_t model_progress(const struct model *model)
{
    if (model->state != WIRE_MODEL_STATE_LOADING)
        return model->state == WIRE_MODEL_STATE_READY ? 100 : 0;
    if (model->report.bytes_total == 0)
        return 0;
    return (uint32_t)(99.0 * (double)model->report.bytes_done / (double)model->report.bytes_total);
}

static void list_ids(const struct models *models, char *text, size_t size)
{
    size_t n = 0;

    for (uint32_t i = 0; i < models->count && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%s", i ? ", " : "", models->items[i].id);
}

int models_find(struct models *models, struct span id, struct model **ret_model, struct refusal *refusal)
{
    char ids[LIMIT_ERROR_TEXT / 2];

    if (id.size == 0 && models->count == 1) {
        *ret_model = &models->items[0];
        return 0;
    }
    for (uint32_t i = 0; i < models->count; i++)
        if (strlen(models->items[i].id) == id.size && memcmp(models->items[i].id, id.data, id.size) == 0) {
            *ret_model = &models->items[i];
            return 0;
        }
    list_ids(models, ids, sizeof(ids));
    if (id.size == 0)
        return refuse(refusal, WIRE_E_INVALID, 0, "no model named, and there are several: %s", ids);
    return refuse(refusal, WIRE_E_NOT_FOUND, 0, "no model \"%.*s\"; there is %s", (int)min_u64(id.size, 64),
                  (const char *)id.data, ids);
}

int models_find_ready(struct models *models, struct span id, struct model **ret_model, struct refusal *refusal)
{
    struct model *m;
    int r = models_find(models, id, &m, refusal);

    if (r)
        return r;
    switch (m->state) {
    case WIRE_MODEL_STATE_READY:
        *ret_model = m;
        return 0;
    case WIRE_MODEL_STATE_LOADING:
        r = refuse(refusal, WIRE_E_LOADING, model_progress(m), "model %s is loading: %u %%", m->id, model_progress(m));
        refusal->retry_after_ms = 1000;
        return r;
    case WIRE_MODEL_STATE_DRAINING:
        return refuse(refusal, WIRE_E_DRAINING, 0, "model %s takes no new requests", m->id);
    case WIRE_MODEL_STATE_GONE:
    case WIRE_MODEL_STATE_FAILED:
        break;
    }
    return refuse(refusal, WIRE_E_NOT_FOUND, 0, "model %s is %s", m->id, model_state_name(m->state));
}

bool models_all_ready(const struct models *models)
{
    for (uint32_t i = 0; i < models->count; i++)
        if (models->items[i].state != WIRE_MODEL_STATE_READY)
            return false;
    return true;
}
