/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The loader's insides.  Who touches what:
 *  - under `lock`: slots' queue fields, lanes, pool, failure, stopping, report; by any thread;
 *  - the loader's thread alone: reads, their lists, the slots' issued/complete counts, `direct`, and the source
 *    (but for wake);
 *  - written before the thread starts and never again: spans, plan, file (but for closing), staging, source state.
 *
 * A slot's life: placed (chunks taken) -> its reads are issued and complete -> ready in its lane's queue, where its
 * pieces are taken one by one -> the last one is given back -> free.
 */

#include <pthread.h>

#include "io/extent.h"
#include "io/file.h"
#include "io/loader.h"
#include "io/pool.h"
#include "io/source.h"
#include "io/staging.h"

#define LOADER_MAGIC 0x7e60aded
#define LOADER_DEPTH 128u
#define LOADER_SLOTS 1024u
#define LOADER_CHUNK (16u << 10)
#define LOADER_NONE UINT32_MAX

struct loader_slot {
    const struct extent *extent;
    uint32_t lane;
    uint32_t chunk, chunks;
    uint32_t reads, issued, complete;
    uint32_t taken, given;          /* pieces */
    uint32_t next;                  /* in the free list, the issuing list or a lane's ready queue */
};

struct loader_list {
    uint32_t head, tail;            /* slots, LOADER_NONE = empty */
};

#define LOADER_LIST_EMPTY { .head = LOADER_NONE, .tail = LOADER_NONE }

struct loader_lane {
    pthread_cond_t ready;
    struct loader_list queue;       /* slots with pieces to take */
    uint32_t extent_next, extent_end;
    uint32_t extents_unread;
    uint32_t pieces_left;           /* not taken yet */
    uint32_t slots;                 /* held */
    bool complete;                  /* all read, and the file is still the one that was opened */
};

struct loader_read {
    uint32_t slot;
    uint32_t position, end;         /* what is still to read, relative to the extent */
    uint32_t asked;                 /* bytes of the request in flight */
    uint32_t tries;                 /* in a row without progress */
    bool direct;                    /* how the request in flight was sent */
    uint32_t next;                  /* in the free list or the list of those to send again */
};

struct loader {
    uint32_t magic;
    const struct loader_span *spans;
    uint32_t lane_count;
    struct load_file file;
    struct extents plan;
    struct staging staging;
    uint32_t chunk_bytes;
    const struct source_ops *ops;
    void *source;
    struct source_state source_state;
    pthread_t thread;
    bool thread_started;

    pthread_mutex_t lock;
    struct pool pool;
    struct loader_lane lanes[LOADER_LANES_MAX];
    struct loader_slot slots[LOADER_SLOTS];
    uint32_t slot_free;
    uint32_t lanes_unplaced;        /* lanes with extents that have no slot yet */
    bool hungry;                    /* the thread could not place all it wanted: giving wakes it */
    bool stopping, failed;
    struct error failure;
    struct loader_report report;

    struct loader_list issuing;     /* placed slots with reads not yet issued */
    struct loader_read reads[LOADER_DEPTH];
    uint32_t read_free;
    uint32_t again_head, again_tail;
    uint32_t in_flight;
    bool direct;
};

/* loader_read.c: the thread, and the lists it shares with the queue. */
void *loader_thread(void *arg);
/* loader_queue.c, under the lock: */
void loader_place(struct loader *l);
void loader_slot_ready(struct loader *l, uint32_t slot);
void loader_failed(struct loader *l, const struct error *error);
void loader_lane_complete(struct loader *l, uint32_t lane);
void loader_note(struct loader *l, const char *text);
void loader_push(struct loader *l, struct loader_list *list, uint32_t slot);
