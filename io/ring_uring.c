/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>

#include "io/ring_internal.h"
#include "src/base/clock.h"

/*
 * Each live operation has exactly one request in the kernel; user_data says whose: tag, generation, index.
 * Requests of our own (cancels, the watch on the eventfd) have other tags.
 */
#define TAG_SHIFT 62
#define TAG_OP UINT64_C(0)
#define TAG_CANCEL UINT64_C(1)
#define TAG_WAKE UINT64_C(2)

#define SUBMIT_ENTRIES 256u

enum phase {
    PHASE_PLAIN,                    /* the operation itself is in the kernel */
    PHASE_READY,                    /* a poll that says when to send it again (O_NONBLOCK descriptors) */
    PHASE_WATCH,                    /* a poll operation as a multishot poll */
    PHASE_HELD,                     /* its result is known; the multishot poll is being removed */
};

struct uring_state {
    struct io_uring ring;
    bool open, wake_armed, single_accept;
    bool cancels_due;               /* some cancels found no room: ring_op.cancel_due */
};

static uint64_t user_data(const struct ring_op *op, uint64_t tag)
{
    return tag << TAG_SHIFT | (uint64_t)(op->generation & 0x3fffffff) << 32 | op->index;
}

/* NULL only when the kernel takes nothing more for now. */
static struct io_uring_sqe *get_sqe(struct uring_state *s)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(&s->ring);

    if (sqe)
        return sqe;
    (void)io_uring_submit(&s->ring);
    return io_uring_get_sqe(&s->ring);
}

static void prepare_poll(struct ring_op *op, struct io_uring_sqe *sqe)
{
    if (op->phase == PHASE_WATCH)
        io_uring_prep_poll_multishot(sqe, op->fd, op->events);
    else
        io_uring_prep_poll_add(sqe, op->fd, op->events);
}

static void prepare(const struct uring_state *s, struct ring_op *op, struct io_uring_sqe *sqe)
{
    if (op->phase == PHASE_READY) {
        io_uring_prep_poll_add(sqe, op->fd, op->gives ? POLLOUT : POLLIN);
    } else if (op->kind == RING_ACCEPT) {
        if (s->single_accept)
            io_uring_prep_accept(sqe, op->fd, NULL, NULL, SOCK_CLOEXEC);
        else
            io_uring_prep_multishot_accept(sqe, op->fd, NULL, NULL, SOCK_CLOEXEC);
    } else if (op->kind == RING_RECV) {
        ring_message_receive(op);
        io_uring_prep_recvmsg(sqe, op->fd, &op->message, MSG_CMSG_CLOEXEC);
    } else if (op->kind == RING_SEND) {
        io_uring_prep_sendmsg(sqe, op->fd, &op->message, MSG_NOSIGNAL);
    } else {
        prepare_poll(op, sqe);
    }
    io_uring_sqe_set_data64(sqe, user_data(op, TAG_OP));
}

static void send_op(struct ring *ring, struct ring_op *op)
{
    struct uring_state *s = ring->state;
    struct io_uring_sqe *sqe;

    sqe = op->cancelled ? NULL : get_sqe(s);
    if (!sqe) {
        ring_ready(ring, op, op->cancelled ? -ECANCELED : -ENOBUFS);
        return;
    }
    prepare(s, op, sqe);
}

static void uring_start(struct ring *ring, struct ring_op *op)
{
    /* A listener that does not block would answer at once that nobody is there. */
    if (op->kind == RING_ACCEPT) {
        int flags = fcntl(op->fd, F_GETFL);

        if (flags >= 0 && (flags & O_NONBLOCK))
            (void)fcntl(op->fd, F_SETFL, flags & ~O_NONBLOCK);
    }
    op->phase = PHASE_PLAIN;
    send_op(ring, op);
}

static void uring_cancel(struct ring *ring, struct ring_op *op)
{
    struct uring_state *s = ring->state;
    struct io_uring_sqe *sqe = get_sqe(s);

    op->cancel_due = !sqe;
    s->cancels_due |= op->cancel_due;
    if (!sqe)
        return;
    io_uring_prep_cancel64(sqe, user_data(op, TAG_OP), 0);
    io_uring_sqe_set_data64(sqe, user_data(op, TAG_CANCEL));
}

