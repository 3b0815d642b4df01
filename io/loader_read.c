/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "io/loader_internal.h"
#include "src/base/clock.h"

/* The loader's thread: extents become reads, completions become ready slots, and errors become one story. */

#define TRIES_MAX 64u
#define TRIES_AT_ONCE 4u

static uint32_t take_free_read(struct loader *l)
{
    uint32_t index = l->read_free;

    if (index != LOADER_NONE)
        l->read_free = l->reads[index].next;
    return index;
}

static void put_free_read(struct loader *l, uint32_t index)
{
    l->reads[index].next = l->read_free;
    l->read_free = index;
}

static void push_again(struct loader *l, uint32_t index)
{
    l->reads[index].next = LOADER_NONE;
    if (l->again_head == LOADER_NONE)
        l->again_head = index;
    else
        l->reads[l->again_tail].next = index;
    l->again_tail = index;
}

static uint32_t pop_again(struct loader *l)
{
    uint32_t index = l->again_head;

    l->again_head = l->reads[index].next;
    return index;
}

/* The next read of the oldest placed slot, or NONE. */
static uint32_t next_read(struct loader *l)
{
    uint32_t slot_index = l->issuing.head, index, begin, bytes;
    struct loader_slot *slot;

    if (slot_index == LOADER_NONE || (index = take_free_read(l)) == LOADER_NONE)
        return LOADER_NONE;
    slot = &l->slots[slot_index];
    extent_read_at(&l->plan, slot->extent, slot->issued, &begin, &bytes);
    l->reads[index] = (struct loader_read){ .slot = slot_index, .position = begin, .end = begin + bytes };
    if (++slot->issued == slot->reads) {
        l->issuing.head = slot->next;
        if (l->issuing.head == LOADER_NONE)
            l->issuing.tail = LOADER_NONE;
    }
    return index;
}

static void send(struct loader *l, uint32_t index)
{
    struct loader_read *r = &l->reads[index];
    const struct loader_slot *slot = &l->slots[r->slot];
    struct source_read read = {
        .fd = l->direct ? l->file.direct_fd : l->file.fd,
        .offset = slot->extent->offset + r->position,
        .bytes = r->end - r->position,
        .data = l->staging.data + (size_t)slot->chunk * l->chunk_bytes + r->position,
        .cookie = index,
    };

    r->asked = read.bytes;
    r->direct = l->direct;
    l->in_flight++;
    l->ops->submit(l->source, &read);
}

static void send_all(struct loader *l)
{
    while (l->in_flight < l->source_state.depth) {
        uint32_t index = l->again_head != LOADER_NONE ? pop_again(l) : next_read(l);

        if (index == LOADER_NONE)
            break;
        send(l, index);
    }
}

static void fail(struct loader *l, const struct error *error)
{
    pthread_mutex_lock(&l->lock);
    loader_failed(l, error);
    pthread_mutex_unlock(&l->lock);
}

static bool given_up(struct loader *l)
{
    bool r;

    pthread_mutex_lock(&l->lock);
    r = l->stopping || l->failed;
    pthread_mutex_unlock(&l->lock);
    return r;
}

/* A whole extent is in: hand it out, and look at the file once more when it was the lane's last. */
static void slot_complete(struct loader *l, uint32_t slot_index)
{
    struct loader_slot *slot = &l->slots[slot_index];
    const struct extent *e = slot->extent;
    uint32_t lane = slot->lane;
    struct error error = ERROR_NULL;
    bool last;

    if (!l->direct)
        load_file_forget(&l->file, e->offset, e->bytes);
    last = --l->lanes[lane].extents_unread == 0;
    if (last && load_file_same(&l->file, &error)) {
        fail(l, &error);
        return;
    }
    pthread_mutex_lock(&l->lock);
    for (uint32_t i = 0; i < e->count; i++)
        l->report.bytes_done += l->spans[l->plan.order[e->first + i]].bytes;
    loader_slot_ready(l, slot_index);
    if (last)
        loader_lane_complete(l, lane);
    pthread_mutex_unlock(&l->lock);
}

static void read_complete(struct loader *l, uint32_t index)
{
    uint32_t slot = l->reads[index].slot;

    put_free_read(l, index);
    if (++l->slots[slot].complete == l->slots[slot].reads)
        slot_complete(l, slot);
}

static void try_again(struct loader *l, uint32_t index, const char *why)
{
    struct loader_read *r = &l->reads[index];
    struct error error;

    if (++r->tries <= TRIES_MAX) {
        if (r->tries > TRIES_AT_ONCE)
            nanosleep(&(struct timespec){ .tv_nsec = (long)NS_PER_MS }, NULL);
        push_again(l, index);
        return;
    }
    error_set(&error, -EIO, "%u reads in a row at offset %llu %s: the device below does not answer as it should",
              r->tries, (unsigned long long)(l->slots[r->slot].extent->offset + r->position), why);
    fail(l, &error);
}

