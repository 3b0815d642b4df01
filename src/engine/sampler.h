/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Draws a token from logits (NUMERICS.md section 8).  One per engine; engine thread only; no allocation after init. */

#include "kernels/ops.h"
#include "src/engine/engine.h"

struct sampler_entry { float u; uint32_t id; uint64_t mass; };

struct sampler {
    const struct kernel_ops *ops;
    uint32_t n_vocab;                   /* capacity */
    float *z;                           /* [n_vocab] logits after the penalties */
    float *w;                           /* [n_vocab] exp(u - max) */
    struct sampler_entry *entries;      /* [n_vocab] survivors */
};

#define SAMPLER_NULL { .ops = NULL }

must_check int sampler_init(struct sampler *sampler, const struct kernel_ops *ops, uint32_t n_vocab);
void sampler_deinit(struct sampler *sampler);

/*
 * @history: the accepted tokens, prompt included; @accepted: how many of them this request generated (the counter of
 * the random numbers).  @logits: f32 [n_vocab], finite.
 */
uint32_t sampler_draw(struct sampler *sampler, const struct sampling *p, const float *logits, uint32_t n_vocab,
                      const uint32_t *history, uint32_t history_count, uint32_t accepted);

/* Log-probability of @id and the @count best tokens, from raw logits at temperature 1. */
float sampler_logprob(struct sampler *sampler, const float *logits, uint32_t n_vocab, uint32_t id,
                      struct engine_alternative *ret_best, uint32_t count);
