/* SPDX-License-Identifier: Apache-2.0 */
#include "io/loader.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/loader_internal.h"
#include "src/base/clock.h"

#define HUGE_BYTES (UINT64_C(2) << 20)

static uint32_t chunks_of(const struct loader *l, uint64_t bytes)
{
    return (uint32_t)(align_up(bytes, l->chunk_bytes) / l->chunk_bytes);
}

static uint64_t staging_limit(const struct loader_config *config)
{
    return config->staging_bytes ? min_u64(config->staging_bytes, LOADER_STAGING_MAX) : LOADER_STAGING_MAX;
}

/* A small file needs no more staging than itself. */
static int make_staging(struct loader *l, uint64_t limit, struct error *error)
{
    uint32_t needs[LOADER_LANES_MAX] = { 0 }, largest = 0;
    uint64_t bytes = 0;
    int r;

    for (uint32_t i = 0; i < l->plan.lane_first[LOADER_LANES_MAX]; i++)
        bytes += align_up(l->plan.list[i].bytes, l->chunk_bytes);
    bytes = min_u64(align_up(max_u64(bytes, 1), HUGE_BYTES), align_down(limit, l->chunk_bytes));
    for (uint32_t i = 0; i < l->lane_count; i++) {
        needs[i] = chunks_of(l, l->plan.lane_largest[i]);
        largest = needs[i] > largest ? needs[i] : largest;
    }
    if (bytes == 0 || largest > bytes / l->chunk_bytes)
        return error_set(error, -EINVAL,
                         "staging of %llu bytes cannot hold the longest piece (%llu bytes with its slack)",
                         (unsigned long long)limit, (unsigned long long)largest * l->chunk_bytes);
    r = staging_init(&l->staging, bytes, error);
    if (r)
        return r;
    r = pool_init(&l->pool, (uint32_t)(bytes / l->chunk_bytes), l->lane_count, needs);
    return r ? error_set(error, r, "no memory for the loader's books") : 0;
}

static void make_lists(struct loader *l)
{
    l->read_free = l->slot_free = 0;
    for (uint32_t i = 0; i < LOADER_DEPTH; i++)
        l->reads[i].next = i + 1 < LOADER_DEPTH ? i + 1 : LOADER_NONE;
    for (uint32_t i = 0; i < LOADER_SLOTS; i++)
        l->slots[i].next = i + 1 < LOADER_SLOTS ? i + 1 : LOADER_NONE;
    l->issuing = (struct loader_list)LOADER_LIST_EMPTY;
    l->again_head = l->again_tail = LOADER_NONE;
    for (uint32_t i = 0; i < l->lane_count; i++) {
        struct loader_lane *lane = &l->lanes[i];

        lane->queue = (struct loader_list)LOADER_LIST_EMPTY;
        lane->extent_next = l->plan.lane_first[i];
        lane->extent_end = l->plan.lane_first[i + 1];
        lane->extents_unread = lane->extent_end - lane->extent_next;
        for (uint32_t e = lane->extent_next; e < lane->extent_end; e++)
            lane->pieces_left += l->plan.list[e].count;
        lane->complete = lane->extents_unread == 0;
        l->lanes_unplaced += lane->extents_unread != 0;
    }
}

static int open_source(struct loader *l, const struct loader_config *config, struct error *error)
{
    struct source_config c = {
        .staging = l->staging.data, .staging_bytes = l->staging.bytes, .depth = LOADER_DEPTH, .arg = config->source_arg,
    };
    struct error why = ERROR_NULL;
    int r;

    l->ops = config->source ? config->source : config->kind == IO_PREADV ? &source_preadv : &source_uring;
    r = l->ops->open(&c, &l->source, &l->source_state, &why);
    if (r && !config->source && config->kind == IO_AUTO) {
        char note[160];

        snprintf(note, sizeof(note), "reads by threads: io_uring refused (%s)", strerror(-r));
        loader_note(l, note);
        l->ops = &source_preadv;
        r = l->ops->open(&c, &l->source, &l->source_state, &why);
    }
    if (r) {
        l->source = NULL;
        return error_set(error, r, "%s", why.text);
    }
    check(l->source_state.depth >= 1 && l->source_state.depth <= LOADER_DEPTH);
    return 0;
}