/* Some file systems say no at open, some at the first read: from here on all reads are buffered. */
static void leave_direct(struct loader *l, int code)
{
    char note[96];

    if (!l->direct)
        return;
    l->direct = false;
    snprintf(note, sizeof(note), "buffered reads: a direct read was refused (%s)", strerror(-code));
    pthread_mutex_lock(&l->lock);
    l->report.direct = false;
    loader_note(l, note);
    pthread_mutex_unlock(&l->lock);
}

static bool refuses_direct(int code) { return code == -EINVAL || code == -EFAULT || code == -EOPNOTSUPP; }

static void read_failed(struct loader *l, uint32_t index, int code)
{
    struct loader_read *r = &l->reads[index];
    unsigned long long offset = l->slots[r->slot].extent->offset + r->position;
    struct error error;

    if (code == -EINTR || code == -EAGAIN) {
        try_again(l, index, "were interrupted");
    } else if (r->direct && refuses_direct(code)) {
        leave_direct(l, code);
        push_again(l, index);
    } else {
        error_set(&error, code,
                  "reading %u bytes at offset %llu failed: %s; the disk or its file system has a fault there, see the "
                  "kernel's log (dmesg), then restore the file from another copy",
                  r->asked, offset, strerror(-code));
        fail(l, &error);
    }
}

static void fail_truncated(struct loader *l, uint64_t ends_at)
{
    struct error error;

    error_set(&error, -ENODATA,
              "the file was truncated while reading: it ends at offset %llu, %llu bytes were there at the start; load "
              "it again once nobody writes to it",
              (unsigned long long)ends_at, (unsigned long long)l->file.size);
    fail(l, &error);
}

/* @r's request brought @got bytes.  Short is right only where the file ends. */
static void read_got(struct loader *l, uint32_t index, uint32_t got)
{
    struct loader_read *r = &l->reads[index];
    const struct extent *e = l->slots[r->slot].extent;
    uint64_t wanted_end = min_u64(e->offset + r->end, l->file.size);
    uint32_t before = r->position, reached = r->position + got;

    if (e->offset + reached >= wanted_end) {
        read_complete(l, index);
        return;
    }
    if (got == 0 || load_file_shrank(&l->file)) {
        fail_truncated(l, e->offset + reached);
        return;
    }
    /* A direct read must go on where the alignment allows, even if some bytes come twice. */
    r->position = r->direct ? (uint32_t)align_down(reached, l->plan.align) : reached;
    if (r->position > before) {
        r->tries = 0;
        push_again(l, index);
    } else {
        try_again(l, index, "brought less than one block");
    }
}

static void complete(struct loader *l, const struct source_done *done, bool giving_up)
{
    uint32_t index = (uint32_t)done->cookie;

    check(done->cookie < LOADER_DEPTH && l->in_flight > 0);
    l->in_flight--;
    if (giving_up)
        put_free_read(l, index);
    else if (done->result < 0)
        read_failed(l, index, done->result);
    else
        read_got(l, index, (uint32_t)min_u64((uint64_t)done->result, l->reads[index].asked));
}

/* Places what there is room for; false when there is nothing left to do. */
static bool plan_round(struct loader *l)
{
    bool more;

    pthread_mutex_lock(&l->lock);
    if (l->stopping || l->failed) {
        more = l->in_flight > 0;
    } else {
        loader_place(l);
        more = l->in_flight > 0 || l->lanes_unplaced > 0 || l->issuing.head != LOADER_NONE ||
               l->again_head != LOADER_NONE;
    }
    pthread_mutex_unlock(&l->lock);
    return more;
}

static void count(struct loader *l, const struct source_done *dones, int n)
{
    pthread_mutex_lock(&l->lock);
    l->report.depth = (uint32_t)max_u64(l->report.depth, l->in_flight);
    for (int i = 0; i < n; i++)
        if (dones[i].result > 0)
            l->report.bytes_read += (uint64_t)dones[i].result;
    pthread_mutex_unlock(&l->lock);
}

void *loader_thread(void *arg)
{
    struct source_done dones[LOADER_DEPTH];
    struct loader *l = arg;

    while (plan_round(l)) {
        struct error error;
        int n;

        if (!given_up(l))
            send_all(l);
        n = l->ops->wait(l->source, dones, LOADER_DEPTH);
        if (n < 0) {
            error_set(&error, n, "waiting for reads failed: %s", strerror(-n));
            fail(l, &error);
            break;
        }
        count(l, dones, n);
        for (int i = 0; i < n; i++)
            complete(l, &dones[i], given_up(l));
    }
    pthread_mutex_lock(&l->lock);
    l->report.now_ns = clock_now_ns();
    pthread_mutex_unlock(&l->lock);
    return NULL;
}
