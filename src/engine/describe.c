/* SPDX-License-Identifier: Apache-2.0 */
/* What an instance tells of itself: what it is, and what it really got. */
#include <stdio.h>
#include <string.h>

#include "src/engine/choices.h"
#include "src/engine/instance_internal.h"

#define OS_NODES_MAX 256u

static void describe_types(const struct model *m, char *text, size_t size)
{
    uint32_t counts[TENSOR_TYPE_COUNT] = { 0 };
    size_t n = 0;

    for (uint64_t i = 0; i < gguf_tensor_count(m->gguf); i++)
        counts[gguf_tensor_at(m->gguf, i)->type]++;
    for (uint32_t t = 0; t < TENSOR_TYPE_COUNT && n < size; t++)
        if (counts[t])
            n += (size_t)snprintf(text + n, size - n, "%s%s %u", n ? ", " : "", tensor_types[t].name, counts[t]);
}

void instance_note(struct instance *in, const char *note)
{
    struct instance_info *info = &in->info;
    size_t n = strlen(info->note);

    if (note[0] && !strstr(info->note, note) && n < sizeof(info->note) - 3)
        snprintf(info->note + n, sizeof(info->note) - n, "%s%s", n ? "; " : "", note);
}

/* Where the kernel says that the pages are, not where they were asked for. */
static void read_back(struct instance *in, const struct arena *a)
{
    uint64_t bytes[OS_NODES_MAX], right = 0, wrong = 0;
    struct error error = ERROR_NULL;
    char note[128];

    if (arena_where(a, bytes, OS_NODES_MAX, &error) < 0) {
        instance_note(in, error.text);
        return;
    }
    for (uint32_t n = 0; n < OS_NODES_MAX; n++)
        *(n == a->os_node ? &right : &wrong) += bytes[n];
    in->info.placed_bytes += right;
    in->info.misplaced_bytes += wrong;
    if (wrong) {
        snprintf(note, sizeof(note), "%llu MB that belong on node %u lie on others", (unsigned long long)(wrong >> 20),
                 a->os_node);
        instance_note(in, note);
    }
}

static void describe_arena(struct instance *in, const struct arena *a)
{
    if (!a)
        return;
    for (uint32_t s = 0; s < PAGE_SIZE_COUNT; s++)
        in->info.bytes_by_size[s] += a->bytes_by_size[s];
    instance_note(in, a->note);
    read_back(in, a);
}

void instance_describe_model(struct instance *in, const struct instance_config *c)
{
    struct instance_info *info = &in->info;
    struct span name;

    info->id = in->id;
    snprintf(info->architecture, sizeof(info->architecture), "%s", in->model->hparams.arch->name);
    if (gguf_get_string(in->model->gguf, "general.name", &name, NULL) == 0)
        snprintf(info->name, sizeof(info->name), "%.*s", (int)min_u64(name.size, sizeof(info->name) - 1),
                 (const char *)name.data);
    describe_types(in->model, info->file_types, sizeof(info->file_types));
    info->kv_format = kv_words.names[c->kv];
    activations_describe(c->wide_mask, info->activations, sizeof(info->activations));
    info->file_bytes = in->model->file_bytes;
    info->vocab_size = in->model->hparams.n_vocab;
    info->context_trained = in->model->hparams.context_trained;
}

void instance_describe_load(struct instance *in, const struct workers *workers)
{
    struct instance_info *info = &in->info;

    info->nodes = in->plan->node_count;
    info->threads = in->plan->worker_count;
    info->oversubscribed = in->plan->oversubscribed;
    info->pinned = workers_pinned(workers);
    info->load = in->weights->report;
    info->checksum = in->weights->checksum;
    for (uint32_t n = 0; n < in->plan->node_count; n++) {
        info->weight_bytes += in->plan->nodes[n].weight_bytes;
        describe_arena(in, in->weights->arenas[n]);
        describe_arena(in, in->kv->arenas[n]);
    }
    describe_arena(in, graph_arena(in->graph));
    info->kv_bytes = in->kv->blocks * kv_bytes_per_block(&in->model->hparams, in->kv->format);
    instance_note(in, in->plan->note);
    instance_note(in, in->weights->report.note);
}
