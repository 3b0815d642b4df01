/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "src/client/connection.h"

#define MODELS_MAX 65536u

/* ---- the list ---- */

struct models_result {
    struct tenon_models public;
    struct tenon_model *items;
    size_t room;
};

static char *copy_text(struct span s)
{
    char *copy = malloc(s.size + 1);

    if (copy) {
        memcpy(copy, s.data, s.size);
        copy[s.size] = 0;
    }
    return copy;
}

static int add_model(struct models_result *m, const struct wire_model_entry *entry)
{
    char *id;

    if (m->public.count == m->room) {
        size_t room = m->room ? m->room * 2 : 8;
        struct tenon_model *items = room > MODELS_MAX ? NULL : realloc(m->items, room * sizeof(items[0]));

        if (!items)
            return TENON_E_SYSTEM;
        m->items = items;
        m->room = room;
    }
    id = copy_text(entry->id);
    if (!id)
        return TENON_E_SYSTEM;
    m->items[m->public.count++] = (struct tenon_model){
        .id = id, .state = entry->state, .context = entry->context, .bytes = entry->bytes,
    };
    return 0;
}

static int on_models(void *arg, struct tenon *tenon, struct span payload, struct tenon_error *error)
{
    struct models_result *m = arg;
    struct wire_model_list_reply reply;
    int r = connection_decode(tenon, &wire_model_list_reply_message, payload, &reply, error);

    for (uint32_t i = 0; r == 0 && i < reply.models.count; i++) {
        struct wire_model_entry entry = wire_model_entry_at(&reply.models, i);

        r = add_model(m, &entry);
        if (r)
            connection_break(tenon, error, r, "no memory for the list of models");
    }
    return r;
}

int tenon_models(struct tenon *tenon, struct tenon_models **ret_models, struct tenon_error *error)
{
    struct models_result *m = calloc(1, sizeof(*m));
    int r;

    if (!m)
        return tenon_error_set(error, TENON_E_SYSTEM, "no memory for the list of models");
    r = connection_call(tenon, &wire_model_list_message, &(struct wire_model_list){ 0 }, NULL, 0, on_models, m, error);
    m->public.items = m->items;
    if (r)
        tenon_models_free(&m->public);
    else
        *ret_models = &m->public;
    return r;
}

struct tenon_models *tenon_models_free(struct tenon_models *models)
{
    struct models_result *m = (struct models_result *)models;

    if (m) {
        for (size_t i = 0; i < m->public.count; i++)
            free((void *)m->items[i].id);
        free(m->items);
        free(m);
    }
    return NULL;
}

/* ---- one model ---- */

enum { INFO_TEXTS = 11 };

struct info_result {
    struct tenon_model_info public;
    char *texts[INFO_TEXTS];
    uint32_t *end_ids;
    struct tenon_pages *pages;
    bool seen;
};

static int copy_lists(struct info_result *i, const struct wire_model_info_reply *w)
{
    i->end_ids = calloc(w->end_ids.count ? w->end_ids.count : 1, sizeof(i->end_ids[0]));
    i->pages = calloc(w->pages.count ? w->pages.count : 1, sizeof(i->pages[0]));
    if (!i->end_ids || !i->pages)
        return TENON_E_SYSTEM;
    for (uint32_t k = 0; k < w->end_ids.count; k++)
        i->end_ids[k] = wire_u32_at(&w->end_ids, k);
    for (uint32_t k = 0; k < w->pages.count; k++) {
        struct wire_page_bytes page = wire_page_bytes_at(&w->pages, k);

        i->pages[k] = (struct tenon_pages){ page.page_size, page.bytes };
    }
    i->public.end_ids = i->end_ids;
    i->public.end_id_count = w->end_ids.count;
    i->public.pages = i->pages;
    i->public.page_count = w->pages.count;
    return 0;
}

static int copy_info(struct info_result *i, const struct wire_model_info_reply *w)
{
    struct tenon_model_info *p = &i->public;
    const struct { struct span text; const char **field; } texts[INFO_TEXTS] = {
        { w->id, &p->id }, { w->architecture, &p->architecture }, { w->name, &p->name },
        { w->file_types, &p->file_types }, { w->level, &p->level }, { w->activations, &p->activations },
        { w->tokenizer, &p->tokenizer }, { w->pre_tokenizer, &p->pre_tokenizer },
        { w->template, &p->chat_template }, { w->note, &p->note },
        { w->kernels, &p->kernels },    /* TLVs that are absent are empty */
    };

    *p = (struct tenon_model_info){
        .state = w->state, .vocab_size = w->vocab_size, .context = w->context, .context_trained = w->context_trained,
        .sequences = w->sequences, .nodes = w->nodes, .threads = w->threads, .bos = w->bos, .eos = w->eos,
        .adds_bos = w->flags & WIRE_FLAG_MODEL_ADD_BOS, .pinned = w->flags & WIRE_FLAG_MODEL_PINNED,
        .oversubscribed = w->flags & WIRE_FLAG_MODEL_OVERSUBSCRIBED, .file_bytes = w->file_bytes,
        .weight_bytes = w->weight_bytes, .kv_bytes = w->kv_bytes, .scratch_bytes = w->scratch_bytes,
        .checksum = w->checksum, .load_bytes_done = w->load_bytes_done, .load_bytes_total = w->load_bytes_total,
        .load_ns = w->load_ns,
    };
    for (size_t k = 0; k < INFO_TEXTS; k++) {
        struct span text = texts[k].text;

        i->texts[k] = copy_text(text.data ? text : span_of("", 0));
        if (!i->texts[k])
            return TENON_E_SYSTEM;
        *texts[k].field = i->texts[k];
    }
    return copy_lists(i, w);
}

static int on_info(void *arg, struct tenon *tenon, struct span payload, struct tenon_error *error)
{
    struct info_result *i = arg;
    struct wire_model_info_reply reply;
    int r = connection_decode(tenon, &wire_model_info_reply_message, payload, &reply, error);

    if (r)
        return r;
    if (i->seen)
        return connection_break(tenon, error, TENON_E_PROTOCOL, "the server described the model twice");
    i->seen = true;
    r = copy_info(i, &reply);
    return r ? connection_break(tenon, error, r, "no memory for the description of a model") : 0;
}

int tenon_model_info(struct tenon *tenon, const char *model, struct tenon_model_info **ret_info,
                     struct tenon_error *error)
{
    struct info_result *i = calloc(1, sizeof(*i));
    struct wire_model_info ask = { .model = model ? span_of(model, strlen(model)) : span_of("", 0) };
    int r;

    if (!i)
        return tenon_error_set(error, TENON_E_SYSTEM, "no memory for the description of a model");
    r = connection_call(tenon, &wire_model_info_message, &ask, NULL, 0, on_info, i, error);
    if (r)
        tenon_model_info_free(&i->public);
    else
        *ret_info = &i->public;
    return r;
}

struct tenon_model_info *tenon_model_info_free(struct tenon_model_info *info)
{
    struct info_result *i = (struct info_result *)info;

    if (i) {
        for (size_t k = 0; k < INFO_TEXTS; k++)
            free(i->texts[k]);
        free(i->end_ids);
        free(i->pages);
        free(i);
    }
    return NULL;
}
