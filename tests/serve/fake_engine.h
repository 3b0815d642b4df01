/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An engine of the shape of src/engine/engine.h that computes nothing: linked in the place of the real one, so that
 * the door and its bridge are tested without a model.  The vocabulary is bytes, and a few special tokens; the n-th
 * token of an answer is a function of prompt, seed and n (fake_answer_byte()).
 */

#include <stdatomic.h>

#include "src/engine/engine.h"

#define FAKE_BOS 256u
#define FAKE_EOS 257u
#define FAKE_MARK 258u                  /* "<|mark|>" */
#define FAKE_LONG 259u                  /* a token of fake.long_token bytes */
#define FAKE_VOCAB 260u
#define FAKE_MARK_TEXT "<|mark|>"

struct fake {
    _Atomic uint64_t step_ns;           /* a step takes that long */
    _Atomic uint64_t load_ns;           /* loading takes that long, with progress */
    _Atomic int load_error;             /* -errno: loading fails at its end */
    _Atomic uint32_t sequences;         /* that run at once */
    _Atomic uint32_t queue;             /* that wait at most */
    _Atomic uint32_t context;
    _Atomic bool add_bos;
    _Atomic uint32_t long_token;        /* bytes of text of every token when not 0 */
    _Atomic uint32_t encode_ns_per_byte;    /* tokenising takes that long */
    /* What the engine saw. */
    _Atomic uint32_t live;              /* submitted and not done */
    _Atomic uint32_t parked;            /* parked now */
    _Atomic uint64_t tokens, submitted, cancelled, parks;
};

extern struct fake fake;

void fake_reset(void);                  /* defaults: at once, 4 sequences, 8 waiting, context 4096, BOS */
/* The byte that is token @n of the answer. */
uint8_t fake_answer_byte(const uint32_t *prompt, uint32_t prompt_count, uint64_t seed, uint32_t n);
