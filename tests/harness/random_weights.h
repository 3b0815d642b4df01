/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Random weights in any tensor type: bytes that are valid blocks with finite scales, of a wanted deviation.
 * The same seed gives the same bytes everywhere (integers, and floats by single roundings).
 */

#include "kernels/block.h"
#include "src/base/bytes.h"

/* splitmix64 (https://prng.di.unimi.it/splitmix64.c) */
struct random_stream {
    uint64_t state;
};
uint64_t random_u64(struct random_stream *r);
float random_signed(struct random_stream *r);       /* uniform in [-1, 1) */

/* Appends @values weights (whole blocks) of about the given standard deviation and mean 0. */
void random_weights(struct random_stream *r, enum tensor_type type, uint64_t values, float deviation,
                    struct buffer *out);
/* Appends floats @base + [-1, 1) * @spread: norms, biases. */
void random_floats(struct random_stream *r, uint64_t values, float base, float spread, struct buffer *out);
