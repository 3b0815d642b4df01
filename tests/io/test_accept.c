/* SPDX-License-Identifier: Apache-2.0 */
/* Listeners on a ring, and many connections at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "io/socket.h"
#include "tests/io/ring_fixture.h"

static char socket_path[64];

static struct socket_listener listener_open(void)
{
    struct socket_listen_config c = { .path = socket_path, .mode = 0600, .group = SOCKET_GROUP_KEEP };
    struct socket_listener l;
    struct error error;

    snprintf(socket_path, sizeof(socket_path), "/tmp/tenon-ring-%d", (int)getpid());
    assert_int_equal(socket_listen(&c, &l, &error), 0);
    return l;
}

static int client_open(void)
{
    struct error error = ERROR_NULL;
    int fd = -1;

    if (socket_connect(socket_path, &fd, &error))
        fail_msg("%s", error.text);
    return fd;
}

#define CONNECTIONS 300

/* Hundreds of connections echo several rounds; each byte comes back to whom it belongs. */
static void test_many(void **state)
{
    static struct connection { int client, server; struct ring_receive in; char data[32]; struct iovec out; }
        conns[CONNECTIONS];
    struct socket_listener l = listener_open();
    struct ring_event e;
    int accepted = 0, closed = 0;

    (void)state;
    assert_int_equal(ring_accept(ring, l.fd, 1), 0);
    for (int i = 0; i < CONNECTIONS; i++) {
        conns[i].client = client_open();
        assert_true(next_within(&e, 5 * NS_PER_S));
        assert_true(e.kind == RING_ACCEPT && e.more && e.result >= 0);
        assert_true(fcntl(e.result, F_GETFD) & FD_CLOEXEC);
        conns[i].server = e.result;
        accepted++;
    }
    for (int round = 0; round < 5; round++) {
        int open = CONNECTIONS, pending = CONNECTIONS;

        for (int i = 0; i < CONNECTIONS; i++) {
            struct connection *c = &conns[i];

            c->in = (struct ring_receive){ .data = c->data, .size = sizeof(c->data) };
            assert_int_equal(ring_recv(ring, c->server, &c->in, 1000 + (uint64_t)i), 0);
        }
        for (int i = 0; i < CONNECTIONS; i++) {
            char text[32];
            int n = snprintf(text, sizeof(text), "%d/%d", round, i);

            assert_int_equal(write(conns[i].client, text, (size_t)n), n);
        }
        while (pending) {
            struct connection *c;

            assert_true(next_within(&e, 5 * NS_PER_S));
            assert_true(e.result > 0);
            c = &conns[e.cookie % 1000];
            if (e.kind == RING_RECV) {
                c->out = (struct iovec){ c->data, (size_t)e.result };
                assert_int_equal(ring_send(ring, c->server, &c->out, 1, NULL, 0, e.cookie + 1000), 0);
            } else {
                assert_int_equal(e.kind, RING_SEND);
                pending--;
            }
        }
        for (int i = 0; i < open; i++) {
            char text[32], back[32];
            int n = snprintf(text, sizeof(text), "%d/%d", round, i);

            assert_int_equal(read(conns[i].client, back, sizeof(back)), n);
            assert_memory_equal(text, back, (size_t)n);
        }
    }
    for (int i = 0; i < CONNECTIONS; i++) {
        close(conns[i].client);
        assert_int_equal(ring_close(ring, conns[i].server, 5000 + (uint64_t)i), 0);
    }
    while (closed < CONNECTIONS) {
        assert_true(next_within(&e, 5 * NS_PER_S));
        assert_int_equal(e.kind, RING_CLOSE);
        closed++;
    }
    assert_int_equal(ring_cancel(ring, 1), 0);
    expect(1, RING_ACCEPT, -ECANCELED);
    assert_int_equal(ring_close(ring, l.fd, 2), 0);
    expect(2, RING_CLOSE, 0);
    l.fd = -1;
    socket_listener_close(&l);
}

/* A listener without descriptors left says so once, and goes on when started again. */
static void test_accept_limit(void **state)
{
    struct socket_listener l = listener_open();
    struct rlimit before, none;
    struct ring_event e;
    int a = client_open(), b = client_open();

    (void)state;
    assert_int_equal(ring_accept(ring, l.fd, 1), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = (rlim_t)b + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_true(next_within(&e, 5 * NS_PER_S));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(e.kind, RING_ACCEPT);
    assert_int_equal(e.result, -EMFILE);
    assert_false(e.more);
    expect_silence(20 * NS_PER_MS);
    assert_int_equal(ring_accept(ring, l.fd, 2), 0);
    for (int i = 0; i < 2; i++) {
        assert_true(next_within(&e, 5 * NS_PER_S));
        assert_true(e.more && e.result >= 0);
        close(e.result);
    }
    /* Accepted but not delivered: ring_free closes it (tear_down counts). */
    close(a);
    a = client_open();
    assert_int_equal(ring_wait(ring, clock_now_ns() + NS_PER_S), 0);
    ring = ring_free(ring);
    close(a);
    close(b);
    socket_listener_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = { BOTH(test_many), BOTH(test_accept_limit) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
