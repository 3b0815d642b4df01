/* SPDX-License-Identifier: Apache-2.0 */
#include "src/model/weights.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/base/hash.h"

#define PIECE_BYTES (1u << 20)          /* a read that keeps the disk busy; 32 fit the staging budget */
#define PROGRESS_NS (100 * NS_PER_MS)

/* What one span of the file is: a run of row groups of a matrix, or a whole vector. */
struct piece {
    bool is_vector;
    uint32_t index;                     /* matrix or vector */
    uint32_t group_first, group_count;
    uint32_t node;
};

struct load {
    struct weights *w;
    struct workers *workers;
    const struct weights_config *config;
    struct piece *pieces;
    struct loader_span *spans;
    uint32_t count, capacity;
    struct loader *loader;
    _Atomic uint64_t checksum;          /* a sum: it does not matter who adds when */
    _Atomic int result;                 /* the first failure; error belongs to who set it */
    struct error error;
};

void weights_plan_matrices(const struct model *model, struct plan_matrix *ret_matrices)
{
    for (uint32_t i = 0; i < model->matrix_count; i++)
        ret_matrices[i] = (struct plan_matrix){ .groups = model->matrices[i].groups,
                                                .group_bytes = model->matrices[i].group_bytes,
                                                .align_groups = model->matrices[i].align_groups };
}

static const uint32_t *split_of(const struct plan *plan, uint32_t matrix)
{
    return plan->split + (size_t)matrix * (plan->node_count + 1);
}

/* First and one-past-last group of a matrix on a node. */
static void shard_of(const struct plan *plan, const struct model *model, uint32_t matrix, uint32_t node,
                     uint32_t *ret_first, uint32_t *ret_end)
{
    if (plan->policy == PLAN_MIRROR) {
        *ret_first = 0;
        *ret_end = model->matrices[matrix].groups;
        return;
    }
    *ret_first = split_of(plan, matrix)[node];
    *ret_end = split_of(plan, matrix)[node + 1];
}

const uint8_t *weights_group(const struct weights *w, uint32_t matrix, uint32_t group, uint32_t node)
{
    const struct plan *plan = w->plan;
    uint32_t first = 0;

    if (plan->policy != PLAN_MIRROR) {
        const uint32_t *split = split_of(plan, matrix);

        while (group < split[node])
            node--;
        while (group >= split[node + 1])
            node++;
        first = split[node];
    }
    return w->arenas[node]->base + plan->offset[(size_t)matrix * plan->node_count + node] +
           (uint64_t)(group - first) * w->model->matrices[matrix].group_bytes;
}

static int add_piece(struct load *l, const struct piece *p, uint64_t offset, uint64_t bytes)
{
    if (l->count == l->capacity) {
        uint32_t capacity = l->capacity ? l->capacity * 2 : 1024;
        struct piece *pieces = realloc(l->pieces, capacity * sizeof(*pieces));
        struct loader_span *spans;

        if (!pieces)
            return -ENOMEM;
        l->pieces = pieces;
        spans = realloc(l->spans, capacity * sizeof(*spans));
        if (!spans)
            return -ENOMEM;
        l->spans = spans;
        l->capacity = capacity;
    }
    l->pieces[l->count] = *p;
    l->spans[l->count] = (struct loader_span){ .offset = offset, .bytes = (uint32_t)bytes, .lane = p->node,
                                               .tag = l->count };
    l->count++;
    return 0;
}

/* Cuts the shard of one node into runs of whole groups of about PIECE_BYTES. */
static int add_shard(struct load *l, uint32_t matrix, uint32_t node, struct error *error)
{
    const struct model_matrix *x = &l->w->model->matrices[matrix];
    uint64_t source_bytes = x->row_bytes * KERNEL_GROUP_ROWS, per_piece = PIECE_BYTES / source_bytes;
    uint32_t first, end;

    if (source_bytes > LOADER_SPAN_MAX)
        return error_set(error, -ENOTSUP, "tensor %.*s: 16 rows take %llu bytes; the limit is %u",
                         (int)x->tensor->name.size, (const char *)x->tensor->name.data,
                         (unsigned long long)source_bytes, LOADER_SPAN_MAX);
    shard_of(l->w->plan, l->w->model, matrix, node, &first, &end);
    if (per_piece == 0)
        per_piece = 1;
    for (uint32_t g = first; g < end; g += (uint32_t)per_piece) {
        uint32_t n = (uint32_t)min_u64(per_piece, end - g);
        uint64_t row_end = min_u64((uint64_t)(g + n) * KERNEL_GROUP_ROWS, x->rows);
        struct piece p = { .index = matrix, .group_first = g, .group_count = n, .node = node };

        if (add_piece(l, &p, x->tensor->offset + (uint64_t)g * source_bytes,
                      (row_end - (uint64_t)g * KERNEL_GROUP_ROWS) * x->row_bytes) < 0)
            return error_set(error, -ENOMEM, "no memory for the read list");
    }
    return 0;
}