static void uring_forget(struct ring *ring, int fd)
{
    (void)ring;
    (void)fd;
}

static void arm_wake(struct ring *ring)
{
    struct uring_state *s = ring->state;
    struct io_uring_sqe *sqe = get_sqe(s);

    if (!sqe)
        return;
    io_uring_prep_poll_add(sqe, ring->wake_fd, POLLIN);
    io_uring_sqe_set_data64(sqe, TAG_WAKE << TAG_SHIFT);
    s->wake_armed = true;
}

static void send_due_cancels(struct ring *ring)
{
    struct uring_state *s = ring->state;

    if (!s->cancels_due)
        return;
    s->cancels_due = false;
    for (uint32_t i = 0; i < ring->op_fresh; i++)
        if (ring->ops[i].live && ring->ops[i].cancel_due && !ring->ops[i].queued)
            uring_cancel(ring, &ring->ops[i]);
}

static int uring_wait(struct ring *ring, uint64_t deadline_ns)
{
    struct uring_state *s = ring->state;
    struct io_uring_cqe *cqe;
    uint64_t now = deadline_ns && deadline_ns != UINT64_MAX ? clock_now_ns() : 0;
    struct __kernel_timespec t;
    int r;

    if (!s->wake_armed)
        arm_wake(ring);
    send_due_cancels(ring);
    if (!s->wake_armed || s->cancels_due || deadline_ns <= now) {
        r = io_uring_submit_and_get_events(&s->ring);
    } else if (deadline_ns == UINT64_MAX) {
        r = io_uring_submit_and_wait(&s->ring, 1);
    } else {
        t.tv_sec = (int64_t)((deadline_ns - now) / NS_PER_S);
        t.tv_nsec = (long long)((deadline_ns - now) % NS_PER_S);
        r = io_uring_submit_and_wait_timeout(&s->ring, &cqe, 1, &t, NULL);
    }
    /* EBUSY, EAGAIN: completions must be taken first, or memory is short for a moment; the caller comes again. */
    return r >= 0 || r == -ETIME || r == -EINTR || r == -EAGAIN || r == -EBUSY ? 0 : r;
}

static bool is_passing(int32_t result) { return result == -EINTR || result == -ECONNABORTED; }

/* A poll also reports that the peer has finished sending, asked for or not; then only changes are of interest. */
static bool poll_complete(struct ring *ring, struct ring_op *op, int32_t result, bool more, struct ring_event *ret)
{
    uint32_t wanted = result > 0 ? (uint32_t)result & (op->events | POLLERR | POLLHUP | POLLNVAL) : 0;

    if (op->phase == PHASE_HELD) {
        if (more)
            return false;
        ring_deliver(ring, op, op->result, ret);
        return true;
    }
    if (wanted && more) {
        op->result = (int32_t)wanted;
        op->phase = PHASE_HELD;
        if (!op->cancelled)
            uring_cancel(ring, op);
        op->cancelled = true;
        return false;
    }
    if (wanted || result < 0) {
        ring_deliver(ring, op, wanted ? (int32_t)wanted : result, ret);
        return true;
    }
    if (!more) {
        op->phase = PHASE_WATCH;
        send_op(ring, op);
    }
    return false;
}

/* True when an event was delivered. */
static bool accept_complete(struct ring *ring, struct ring_op *op, int32_t result, bool more, struct ring_event *ret)
{
    struct uring_state *s = ring->state;

    if (result >= 0) {
        ring_deliver_more(ring, op, result, ret);
        if (!more)
            send_op(ring, op);
        return true;
    }
    if (more)
        return false;
    if (result == -EINVAL && !s->single_accept) {
        s->single_accept = true;    /* before Linux 5.19 */
        send_op(ring, op);
        return false;
    }
    if (is_passing(result)) {
        send_op(ring, op);
        return false;
    }
    ring_deliver(ring, op, result, ret);
    return true;
}

