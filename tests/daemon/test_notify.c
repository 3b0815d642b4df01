/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "src/daemon/notify.h"

/* A manager that listens at @path (or an abstract name with @). */
static int manager(const char *path)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    strcpy(a.sun_path, path);
    if (path[0] == '@')
        a.sun_path[0] = '\0';
    assert_int_equal(bind(fd, (struct sockaddr *)&a, size), 0);
    return fd;
}

static void tells(const char *path)
{
    int fd = manager(path);
    struct notify n;
    char text[2048], pid[32];
    ssize_t size;

    setenv("NOTIFY_SOCKET", path, 1);
    setenv("WATCHDOG_USEC", "3000000", 1);
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    setenv("WATCHDOG_PID", pid, 1);
    notify_open(&n);
    assert_true(n.watchdog_ns == UINT64_C(3000000000));
    assert_null(getenv("NOTIFY_SOCKET"));
    assert_null(getenv("WATCHDOG_USEC"));
    notify_send(&n, "READY=1\nSTATUS=Serving %d models", 3);
    size = recv(fd, text, sizeof(text), MSG_DONTWAIT);
    assert_int_equal(size, 31);
    assert_memory_equal(text, "READY=1\nSTATUS=Serving 3 models", 31);
    notify_close(&n);
    close(fd);
}

static void by_path(void **state)
{
    char path[64];

    (void)state;
    snprintf(path, sizeof(path), "/tmp/tenon-notify-%d", (int)getpid());
    tells(path);
    unlink(path);
}

static void by_abstract_name(void **state)
{
    char name[64];

    (void)state;
    snprintf(name, sizeof(name), "@tenon-notify-%d", (int)getpid());
    tells(name);
}

static void nobody(void **state)
{
    static const char *const bad[] = { "", "relative", "/nowhere/at/all" };
    struct notify n;

    (void)state;
    unsetenv("NOTIFY_SOCKET");
    notify_open(&n);
    assert_int_equal(n.fd, -1);
    notify_send(&n, "READY=1");
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        setenv("NOTIFY_SOCKET", bad[i], 1);
        setenv("WATCHDOG_USEC", "1000", 1);
        notify_open(&n);
        assert_int_equal(n.fd, -1);
        assert_true(n.watchdog_ns == 0);
        notify_send(&n, "READY=1");
        notify_close(&n);
    }
}

/* The watchdog is another process's. */
static void not_for_us(void **state)
{
    char path[64];
    struct notify n;
    int fd;

    (void)state;
    snprintf(path, sizeof(path), "/tmp/tenon-notify-%d", (int)getpid());
    fd = manager(path);
    setenv("NOTIFY_SOCKET", path, 1);
    setenv("WATCHDOG_USEC", "1000000", 1);
    setenv("WATCHDOG_PID", "1", 1);
    notify_open(&n);
    assert_true(n.fd >= 0 && n.watchdog_ns == 0);
    notify_close(&n);
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_path), cmocka_unit_test(by_abstract_name), cmocka_unit_test(nobody),
        cmocka_unit_test(not_for_us),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
