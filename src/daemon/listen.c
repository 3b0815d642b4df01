/* SPDX-License-Identifier: Apache-2.0 */
#include "src/daemon/listen.h"

#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/daemon/units.h"

#define PASSED_FIRST 3                  /* SD_LISTEN_FDS_START */

/* Names are those of FileDescriptorName= in the units; whatever has "admin" in it is the administrators'. */
static int take_passed(struct listen *l, uint32_t count, const char *names, struct error *error)
{
    if (count > DOOR_LISTENERS_MAX)
        return error_set(error, -EINVAL, "%u sockets were passed; %u are the most", count, DOOR_LISTENERS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        int fd = PASSED_FIRST + (int)i, r = socket_is_listener(fd, error);
        size_t size = strcspn(names, ":");

        if (r < 0) {
            error_prefix(error, "LISTEN_FDS, descriptor %d", fd);
            return r;
        }
        if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
            return error_set(error, -errno, "LISTEN_FDS, descriptor %d: %s", fd, strerror(errno));
        l->listeners[l->count++] = (struct door_listener){ fd, memmem(names, size, "admin", 5) != NULL, true };
        names += size + (names[size] == ':');
    }
    l->passed = true;
    return 0;
}

static int group_of(const char *name, uint32_t *ret_group, struct error *error)
{
    struct group *group;

    *ret_group = SOCKET_GROUP_KEEP;
    if (!name)
        return 0;
    errno = 0;
    group = getgrnam(name);
    if (!group)
        return error_set(error, -EINVAL, "there is no group %.64s", name);
    *ret_group = group->gr_gid;
    return 0;
}

static int bind_own(struct listen *l, uint32_t index, const char *path, const char *group, const struct config *config,
                    struct error *error)
{
    struct socket_listen_config c = { .path = path, .mode = config->socket_mode };
    int r = group_of(group, &c.group, error);

    if (r == 0)
        r = socket_listen(&c, &l->own[index], error);
    if (r < 0)
        return r;
    l->listeners[l->count++] = (struct door_listener){ l->own[index].fd, index == 1, false };
    return 0;
}

static const char *clients_path(const struct config *c) { return c->socket ? c->socket : CONFIG_SOCKET; }

/* A socket of one's own, without a word of administrators: none for them. */
static const char *admin_path(const struct config *c)
{
    return c->admin_socket ? c->admin_socket : c->socket ? NULL : CONFIG_ADMIN_SOCKET;
}

int listen_check(const struct config *c, struct error *error)
{
    const struct { const char *path, *group; } own[] = { { clients_path(c), c->socket_group },
                                                         { admin_path(c), c->admin_group } };
    uint32_t group;
    int r = 0;

    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(own); i++) {
        r = group_of(own[i].group, &group, error);
        if (r == 0 && own[i].path)
            r = socket_path_check(own[i].path, error);
    }
    return r;
}

int listen_open(struct listen *l, const struct config *config, struct error *error)
{
    const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS"), *names = getenv("LISTEN_FDNAMES");
    uint64_t for_pid = 0, count = 0;
    bool passed = pid && fds && units_number(pid, &for_pid) && for_pid == (uint64_t)getpid() &&
                  units_number(fds, &count) && count;
    int r;

    *l = (struct listen)LISTEN_NULL;
    if (passed)
        r = take_passed(l, (uint32_t)min_u64(count, DOOR_LISTENERS_MAX + 1), names ? names : "", error);
    else
        r = bind_own(l, 0, clients_path(config), config->socket_group, config, error);
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    if (r == 0 && !passed && admin_path(config))
        r = bind_own(l, 1, admin_path(config), config->admin_group, config, error);
    if (r < 0)
        listen_close(l);
    return r;
}

void listen_close(struct listen *l)
{
    for (uint32_t i = 0; l->passed && i < l->count; i++)
        close(l->listeners[i].fd);
    for (uint32_t i = 0; i < ARRAY_LENGTH(l->own); i++)
        socket_listener_close(&l->own[i]);
    l->count = 0;
}
