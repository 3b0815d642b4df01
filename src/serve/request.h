/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A request in flight: from its frame until its END frame is queued and nobody else has anything of it.  Requests
 * that are answered at once (PING, errors) never become one.  Door thread only.
 */

#include "io/timer.h"
#include "src/serve/conn.h"
#include "src/serve/models.h"
#include "src/serve/scribe.h"

enum request_state {
    REQUEST_NEW,
    REQUEST_READING,                    /* the scribe turns its text into tokens */
    REQUEST_WAITING,                    /* GENERATE: the engine has it, STARTED is to come */
    REQUEST_STREAMING,                  /* STARTED was sent; tokens */
    REQUEST_REPLYING,                   /* a long reply is queued piece by piece as there is room */
    REQUEST_WATCHING,                   /* SUBSCRIBE, DRAIN: until CANCEL, or the end */
    REQUEST_ENDED,                      /* END is queued or the client gone; engine or scribe still have it */
    REQUEST_STATE_COUNT,
};

/* A reply longer than one frame: what is left of it. */
enum body_kind { BODY_TOKENS, BODY_TEXT, BODY_STATS, BODY_MODELS, BODY_INFO };

struct body {
    enum body_kind kind;
    struct tokens tokens;
    struct buffer text;
    size_t position;
};

struct request {
    uint64_t magic;
    uint64_t key, cookie;
    uint16_t type;                      /* of its frame */
    enum request_state state;
    struct door *door;
    struct conn *conn;                  /* NULL when the client has gone */
    struct user *user;
    struct model *model;                /* NULL where none is meant */
    struct request *next, *previous;    /* among the connection's */
    uint64_t charged_bytes;             /* to user */
    uint64_t arrived_ns, token_ns;

    struct job *job;                    /* GENERATE: at the engine from SUBMIT to RETURN */
    bool at_scribe, at_engine;
    bool cancelled;                     /* by CANCEL or a stall */

    /* What the engine is to know, and knows. */
    bool tell_submit, tell_cancel;
    bool park_wanted, park_told;
    uint32_t tell_grants;
    bool telling;                       /* in door->telling */
    struct request *next_telling;

    bool limited;                       /* by credits */
    uint64_t credits;
    struct alarm starved;               /* no credits for too long */

    struct body body;                   /* REPLYING */
    uint32_t mask;                      /* SUBSCRIBE */
    uint32_t stale_states, stale_loads; /* SUBSCRIBE: models whose event found no room; bits */
};

const char *request_state_name(enum request_state state);
/* The one place where states change. */
void request_move(struct request *request, enum request_state to);

/*
 * Makes the request of a frame: a cookie in use, a quota or a limit is a code with @refusal.  Then it is in flight.
 */
must_check int request_new(struct conn *conn, const struct frame_header *header, struct request **ret_request,
                           struct refusal *refusal);
struct request *request_find(struct conn *conn, uint64_t cookie);
struct request *request_by_key(struct door *door, uint64_t key);
must_check int request_charge(struct request *request, uint64_t bytes, struct refusal *refusal);

/* Its END frame is queued, or nobody wants it any more: leaves the connection; freed when nobody has anything of it. */
void request_end(struct request *request);
/* Frees an ended request that nothing is away of. */
void request_settle(struct request *request);
/* The client is gone: cancelled and ended. */
void request_abandon(struct request *request);
/* CANCEL: it ends with its own END frame. */
void request_cancel(struct request *request);
void request_park(struct request *request, bool on);
void request_grant(struct request *request, uint32_t credits);

/* To the engine, or to the scribe. */
void request_submit(struct request *request);
void request_give(struct request *request, struct scribe_work *work);
/* What the scribe brought back: goes on with the request, or drops it. */
void request_read(struct door *door, struct scribe_work *work);

/* Tells the engine what it is to know; what finds no room is told later. */
void requests_tell(struct door *door);
