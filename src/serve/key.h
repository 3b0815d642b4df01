/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A request's key: its place in the table of requests, and a count that never comes back. */

#include "src/serve/peer_limits.h"

#define KEY_SLOT_BITS 12

_Static_assert(LIMIT_REQUESTS == 1u << KEY_SLOT_BITS, "a slot is the low bits of a key");

static inline uint64_t key_make(uint32_t slot, uint64_t generation) { return generation << KEY_SLOT_BITS | slot; }
static inline uint32_t key_slot(uint64_t key) { return (uint32_t)(key & (LIMIT_REQUESTS - 1)); }
