/* SPDX-License-Identifier: Apache-2.0 */
/* The ring's promises, each on both backends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/io/ring_fixture.h"
#include "tests/io/files.h"

static void test_recv_send(void **state)
{
    struct ring_receive in = { .size = 64 };
    char data[64] = "", word[] = "hello ", other[] = "world";
    struct iovec parts[] = { { word, 6 }, { other, 5 } };
    int s[2];

    (void)state;
    in.data = data;
    make_pair(s);
    assert_int_equal(ring_recv(ring, s[0], &in, 7), 0);
    assert_int_equal(ring_recv(ring, s[0], &in, 8), RING_E_BUSY);
    assert_int_equal(ring_recv(ring, s[1], &in, 7), RING_E_EXISTS);
    expect_silence(20 * NS_PER_MS);
    assert_int_equal(ring_send(ring, s[1], parts, 2, NULL, 0, 9), 0);
    for (int i = 0; i < 2; i++) {
        struct ring_event e;

        assert_true(next_within(&e, 5 * NS_PER_S));
        assert_int_equal(e.kind, e.cookie == 9 ? RING_SEND : RING_RECV);
        assert_int_equal(e.result, 11);
    }
    assert_memory_equal(data, "hello world", 11);
    assert_int_equal(in.fd_count, 0);
    assert_false(in.truncated);
    /* The end of the other's sending, then its end. */
    assert_int_equal(ring_recv(ring, s[0], &in, 7), 0);
    shutdown(s[1], SHUT_WR);
    expect(7, RING_RECV, 0);
    assert_int_equal(ring_close(ring, s[1], 10), 0);
    expect(10, RING_CLOSE, 0);
    assert_int_equal(ring_send(ring, s[0], parts, 1, NULL, 0, 11), 0);
    expect(11, RING_SEND, -EPIPE);
    assert_int_equal(ring_close(ring, s[0], 12), 0);
    expect(12, RING_CLOSE, 0);
    assert_int_equal(ring_cancel(ring, 12), RING_E_NONE);
}

static void test_nonblocking_fd(void **state)
{
    struct ring_receive in = { .size = 8 };
    char data[8] = "";
    int s[2];

    (void)state;
    in.data = data;
    make_pair(s);
    assert_int_equal(fcntl(s[0], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(ring_recv(ring, s[0], &in, 1), 0);
    expect_silence(50 * NS_PER_MS);
    assert_int_equal(write(s[1], "abc", 3), 3);
    expect(1, RING_RECV, 3);
    assert_int_equal(ring_recv(ring, s[0], &in, 2), 0);
    expect_silence(20 * NS_PER_MS);
    assert_int_equal(ring_cancel(ring, 2), 0);
    expect(2, RING_RECV, -ECANCELED);
    close(s[1]);
    assert_int_equal(ring_close(ring, s[0], 3), 0);
    expect(3, RING_CLOSE, 0);
}

/* A full socket buffer: the send waits, a partial one says how much. */
static void test_back_pressure(void **state)
{
    static char big[1u << 20], sink[1u << 20];
    struct iovec part = { big, sizeof(big) };
    struct ring_event e;
    size_t sent = 0, got = 0;
    int s[2];

    (void)state;
    memset(big, 'x', sizeof(big));
    make_pair(s);
    for (uint64_t c = 1; sent < 3 * sizeof(big);) {
        assert_int_equal(ring_send(ring, s[0], &part, 1, NULL, 0, c), 0);
        while (!next_within(&e, 20 * NS_PER_MS)) {
            ssize_t n = recv(s[1], sink, sizeof(sink), MSG_DONTWAIT);

            assert_true(n > 0);
            got += (size_t)n;
        }
        assert_int_equal(e.cookie, c++);
        assert_true(e.result > 0);
        sent += (size_t)e.result;
    }
    assert_true(got > 0);
    /* Blocked for good, then cancelled. */
    do {
        assert_int_equal(ring_send(ring, s[0], &part, 1, NULL, 0, 99), 0);
    } while (next_within(&e, 20 * NS_PER_MS));
    assert_int_equal(ring_cancel(ring, 99), 0);
    expect(99, RING_SEND, -ECANCELED);
    close(s[1]);
    assert_int_equal(ring_close(ring, s[0], 100), 0);
    expect(100, RING_CLOSE, 0);
}

static void send_fds(int fd, const char *text, size_t size, uint32_t count, int passed)
{
    union { struct cmsghdr h; char bytes[CMSG_SPACE(16 * sizeof(int))]; } control = { 0 };
    struct iovec part = { (void *)(uintptr_t)text, size };
    struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
                        .msg_controllen = CMSG_SPACE(count * sizeof(int)) };
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);

    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(count * sizeof(int));
    for (uint32_t i = 0; i < count; i++)
        memcpy(CMSG_DATA(c) + i * sizeof(int), &passed, sizeof(int));
    assert_int_equal(sendmsg(fd, &m, 0), size);
}

