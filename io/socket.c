/* SPDX-License-Identifier: Apache-2.0 */
#include "io/socket.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/clock.h"

#define LINGER_TRIES 8
#define LINGER_MS 2000

static int make_address(const char *path, struct sockaddr_un *ret_address, struct error *error)
{
    size_t size = strlen(path);

    if (size == 0)
        return error_set(error, -EINVAL, "the socket's path is empty");
    if (size > SOCKET_PATH_MAX)
        return error_set(error, -ENAMETOOLONG, "the socket's path has %zu bytes, the system allows %zu: %s", size,
                         SOCKET_PATH_MAX, path);
    *ret_address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    memcpy(ret_address->sun_path, path, size + 1);
    return 0;
}

static int connect_to(const struct sockaddr_un *address, int flags, int *ret_fd)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

    if (fd < 0)
        return -errno;
    while (connect(fd, (const struct sockaddr *)address, sizeof(*address))) {
        int r = -errno;

        if (r == -EINTR)
            continue;
        close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

static int open_directory(const char *path, int *ret_fd, struct error *error)
{
    char directory[SOCKET_PATH_MAX + 2] = ".";
    const char *slash = strrchr(path, '/');

    if (slash) {
        memcpy(directory, path, (size_t)(slash - path) + 1);
        directory[slash - path + 1] = 0;
    }
    *ret_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*ret_fd < 0)
        return error_set(error, -errno, "the socket's directory %s cannot be opened: %s%s", directory, strerror(errno),
                         errno == ENOENT ? "; make it, or name another socket by --socket" : "");
    return 0;
}

/* Held from the look at the path to listen(2), so that of daemons that start together only one replaces it. */
static int lock_directory(const char *path, int *ret_fd, struct error *error)
{
    int fd, result = open_directory(path, &fd, error);

    if (result)
        return result;
    while (flock(fd, LOCK_EX)) {
        int r = -errno;

        if (r == -EINTR)
            continue;
        close(fd);
        return error_set(error, r, "the directory of socket %s cannot be locked: %s", path, strerror(-r));
    }
    *ret_fd = fd;
    return 0;
}

/* Whether the process that began to listen there is gone; pid 0 is one of another namespace. */
static bool listener_is_dead(int fd)
{
    struct ucred peer = { .pid = 0 };
    socklen_t size = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) || peer.pid <= 0)
        return false;
    return kill(peer.pid, 0) != 0 && errno == ESRCH;
}

/*
 * 0 where somebody listens at the path, or the errno that tells that nobody does.  A listener that io_uring held lives
 * on for a moment after its process was killed; then our connection is reset.  One that was handed to another process
 * lives on for good.
 */
static int try_listener(const struct sockaddr_un *address)
{
    for (int tries = 0; tries < LINGER_TRIES; tries++) {
        struct pollfd wait = { .events = POLLIN };
        int r = connect_to(address, SOCK_NONBLOCK, &wait.fd);

        if (r)
            return r;
        r = listener_is_dead(wait.fd) ? poll(&wait, 1, LINGER_MS) : 0;
        close(wait.fd);
        if (r <= 0 || !(wait.revents & (POLLHUP | POLLERR)))
            return 0;
    }
    return 0;
}

static int not_a_socket(const char *path, struct error *error)
{
    return error_set(error, -EEXIST, "%s exists and is not a socket: move it away or choose another path", path);
}

/* Something lies at the path.  Only a socket that refuses connections is a dead daemon's. */
static int remove_stale(const struct sockaddr_un *address, struct error *error)
{
    const char *path = address->sun_path;
    struct stat st;
    int r;

    if (lstat(path, &st))
        return errno == ENOENT ? 0 : error_set(error, -errno, "%s cannot be looked at: %s", path, strerror(errno));
    if (!S_ISSOCK(st.st_mode))
        return not_a_socket(path, error);
    r = try_listener(address);
    /* EAGAIN: its queue is full, so somebody listens. */
    if (r == 0 || r == -EAGAIN)
        return error_set(error, -EADDRINUSE, "another daemon answers at %s: stop it or choose another path", path);
    if (r != -ECONNREFUSED)
        return error_set(error, r, "%s exists and cannot be tried: %s", path, strerror(-r));
    if (unlink(path) && errno != ENOENT)
        return error_set(error, -errno, "the socket %s that a dead daemon left cannot be removed: %s", path,
                         strerror(errno));
    return 0;
}

/* Device, inode and time of birth (0 where the file system keeps none). */
static int identify(const char *path, struct socket_listener *ret)
{
    struct statx x = { 0 };

    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &x))
        return -errno;
    ret->device = (uint64_t)x.stx_dev_major << 32 | x.stx_dev_minor;
    ret->inode = x.stx_ino;
    ret->born_ns = 0;
    if (x.stx_mask & STATX_BTIME)
        ret->born_ns = (uint64_t)x.stx_btime.tv_sec * NS_PER_S + x.stx_btime.tv_nsec;
    return 0;
}

