/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From logits to a token: the chain of NUMERICS.md section 8, in this order: repeat penalty, presence and
 * frequency penalties, (bias, grammar: later), temperature, top-k, top-p, min-p, typical, draw.
 * temperature 0 is argmax, lowest id on ties.  All sums are integers, so the draw is the same on any machine.
 */

#include "src/base/base.h"
#include "src/base/error.h"

struct sampling {
    float temperature;          /* 0, or 2^-10 .. 2^10 */
    float top_p;                /* 0 < p <= 1; 1 = off */
    float min_p;                /* 0 .. 1; 0 = off */
    float typical_p;            /* 0 < p <= 1; 1 = off */
    float repeat_penalty;       /* > 0; 1 = off */
    float presence_penalty, frequency_penalty;  /* -100 .. 100; 0 = off */
    uint32_t top_k;             /* 0 = off */
    uint32_t repeat_last_n;     /* window of the penalties in tokens; 0 = no penalties */
    uint64_t seed;
    bool seed_given;            /* false: the engine draws one and echoes it */
};

#define SAMPLING_DEFAULT { .temperature = 0, .top_p = 1, .typical_p = 1, .repeat_penalty = 1, .repeat_last_n = 64 }

/* 0, or -EINVAL with the field and its range.  NaN and infinities are refused. */
must_check int sampling_check(const struct sampling *sampling, struct error *error);