static void test_fd_passing(void **state)
{
    struct ring_receive in = { .size = 64 };
    char data[64] = "", text[] = "take this";
    struct iovec part = { text, 9 };
    struct ring_event e;
    int s[2], pipes[2], give[2];
    uint32_t before;

    (void)state;
    in.data = data;
    make_pair(s);
    assert_int_equal(pipe(pipes), 0);
    give[0] = pipes[1];
    give[1] = s[1];
    before = count_fds();
    assert_int_equal(ring_recv(ring, s[0], &in, 1), 0);
    assert_int_equal(ring_send(ring, s[1], &part, 1, give, 2, 2), 0);
    for (int i = 0; i < 2; i++) {
        assert_true(next_within(&e, 5 * NS_PER_S));
        assert_int_equal(e.result, 9);
    }
    assert_int_equal(in.fd_count, 2);
    assert_int_equal(count_fds(), before + 2);
    assert_true(fcntl(in.fds[0], F_GETFD) & FD_CLOEXEC);
    assert_int_equal(write(in.fds[0], "p", 1), 1);
    assert_int_equal(read(pipes[0], data, 64), 1);
    close(in.fds[0]);
    close(in.fds[1]);
    /* More than fit: said, and none is lost track of. */
    send_fds(s[1], "many", 4, 16, pipes[0]);
    assert_int_equal(ring_recv(ring, s[0], &in, 3), 0);
    expect(3, RING_RECV, 4);
    assert_true(in.truncated);
    assert_true(in.fd_count <= RING_FDS_MAX);
    assert_int_equal(count_fds(), before + in.fd_count);
    while (in.fd_count)
        close(in.fds[--in.fd_count]);
    /* Arrived, but never taken: the ring's end closes them (the descriptor count of tear_down). */
    send_fds(s[1], "late", 4, 3, pipes[0]);
    close(pipes[0]);
    close(pipes[1]);
    assert_int_equal(ring_recv(ring, s[0], &in, 4), 0);
    assert_int_equal(ring_wait(ring, clock_now_ns() + 50 * NS_PER_MS), 0);
    ring = ring_free(ring);
    close(s[0]);
    close(s[1]);
}

static void test_timers(void **state)
{
    uint64_t now = clock_now_ns(), start = now;

    (void)state;
    assert_int_equal(ring_timer(ring, now + 60 * NS_PER_MS, 3), 0);
    assert_int_equal(ring_timer(ring, now + 20 * NS_PER_MS, 2), 0);
    assert_int_equal(ring_timer(ring, 0, 1), 0);
    assert_int_equal(ring_timer(ring, now + 30 * NS_PER_MS, 4), 0);
    assert_int_equal(ring_timer(ring, UINT64_MAX, 5), 0);
    assert_int_equal(ring_cancel(ring, 4), 0);
    assert_int_equal(ring_cancel(ring, 44), RING_E_NONE);
    expect(4, RING_TIMER, -ECANCELED);
    expect(1, RING_TIMER, 0);
    expect(2, RING_TIMER, 0);
    assert_true(clock_now_ns() >= start + 20 * NS_PER_MS);
    expect(3, RING_TIMER, 0);
    assert_true(clock_now_ns() >= start + 60 * NS_PER_MS);
    /* A deadline of the wait itself. */
    start = clock_now_ns();
    assert_int_equal(ring_wait(ring, start + 30 * NS_PER_MS), 0);
    assert_true(clock_now_ns() < start + 5 * NS_PER_S);
    assert_int_equal(ring_wait(ring, 0), 0);
}

