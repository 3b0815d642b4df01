/* SPDX-License-Identifier: Apache-2.0 */
#include "io/ring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "io/ring_internal.h"
#include "src/base/clock.h"

/* ---- operations by cookie and by descriptor ---- */

static uint32_t *bucket_of(struct ring *ring, uint64_t cookie)
{
    return &ring->buckets[(uint32_t)((cookie * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & ring->bucket_mask];
}

static struct ring_op *find(struct ring *ring, uint64_t cookie)
{
    for (uint32_t i = *bucket_of(ring, cookie); i != RING_NONE; i = ring->ops[i].hash_next)
        if (ring->ops[i].cookie == cookie)
            return &ring->ops[i];
    return NULL;
}

/* Operations not used yet are not touched, so an idle ring costs little memory. */
static int new_op(struct ring *ring, enum ring_kind kind, uint64_t cookie, struct ring_op **ret_op)
{
    uint32_t index = ring->op_free, *bucket = bucket_of(ring, cookie), generation;
    struct ring_op *op;

    check(ring->magic == RING_MAGIC);
    if (find(ring, cookie))
        return RING_E_EXISTS;
    if (index != RING_NONE)
        ring->op_free = ring->ops[index].next;
    else if (ring->op_fresh < ring->op_count)
        index = ring->op_fresh++;
    else
        return RING_E_FULL;
    op = &ring->ops[index];
    generation = op->generation;
    *op = (struct ring_op){
        .cookie = cookie, .kind = kind, .fd = -1, .live = true, .index = index, .generation = generation + 1,
        .next = RING_NONE, .closer = RING_NONE, .hash_next = *bucket,
    };
    *bucket = index;
    ring->live++;
    *ret_op = op;
    return 0;
}

static void drop_op(struct ring *ring, struct ring_op *op)
{
    uint32_t *at = bucket_of(ring, op->cookie);

    while (*at != op->index)
        at = &ring->ops[*at].hash_next;
    *at = op->hash_next;
    op->live = false;
    op->next = ring->op_free;
    ring->op_free = op->index;
    ring->live--;
}

static int grow_fds(struct ring *ring, uint32_t fd)
{
    uint32_t count = (uint32_t)min_u64(max_u64(fd + 1, 2 * (uint64_t)ring->fd_count), RING_FD_MAX);
    struct ring_fd *fds = realloc(ring->fds, count * sizeof(*fds));

    if (!fds)
        return -ENOMEM;
    for (uint32_t i = ring->fd_count; i < count; i++)
        fds[i] = (struct ring_fd){ .taking = RING_NONE, .giving = RING_NONE, .close = RING_NONE };
    ring->fds = fds;
    ring->fd_count = count;
    return 0;
}

static int fd_entry(struct ring *ring, int fd, struct ring_fd **ret_entry)
{
    int r;

    if (fd < 0 || (uint32_t)fd >= RING_FD_MAX)
        return -EBADF;
    if ((uint32_t)fd >= ring->fd_count) {
        r = grow_fds(ring, (uint32_t)fd);
        if (r)
            return r;
    }
    *ret_entry = &ring->fds[fd];
    return 0;
}

static int new_fd_op(struct ring *ring, enum ring_kind kind, int fd, uint64_t cookie, struct ring_op **ret_op)
{
    bool gives = kind == RING_SEND;
    struct ring_fd *entry;
    struct ring_op *op;
    int r = fd_entry(ring, fd, &entry);

    if (r)
        return r;
    if (entry->close != RING_NONE || (gives ? entry->giving : entry->taking) != RING_NONE)
        return RING_E_BUSY;
    r = new_op(ring, kind, cookie, &op);
    if (r)
        return r;
    op->fd = fd;
    op->gives = gives;
    *(gives ? &entry->giving : &entry->taking) = op->index;
    *ret_op = op;
    return 0;
}

/* ---- results ---- */

void ring_ready(struct ring *ring, struct ring_op *op, int32_t result)
{
    check(op->live && !op->queued);
    op->result = result;
    op->queued = true;
    op->next = RING_NONE;
    if (ring->ready_head == RING_NONE)
        ring->ready_head = op->index;
    else
        ring->ops[ring->ready_tail].next = op->index;
    ring->ready_tail = op->index;
}

/* Nothing lives on the descriptor any more. */
static void finish_close(struct ring *ring, struct ring_op *op)
{
    ring->backend->forget(ring, op->fd);
    close(op->fd);
    ring->fds[op->fd].close = RING_NONE;
    op->fd = -1;
    ring_ready(ring, op, 0);
}

void ring_deliver_more(struct ring *ring, const struct ring_op *op, int32_t result, struct ring_event *ret_event)
{
    *ret_event = (struct ring_event){ .cookie = op->cookie, .kind = op->kind, .more = true, .result = result };
    if (ring->freeing && op->kind == RING_ACCEPT && result >= 0)
        close(result);
}

void ring_deliver(struct ring *ring, struct ring_op *op, int32_t result, struct ring_event *ret_event)
{
    *ret_event = (struct ring_event){ .cookie = op->cookie, .kind = op->kind, .result = result };
    if (op->kind == RING_RECV && result >= 0)
        ring_message_received(op);
    if (op->kind == RING_RECV && ring->freeing)
        ring_message_drop_fds(op->receive);
    if (op->fd >= 0 && op->kind != RING_CLOSE)
        *(op->gives ? &ring->fds[op->fd].giving : &ring->fds[op->fd].taking) = RING_NONE;
    if (op->closer != RING_NONE) {
        struct ring_op *closer = &ring->ops[op->closer];

        if (--closer->waits_for == 0)
            finish_close(ring, closer);
    }
    drop_op(ring, op);
}

static bool next_ready(struct ring *ring, struct ring_event *ret_event)
{
    uint32_t index = ring->ready_head;
    struct ring_op *op;

    if (index == RING_NONE)
        return false;
    op = &ring->ops[index];
    ring->ready_head = op->next;
    op->queued = false;
    ring_deliver(ring, op, op->result, ret_event);
    return true;
}

bool ring_next(struct ring *ring, struct ring_event *ret_event)
{
    check(ring->magic == RING_MAGIC);
    if (ring->wake_taken) {
        ring->wake_taken = false;
        *ret_event = (struct ring_event){ .kind = RING_WAKE };
        return true;
    }
    return next_ready(ring, ret_event) || ring->backend->next(ring, ret_event);
}

/* ---- starting and stopping ---- */

int ring_accept(struct ring *ring, int listener, uint64_t cookie)
{
    struct ring_op *op;
    int r = new_fd_op(ring, RING_ACCEPT, listener, cookie, &op);

    if (!r)
        ring->backend->start(ring, op);
    return r;
}

int ring_recv(struct ring *ring, int fd, struct ring_receive *receive, uint64_t cookie)
{
    struct ring_op *op;
    int r;

    if (!receive->size)
        return -EINVAL;
    r = new_fd_op(ring, RING_RECV, fd, cookie, &op);
    if (r)
        return r;
    op->receive = receive;
    ring_message_receive(op);
    ring->backend->start(ring, op);
    return 0;
}

int ring_send(struct ring *ring, int fd, const struct iovec *parts, uint32_t part_count, const int *fds,
              uint32_t fd_count, uint64_t cookie)
{
    struct ring_op *op;
    int r;

    if (part_count == 0 || part_count > RING_PARTS_MAX || fd_count > RING_FDS_MAX)
        return -EINVAL;
    r = new_fd_op(ring, RING_SEND, fd, cookie, &op);
    if (r)
        return r;
    ring_message_send(op, parts, part_count, fds, fd_count);
    ring->backend->start(ring, op);
    return 0;
}

int ring_poll(struct ring *ring, int fd, uint32_t events, uint64_t cookie)
{
    struct ring_op *op;
    int r = new_fd_op(ring, RING_POLL, fd, cookie, &op);

    if (r)
        return r;
    op->events = events;
    ring->backend->start(ring, op);
    return 0;
}

static struct ring_op *op_of_timer(struct timer *timer)
{
    return (struct ring_op *)((char *)timer - offsetof(struct ring_op, timer));
}

int ring_timer(struct ring *ring, uint64_t deadline_ns, uint64_t cookie)
{
    struct ring_op *op;
    int r = new_op(ring, RING_TIMER, cookie, &op);

    if (r)
        return r;
    check(timers_set(&ring->timers, &op->timer, deadline_ns));
    return 0;
}

static void cancel_op(struct ring *ring, struct ring_op *op)
{
    if (op->cancelled || op->queued)
        return;
    op->cancelled = true;
    if (op->kind == RING_TIMER) {
        timers_unset(&ring->timers, &op->timer);
        ring_ready(ring, op, -ECANCELED);
    } else {
        ring->backend->cancel(ring, op);
    }
}

int ring_cancel(struct ring *ring, uint64_t cookie)
{
    struct ring_op *op = find(ring, cookie);

    if (!op)
        return RING_E_NONE;
    if (op->kind == RING_CLOSE)
        return RING_E_BUSY;
    cancel_op(ring, op);
    return 0;
}

int ring_close(struct ring *ring, int fd, uint64_t cookie)
{
    struct ring_fd *entry;
    struct ring_op *op;
    uint32_t others[2];
    int r = fd_entry(ring, fd, &entry);

    if (r)
        return r;
    if (entry->close != RING_NONE)
        return RING_E_BUSY;
    r = new_op(ring, RING_CLOSE, cookie, &op);
    if (r)
        return r;
    op->fd = fd;
    entry->close = op->index;
    others[0] = entry->taking;
    others[1] = entry->giving;
    for (int i = 0; i < 2; i++) {
        if (others[i] == RING_NONE)
            continue;
        ring->ops[others[i]].closer = op->index;
        op->waits_for++;
        cancel_op(ring, &ring->ops[others[i]]);
    }
    if (!op->waits_for)
        finish_close(ring, op);
    return 0;
}

/* ---- waiting and waking ---- */

void ring_drain_wake(struct ring *ring)
{
    uint64_t count;

    /* Non-blocking; empty only means that it was drained before. */
    if (read(ring->wake_fd, &count, sizeof(count)) < 0)
        return;
}

/*
 * The sleeper says that it sleeps, then looks for a wake; the waker says wake, then looks for a sleeper.  Both in one
 * total order, so at least one sees the other, and an awake owner costs the waker no system call.
 */
void ring_wake(struct ring *ring)
{
    int saved = errno;
    uint64_t one = 1;

    atomic_store(&ring->wake_pending, true);
    if (atomic_exchange(&ring->sleeping, false) && write(ring->wake_fd, &one, sizeof(one)) < 0)
        check(errno == EAGAIN);     /* a full counter wakes as well */
    errno = saved;
}

static void take_wake(struct ring *ring)
{
    if (atomic_exchange(&ring->wake_pending, false))
        ring->wake_taken = true;
}

static void take_timers(struct ring *ring)
{
    uint64_t now = ring->timers.count ? clock_now_ns() : 0;
    struct timer *timer;

    while ((timer = timers_expire(&ring->timers, now)))
        ring_ready(ring, op_of_timer(timer), 0);
}

int ring_wait(struct ring *ring, uint64_t deadline_ns)
{
    int r;

    check(ring->magic == RING_MAGIC);
    take_timers(ring);
    take_wake(ring);
    deadline_ns = min_u64(deadline_ns, timers_next(&ring->timers));
    atomic_store(&ring->sleeping, true);
    if (ring->wake_taken || ring->ready_head != RING_NONE || atomic_load(&ring->wake_pending))
        deadline_ns = 0;
    r = ring->backend->wait(ring, deadline_ns);
    atomic_store(&ring->sleeping, false);
    take_timers(ring);
    take_wake(ring);
    return r;
}

/* ---- birth and death ---- */

const char *ring_name(const struct ring *ring) { return ring->backend->name; }
const char *ring_note(const struct ring *ring) { return ring->note; }

static int open_backend(struct ring *ring, enum ring_backend backend, struct error *error)
{
    struct error why = ERROR_NULL;
    int r;

    if (backend != RING_EPOLL) {
        r = ring_uring_open(ring, &why);
        if (r == 0)
            return 0;
        if (backend == RING_URING)
            return error_set(error, r, "%s", why.text);
        snprintf(ring->note, sizeof(ring->note), "epoll instead of io_uring (%s)", strerror(-r));
    }
    return ring_epoll_open(ring, error);
}

static int set_up(struct ring *ring, const struct ring_config *config, struct error *error)
{
    uint32_t buckets = 64;

    ring->op_count = config->operations ? config->operations : RING_OPERATIONS_DEFAULT;
    if (ring->op_count > RING_OPERATIONS_MAX)
        return error_set(error, -EINVAL, "a ring of %u operations, at most %u are possible", ring->op_count,
                         RING_OPERATIONS_MAX);
    while (buckets < ring->op_count)
        buckets *= 2;
    ring->bucket_mask = buckets - 1;
    ring->ops = calloc(ring->op_count, sizeof(*ring->ops));
    ring->buckets = malloc(buckets * sizeof(*ring->buckets));
    if (!ring->ops || !ring->buckets || timers_init(&ring->timers, ring->op_count))
        return error_set(error, -ENOMEM, "no memory for a ring of %u operations", ring->op_count);
    memset(ring->buckets, 0xff, buckets * sizeof(*ring->buckets));
    ring->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (ring->wake_fd < 0)
        return error_set(error, -errno, "no eventfd for a ring: %s", strerror(errno));
    return open_backend(ring, config->backend, error);
}

int ring_new(const struct ring_config *config, struct ring **ret_ring, struct error *error)
{
    struct ring *ring = calloc(1, sizeof(*ring));
    int r;

    if (!ring)
        return error_set(error, -ENOMEM, "no memory for a ring");
    ring->magic = RING_MAGIC;
    ring->wake_fd = -1;
    ring->op_free = ring->ready_head = ring->ready_tail = RING_NONE;
    r = set_up(ring, config, error);
    if (r) {
        ring_free(ring);
        return r;
    }
    *ret_ring = ring;
    return 0;
}

/* All operations to their last event; what an event carries is closed where it is delivered. */
static void run_down(struct ring *ring)
{
    struct ring_event event;

    ring->freeing = true;
    for (uint32_t i = 0; i < ring->op_fresh; i++)
        if (ring->ops[i].live && ring->ops[i].kind != RING_CLOSE)
            cancel_op(ring, &ring->ops[i]);
    while (ring->live) {
        if (ring_wait(ring, UINT64_MAX))
            break;
        while (ring_next(ring, &event))
            ;
    }
}

struct ring *ring_free(struct ring *ring)
{
    if (!ring)
        return NULL;
    check(ring->magic == RING_MAGIC);
    if (ring->state) {
        run_down(ring);
        ring->backend->close(ring);
    }
    if (ring->wake_fd >= 0)
        close(ring->wake_fd);
    timers_deinit(&ring->timers);
    free(ring->ops);
    free(ring->buckets);
    free(ring->fds);
    ring->magic = 0;
    free(ring);
    return NULL;
}
