/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/socket.h>

#include "tests/io/ring_fixture.h"
#include "tests/io/files.h"

struct ring *ring;
const enum ring_backend ring_on_uring = RING_URING, ring_on_epoll = RING_EPOLL;

static uint32_t fds_before;

int ring_set_up(void **state)
{
    struct ring_config config = { .backend = *(enum ring_backend *)*state, .operations = 3000 };
    struct error error = ERROR_NULL;
    int r;

    fds_before = count_fds();
    r = ring_new(&config, &ring, &error);
    if (r)
        print_message("%s\n", error.text);
    else
        assert_string_equal(ring_name(ring), config.backend == RING_URING ? "io_uring" : "epoll");
    return r;
}

int ring_tear_down(void **state)
{
    (void)state;
    ring = ring_free(ring);
    if (count_fds() != fds_before)
        print_message("%u descriptors before, %u now\n", fds_before, count_fds());
    return count_fds() == fds_before ? 0 : -1;
}

bool next_within(struct ring_event *ret_event, uint64_t ns)
{
    uint64_t deadline = clock_now_ns() + ns;

    do {
        if (ring_next(ring, ret_event))
            return true;
        assert_int_equal(ring_wait(ring, deadline), 0);
    } while (clock_now_ns() < deadline);
    return ring_next(ring, ret_event);
}

void expect(uint64_t cookie, enum ring_kind kind, int32_t result)
{
    struct ring_event e = { 0 };

    if (!next_within(&e, 5 * NS_PER_S))
        fail_msg("no event; expected cookie %u", (unsigned)cookie);
    assert_int_equal(e.cookie, cookie);
    assert_int_equal(e.kind, kind);
    assert_int_equal(e.result, result);
    assert_false(e.more);
}

void expect_silence(uint64_t ns)
{
    struct ring_event e = { 0 };

    if (next_within(&e, ns))
        fail_msg("unexpected event: cookie %u kind %d result %d", (unsigned)e.cookie, e.kind, e.result);
}

void make_pair(int fds[2]) { assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0); }
