/* SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/instance.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/engine/instance_internal.h"
#include "src/engine/level.h"
#include "src/engine/memory.h"
#include "src/engine/place.h"

static int choose_level(struct instance *in, const struct instance_config *c, struct error *error)
{
    struct level_request q = { .highest = c->level, .required = c->level_required,
                               .types = model_types(in->model) };
    struct level_choice choice;
    int r = kernel_thread_init() < 0
                ? error_set(error, -ENOTSUP, "this CPU does not keep the floating point state that answers need")
                : level_choose(&q, &choice, error);

    if (r < 0)
        return r;
    in->ops = choice.ops;
    in->info.level = kernel_level_name(choice.ops.level);
    in->info.levels_failed = choice.failed;
    for (unsigned t = 0; t < TENSOR_TYPE_COUNT; t++)
        if (q.types >> t & 1)
            in->info.kernels[in->info.kernel_count++] = (struct instance_kernel){
                .type = tensor_types[t].name, .name = choice.ops.matmul_name[t],
                .many_name = choice.ops.many_name[t], .many_columns = choice.ops.many_columns[t],
            };
    instance_note(in, choice.note);
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
    int r = kv_new(&in->model->hparams, in->plan, c->kv, blocks, c->memory, &in->kv, error);

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

static int make_graph(struct instance *in, const struct instance_config *c, struct workers *workers,
                      struct error *error)
{
    struct graph_config g = { .model = in->model, .weights = in->weights, .plan = in->plan, .kv = in->kv,
                              .workers = workers, .ops = &in->ops, .wide_mask = c->wide_mask, .memory = c->memory,
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

static int place(struct instance *in, const struct instance_config *c, uint32_t *ret_blocks, struct error *error)
{
    struct place_request q = { .model = in->model, .topology = c->topology, .host = c->host, .policy = c->policy,
                               .threads = c->threads, .wide_mask = c->wide_mask, .prefill_chunk = c->prefill_chunk,
                               .sequences = c->sequences, .kv = c->kv };
    struct memory_request m = { .hparams = &in->model->hparams, .context = c->context, .kv_bytes = c->kv_bytes,
                                .sequences = place_sequences(&q), .policy = c->memory, .kv = c->kv };
    struct memory_choice choice;
    struct place_steps steps;
    int r = place_plan(&q, 0, &in->plan, &steps, error);

    if (r == 0)
        r = memory_choose(&m, in->plan, &choice, error);
    if (r == 0)
        r = place_plan(&q, choice.blocks, &in->plan, &steps, error);
    if (r == 0)
        r = memory_check(in->plan, c->memory, error);
    if (r < 0)
        return r;
    in->info.context = choice.context;
    in->info.sequences = choice.sequences;
    in->info.scratch_bytes = in->plan->nodes[0].scratch_bytes;
    in->chunk = steps.chunk;
    in->max_rows = steps.rows;
    in->max_tokens = steps.chunk + choice.sequences;
    instance_note(in, choice.note);
    if (c->prefill_chunk > steps.chunk) {
        char note[96];

        snprintf(note, sizeof(note), "prefill chunk %u, not %u: scratch memory is bounded", steps.chunk,
                 c->prefill_chunk);
        instance_note(in, note);
    }
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
    if (r == 0) {
        in->plan->unpinned = c->unpinned;
        instance_describe_model(in, c);
    }
    if (r == 0 && !*workers)
        r = workers_new(in->plan, worker_init, NULL, workers, error);
    if (r == 0 && workers_count(*workers) != in->plan->worker_count)
        r = error_set(error, -EINVAL, "model %s was planned for %u workers, the pool has %u", c->id,
                      in->plan->worker_count, workers_count(*workers));
    if (r == 0)
        r = load_weights(in, c, *workers, error);
    if (r == 0)
        r = make_kv(in, c, *workers, blocks, error);
    if (r == 0)
        r = make_graph(in, c, *workers, error);
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
    instance_describe_load(in, *workers_inout);
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
