/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <unistd.h>

#include "io/ring_internal.h"

void ring_message_receive(struct ring_op *op)
{
    op->parts[0] = (struct iovec){ .iov_base = op->receive->data, .iov_len = op->receive->size };
    op->message = (struct msghdr){
        .msg_iov = op->parts,
        .msg_iovlen = 1,
        .msg_control = op->control.bytes,
        .msg_controllen = sizeof(op->control.bytes),
    };
    op->receive->fd_count = 0;
    op->receive->truncated = false;
}

void ring_message_send(struct ring_op *op, const struct iovec *parts, uint32_t part_count, const int *fds,
                       uint32_t fd_count)
{
    struct cmsghdr *c;

    memcpy(op->parts, parts, part_count * sizeof(*parts));
    op->message = (struct msghdr){ .msg_iov = op->parts, .msg_iovlen = part_count };
    if (!fd_count)
        return;
    memset(op->control.bytes, 0, sizeof(op->control.bytes));
    op->message.msg_control = op->control.bytes;
    op->message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
    c = CMSG_FIRSTHDR(&op->message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
    memcpy(CMSG_DATA(c), fds, fd_count * sizeof(int));
}

void ring_message_received(struct ring_op *op)
{
    struct ring_receive *r = op->receive;

    r->fd_count = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&op->message); c; c = CMSG_NXTHDR(&op->message, c)) {
        size_t n;

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || c->cmsg_len < CMSG_LEN(0))
            continue;
        n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        /* The buffer holds no more than RING_FDS_MAX, so nothing is left over here. */
        for (size_t i = 0; i < n && r->fd_count < RING_FDS_MAX; i++)
            memcpy(&r->fds[r->fd_count++], CMSG_DATA(c) + i * sizeof(int), sizeof(int));
    }
    r->truncated = (op->message.msg_flags & MSG_CTRUNC) != 0;
}

void ring_message_drop_fds(struct ring_receive *receive)
{
    while (receive->fd_count)
        close(receive->fds[--receive->fd_count]);
}
