/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Logits of given tokens, position by position: `tenon logits`, perplexity, SCORE.  Runs on worker 0 with a sequence of
 * its own, beside whatever the engine has; the bits are those of a generation over the same tokens.
 */

#include "src/engine/instance.h"

/* Logits f32 [n_vocab] that follow token @position; borrowed for the call.  Non-zero stops and is returned. */
typedef int score_fn(void *arg, uint32_t position, const float *logits, uint32_t n_vocab);

/*
 * Positions from @from on are told.  @chunk: tokens per forward pass, 0 = as many as fit.  -E2BIG beyond the context,
 * -EDOM where a value was not finite.
 */
must_check int instance_score(struct instance *instance, const uint32_t *ids, uint32_t count, uint32_t from,
                              uint32_t chunk, score_fn *fn, void *arg, struct error *error);
/* log-probability of @id under @logits (NUMERICS.md section 8). */
float instance_logprob(struct instance *instance, const float *logits, uint32_t id);
