/* SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/instance.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/engine/instance_internal.h"
#include "src/engine/memory.h"

#define SEQUENCES_DEFAULT 8u
#define CHUNK_DEFAULT 512u
#define CHUNK_MIN 32u
#define SCRATCH_BYTES_MAX (UINT64_C(24) << 20)  /* part of the 32 MiB that are neither weights, KV nor staging */
#define LOGITS_BYTES_MAX (UINT64_C(8) << 20)

static const char *const input_names[ACT_INPUT_COUNT] = {
    [ACT_QKV] = "qkv", [ACT_ATTN_OUTPUT] = "attn_output", [ACT_GATE_UP] = "gate_up", [ACT_FFN_DOWN] = "ffn_down",
    [ACT_OUTPUT] = "output",
};

static int input_bit(const char *name, size_t size, uint32_t *mask)
{
    for (uint32_t i = 0; i < ACT_INPUT_COUNT; i++)
        if (strlen(input_names[i]) == size && memcmp(input_names[i], name, size) == 0) {
            *mask |= 1u << i;
            return 0;
        }
    return -EINVAL;
}

int activations_parse(const char *text, uint32_t *ret_wide_mask, struct error *error)
{
    uint32_t mask = 0;

    if (strcmp(text, "int8") == 0)
        return *ret_wide_mask = 0, 0;
    if (strcmp(text, "int16") == 0)
        return *ret_wide_mask = ACT_ALL_WIDE, 0;
    if (strncmp(text, "int16:", 6) != 0)
        return error_set(error, -EINVAL,
                         "activations \"%.64s\" are not known; int8, int16, or int16: with a list of qkv, "
                         "attn_output, gate_up, ffn_down, output",
                         text);
    for (const char *at = text + 6; *at;) {
        size_t n = strcspn(at, ",");

        if (input_bit(at, n, &mask) < 0)
            return error_set(error, -EINVAL, "activations \"%.64s\": \"%.*s\" is no input; known are qkv, attn_output, "
                             "gate_up, ffn_down, output", text, (int)min_u64(n, 32), at);
        at += n + (at[n] == ',');
    }
    *ret_wide_mask = mask;
    return 0;
}

static void describe_activations(uint32_t mask, char *text, size_t size)
{
    size_t n;

    if (mask == 0 || mask == ACT_ALL_WIDE) {
        snprintf(text, size, "%s", mask ? "int16" : "int8");
        return;
    }
    n = (size_t)snprintf(text, size, "int16:");
    for (uint32_t i = 0; i < ACT_INPUT_COUNT && n < size; i++)
        if (mask & 1u << i)
            n += (size_t)snprintf(text + n, size - n, "%s%s", text[n - 1] == ':' ? "" : ",", input_names[i]);
}

static int choose_level(struct instance *in, const struct instance_config *c, struct error *error)
{
    enum kernel_level reached = kernel_ops_init(&in->ops, c->level);

    if (c->level_required && reached != c->level)
        return error_set(error, -ENOTSUP, "this CPU cannot run level %s; it reaches %s", kernel_level_name(c->level),
                         kernel_level_name(reached));
    in->info.level = kernel_level_name(reached);
    return 0;
}

static int worker_init(void *arg, uint32_t worker)
{
    (void)arg;
    (void)worker;
    return kernel_thread_init() < 0 ? -ENOTSUP : 0;
}

struct populate {
    const struct kv *kv;
    const struct plan *plan;
    _Atomic int result;
    struct error error;                 /* of the one that set result */
};

static void populate_worker(void *arg, uint32_t worker)
{
    struct populate *p = arg;
    uint32_t node = p->plan->workers[worker].node;
    const struct plan_node *n = &p->plan->nodes[node];
    struct error error = ERROR_NULL;
    int none = 0;
    int r = arena_populate_share(p->kv->arenas[node], worker - n->worker_first, n->worker_count, &error);

    if (r < 0 && atomic_compare_exchange_strong(&p->result, &none, r))
        p->error = error;
}

static int make_kv(struct instance *in, const struct instance_config *c, struct workers *workers, uint32_t blocks,
                   struct error *error)
{
    struct populate p = { .plan = in->plan };
    int r = kv_new(&in->model->hparams, in->plan, blocks, c->memory, &in->kv, error);

