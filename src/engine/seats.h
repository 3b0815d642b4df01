/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The seats of an instance: which of its sequences take part in a step, at most info.sequences.  A parked one has none.
 * Where KV memory is short for those that could run, parked ones lose their blocks.  Engine thread only.
 */

#include "src/engine/instance_internal.h"
#include "src/engine/sequence.h"

/* Appends a sequence with a seat, which must be free; takes one out, wherever it is. */
void seats_join(struct instance *instance, struct sequence *sequence);
void seats_part(struct instance *instance, struct sequence *sequence);

void seats_leave(struct instance *instance, struct sequence *sequence);

/* Those that came back from parking get theirs, in order of arrival, as far as seats and blocks go. */
void seats_give(struct instance *instance);
/* Whether any is still without: no new one goes before it. */
bool seats_wanted(const struct instance *instance);

/* Takes the blocks of one parked sequence, the latest: it has the least to lose.  False where there is none. */
bool seats_evict_one(struct instance *instance);
