/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "io/loader_internal.h"

/* The takers' side: queues by lane, and the placing of extents into staging memory.  All of it under the lock. */

void loader_push(struct loader *l, struct loader_list *list, uint32_t slot)
{
    l->slots[slot].next = LOADER_NONE;
    if (list->head == LOADER_NONE)
        list->head = slot;
    else
        l->slots[list->tail].next = slot;
    list->tail = slot;
}

void loader_note(struct loader *l, const char *text)
{
    size_t used = strlen(l->report.note);

    if (*text)
        snprintf(l->report.note + used, sizeof(l->report.note) - used, "%s%s", used ? "; " : "", text);
}

/* The lane whose next span stands first in the caller's order, among those not in @passed. */
static uint32_t next_lane(const struct loader *l, uint64_t passed)
{
    uint32_t best = LOADER_NONE, best_span = UINT32_MAX;

    for (uint32_t i = 0; i < l->lane_count; i++) {
        const struct loader_lane *lane = &l->lanes[i];
        uint32_t span;

        if ((passed >> i & 1) || lane->extent_next == lane->extent_end)
            continue;
        span = l->plan.order[l->plan.list[lane->extent_next].first];
        if (best == LOADER_NONE || span < best_span) {
            best = i;
            best_span = span;
        }
    }
    return best;
}

static enum pool_verdict place_one(struct loader *l, uint32_t lane_index)
{
    struct loader_lane *lane = &l->lanes[lane_index];
    const struct extent *e = &l->plan.list[lane->extent_next];
    uint32_t chunks = (uint32_t)(align_up(e->bytes, l->chunk_bytes) / l->chunk_bytes), chunk, slot = l->slot_free;
    enum pool_verdict verdict;

    if (lane->slots >= LOADER_SLOTS / l->lane_count)
        return POOL_CAPPED;
    check(slot != LOADER_NONE);
    verdict = pool_take(&l->pool, lane_index, chunks, &chunk);
    if (verdict != POOL_TAKEN)
        return verdict;
    l->slot_free = l->slots[slot].next;
    l->slots[slot] = (struct loader_slot){
        .extent = e, .lane = lane_index, .chunk = chunk, .chunks = chunks, .reads = extent_reads(&l->plan, e),
    };
    loader_push(l, &l->issuing, slot);
    lane->slots++;
    if (++lane->extent_next == lane->extent_end) {
        l->lanes_unplaced--;
        pool_lane_done(&l->pool, lane_index);
    }
    return POOL_TAKEN;
}

void loader_place(struct loader *l)
{
    uint64_t passed = 0;
    uint32_t lane;

    while ((lane = next_lane(l, passed)) != LOADER_NONE) {
        enum pool_verdict verdict = place_one(l, lane);

        if (verdict == POOL_TAKEN)
            continue;
        /* Without homes, a long extent waits for its neighbours to drain: nobody may slip into the gap. */
        if (verdict == POOL_NO_ROOM && !l->pool.homes)
            break;
        passed |= UINT64_C(1) << lane;
    }
    l->hungry = l->lanes_unplaced > 0;
}

void loader_slot_ready(struct loader *l, uint32_t slot)
{
    struct loader_lane *lane = &l->lanes[l->slots[slot].lane];

    loader_push(l, &lane->queue, slot);
    pthread_cond_broadcast(&lane->ready);
}

void loader_lane_complete(struct loader *l, uint32_t lane)
{
    l->lanes[lane].complete = true;
    pthread_cond_broadcast(&l->lanes[lane].ready);
}

/* The first failure is the one that is told. */
void loader_failed(struct loader *l, const struct error *error)
{
    if (l->failed)
        return;
    l->failed = true;
    l->failure = *error;
    for (uint32_t i = 0; i < l->lane_count; i++)
        pthread_cond_broadcast(&l->lanes[i].ready);
}

static void take_piece(struct loader *l, struct loader_lane *lane, struct loader_piece *ret_piece)
{
    uint32_t index = lane->queue.head;
    struct loader_slot *slot = &l->slots[index];
    const struct extent *e = slot->extent;
    const struct loader_span *span = &l->spans[l->plan.order[e->first + slot->taken]];

    *ret_piece = (struct loader_piece){
        .span = *span,
        .data = l->staging.data + (size_t)slot->chunk * l->chunk_bytes + (span->offset - e->offset),
        .slot = index,
    };
    slot->taken++;
    lane->pieces_left--;
    if (slot->taken == e->count)
        lane->queue.head = slot->next;
    if (lane->queue.head == LOADER_NONE)
        lane->queue.tail = LOADER_NONE;
}

int loader_take(struct loader *loader, uint32_t lane, struct loader_piece *ret_piece, struct error *error)
{
    struct loader *l = loader;
    struct loader_lane *at;
    int r = -EINPROGRESS;

    check(l->magic == LOADER_MAGIC);
    if (lane >= l->lane_count)
        return error_set(error, -EINVAL, "the loader has %u lanes, there is no lane %u", l->lane_count, lane);
    at = &l->lanes[lane];
    pthread_mutex_lock(&l->lock);
    while (r == -EINPROGRESS) {
        if (l->failed) {
            r = error_set(error, l->failure.code, "%s", l->failure.text);
        } else if (at->queue.head != LOADER_NONE) {
            take_piece(l, at, ret_piece);
            r = 0;
        } else if (at->complete && !at->pieces_left) {
            r = 1;
        } else {
            pthread_cond_wait(&at->ready, &l->lock);
        }
    }
    pthread_mutex_unlock(&l->lock);
    return r;
}

void loader_give(struct loader *loader, const struct loader_piece *piece)
{
    struct loader *l = loader;
    struct loader_slot *slot;
    bool wake = false;

    check(l->magic == LOADER_MAGIC && piece->slot < LOADER_SLOTS);
    pthread_mutex_lock(&l->lock);
    slot = &l->slots[piece->slot];
    check(slot->extent && slot->given < slot->taken);
    slot->given++;
    if (slot->given == slot->extent->count) {
        pool_give(&l->pool, slot->lane, slot->chunk, slot->chunks);
        l->lanes[slot->lane].slots--;
        *slot = (struct loader_slot){ .next = l->slot_free };
        l->slot_free = piece->slot;
        wake = l->hungry;
        l->hungry = false;
    }
    pthread_mutex_unlock(&l->lock);
    if (wake)
        l->ops->wake(l->source);
}

void loader_fail(struct loader *loader, const struct error *error)
{
    check(loader->magic == LOADER_MAGIC);
    pthread_mutex_lock(&loader->lock);
    loader_failed(loader, error->code < 0 ? error : &(struct error){ .code = -EIO, .text = "the load was given up" });
    pthread_mutex_unlock(&loader->lock);
    loader->ops->wake(loader->source);
}
