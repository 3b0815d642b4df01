/* SPDX-License-Identifier: Apache-2.0 */
/* Unix sockets by path: stale ones, live ones, foreign files, modes, peers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/socket.h"

static char directory[] = "/tmp/tenon-socket-XXXXXX";
static char path[64];

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    snprintf(path, sizeof(path), "%s/s", directory);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(directory);            /* fails when a test left a socket behind */
}

static struct socket_listen_config config(void)
{
    return (struct socket_listen_config){ .path = path, .mode = 0660, .group = SOCKET_GROUP_KEEP };
}

static void test_listen_connect(void **state)
{
    struct socket_listen_config c = config();
    struct socket_listener l;
    struct socket_peer peer;
    struct error error;
    struct stat st;
    mode_t mask = umask(0777);
    int client, server;

    (void)state;
    assert_int_equal(socket_listen(&c, &l, &error), 0);
    umask(mask);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0660);
    assert_true(fcntl(l.fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(socket_is_listener(l.fd, &error), 0);
    assert_int_equal(socket_connect(path, &client, &error), 0);
    server = accept4(l.fd, NULL, NULL, SOCK_CLOEXEC);
    assert_true(server >= 0);
    assert_int_equal(socket_peer(server, &peer), 0);
    assert_int_equal(peer.uid, getuid());
    assert_int_equal(peer.gid, getgid());
    assert_int_equal(peer.pid, getpid());
    assert_int_equal(socket_is_listener(server, &error), -EINVAL);
    close(client);
    close(server);
    socket_listener_close(&l);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(socket_connect(path, &client, &error), -ENOENT);
    assert_non_null(strstr(error.text, "no daemon"));
}

static void test_live_refused(void **state)
{
    struct socket_listen_config c = config();
    struct socket_listener first, second = SOCKET_LISTENER_NULL;
    struct error error;
    int fds[8], n = 0;

    (void)state;
    c.backlog = 1;
    assert_int_equal(socket_listen(&c, &first, &error), 0);
    assert_int_equal(socket_listen(&c, &second, &error), -EADDRINUSE);
    assert_non_null(strstr(error.text, "another daemon"));
    /* A full queue is a sign of life, too. */
    for (; n < 8; n++) {
        struct sockaddr_un a = { .sun_family = AF_UNIX };

        strcpy(a.sun_path, path);
        fds[n] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        if (connect(fds[n], (struct sockaddr *)&a, sizeof(a)))
            break;
    }
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(socket_listen(&c, &second, &error), -EADDRINUSE);
    assert_int_equal(second.fd, -1);
    for (; n >= 0; n--)
        close(fds[n]);
    socket_listener_close(&first);
}

static void test_stale_replaced(void **state)
{
    struct socket_listen_config c = config();
    struct socket_listener dead, l;
    struct error error;

    (void)state;
    assert_int_equal(socket_listen(&c, &dead, &error), 0);
    close(dead.fd);                     /* as a crash does: the path stays */
    dead.fd = -1;
    assert_int_equal(socket_listen(&c, &l, &error), 0);
    /* The dead one's late cleaning must not take the new one's path. */
    socket_listener_close(&dead);
    assert_int_equal(access(path, F_OK), 0);
    socket_listener_close(&l);
}

static void test_foreign_kept(void **state)
{
    struct socket_listen_config c = config();
    struct socket_listener l;
    struct error error;
    char target[80];

    (void)state;
    close(open(path, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(socket_listen(&c, &l, &error), -EEXIST);
    assert_int_equal(access(path, F_OK), 0);
    unlink(path);
    snprintf(target, sizeof(target), "%s/nowhere", directory);
    assert_int_equal(symlink(target, path), 0);
    assert_int_equal(socket_listen(&c, &l, &error), -EEXIST);
    unlink(path);
    c.path = "";
    assert_int_equal(socket_listen(&c, &l, &error), -EINVAL);
    c.path = "/nonexistent-directory/s";
    assert_int_equal(socket_listen(&c, &l, &error), -ENOENT);
    c.path = "/tmp/0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
             "0123456789";
    assert_int_equal(socket_listen(&c, &l, &error), -ENAMETOOLONG);
    assert_int_equal(socket_connect(c.path, &l.fd, &error), -ENAMETOOLONG);
}

static void test_relative(void **state)
{
    struct socket_listen_config c = config();
    struct socket_listener l;
    struct error error;
    int fd, before = open(".", O_RDONLY | O_DIRECTORY);

    (void)state;
    assert_int_equal(chdir(directory), 0);
    c.path = "s";
    assert_int_equal(socket_listen(&c, &l, &error), 0);
    assert_int_equal(socket_connect("s", &fd, &error), 0);
    close(fd);
    socket_listener_close(&l);
    assert_int_equal(fchdir(before), 0);
    close(before);
}

/* Many daemons start at once beside a stale socket: one wins, the path leads to it. */
static void test_race(void **state)
{
    struct socket_listen_config c = config();
    struct socket_listener dead;
    struct error error;
    pid_t pids[8];
    int go[2], won = 0;

    (void)state;
    for (int round = 0; round < 10; round++) {
        int held[2], status;

        assert_int_equal(socket_listen(&c, &dead, &error), 0);
        close(dead.fd);
        dead.fd = -1;
        assert_int_equal(pipe(go), 0);
        assert_int_equal(pipe(held), 0);
        for (int i = 0; i < 8; i++) {
            pids[i] = fork();
            if (pids[i] == 0) {
                struct socket_listener l;
                char b;

                close(go[1]);
                close(held[1]);
                if (read(go[0], &b, 1) < 0)
                    _exit(9);
                if (socket_listen(&c, &l, &error))
                    _exit(error.code == -EADDRINUSE ? 1 : 2);
                if (read(held[0], &b, 1) < 0)
                    _exit(9);
                socket_listener_close(&l);
                _exit(0);
            }
        }
        close(go[0]);
        close(go[1]);                   /* all read the end of file at once */
        won = 0;
        for (int i = 0; i < 7; i++) {   /* seven lose and end; the winner holds on */
            pid_t pid = wait(&status);

            assert_true(pid > 0 && WIFEXITED(status));
            assert_int_equal(WEXITSTATUS(status), 1);
        }
        close(held[0]);
        close(held[1]);
        assert_true(wait(&status) > 0);
        won += WIFEXITED(status) && WEXITSTATUS(status) == 0;
        assert_int_equal(won, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_listen_connect), cmocka_unit_test(test_live_refused),
        cmocka_unit_test(test_stale_replaced), cmocka_unit_test(test_foreign_kept),
        cmocka_unit_test(test_relative),       cmocka_unit_test(test_race),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
