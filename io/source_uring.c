/* SPDX-License-Identifier: Apache-2.0 */
#include "io/source.h"

#include <liburing.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

struct uring_source {
    struct io_uring ring;
    int wake_fd;
    bool ring_open, registered, wake_armed;
};

static void uring_close(void *source)
{
    struct uring_source *s = source;

    /* Explicitly: leaving it to the ring's end unpins the pages some time later. */
    if (s->registered)
        io_uring_unregister_buffers(&s->ring);
    if (s->ring_open)
        io_uring_queue_exit(&s->ring);
    if (s->wake_fd >= 0)
        close(s->wake_fd);
    free(s);
}

static int set_up(struct uring_source *s, uint32_t depth, struct error *error)
{
    struct io_uring_params p = { .flags = IORING_SETUP_CLAMP };
    int r;

    s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->wake_fd < 0)
        return error_set(error, -errno, "no eventfd for the loader: %s", strerror(errno));
    r = io_uring_queue_init_params(depth + 2, &s->ring, &p);
    if (r < 0)
        return error_set(error, r,
                         "io_uring is not available (%s): a container, seccomp filter or kernel.io_uring_disabled "
                         "forbids it, or memory may not be locked; reads can go through threads instead",
                         strerror(-r));
    s->ring_open = true;
    /* Linux 5.11; anything older lacks pieces that are used without asking. */
    if (!(p.features & IORING_FEAT_EXT_ARG) || p.sq_entries < depth + 2)
        return error_set(error, -ENOSYS, "this kernel's io_uring is too old (Linux 5.11 is needed)");
    return 0;
}

static int uring_open(const struct source_config *config, void **ret_source, struct source_state *ret_state,
                      struct error *error)
{
    struct uring_source *s = calloc(1, sizeof(*s));
    struct iovec iov = { .iov_base = config->staging, .iov_len = config->staging_bytes };
    int r;

    if (!s)
        return error_set(error, -ENOMEM, "no memory for the loader's ring");
    s->wake_fd = -1;
    r = set_up(s, config->depth, error);
    if (r) {
        uring_close(s);
        return r;
    }
    *ret_state = (struct source_state){ .depth = config->depth, .uring = true };
    r = io_uring_register_buffers(&s->ring, &iov, 1);
    s->registered = ret_state->registered = r == 0;
    if (r < 0)
        snprintf(ret_state->note, sizeof(ret_state->note),
                 "buffers not registered (%s; LimitMEMLOCK= or ulimit -l too small?)", strerror(-r));
    *ret_source = s;
    return 0;
}

static void uring_submit(void *source, const struct source_read *read)
{
    struct uring_source *s = source;
    struct io_uring_sqe *sqe = io_uring_get_sqe(&s->ring);

    check(sqe);
    if (s->registered)
        io_uring_prep_read_fixed(sqe, read->fd, read->data, read->bytes, read->offset, 0);
    else
        io_uring_prep_read(sqe, read->fd, read->data, read->bytes, read->offset);
    io_uring_sqe_set_data64(sqe, read->cookie);
}

static void arm_wake(struct uring_source *s)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(&s->ring);

    check(sqe);
    io_uring_prep_poll_add(sqe, s->wake_fd, POLLIN);
    io_uring_sqe_set_data64(sqe, SOURCE_COOKIE_OWN);
    s->wake_armed = true;
}

static void take_wake(struct uring_source *s)
{
    uint64_t count;

    s->wake_armed = false;
    /* Non-blocking; an empty one only means that somebody's wake was already taken. */
    if (read(s->wake_fd, &count, sizeof(count)) < 0)
        return;
}

static int uring_wait(void *source, struct source_done *ret_done, uint32_t capacity)
{
    struct uring_source *s = source;
    struct io_uring_cqe *cqe;
    uint32_t count = 0;
    int r;

    if (!s->wake_armed)
        arm_wake(s);
    r = io_uring_submit_and_wait(&s->ring, 1);
    if (r < 0 && r != -EINTR && r != -EAGAIN && r != -EBUSY)
        return r;
    while (count < capacity && io_uring_peek_cqe(&s->ring, &cqe) == 0) {
        if (cqe->user_data == SOURCE_COOKIE_OWN)
            take_wake(s);
        else
            ret_done[count++] = (struct source_done){ .cookie = cqe->user_data, .result = cqe->res };
        io_uring_cqe_seen(&s->ring, cqe);
    }
    return (int)count;
}

static void uring_wake(void *source)
{
    struct uring_source *s = source;
    uint64_t one = 1;

    /* It can only fail by overflow, and then the loader is awake already. */
    if (write(s->wake_fd, &one, sizeof(one)) < 0)
        return;
}

const struct source_ops source_uring = {
    .name = "io_uring",
    .open = uring_open,
    .submit = uring_submit,
    .wait = uring_wait,
    .wake = uring_wake,
    .close = uring_close,
};