static int add_vectors(struct load *l, struct error *error)
{
    const struct model *m = l->w->model;

    for (uint32_t i = 0; i < m->vector_count; i++) {
        struct piece p = { .is_vector = true, .index = i };

        if (m->vectors[i].tensor->bytes > LOADER_SPAN_MAX)
            return error_set(error, -ENOTSUP, "a vector of %llu bytes is larger than this build takes",
                             (unsigned long long)m->vectors[i].tensor->bytes);
        if (add_piece(l, &p, m->vectors[i].tensor->offset, m->vectors[i].tensor->bytes) < 0)
            return error_set(error, -ENOMEM, "no memory for the read list");
    }
    return 0;
}

static int by_offset(const void *a, const void *b)
{
    const struct loader_span *x = a, *y = b;

    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int make_spans(struct load *l, struct error *error)
{
    int r = add_vectors(l, error);

    for (uint32_t m = 0; r == 0 && m < l->w->model->matrix_count; m++)
        for (uint32_t n = 0; r == 0 && n < l->w->plan->node_count; n++)
            r = add_shard(l, m, n, error);
    if (r == 0)
        qsort(l->spans, l->count, sizeof(*l->spans), by_offset);
    return r;
}

static void fail(struct load *l, int code, const struct error *error)
{
    int expected = 0;

    if (atomic_compare_exchange_strong(&l->result, &expected, code))
        l->error = *error;
    if (l->loader)
        loader_fail(l->loader, error);
}

static void hash_group(struct load *l, const struct piece *p, uint32_t group, const void *packed, size_t bytes)
{
    uint64_t seed = (uint64_t)p->is_vector << 63 | (uint64_t)p->index << 32 | group;

    if (p->node != 0 && l->w->plan->policy == PLAN_MIRROR)
        return;                         /* copies are not counted: the sum is the same on any plan */
    atomic_fetch_add_explicit(&l->checksum, hash64(packed, bytes, seed), memory_order_relaxed);
}

/* Makes sure of the pages just ahead of the writing: one that cannot be had is an error, and reads go on meanwhile. */
static int populate(const struct load *l, const struct piece *p, uint64_t bytes, struct error *error)
{
    struct arena *a = l->w->arenas[p->node];
    const uint8_t *first = weights_group(l->w, p->index, p->group_first, p->node);

    return arena_populate(a, (uint64_t)(first - a->base), bytes, error);
}

static int pack_piece(struct load *l, const struct piece *p, const uint8_t *data, struct error *error)
{
    const struct model_matrix *x = &l->w->model->matrices[p->index];
    int r = populate(l, p, p->group_count * x->group_bytes, error);

    if (r < 0)
        return r;
    for (uint32_t i = 0; i < p->group_count; i++) {
        uint32_t g = p->group_first + i;
        uint32_t n_rows = (uint32_t)min_u64(KERNEL_GROUP_ROWS, x->rows - (uint64_t)g * KERNEL_GROUP_ROWS);
        uint8_t *packed = (uint8_t *)(uintptr_t)weights_group(l->w, p->index, g, p->node);

        if (kernel_pack_group(x->type, data + (uint64_t)i * KERNEL_GROUP_ROWS * x->row_bytes, x->row_bytes, n_rows,
                              x->k, packed) < 0)
            return error_set(error, -EBADMSG, "tensor %.*s holds a value that is not a finite number, near row %u; "
                             "the file is damaged, fetch it again", (int)x->tensor->name.size,
                             (const char *)x->tensor->name.data, g * KERNEL_GROUP_ROWS);
        hash_group(l, p, g, packed, x->group_bytes);
    }
    return 0;
}

static int decode_vector(struct load *l, const struct piece *p, const uint8_t *data, struct error *error)
{
    const struct model_vector *x = &l->w->model->vectors[p->index];
    float *values = l->w->vectors + x->first;

    kernel_decode_row(x->type, data, x->n, values);
    for (uint32_t i = 0; i < x->n; i++)
        if ((load_u32(&values[i]) & 0x7fffffffu) >= 0x7f800000u)
            return error_set(error, -EBADMSG, "tensor %.*s holds a value that is not a finite number; the file is "
                             "damaged, fetch it again", (int)x->tensor->name.size, (const char *)x->tensor->name.data);
    hash_group(l, p, 0, values, x->n * sizeof(*values));
    return 0;
}

static void report_progress(struct load *l, uint64_t *last_ns)
{
    struct loader_report report;
    uint64_t now = clock_now_ns();

    if (!l->config->progress || now - *last_ns < PROGRESS_NS)
        return;
    *last_ns = now;
    loader_report(l->loader, &report);
    l->config->progress(l->config->progress_arg, &report);
}

static int consume(struct load *l, uint32_t worker, uint32_t lane, struct error *error)
{
    struct loader_piece got;
    uint64_t last_ns = 0;
    int r;

    while ((r = loader_take(l->loader, lane, &got, error)) == 0) {
        const struct piece *p = &l->pieces[got.span.tag];

        r = p->is_vector ? decode_vector(l, p, got.data, error) : pack_piece(l, p, got.data, error);
        loader_give(l->loader, &got);
        if (r < 0)
            return r;
        if (worker == 0)
            report_progress(l, &last_ns);
    }
    return r < 0 ? r : 0;
}

static void load_worker(void *arg, uint32_t worker)
{
    struct load *l = arg;
    struct error error = ERROR_NULL;
    int r = consume(l, worker, l->w->plan->workers[worker].node, &error);

    if (r < 0)
        fail(l, r, &error);
}

static int make_arenas(struct weights *w, const struct weights_config *config, struct error *error)
{
    for (uint32_t n = 0; n < w->plan->node_count; n++) {
        char name[48];
        struct arena_spec spec = { .name = name, .os_node = w->plan->nodes[n].os_node,
                                   .bytes = w->plan->nodes[n].weight_bytes, .policy = config->memory,
                                   .allow_1g = config->allow_1g, .lock = true };
        int r;

        snprintf(name, sizeof(name), "tenon:weights:%u", n);
        if (spec.bytes == 0)
            continue;
        r = arena_new(&spec, &w->arenas[n], error);
        if (r < 0)
            return r;
    }
    return 0;
}

static int run_load(struct load *l, struct error *error)
{
    struct loader_config c = { .fd = l->w->model->fd, .kind = l->config->io, .spans = l->spans, .span_count = l->count,
                               .lanes = l->w->plan->node_count, .source = l->config->source,
                               .source_arg = l->config->source_arg };
    int r = loader_new(&c, &l->loader, error);

    if (r < 0)
        return r;
    workers_run(l->workers, load_worker, l);
    loader_report(l->loader, &l->w->report);
    l->loader = loader_free(l->loader);
    if (l->config->progress)
        l->config->progress(l->config->progress_arg, &l->w->report);
    r = atomic_load(&l->result);
    if (r < 0 && error)
        *error = l->error;
    return r;
}

static int seal_all(struct weights *w, struct error *error)
{
    int r = 0;

    for (uint32_t n = 0; r == 0 && n < w->plan->node_count; n++)
        if (w->arenas[n])
            r = arena_seal(w->arenas[n], error);
    return r;
}

int weights_load(const struct model *model, const struct plan *plan, struct workers *workers,
                 const struct weights_config *config, struct weights **ret_weights, struct error *error)
{
    struct weights *w = calloc(1, sizeof(*w));
    struct load l = { .w = w, .workers = workers, .config = config };
    int r = -ENOMEM;

    if (w) {
        w->model = model;
        w->plan = plan;
        w->arenas = calloc(plan->node_count, sizeof(struct arena *));
        w->vectors = aligned_alloc(64, align_up((uint64_t)model->vector_values * sizeof(float), 64));
    }
    if (!w || !w->arenas || !w->vectors)
        error_set(error, r, "no memory for the weight tables");
    else
        r = make_arenas(w, config, error);
    if (r == 0)
        r = make_spans(&l, error);
    if (r == 0)
        r = run_load(&l, error);
    if (r == 0)
        r = seal_all(w, error);
    free(l.pieces);
    free(l.spans);
    if (r < 0) {
        weights_free(w);
        return r;
    }
    w->checksum = atomic_load(&l.checksum);
    *ret_weights = w;
    return 0;
}

struct weights *weights_free(struct weights *w)
{
    if (!w)
        return NULL;
    for (uint32_t n = 0; w->arenas && n < w->plan->node_count; n++)
        arena_free(w->arenas[n]);
    free(w->arenas);
    free(w->vectors);
    free(w);
    return NULL;
}