static void test_poll(void **state)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), s[2];
    uint64_t one = 1;
    char data[8];
    struct ring_receive in = { .data = data, .size = 8 };

    (void)state;
    for (uint64_t c = 1; c < 4; c++) {
        assert_int_equal(ring_poll(ring, fd, POLLIN, c), 0);
        expect_silence(10 * NS_PER_MS);
        assert_int_equal(write(fd, &one, 8), 8);
        expect(c, RING_POLL, POLLIN);
        assert_int_equal(read(fd, &one, 8), 8);
        one = 1;
    }
    assert_int_equal(ring_poll(ring, fd, POLLIN, 9), 0);
    assert_int_equal(ring_cancel(ring, 9), 0);
    expect(9, RING_POLL, -ECANCELED);
    assert_int_equal(ring_close(ring, fd, 10), 0);
    expect(10, RING_CLOSE, 0);

    /* The hang-up alone: neither bytes nor the end of sending count. */
    make_pair(s);
    shutdown(s[1], SHUT_WR);
    assert_int_equal(ring_recv(ring, s[0], &in, 20), 0);
    expect(20, RING_RECV, 0);
    assert_int_equal(ring_poll(ring, s[0], 0, 21), 0);
    expect_silence(50 * NS_PER_MS);
    close(s[1]);
    expect(21, RING_POLL, POLLHUP);
    assert_int_equal(ring_close(ring, s[0], 22), 0);
    expect(22, RING_CLOSE, 0);

    /* The same, cancelled while it watches; and with bytes unread. */
    make_pair(s);
    assert_int_equal(write(s[1], "x", 1), 1);
    shutdown(s[1], SHUT_WR);
    assert_int_equal(ring_poll(ring, s[0], 0, 23), 0);
    expect_silence(50 * NS_PER_MS);
    assert_int_equal(ring_cancel(ring, 23), 0);
    expect(23, RING_POLL, -ECANCELED);
    close(s[1]);
    assert_int_equal(ring_close(ring, s[0], 24), 0);
    expect(24, RING_CLOSE, 0);
}

/* Last events first, the close after them, whatever lives on the descriptor; its number is then free. */
static void test_close_order(void **state)
{
    static char big[4u << 20];
    struct iovec part = { big, sizeof(big) };
    char data[8];
    struct ring_receive in = { .data = data, .size = 8 };
    struct ring_event e;
    int s[2];

    (void)state;
    for (int round = 0; round < 3; round++) {
        uint32_t seen = 0;

        make_pair(s);
        do {
            assert_int_equal(ring_send(ring, s[0], &part, 1, NULL, 0, 1), 0);
        } while (next_within(&e, 20 * NS_PER_MS));
        assert_int_equal(ring_recv(ring, s[0], &in, 2), 0);
        if (round == 1)
            expect_silence(10 * NS_PER_MS);
        if (round == 2)
            assert_int_equal(write(s[1], "done", 4), 4);    /* the receive may have got it, or not */
        assert_int_equal(ring_close(ring, s[0], 3), 0);
        assert_int_equal(ring_close(ring, s[0], 4), RING_E_BUSY);
        assert_int_equal(ring_recv(ring, s[0], &in, 4), RING_E_BUSY);
        for (int i = 0; i < 3; i++) {
            assert_true(next_within(&e, 5 * NS_PER_S));
            seen |= 1u << e.cookie;
            if (i == 2)
                assert_int_equal(e.cookie, 3);
        }
        assert_int_equal(seen, 1u << 1 | 1u << 2 | 1u << 3);
        assert_int_equal(fcntl(s[0], F_GETFD), -1);
        close(s[1]);
    }
}

