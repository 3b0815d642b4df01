/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The forward pass as NUMERICS.md reads: one token after another, one operation after another, one thread, nothing
 * fused, nothing cut into tasks.  What the graph is held against, bit for bit.
 */

#include "src/engine/instance_internal.h"

struct plain;

must_check int plain_new(const struct instance *instance, uint32_t wide_mask, uint32_t positions,
                         struct plain **ret_plain);
struct plain *plain_free(struct plain *plain);
/* The next token of the sequence; f32 [n_vocab], valid until the next call. */
const float *plain_token(struct plain *plain, uint32_t id);
