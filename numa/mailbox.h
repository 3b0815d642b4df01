/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A single-producer, single-consumer ring of records of variable length between two threads.
 * No lock, no allocation after mailbox_new().  Waking the other side is the caller's business
 * (mailbox_wait / mailbox_wake here, or an eventfd that a ring polls).
 */

#include "src/base/base.h"
#include "src/base/bytes.h"

struct mailbox;

/*
 * capacity_bytes: a power of two from 64 to 2^30; a record takes its size + 8, rounded up to 8, and with that is
 * at most capacity / 2.  -EINVAL, -ENOMEM.
 */
must_check int mailbox_new(uint32_t capacity_bytes, struct mailbox **ret_mailbox);
struct mailbox *mailbox_free(struct mailbox *mailbox);

/* Producer: 0, 1 (full: try later), or -EMSGSIZE (larger than ever fits).  The record is copied. */
must_check int mailbox_put(struct mailbox *mailbox, const void *record, uint32_t size);
/* Producer: bytes a record may have right now, at least; 0 may also mean "only an empty one". */
uint32_t mailbox_room(const struct mailbox *mailbox);
/* Consumer: the oldest record, in place, or false when empty; valid until mailbox_drop(). */
bool mailbox_peek(struct mailbox *mailbox, struct span *ret_record);
void mailbox_drop(struct mailbox *mailbox);
bool mailbox_empty(const struct mailbox *mailbox);

/*
 * A doze flag on a futex, zero at birth: the sleeper calls doze_begin(), looks into its mailboxes, and where they
 * are empty calls doze_sleep(), which returns at once if doze_wake() came since.  It may also return early for no
 * reason: look again.  One sleeper or several; any thread wakes, after mailbox_put().
 */
struct doze {
    _Atomic uint32_t word;
};
uint32_t doze_begin(struct doze *doze);
/* timeout_ns UINT64_MAX = none. */
void doze_sleep(struct doze *doze, uint32_t begun, uint64_t timeout_ns);
void doze_wake(struct doze *doze);
