/* SPDX-License-Identifier: Apache-2.0 */
#include "src/daemon/notify.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/daemon/units.h"

static int connect_to(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    size_t size = strlen(path);
    int fd;

    if (size == 0 || size >= sizeof(address.sun_path) || (path[0] != '/' && path[0] != '@'))
        return -1;
    memcpy(address.sun_path, path, size);
    if (path[0] == '@')
        address.sun_path[0] = '\0';     /* an abstract name: its length counts, no zero ends it */
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    size += offsetof(struct sockaddr_un, sun_path);
    if (connect(fd, (const struct sockaddr *)&address, (socklen_t)size) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

void notify_open(struct notify *n)
{
    const char *path = getenv("NOTIFY_SOCKET"), *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    uint64_t us = 0, for_pid = (uint64_t)getpid();

    *n = (struct notify)NOTIFY_NULL;
    if (path)
        n->fd = connect_to(path);
    if (n->fd >= 0 && usec && units_number(usec, &us) && (!pid || units_number(pid, &for_pid)) &&
        for_pid == (uint64_t)getpid() && us && us < UINT64_MAX / 1000)
        n->watchdog_ns = us * 1000;
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

void notify_close(struct notify *n)
{
    if (n->fd >= 0)
        close(n->fd);
    *n = (struct notify)NOTIFY_NULL;
}

void notify_send(const struct notify *n, const char *format, ...)
{
    char text[1024];
    va_list args;
    int size;

    if (n->fd < 0)
        return;
    va_start(args, format);
    size = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (size > 0)                       /* a manager that does not listen is its own trouble */
        (void)!send(n->fd, text, (size_t)size < sizeof(text) ? (size_t)size : sizeof(text) - 1, MSG_NOSIGNAL);
}
