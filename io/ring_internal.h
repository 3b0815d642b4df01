/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The ring's insides.  ring.c keeps the operations (cookies, descriptors, timers, closing, the queue of results that
 * need no kernel); a backend moves bytes.  Life of an operation:
 *   taken from the free list -> started by the backend, or by a timer, or at once in the ready queue
 *   -> delivered by ring_next(): its last event; then its cookie and its place at the descriptor are free.
 */

#include <poll.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "io/ring.h"
#include "io/timer.h"

#define RING_MAGIC 0x41c65a3bu
#define RING_NONE UINT32_MAX

struct ring_op {
    uint64_t cookie;
    struct timer timer;             /* first of its kind: see op_of_timer() */
    enum ring_kind kind;
    int fd;                         /* -1 = none */
    bool live, gives, cancelled, queued;
    bool cancel_due;                /* the backend's */
    uint32_t index, next;           /* next: free list or ready queue */
    uint32_t hash_next;
    uint32_t closer;                /* the close that waits for this one's last event */
    uint32_t waits_for;             /* a close: so many last events */
    int32_t result;                 /* in the ready queue; or held back by a backend */
    uint32_t events;                /* poll */
    uint32_t generation;
    uint8_t phase;                  /* the backend's */
    struct ring_receive *receive;
    struct msghdr message;
    struct iovec parts[RING_PARTS_MAX];
    union {
        struct cmsghdr align;
        uint8_t bytes[CMSG_SPACE(RING_FDS_MAX * sizeof(int))];
    } control;
};

struct ring_fd {
    uint32_t taking, giving;        /* operations, RING_NONE */
    uint32_t close;                 /* the close under way, RING_NONE */
    uint32_t mask;                  /* epoll: what it is registered for */
    bool registered;
};

struct ring_backend_ops {
    const char *name;
    /* Starts @op; failures become results by ring_ready(). */
    void (*start)(struct ring *ring, struct ring_op *op);
    /* Makes the last event of @op come soon; called once per operation. */
    void (*cancel)(struct ring *ring, struct ring_op *op);
    /* The descriptor is about to be closed; nothing lives on it. */
    void (*forget)(struct ring *ring, int fd);
    /* Blocks until something completes, @deadline_ns, a signal or a wake. */
    int (*wait)(struct ring *ring, uint64_t deadline_ns);
    /* Next completion: true with @ret_event filled, by ring_deliver() or ring_deliver_more(). */
    bool (*next)(struct ring *ring, struct ring_event *ret_event);
    void (*close)(struct ring *ring);
};

struct ring {
    uint32_t magic;
    const struct ring_backend_ops *backend;
    void *state;                    /* the backend's */
    int wake_fd;                    /* eventfd, non-blocking; the backend watches it */
    atomic_bool wake_pending, sleeping;
    bool wake_taken;                /* a RING_WAKE event is due */
    bool freeing;
    char note[160];

    struct ring_op *ops;
    uint32_t op_count, op_fresh, op_free, live;
    uint32_t ready_head, ready_tail;
    uint32_t *buckets, bucket_mask;
    struct ring_fd *fds;
    uint32_t fd_count;
    struct timers timers;
};

extern const struct ring_backend_ops ring_uring_ops;
extern const struct ring_backend_ops ring_epoll_ops;
must_check int ring_uring_open(struct ring *ring, struct error *error);
must_check int ring_epoll_open(struct ring *ring, struct error *error);

/* ring.c, for backends: */
void ring_ready(struct ring *ring, struct ring_op *op, int32_t result);
void ring_deliver(struct ring *ring, struct ring_op *op, int32_t result, struct ring_event *ret_event);
void ring_deliver_more(struct ring *ring, const struct ring_op *op, int32_t result, struct ring_event *ret_event);
void ring_drain_wake(struct ring *ring);

/* ring_message.c: */
void ring_message_receive(struct ring_op *op);
void ring_message_send(struct ring_op *op, const struct iovec *parts, uint32_t part_count, const int *fds,
                       uint32_t fd_count);
/* Takes descriptors and flags out of a message that was received. */
void ring_message_received(struct ring_op *op);
void ring_message_drop_fds(struct ring_receive *receive);