    if (r < 0)
        return r;
    p.kv = in->kv;
    workers_run(workers, populate_worker, &p);
    r = atomic_load(&p.result);
    if (r < 0) {
        if (error)
            *error = p.error;
        return r;
    }
    r = kv_pool_init(&in->pool, in->kv);
    return r < 0 ? error_set(error, r, "no memory for the KV pool") : 0;
}

/* The largest chunk up to what was asked for whose scratch memory stays within the promise. */
static void choose_chunk(struct instance *in, const struct instance_config *c)
{
    const struct model *m = in->model;
    uint64_t row_bytes = (uint64_t)m->matrices[m->head].groups * KERNEL_GROUP_ROWS * sizeof(float);

    in->max_rows = (uint32_t)max_u64(1, min_u64(in->info.sequences, LOGITS_BYTES_MAX / row_bytes));
    in->chunk = c->prefill_chunk ? c->prefill_chunk : CHUNK_DEFAULT;
    while (in->chunk > CHUNK_MIN && graph_scratch_bytes(m, c->wide_mask, in->chunk + in->info.sequences, in->max_rows,
                                                        in->plan->worker_count) > SCRATCH_BYTES_MAX)
        in->chunk /= 2;
    in->max_tokens = in->chunk + in->info.sequences;
}

static int make_graph(struct instance *in, const struct instance_config *c, struct workers *workers,
                      struct error *error)
{
    struct graph_config g = { .model = in->model, .weights = in->weights, .plan = in->plan, .kv = in->kv,
                              .workers = workers, .ops = &in->ops, .wide_mask = c->wide_mask,
                              .max_tokens = in->max_tokens, .max_rows = in->max_rows };
    int r = graph_new(&g, &in->graph, error);

    if (r < 0)
        return r;
    in->ids = calloc(in->max_tokens, sizeof(*in->ids));
    in->positions = calloc(in->max_tokens, sizeof(*in->positions));
    in->rows = calloc(in->max_tokens, sizeof(*in->rows));
    in->tables = calloc(in->max_tokens, sizeof(*in->tables));
    if (!in->ids || !in->positions || !in->rows || !in->tables)
        return error_set(error, -ENOMEM, "no memory for the batch tables");
    r = sampler_init(&in->sampler, &in->ops, in->model->hparams.n_vocab);
    return r < 0 ? error_set(error, r, "no memory for the sampler") : 0;
}

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

static void add_note(struct instance_info *info, const char *note)
{
    size_t n = strlen(info->note);

    if (note[0] && !strstr(info->note, note) && n < sizeof(info->note) - 3)
        snprintf(info->note + n, sizeof(info->note) - n, "%s%s", n ? "; " : "", note);
}

static void describe_arena(struct instance_info *info, const struct arena *a)
{
    if (!a)
        return;
    for (uint32_t s = 0; s < PAGE_SIZE_COUNT; s++)
        info->bytes_by_size[s] += a->bytes_by_size[s];
    add_note(info, a->note);
}

static void describe_model(struct instance *in, const struct instance_config *c)
{
    struct instance_info *info = &in->info;
    struct span name;

    info->id = in->id;
    snprintf(info->architecture, sizeof(info->architecture), "%s", in->model->hparams.arch->name);
    if (gguf_get_string(in->model->gguf, "general.name", &name, NULL) == 0)
        snprintf(info->name, sizeof(info->name), "%.*s", (int)min_u64(name.size, sizeof(info->name) - 1),
                 (const char *)name.data);
    describe_types(in->model, info->file_types, sizeof(info->file_types));
    describe_activations(c->wide_mask, info->activations, sizeof(info->activations));
    info->file_bytes = in->model->file_bytes;
    info->vocab_size = in->model->hparams.n_vocab;
    info->context_trained = in->model->hparams.context_trained;
}

static void describe_load(struct instance *in, const struct workers *workers)
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
        describe_arena(info, in->weights->arenas[n]);
        describe_arena(info, in->kv->arenas[n]);
    }
    info->kv_bytes = in->kv->blocks * kv_bytes_per_block(&in->model->hparams);
    info->scratch_bytes = graph_scratch_bytes(in->model, 0, in->max_tokens, in->max_rows, in->plan->worker_count);
    add_note(info, in->plan->note);
    add_note(info, in->weights->report.note);
}