static bool op_complete(struct ring *ring, struct ring_op *op, int32_t result, bool more, struct ring_event *ret)
{
    if (op->phase == PHASE_READY || (result == -EAGAIN && op->kind != RING_POLL)) {
        bool resend = op->phase == PHASE_READY && result >= 0;

        if (op->phase == PHASE_READY && result < 0) {
            ring_deliver(ring, op, result, ret);
            return true;
        }
        op->phase = resend ? PHASE_PLAIN : PHASE_READY;
        send_op(ring, op);
        return false;
    }
    if (op->kind == RING_POLL)
        return poll_complete(ring, op, result, more, ret);
    if (op->kind == RING_ACCEPT)
        return accept_complete(ring, op, result, more, ret);
    if (is_passing(result) && !op->cancelled) {
        send_op(ring, op);
        return false;
    }
    ring_deliver(ring, op, result, ret);
    return true;
}

/* A cancel that met its request at work is repeated, as the request may go back to waiting. */
static void cancel_complete(struct ring *ring, struct ring_op *op, int32_t result, uint64_t data)
{
    if (result == -EALREADY && op->live && user_data(op, TAG_CANCEL) == data)
        uring_cancel(ring, op);
}

static bool uring_next(struct ring *ring, struct ring_event *ret_event)
{
    struct uring_state *s = ring->state;
    struct io_uring_cqe *cqe;

    while (io_uring_peek_cqe(&s->ring, &cqe) == 0) {
        uint64_t data = cqe->user_data, tag = data >> TAG_SHIFT;
        struct ring_op *op = &ring->ops[tag == TAG_WAKE ? 0 : (uint32_t)data];
        bool more = cqe->flags & IORING_CQE_F_MORE;
        int32_t result = cqe->res;

        io_uring_cqe_seen(&s->ring, cqe);
        if (tag == TAG_WAKE) {
            s->wake_armed = false;
            ring_drain_wake(ring);
        } else if (tag == TAG_CANCEL) {
            cancel_complete(ring, op, result, data);
        } else {
            check(op->live && user_data(op, TAG_OP) == data);
            if (op_complete(ring, op, result, more, ret_event))
                return true;
        }
    }
    return false;
}

static void uring_close(struct ring *ring)
{
    struct uring_state *s = ring->state;

    if (s->open)
        io_uring_queue_exit(&s->ring);
    free(s);
    ring->state = NULL;
}

static int open_queue(struct uring_state *s, uint32_t operations, struct error *error)
{
    static const uint32_t flags[] = { IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG, 0 };
    int r = -EINVAL;

    for (size_t i = 0; i < ARRAY_LENGTH(flags) && r == -EINVAL; i++) {
        struct io_uring_params p = {
            .flags = IORING_SETUP_CLAMP | IORING_SETUP_CQSIZE | flags[i],
            .cq_entries = (uint32_t)max_u64(2 * SUBMIT_ENTRIES, 2 * (uint64_t)operations),
        };

        r = io_uring_queue_init_params(SUBMIT_ENTRIES, &s->ring, &p);
        s->open = r == 0;
        if (r == 0 && (!(p.features & IORING_FEAT_EXT_ARG) || !(p.features & IORING_FEAT_NODROP)))
            return error_set(error, -ENOSYS, "this kernel's io_uring is too old (Linux 5.11 is needed)");
    }
    return r ? error_set(error, r,
                         "io_uring is not available (%s): a container, seccomp filter or kernel.io_uring_disabled "
                         "forbids it; epoll can stand in",
                         strerror(-r))
             : 0;
}

int ring_uring_open(struct ring *ring, struct error *error)
{
    struct uring_state *s = calloc(1, sizeof(*s));
    int r;

    if (!s)
        return error_set(error, -ENOMEM, "no memory for a ring");
    r = open_queue(s, ring->op_count, error);
    if (r) {
        if (s->open)
            io_uring_queue_exit(&s->ring);
        free(s);
        return r;
    }
    ring->state = s;
    ring->backend = &ring_uring_ops;
    return 0;
}

const struct ring_backend_ops ring_uring_ops = {
    .name = "io_uring",
    .start = uring_start,
    .cancel = uring_cancel,
    .forget = uring_forget,
    .wait = uring_wait,
    .next = uring_next,
    .close = uring_close,
};
