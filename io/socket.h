/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Unix stream sockets by path: listening, connecting, who the peer is.  The moving of bytes is io/ring.h's.
 */

#include <sys/un.h>

#include "src/base/error.h"

#define SOCKET_PATH_MAX (sizeof(((struct sockaddr_un *)0)->sun_path) - 1)
#define SOCKET_GROUP_KEEP UINT32_MAX

struct socket_listen_config {
    const char *path;               /* absolute or relative, 1 .. SOCKET_PATH_MAX bytes */
    uint32_t mode;                  /* 0660 and the like; the umask does not matter */
    uint32_t group;                 /* gid, or SOCKET_GROUP_KEEP */
    uint32_t backlog;               /* 0 = SOMAXCONN */
};

struct socket_listener {
    int fd;                         /* close-on-exec; -1 = none */
    char path[SOCKET_PATH_MAX + 1];
    uint64_t device, inode, born_ns;    /* of the path, so that we never remove another's; inodes are used again */
};

#define SOCKET_LISTENER_NULL { .fd = -1 }

/* What socket_listen() would refuse of a path, nothing made: its length, its directory, a file in its place. */
must_check int socket_path_check(const char *path, struct error *error);

/*
 * Binds and listens.  What lies at the path: nothing; or a socket that nobody answers at (left by a crash), which is
 * replaced; while daemons that start together wait for one another by a lock on the directory.
 * 0, or a negative errno with @error filled: -EADDRINUSE another daemon answers there, -EEXIST it is no socket,
 * -ENAMETOOLONG, -EACCES and others of bind(2).  Nobody can connect before mode and group are set.
 */
must_check int socket_listen(const struct socket_listen_config *config, struct socket_listener *ret_listener,
                             struct error *error);
/*
 * Removes the path if it is still ours, closes fd if it is not -1.  NULL-safe.  Where a ring watches fd: put it aside,
 * set it to -1, remove the path by this, then ring_close() it.
 */
void socket_listener_close(struct socket_listener *listener);

/* For descriptors that a service manager passed: 0, or -EINVAL with @error: not a listening Unix stream socket. */
must_check int socket_is_listener(int fd, struct error *error);

/* Connects, blocking; the descriptor is close-on-exec and blocking.  @error says what to start or to join. */
must_check int socket_connect(const char *path, int *ret_fd, struct error *error);

struct socket_peer {
    uint32_t uid, gid;              /* as they were when it connected */
    int32_t pid;                    /* may have been reused since: for logs only; 0 = from another pid namespace */
};

/* Of a connected or accepted socket: 0, or a negative errno. */
must_check int socket_peer(int fd, struct socket_peer *ret_peer);