static void test_full(void **state)
{
    struct ring_config config = { .backend = *(enum ring_backend *)*state, .operations = 4 };
    struct ring *own = NULL;
    struct error error;

    assert_int_equal(ring_new(&config, &own, &error), 0);
    for (uint64_t c = 0; c < 4; c++)
        assert_int_equal(ring_timer(own, UINT64_MAX, c), 0);
    assert_int_equal(ring_timer(own, 0, 4), RING_E_FULL);
    assert_int_equal(ring_timer(own, 0, 3), RING_E_EXISTS);
    assert_int_equal(ring_poll(own, -1, POLLIN, 5), -EBADF);
    own = ring_free(own);
    config.operations = RING_OPERATIONS_MAX + 1;
    assert_int_equal(ring_new(&config, &own, &error), -EINVAL);
}

/* Descriptors that are none or cannot be waited for end as events, never as a hang. */
static void test_bad_fd(void **state)
{
    char data[8];
    struct ring_receive in = { .data = data, .size = 8 };
    int file = make_file(10), p[2];
    struct ring_event e;

    (void)state;
    assert_int_equal(pipe(p), 0);
    close(p[0]);
    close(p[1]);
    assert_int_equal(ring_recv(ring, p[0], &in, 1), 0);
    expect(1, RING_RECV, -EBADF);
    assert_int_equal(ring_recv(ring, file, &in, 2), 0);
    assert_true(next_within(&e, 5 * NS_PER_S));
    assert_true(e.cookie == 2 && e.result < 0);
    close(file);
}

static atomic_uint rounds_posted;

static void *waker(void *arg)
{
    struct ring *r = arg;

    for (unsigned i = 0; i < 2000; i++) {
        atomic_store_explicit(&rounds_posted, i + 1, memory_order_relaxed);
        ring_wake(r);
        if (i % 64 == 0)
            usleep(200);
    }
    return NULL;
}

/* No wake is lost: the last value posted is always seen without a time limit. */
static void test_wake(void **state)
{
    struct ring_event e;
    pthread_t thread;
    unsigned seen = 0, wakes = 0;

    (void)state;
    ring_wake(ring);
    ring_wake(ring);
    expect(0, RING_WAKE, 0);
    expect_silence(10 * NS_PER_MS);
    atomic_store(&rounds_posted, 0);
    assert_int_equal(pthread_create(&thread, NULL, waker, ring), 0);
    while (seen < 2000) {
        assert_int_equal(ring_wait(ring, UINT64_MAX), 0);
        while (ring_next(ring, &e)) {
            assert_int_equal(e.kind, RING_WAKE);
            seen = atomic_load_explicit(&rounds_posted, memory_order_relaxed);
            wakes++;
        }
    }
    pthread_join(thread, NULL);
    assert_true(wakes > 0 && wakes <= 2000);
    while (next_within(&e, 10 * NS_PER_MS))
        assert_int_equal(e.kind, RING_WAKE);
}

#define ROUNDS 3000u

static atomic_uint rounds_taken;

/* The next wake comes only when the last one was taken: a single lost one stops the test for good. */
static void *lockstep_waker(void *arg)
{
    for (unsigned i = 1; i <= ROUNDS; i++) {
        atomic_store(&rounds_posted, i);
        ring_wake(arg);
        while (atomic_load(&rounds_taken) != i)
            sched_yield();
    }
    return NULL;
}

