/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the files of the door share. */

#include "src/serve/door.h"
#include "src/serve/key.h"
#include "src/serve/reply.h"

#define CONN_MAGIC UINT64_C(0x746e6f63636f6e6e)
#define REQUEST_MAGIC UINT64_C(0x7471657271726571)

/* Cookies of the ring: an operation of a connection's slot, or of the door itself. */
enum door_op { OP_RECEIVE = 1, OP_SEND, OP_HANGUP, OP_CLOSE, OP_LISTEN, OP_SIGNAL, OP_ORPHAN };

static inline uint64_t door_cookie(enum door_op op, uint64_t slot) { return slot << 8 | op; }

#define alarm_owner(alarm, type, member) ((type *)(void *)((char *)(alarm) - offsetof(type, member)))

struct door {
    struct door_config config;
    struct ring *ring;
    struct bridge *bridge;
    struct scribe *scribe;
    const struct limits *limits;        /* config.limits */
    uint64_t now_ns;                    /* when this round of events began */
    struct models models;
    struct metrics metrics;
    struct users users;
    struct timers timers;
    struct chunks chunks;
    uint8_t *scratch;                   /* [FRAME_HEADER_BYTES + WIRE_LIMIT_FRAME_SERVER]: a frame being built */

    struct conn **conns;                /* [limits->connections] */
    uint32_t conn_count;
    uint32_t closing_orphans;           /* refused connections that the ring closes */
    uint64_t orphan_serial;
    struct conn *dirty;

    struct request *requests[LIMIT_REQUESTS];
    uint16_t free_slots[LIMIT_REQUESTS];
    uint32_t free_count;
    uint64_t generation;
    uint32_t request_count;
    uint32_t submitted;                 /* GENERATEs that have not ended */
    struct request *telling;            /* the engine is to know something */
    bool more_mail;                     /* events of the engine are left for the next round */
    double mean_request_ns;             /* how long a generation takes, for retry_after_ms */

    bool listening[DOOR_LISTENERS_MAX];
    struct alarm listen_alarm;          /* descriptors ran out: try again */
    struct alarm tell_alarm;            /* the mailbox was full */
    struct alarm drain_alarm;
    struct alarm tick_alarm;
    uint32_t log_level;
    bool draining, stopping, host_ended, late;  /* late: the drain's deadline has passed */
    uint32_t drain_reason, drain_deadline_ms;
    int failure;                        /* of the engine's thread */
    struct error failure_error;
};

void door_alarm(struct door *door, struct alarm *alarm, uint64_t after_ns);
void door_quiet(struct door *door, struct alarm *alarm);
uint32_t door_retry_after_ms(const struct door *door);

/* One frame of an open connection, or HELLO (verbs.c). */
void verb_handle(struct conn *conn, struct inbox_frame *frame);

/* The verbs with files of their own.  Each answers its frame, now or later. */
void verb_generate(struct conn *conn, struct inbox_frame *frame);
void verb_tokenize(struct conn *conn, struct inbox_frame *frame);
void verb_detokenize(struct conn *conn, struct inbox_frame *frame);
void verb_model_list(struct conn *conn, struct inbox_frame *frame);
void verb_model_info(struct conn *conn, struct inbox_frame *frame);
void verb_stats(struct conn *conn, struct inbox_frame *frame);
void verb_subscribe(struct conn *conn, struct inbox_frame *frame);
/* The scribe's or the door's own work is done: GENERATE goes to the engine, TOKENIZE and DETOKENIZE reply. */
void verb_read(struct request *request, struct scribe_work *work);
