/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A connection: frames in, frames out, its requests.  Reading never waits for writing.  The output queue holds
 * limits.output_queue bytes; when it is nearly full, the connection's requests are parked, long replies wait, and
 * what is on its way still fits, as does an END for every request.  Door thread only.
 */

#include "io/ring.h"
#include "io/socket.h"
#include "io/timer.h"
#include "src/serve/inbox.h"
#include "src/serve/outbox.h"
#include "src/serve/refusal.h"
#include "src/serve/user.h"

struct door;
struct request;

/* A deadline with what to do. */
struct alarm {
    struct timer timer;
    void (*fire)(struct door *door, struct alarm *alarm);
};

enum conn_state {
    CONN_HANDSHAKE,                     /* HELLO is to come */
    CONN_OPEN,
    CONN_FINISHING,                     /* nothing more is read; requests end, output leaves, then it closes */
    CONN_CLOSING,                       /* the ring closes it; nothing is sent any more */
    CONN_STATE_COUNT,
};

struct conn {
    uint64_t magic;
    enum conn_state state;
    struct door *door;
    uint32_t slot;
    int fd;
    bool admin;                         /* came by the admin socket */
    struct socket_peer peer;
    struct user *user;
    uint32_t max_frame;                 /* largest payload that the client takes */
    struct inbox inbox;
    uint32_t inbox_charged;             /* bytes of it above the base, charged to user */
    struct outbox outbox;
    struct ring_receive receive;
    bool receiving, sending, polling;   /* operations of the ring */
    bool input_ended;                   /* the peer sends no more */
    bool doomed;                        /* a frame could not be queued: aborted at the next flush */
    bool full;                          /* output above the mark: requests parked */
    struct request *requests;           /* in flight */
    uint32_t request_count;
    struct alarm input_alarm;           /* handshake, or a frame that was started */
    struct alarm output_alarm;          /* full for too long, or the last bytes do not leave */
    bool dirty;                         /* in door->dirty */
    struct conn *next_dirty;
    char client[64];                    /* as it calls itself; printable */
};

const char *conn_state_name(enum conn_state state);
/* The one place where states change. */
void conn_move(struct conn *conn, enum conn_state to);

/* Takes @fd over, also on failure.  A limit: an error frame and closed.  Returns nothing: what can be done is done. */
void conn_accept(struct door *door, int fd, bool admin);
void conn_received(struct conn *conn, int32_t result);
void conn_sent(struct conn *conn, int32_t result);
void conn_hung_up(struct conn *conn);
void conn_closed(struct conn *conn);

/*
 * Appends whole frames.  What does not fit even in the room kept back means a client that asks and never reads: it is
 * closed at the next flush, not here, so that callers may walk over its requests.
 */
void conn_put(struct conn *conn, const void *frames, size_t size);
/* Bytes that a long reply may append now. */
size_t conn_room(const struct conn *conn);
/* Something changed: conn_flush() will look at it. */
void conn_touch(struct conn *conn);
/* Fills up with long replies, parks or unparks, starts a send, or ends what is finished. */
void conn_flush(struct conn *conn);

/* Reads no more; requests finish or are cancelled, then it closes. */
void conn_finish(struct conn *conn, bool cancel);
/* At once: requests are abandoned. */
void conn_abort(struct conn *conn);
/* When nothing of the daemon runs any more: frees what the ring would have told the end of. */
void conn_free(struct conn *conn);