static int start_thread(struct loader *l, struct error *error)
{
    sigset_t all, before;
    int r;

    /* Signals are for the threads that expect them. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_create(&l->thread, NULL, loader_thread, l);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r)
        return error_set(error, -r, "no thread for the loader: %s (LimitNPROC= or TasksMax=?)", strerror(r));
    pthread_setname_np(l->thread, "tenon-loader");
    l->thread_started = true;
    return 0;
}

static void fill_report(struct loader *l)
{
    struct loader_report *r = &l->report;

    loader_note(l, l->staging.note);
    loader_note(l, l->source_state.note);
    loader_note(l, l->file.note);
    r->bytes_total = l->plan.span_bytes;
    r->started_ns = clock_now_ns();
    r->direct = l->direct;
    r->uring = l->source_state.uring;
    r->registered = l->source_state.registered;
    r->huge_staging = l->staging.huge;
    r->staging_bytes = l->staging.bytes;
}

static int set_up(struct loader *l, const struct loader_config *config, struct error *error)
{
    uint64_t limit = staging_limit(config);
    struct extent_file file;
    int r = load_file_open(config->fd, &l->file, error);

    if (r)
        return r;
    l->direct = l->file.direct_fd >= 0;
    l->chunk_bytes = (uint32_t)max_u64(LOADER_CHUNK, l->file.align);
    file = (struct extent_file){
        .size = l->file.size, .align = l->file.align, .read_max = extent_read_max(limit, l->file.align),
    };
    r = extents_plan(l->spans, config->span_count, l->lane_count, &file, &l->plan, error);
    if (!r)
        r = make_staging(l, limit, error);
    if (r)
        return r;
    make_lists(l);
    r = open_source(l, config, error);
    if (r)
        return r;
    fill_report(l);
    return start_thread(l, error);
}

int loader_new(const struct loader_config *config, struct loader **ret_loader, struct error *error)
{
    struct loader *l;
    int r;

    if (config->lanes == 0 || config->lanes > LOADER_LANES_MAX)
        return error_set(error, -EINVAL, "%u lanes asked of the loader, 1 to %u are possible", config->lanes,
                         LOADER_LANES_MAX);
    l = calloc(1, sizeof(*l));
    if (!l)
        return error_set(error, -ENOMEM, "no memory for the loader");
    l->magic = LOADER_MAGIC;
    l->file = (struct load_file)LOAD_FILE_NULL;
    l->spans = config->spans;
    l->lane_count = config->lanes;
    pthread_mutex_init(&l->lock, NULL);
    for (uint32_t i = 0; i < l->lane_count; i++)
        pthread_cond_init(&l->lanes[i].ready, NULL);
    r = set_up(l, config, error);
    if (r) {
        loader_free(l);
        return r;
    }
    *ret_loader = l;
    return 0;
}

struct loader *loader_free(struct loader *loader)
{
    struct loader *l = loader;

    if (!l)
        return NULL;
    check(l->magic == LOADER_MAGIC);
    if (l->thread_started) {
        pthread_mutex_lock(&l->lock);
        l->stopping = true;
        pthread_mutex_unlock(&l->lock);
        l->ops->wake(l->source);
        pthread_join(l->thread, NULL);
    }
    if (l->source)
        l->ops->close(l->source);
    for (uint32_t i = 0; i < l->lane_count; i++)
        pthread_cond_destroy(&l->lanes[i].ready);
    pthread_mutex_destroy(&l->lock);
    pool_deinit(&l->pool);
    staging_deinit(&l->staging);
    extents_deinit(&l->plan);
    load_file_close(&l->file);
    l->magic = 0;
    free(l);
    return NULL;
}

void loader_report(struct loader *loader, struct loader_report *ret_report)
{
    check(loader->magic == LOADER_MAGIC);
    pthread_mutex_lock(&loader->lock);
    *ret_report = loader->report;
    pthread_mutex_unlock(&loader->lock);
    if (!ret_report->now_ns)
        ret_report->now_ns = clock_now_ns();
}

void loader_report_print(const struct loader_report *l, char *text, size_t size)
{
    double seconds = l->now_ns > l->started_ns ? (double)(l->now_ns - l->started_ns) * 1e-9 : 0;
    double rate = seconds > 0 ? (double)l->bytes_done / seconds : 0;
    double left = rate > 0 && l->bytes_total > l->bytes_done ? (double)(l->bytes_total - l->bytes_done) / rate : 0;

    snprintf(text, size, "%.0f %% (%.2f/%.2f GB, %.2f GB/s, %.0f s left)",
             l->bytes_total ? 100.0 * (double)l->bytes_done / (double)l->bytes_total : 0, (double)l->bytes_done * 1e-9,
             (double)l->bytes_total * 1e-9, rate * 1e-9, left);
}
