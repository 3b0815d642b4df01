/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "io/ring_internal.h"
#include "src/base/clock.h"

/*
 * Level-triggered: what a descriptor is watched for only grows while operations come and go, and shrinks when it
 * becomes ready with nobody to take it.  So a connection that is read again and again costs no epoll_ctl(2).
 */
#define BATCH 64
#define WAKE_DATA UINT64_MAX

struct epoll_state {
    int fd;
    struct epoll_event batch[BATCH];
    uint32_t count, at;
    bool gave;                      /* batch[at]: the taking operation had its turn */
    bool served;                    /* batch[at]: somebody wanted what came */
};

/* EPOLL and POLL bits are the same numbers on Linux for all that is used here. */
static uint32_t interest(const struct ring_op *op)
{
    if (op->kind == RING_POLL)
        return op->events;
    return op->gives ? EPOLLOUT : EPOLLIN;
}

static int watch(struct ring *ring, int fd, uint32_t mask)
{
    struct epoll_state *s = ring->state;
    struct ring_fd *entry = &ring->fds[fd];
    struct epoll_event e = { .events = mask, .data.u64 = (uint64_t)fd };

    if (epoll_ctl(s->fd, entry->registered ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &e))
        return -errno;
    entry->registered = true;
    entry->mask = mask;
    return 0;
}

static void unwatch(struct ring *ring, int fd)
{
    struct epoll_state *s = ring->state;
    struct ring_fd *entry = &ring->fds[fd];

    if (entry->registered)
        (void)epoll_ctl(s->fd, EPOLL_CTL_DEL, fd, NULL);
    entry->registered = false;
    entry->mask = 0;
}