static int plan_for(struct instance *in, const struct instance_config *c, uint64_t kv_bytes, struct error *error)
{
    struct plan_matrix *matrices = calloc(in->model->matrix_count, sizeof(*matrices));
    struct plan_request request = {.topology = c->topology,
                                   .host = c->host,
                                   .policy = c->policy,
                                   .threads = c->threads,
                                   .matrices = matrices,
                                   .matrix_count = in->model->matrix_count,
                                   .kv_bytes = kv_bytes,
                                   .kv_heads = in->model->hparams.n_kv_head};
    int r;

    if (!matrices)
        return error_set(error, -ENOMEM, "no memory for the plan");
    weights_plan_matrices(in->model, matrices);
    in->plan = plan_free(in->plan);
    r = plan_make(&request, &in->plan, error);
    free(matrices);
    return r;
}

static int load_weights(struct instance *in, const struct instance_config *c, struct workers *workers,
                        struct error *error)
{
    struct weights_config w = { .io = c->io, .memory = c->memory, .allow_1g = true, .progress = c->progress,
                                .progress_arg = c->progress_arg };
    int r = weights_load(in->model, in->plan, workers, &w, &in->weights, error);

    if (r < 0)
        error_prefix(error, "%s", c->path);
    return r;
}

/* Plan once for the weights, decide the KV memory from what is left, plan again with it. */
static int place(struct instance *in, const struct instance_config *c, uint32_t *ret_blocks, struct error *error)
{
    struct memory_request m = { .hparams = &in->model->hparams, .context = c->context, .kv_bytes = c->kv_bytes,
                                .sequences = c->sequences ? c->sequences : SEQUENCES_DEFAULT, .policy = c->memory };
    struct memory_choice choice;
    int r = plan_for(in, c, 0, error);

    if (r == 0)
        r = memory_choose(&m, in->plan, &choice, error);
    if (r == 0)
        r = plan_for(in, c, (uint64_t)choice.blocks * kv_bytes_per_block(m.hparams), error);
    if (r < 0)
        return r;
    in->info.context = choice.context;
    in->info.sequences = choice.sequences;
    add_note(&in->info, choice.note);
    *ret_blocks = choice.blocks;
    return 0;
}

static int load(struct instance *in, const struct instance_config *c, struct workers **workers, struct error *error)
{
    uint32_t blocks = 0;
    int r = model_open(c->path, &in->model, error);

    if (r == 0)
        r = choose_level(in, c, error);
    if (r == 0)
        r = place(in, c, &blocks, error);
    if (r == 0)
        describe_model(in, c);
    if (r == 0 && !*workers)
        r = workers_new(in->plan, worker_init, NULL, workers, error);
    if (r == 0 && workers_count(*workers) != in->plan->worker_count)
        r = error_set(error, -EINVAL, "model %s was planned for %u workers, the pool has %u", c->id,
                      in->plan->worker_count, workers_count(*workers));
    if (r == 0)
        r = load_weights(in, c, *workers, error);
    if (r == 0)
        r = make_kv(in, c, *workers, blocks, error);
    if (r == 0) {
        choose_chunk(in, c);
        r = make_graph(in, c, *workers, error);
    }
    return r;
}

int instance_load(const struct instance_config *config, struct workers **workers_inout, struct instance **ret_instance,
                  struct error *error)
{
    struct instance *in = calloc(1, sizeof(*in));
    int r;

    if (in)
        in->id = strdup(config->id);
    if (!in || !in->id) {
        free(in);
        return error_set(error, -ENOMEM, "no memory for the instance");
    }
    r = load(in, config, workers_inout, error);
    if (r < 0) {
        instance_free(in);
        return r;
    }
    describe_load(in, *workers_inout);
    *ret_instance = in;
    return 0;
}

struct instance *instance_free(struct instance *in)
{
    if (!in)
        return NULL;
    check(!in->first);
    graph_free(in->graph);
    sampler_deinit(&in->sampler);
    kv_pool_deinit(&in->pool);
    kv_free(in->kv);
    weights_free(in->weights);
    plan_free(in->plan);
    model_close(in->model);
    free(in->ids);
    free(in->positions);
    free(in->rows);
    free(in->tables);
    free(in->id);
    free(in);
    return NULL;
}

const struct instance_info *instance_info(const struct instance *in) { return &in->info; }
const struct vocab *instance_vocab(const struct instance *in) { return in->model->vocab; }
const struct gguf *instance_gguf(const struct instance *in) { return in->model->gguf; }
