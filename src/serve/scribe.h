/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A thread that turns long texts into tokens and long lists of ids into text, so that the door need not: one piece of
 * work after the other, in order.  What is short the door does itself.
 */

#include "src/serve/prompt.h"

enum scribe_kind { SCRIBE_ENCODE, SCRIBE_DECODE };

/* Belongs to the scribe from scribe_give() until scribe_take() returns it; otherwise to the door. */
struct scribe_work {
    uint64_t key;                       /* the request's */
    enum scribe_kind kind;
    uint8_t *payload;                   /* a copy of the frame's, which prompt.segments and ids point into */
    struct prompt prompt;               /* ENCODE */
    int fds[WIRE_LIMIT_FDS];            /* its own, closed with it */
    struct wire_list ids;               /* DECODE */
    bool with_control;
    struct tokens tokens;               /* results */
    struct buffer text;
    struct refusal refusal;             /* code 0 = it went well */
};

/* Copies the payload and takes the descriptors over (they become -1 in @fds); NULL when there is no memory. */
struct scribe_work *scribe_work_new(enum scribe_kind kind, struct span payload, int *fds, uint32_t fd_count);
struct scribe_work *scribe_work_free(struct scribe_work *work);
/* What the thread does; also for the door when it is little. */
void scribe_work_do(struct scribe_work *work);

struct scribe;

/* @wake is called on the scribe's thread when a piece of work is done.  0, or a negative errno with @error. */
must_check int scribe_new(void (*wake)(void *arg), void *wake_arg, struct scribe **ret_scribe, struct error *error);
/* Ends the thread after the piece in hand, frees what is left; NULL-safe. */
struct scribe *scribe_free(struct scribe *scribe);

/* There is room for one piece of each of LIMIT_REQUESTS requests. */
void scribe_give(struct scribe *scribe, struct scribe_work *work);
/* The next piece that is done, or NULL. */
struct scribe_work *scribe_take(struct scribe *scribe);