/* -EAGAIN where it is not ready; other results are final but for accepted connections. */
static int32_t attempt(struct ring_op *op)
{
    ssize_t n;

    do {
        if (op->kind == RING_ACCEPT) {
            n = accept4(op->fd, NULL, NULL, SOCK_CLOEXEC);
        } else if (op->kind == RING_RECV) {
            ring_message_receive(op);
            n = recvmsg(op->fd, &op->message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        } else {
            n = sendmsg(op->fd, &op->message, MSG_DONTWAIT | MSG_NOSIGNAL);
        }
    } while (n < 0 && errno == EINTR);
    if (n >= 0)
        return (int32_t)n;
    return errno == ECONNABORTED ? -EAGAIN : -errno;
}

static void epoll_start(struct ring *ring, struct ring_op *op)
{
    struct ring_fd *entry = &ring->fds[op->fd];
    uint32_t want = interest(op);
    int32_t r;

    if (op->kind == RING_ACCEPT) {
        int flags = fcntl(op->fd, F_GETFL);

        if (flags >= 0 && !(flags & O_NONBLOCK))
            (void)fcntl(op->fd, F_SETFL, flags | O_NONBLOCK);
    }
    /* A send mostly finds room at once. */
    if (op->kind == RING_SEND && (r = attempt(op)) != -EAGAIN) {
        ring_ready(ring, op, r);
        return;
    }
    if (entry->registered && (entry->mask & want) == want)
        return;
    r = watch(ring, op->fd, entry->mask | want);
    if (r)
        ring_ready(ring, op, r);
}

static void epoll_cancel(struct ring *ring, struct ring_op *op) { ring_ready(ring, op, -ECANCELED); }

/* What the batch still says of it must not reach another file that gets its number. */
static void epoll_forget(struct ring *ring, int fd)
{
    struct epoll_state *s = ring->state;

    unwatch(ring, fd);
    for (uint32_t i = s->at; i < s->count; i++)
        if (s->batch[i].data.u64 == (uint64_t)fd)
            s->batch[i].events = 0;
}

/* Milliseconds, rounded up so that a timer is never found too early. */
static int timeout_of(uint64_t deadline_ns)
{
    uint64_t now, ms;

    if (deadline_ns == UINT64_MAX)
        return -1;
    now = deadline_ns ? clock_now_ns() : 0;
    if (deadline_ns <= now)
        return 0;
    ms = (deadline_ns - now + NS_PER_MS - 1) / NS_PER_MS;
    return (int)min_u64(ms, INT32_MAX);
}

static int epoll_wait_for(struct ring *ring, uint64_t deadline_ns)
{
    struct epoll_state *s = ring->state;
    int n;

    if (s->at < s->count)
        return 0;
    s->at = s->count = 0;
    n = epoll_wait(s->fd, s->batch, BATCH, timeout_of(deadline_ns));
    if (n < 0)
        return errno == EINTR ? 0 : -errno;
    s->count = (uint32_t)n;
    return 0;
}

/* Gives @op its turn; true when an event was delivered. */
static bool turn(struct ring *ring, uint32_t index, uint32_t bits, struct ring_event *ret_event)
{
    struct epoll_state *s = ring->state;
    struct ring_op *op;
    int32_t r;

    if (index == RING_NONE)
        return false;
    op = &ring->ops[index];
    bits &= interest(op) | EPOLLERR | EPOLLHUP;
    if (op->queued || !bits)
        return false;
    s->served = true;
    if (op->kind == RING_POLL) {
        ring_deliver(ring, op, (int32_t)bits, ret_event);
        return true;
    }
    r = attempt(op);
    if (r == -EAGAIN)
        return false;
    if (op->kind == RING_ACCEPT && r >= 0)
        ring_deliver_more(ring, op, r, ret_event);
    else
        ring_deliver(ring, op, r, ret_event);
    return true;
}

/* Ready, and nobody wanted it: watch for less. */
static void prune(struct ring *ring, int fd)
{
    struct ring_fd *entry = &ring->fds[fd];
    uint32_t mask = 0;

    if (entry->taking == RING_NONE && entry->giving == RING_NONE) {
        unwatch(ring, fd);
        return;
    }
    if (entry->taking != RING_NONE)
        mask |= interest(&ring->ops[entry->taking]);
    if (entry->giving != RING_NONE)
        mask |= interest(&ring->ops[entry->giving]);
    if (mask != entry->mask && watch(ring, fd, mask))
        unwatch(ring, fd);
}

static bool epoll_next(struct ring *ring, struct ring_event *ret_event)
{
    struct epoll_state *s = ring->state;

    for (; s->at < s->count; s->at++, s->gave = s->served = false) {
        const struct epoll_event *e = &s->batch[s->at];
        int fd = (int)e->data.u64;

        if (e->data.u64 == WAKE_DATA) {
            ring_drain_wake(ring);
            continue;
        }
        if (!e->events)
            continue;
        if (!s->gave) {
            s->gave = true;
            if (turn(ring, ring->fds[fd].taking, e->events, ret_event))
                return true;
        }
        /* Its turn may start a new operation of the other direction; that one's turn is in the next batch. */
        if (turn(ring, ring->fds[fd].giving, e->events, ret_event)) {
            s->at++;
            s->gave = s->served = false;
            return true;
        }
        if (!s->served)
            prune(ring, fd);
    }
    return false;
}

static void epoll_close(struct ring *ring)
{
    struct epoll_state *s = ring->state;

    if (s->fd >= 0)
        close(s->fd);
    free(s);
    ring->state = NULL;
}

int ring_epoll_open(struct ring *ring, struct error *error)
{
    struct epoll_state *s = calloc(1, sizeof(*s));
    struct epoll_event e = { .events = EPOLLIN, .data.u64 = WAKE_DATA };
    int r = 0;

    if (!s)
        return error_set(error, -ENOMEM, "no memory for a ring");
    ring->state = s;
    ring->backend = &ring_epoll_ops;
    s->fd = epoll_create1(EPOLL_CLOEXEC);
    if (s->fd < 0 || epoll_ctl(s->fd, EPOLL_CTL_ADD, ring->wake_fd, &e)) {
        r = error_set(error, -errno, "no epoll for a ring: %s", strerror(errno));
        epoll_close(ring);
    }
    return r;
}

const struct ring_backend_ops ring_epoll_ops = {
    .name = "epoll",
    .start = epoll_start,
    .cancel = epoll_cancel,
    .forget = epoll_forget,
    .wait = epoll_wait_for,
    .next = epoll_next,
    .close = epoll_close,
};