static void test_wake_lockstep(void **state)
{
    struct ring_event e;
    pthread_t thread;
    unsigned seen = 0;

    (void)state;
    atomic_store(&rounds_posted, 0);
    atomic_store(&rounds_taken, 0);
    assert_int_equal(pthread_create(&thread, NULL, lockstep_waker, ring), 0);
    while (seen < ROUNDS) {
        assert_int_equal(ring_wait(ring, UINT64_MAX), 0);
        while (ring_next(ring, &e)) {
            assert_int_equal(e.kind, RING_WAKE);
            assert_int_equal(atomic_load(&rounds_posted), seen + 1);
            atomic_store(&rounds_taken, ++seen);
        }
    }
    pthread_join(thread, NULL);
}

/* What was seen of a closed descriptor does not reach another file that has its number now. */
static void test_number_reused(void **state)
{
    int fds[2] = { eventfd(1, EFD_CLOEXEC), eventfd(1, EFD_CLOEXEC) }, other, again;
    struct ring_event e = { 0 };

    (void)state;
    assert_int_equal(ring_poll(ring, fds[0], POLLIN, 0), 0);
    assert_int_equal(ring_poll(ring, fds[1], POLLIN, 1), 0);
    assert_int_equal(ring_wait(ring, clock_now_ns() + 50 * NS_PER_MS), 0);
    assert_true(next_within(&e, NS_PER_S));
    assert_int_equal(e.result, POLLIN);
    other = fds[1 - e.cookie];
    assert_int_equal(ring_close(ring, other, 2), 0);
    do {
        assert_true(next_within(&e, NS_PER_S));
    } while (e.kind != RING_CLOSE);
    again = eventfd(0, EFD_CLOEXEC);
    assert_int_equal(again, other);
    assert_int_equal(ring_poll(ring, again, POLLIN, 3), 0);
    expect_silence(30 * NS_PER_MS);
    ring = ring_free(ring);
    close(fds[0]);
    close(fds[1]);
}

static void on_alarm(int number) { (void)number; ring_wake(ring); }

static void test_signal(void **state)
{
    struct sigaction action = { .sa_handler = on_alarm }, before;
    struct ring_event e = { 0 };

    (void)state;
    sigaction(SIGALRM, &action, &before);
    ualarm(20000, 0);
    assert_int_equal(ring_wait(ring, UINT64_MAX), 0);
    assert_true(next_within(&e, NS_PER_S));
    assert_int_equal(e.kind, RING_WAKE);
    sigaction(SIGALRM, &before, NULL);
}

/* An idle ring sleeps: next to no CPU time in 300 ms, with watched but silent descriptors and a far timer. */
static void test_idle(void **state)
{
    char data[8];
    struct ring_receive in = { .data = data, .size = 8 };
    struct timespec a, b;
    struct ring_event e;
    int s[2];

    (void)state;
    make_pair(s);
    shutdown(s[1], SHUT_WR);
    assert_int_equal(ring_recv(ring, s[0], &in, 1), 0);
    expect(1, RING_RECV, 0);
    assert_int_equal(ring_poll(ring, s[0], 0, 2), 0);
    assert_int_equal(ring_timer(ring, clock_now_ns() + 3600 * NS_PER_S, 3), 0);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    assert_false(next_within(&e, 300 * NS_PER_MS));
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    assert_true((uint64_t)(b.tv_sec - a.tv_sec) * NS_PER_S + (uint64_t)(b.tv_nsec - a.tv_nsec) < 20 * NS_PER_MS);
    ring = ring_free(ring);
    close(s[0]);
    close(s[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(test_recv_send), BOTH(test_nonblocking_fd), BOTH(test_back_pressure), BOTH(test_fd_passing),
        BOTH(test_timers), BOTH(test_poll), BOTH(test_close_order),
        BOTH(test_full), BOTH(test_bad_fd), BOTH(test_wake), BOTH(test_wake_lockstep),
        BOTH(test_number_reused), BOTH(test_signal), BOTH(test_idle),
    };

    signal(SIGPIPE, SIG_DFL);           /* the ring itself must not raise it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