/* Until listen(2) all connections are refused, so mode and group are set in time. */
static int bind_and_listen(const struct socket_listen_config *config, const struct sockaddr_un *address, int fd,
                           struct socket_listener *listener, struct error *error)
{
    const char *path = config->path;
    int r;

    if (bind(fd, (const struct sockaddr *)address, sizeof(*address)))
        return error_set(error, -errno, "no socket can be made at %s: %s", path, strerror(errno));
    r = identify(path, listener);
    if (r)
        return error_set(error, r, "the new socket %s cannot be looked at: %s", path, strerror(-r));
    if (config->group != SOCKET_GROUP_KEEP && lchown(path, (uid_t)-1, config->group))
        return error_set(error, -errno, "the socket %s cannot be given to group %u: %s", path, config->group,
                         strerror(errno));
    if (chmod(path, config->mode & 0777))
        return error_set(error, -errno, "the mode of socket %s cannot be set: %s", path, strerror(errno));
    if (listen(fd, config->backlog ? (int)config->backlog : SOMAXCONN))
        return error_set(error, -errno, "nothing can listen at %s: %s", path, strerror(errno));
    return 0;
}

int socket_path_check(const char *path, struct error *error)
{
    struct sockaddr_un address;
    struct stat st;
    int fd, r = make_address(path, &address, error);

    if (r == 0)
        r = open_directory(path, &fd, error);
    if (r)
        return r;
    close(fd);
    if (lstat(path, &st) == 0 && !S_ISSOCK(st.st_mode))
        return not_a_socket(path, error);
    return 0;
}

int socket_listen(const struct socket_listen_config *config, struct socket_listener *ret_listener, struct error *error)
{
    struct socket_listener listener = SOCKET_LISTENER_NULL;
    struct sockaddr_un address;
    int directory, r = make_address(config->path, &address, error);

    if (r)
        return r;
    r = lock_directory(config->path, &directory, error);
    if (r)
        return r;
    r = remove_stale(&address, error);
    if (r)
        goto out;
    memcpy(listener.path, address.sun_path, strlen(address.sun_path) + 1);
    listener.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener.fd < 0) {
        r = error_set(error, -errno, "no Unix socket to be had: %s", strerror(errno));
        goto out;
    }
    r = bind_and_listen(config, &address, listener.fd, &listener, error);
    if (r)
        socket_listener_close(&listener);
    else
        *ret_listener = listener;
out:
    close(directory);
    return r;
}

void socket_listener_close(struct socket_listener *listener)
{
    struct socket_listener now = SOCKET_LISTENER_NULL;

    if (!listener)
        return;
    if (listener->inode && identify(listener->path, &now) == 0 && now.device == listener->device &&
        now.inode == listener->inode && now.born_ns == listener->born_ns)
        (void)unlink(listener->path);
    if (listener->fd >= 0)
        close(listener->fd);
    *listener = (struct socket_listener)SOCKET_LISTENER_NULL;
}

static int socket_option(int fd, int option)
{
    socklen_t size = sizeof(int);
    int value;

    return getsockopt(fd, SOL_SOCKET, option, &value, &size) ? -1 : value;
}

int socket_is_listener(int fd, struct error *error)
{
    if (socket_option(fd, SO_DOMAIN) != AF_UNIX || socket_option(fd, SO_TYPE) != SOCK_STREAM ||
        socket_option(fd, SO_ACCEPTCONN) != 1)
        return error_set(error, -EINVAL,
                         "descriptor %d is not a listening Unix stream socket: look at ListenStream= and Accept=no of "
                         "its socket unit",
                         fd);
    return 0;
}

static const char *connect_advice(int code)
{
    switch (code) {
    case -ENOENT:
    case -ECONNREFUSED:
        return "no daemon listens there: start it, or name its socket";
    case -EACCES:
    case -EPERM:
        return "this user may not: the socket's group may (see ls -l), join it";
    case -EAGAIN:
        return "its queue of connections is full: try again";
    default:
        return strerror(-code);
    }
}

int socket_connect(const char *path, int *ret_fd, struct error *error)
{
    struct sockaddr_un address;
    int r = make_address(path, &address, error);

    if (r)
        return r;
    r = connect_to(&address, 0, ret_fd);
    return r ? error_set(error, r, "cannot connect to %s: %s", path, connect_advice(r)) : 0;
}

int socket_peer(int fd, struct socket_peer *ret_peer)
{
    struct ucred cred;
    socklen_t size = sizeof(cred);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size))
        return -errno;
    if (size != sizeof(cred))
        return -EPROTO;
    *ret_peer = (struct socket_peer){ .uid = cred.uid, .gid = cred.gid, .pid = cred.pid };
    return 0;
}
