/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The seats of an instance: which of its sequences take part in a step, at most info.sequences.  A parked one has none.
 *
 * Whoever wants a seat, a new request or one that returns from parking, has a ticket; the lowest goes first, so nobody
 * overtakes for ever by coming and going.  Where KV memory is short for the first in line, sequences without a seat
 * behind it lose their blocks: parked ones, then others.  Those with a seat never do, and every seat ends or is parked
 * some day, so the first in line always gets its turn.  Engine thread only.
 */

#include "src/engine/instance_internal.h"
#include "src/engine/sequence.h"

static inline bool seats_free(const struct instance *instance)
{
    return instance->seated < instance->info.sequences;
}

/* Appends a sequence with a seat, which must be free; takes one out, wherever it is. */
void seats_join(struct instance *instance, struct sequence *sequence);
void seats_part(struct instance *instance, struct sequence *sequence);

void seats_leave(struct instance *instance, struct sequence *sequence);

/* The first in line among the sequences, NULL = none; with @holders of those alone that still have their blocks. */
struct sequence *seats_next(const struct instance *instance, bool holders);
/* Gives it a free seat, with blocks.  1: they are not to be had now. */
must_check int seats_take(struct instance *instance, struct sequence *sequence);

/* Makes @blocks free for the holder of @ticket, or touches nothing and returns 1 where that would not be enough. */
must_check int seats_make_room(struct instance *instance, uint32_t blocks, uint64_t ticket);
