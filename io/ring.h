/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What one thread waits for: connections, bytes, timers, other threads' wakes.  Operations are started and complete
 * later as events; an io_uring below, or epoll where a container forbids io_uring, with the same behaviour.
 *
 *     ring_accept(ring, listener, 1);
 *     for (;;) {
 *         ring_wait(ring, UINT64_MAX);
 *         while (ring_next(ring, &event))
 *             ...
 *     }
 *
 * One thread owns a ring: all calls are its, but for ring_wake().  Nothing is allocated after ring_new(), but for a
 * table by descriptor that grows with the largest one.
 *
 * Cookies are the caller's and name an operation from its start to its last event; two live operations never share
 * one.  Each operation that started (0 returned) has exactly one last event (more = false), cancelled or not.  Until
 * then the ring owns the memory that it was given; the bytes, not the array of parts, which is copied.
 *
 * A descriptor has at most one operation that takes (accept, recv, poll) and one that gives (send) at a time.  It may
 * be blocking or not (a listener's O_NONBLOCK is set as the backend needs it).  Once a ring has seen it, close it by
 * ring_close(), never by close(2), as long as the ring lives: the number may come back as another file.
 */

#include <sys/uio.h>

#include "src/base/error.h"

enum ring_backend { RING_AUTO, RING_URING, RING_EPOLL };

#define RING_OPERATIONS_DEFAULT 4096u
#define RING_OPERATIONS_MAX 65536u
#define RING_FD_MAX (1u << 20)
#define RING_FDS_MAX 4u             /* descriptors sent or received with one message */
#define RING_PARTS_MAX 8u

enum {                              /* verdicts of the functions that start or cancel */
    RING_E_FULL = 1,                /* as many operations live as ring_config.operations allows */
    RING_E_BUSY,                    /* the descriptor has an operation of this direction, or is being closed */
    RING_E_EXISTS,                  /* the cookie names a live operation */
    RING_E_NONE,                    /* no live operation has this cookie */
};

struct ring_config {
    enum ring_backend backend;      /* RING_AUTO: io_uring, else epoll, and ring_note() says why */
    uint32_t operations;            /* live at once, 0 = default; undelivered events count */
};

enum ring_kind { RING_ACCEPT, RING_RECV, RING_SEND, RING_POLL, RING_TIMER, RING_CLOSE, RING_WAKE };

struct ring_event {
    uint64_t cookie;                /* 0 with RING_WAKE */
    enum ring_kind kind;
    bool more;                      /* the operation goes on: its cookie stays taken (RING_ACCEPT only) */
    int32_t result;                 /* >= 0, see each operation; or a negative errno, -ECANCELED after ring_cancel() */
};

/* What a receive fills; the caller's, left alone by him until the event. */
struct ring_receive {
    void *data;                     /* in */
    uint32_t size;                  /* in, at least 1 */
    uint32_t fd_count;              /* out: what came by SCM_RIGHTS, close-on-exec; the caller owns and closes them */
    int fds[RING_FDS_MAX];
    bool truncated;                 /* out: MSG_CTRUNC, more came than fit; those that are here are still owned */
};

struct ring;

/* 0, or a negative errno with @error filled. */
must_check int ring_new(const struct ring_config *config, struct ring **ret_ring, struct error *error);
/*
 * Cancels all, waits until the kernel has let go of the memory given, closes what undelivered events carry (accepted
 * and received descriptors) and what ring_close() was to close.  NULL-safe.  Other descriptors stay open.
 */
struct ring *ring_free(struct ring *ring);

/* "io_uring" or "epoll"; and why it is not io_uring, "" if it is or was not asked to be. */
const char *ring_name(const struct ring *ring);
const char *ring_note(const struct ring *ring);

/*
 * Takes connections until cancelled or failed: an event with more = true each, result = the new descriptor
 * (close-on-exec, blocking).  A failure (-EMFILE, -ENFILE, -ENOMEM ...) is the last event: start again when
 * descriptors are free.
 */
must_check int ring_accept(struct ring *ring, int listener, uint64_t cookie);

/*
 * result = bytes received (at least 1), 0 = the peer will send no more; @receive is filled when result >= 0.  Bytes
 * that came with descriptors end a receive: they and the bytes after them never share one.
 */
must_check int ring_recv(struct ring *ring, int fd, struct ring_receive *receive, uint64_t cookie);

/*
 * result = bytes sent, which may be fewer than given: start again with the rest.  @fds travel with the first byte;
 * they are borrowed until the event, as the bytes are.  -EPIPE, -ECONNRESET when the peer is gone (never SIGPIPE).
 */
must_check int ring_send(struct ring *ring, int fd, const struct iovec *parts, uint32_t part_count, const int *fds,
                         uint32_t fd_count, uint64_t cookie);

/*
 * Once: result = the poll(2) bits that came, of @events (of <poll.h>) and POLLERR, POLLHUP.  With events = 0 it waits
 * for the hang-up alone: that the peer is gone, rather than has finished sending.
 */
must_check int ring_poll(struct ring *ring, int fd, uint32_t events, uint64_t cookie);

/* At @deadline_ns of the monotonic clock (src/base/clock.h), or at once when it is past: result 0. */
must_check int ring_timer(struct ring *ring, uint64_t deadline_ns, uint64_t cookie);

/*
 * Cancels what lives on @fd (each has its last event first), closes it, then has an event of its own: result 0.  A
 * send that the kernel has begun may still go out.  Works for descriptors without operations, too.
 */
must_check int ring_close(struct ring *ring, int fd, uint64_t cookie);

/*
 * The operation ends soon: -ECANCELED, or what it achieved before the cancel met it.  RING_E_NONE when it had its
 * last event already.  A close cannot be cancelled (RING_E_BUSY).
 */
must_check int ring_cancel(struct ring *ring, uint64_t cookie);

/*
 * Hands what was started to the kernel and blocks until there is an event, or @deadline_ns (monotonic; 0 = do not
 * block, UINT64_MAX = no limit), or a signal; now and then it returns without an event for reasons of its own.
 * Returns 0, or a negative errno: the ring is broken.
 */
must_check int ring_wait(struct ring *ring, uint64_t deadline_ns);

/* The next event in the order of completion, or false.  Never blocks. */
bool ring_next(struct ring *ring, struct ring_event *ret_event);

/*
 * Any thread, also a signal handler: the owner's present or next ring_wait() returns with a RING_WAKE event.  Wakes
 * before that event is taken are one.  What was written before a wake is seen after its event.  Costs a system call
 * only when the owner sleeps.
 */
void ring_wake(struct ring *ring);
