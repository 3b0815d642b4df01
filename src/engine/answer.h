/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The text of an answer on its way out: bytes are released when they are whole as UTF-8 and cannot become part of a
 * stop string any more.  What is released never contains a stop string, however tokens cut it; the concatenation of
 * all releases is the answer.  One per sequence; engine thread only.
 */

#include "src/base/bytes.h"
#include "src/engine/engine.h"

struct answer {
    const struct engine_request *request;   /* for its stop strings; borrowed */
    struct buffer held;                     /* bytes not released yet, after `released` that were */
    size_t released;                        /* bytes at the front of held that went out last time */
    uint32_t offset;                        /* in the answer, of what is released next */
    bool stopped;                           /* a stop string was met; the rest is dropped */
};

#define ANSWER_NULL { .request = NULL }

void answer_init(struct answer *answer, const struct engine_request *request);
void answer_deinit(struct answer *answer);

/* Where the next token's bytes are appended; then answer_release(). */
struct buffer *answer_input(struct answer *answer);
/* Bytes free to go: valid until the next answer_input().  *ret_offset is where they begin in the answer. */
struct span answer_release(struct answer *answer, uint32_t *ret_offset);
/* Everything left, whole or not: at the end of an answer that met no stop string. */
struct span answer_flush(struct answer *answer, uint32_t *ret_offset);
