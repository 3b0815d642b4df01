/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What tests of the ring share: a ring on the backend that the test's state names, and waiting for events. */

#include "io/ring.h"
#include "src/base/clock.h"

extern struct ring *ring;

/* Every test leaves as many descriptors as it found, or tear_down fails. */
int ring_set_up(void **state);
int ring_tear_down(void **state);

bool next_within(struct ring_event *ret_event, uint64_t ns);
void expect(uint64_t cookie, enum ring_kind kind, int32_t result);
void expect_silence(uint64_t ns);
void make_pair(int fds[2]);

/* Each test twice, once per backend. */
extern const enum ring_backend ring_on_uring, ring_on_epoll;
#define ON(name, function, backend) { name, function, ring_set_up, ring_tear_down, (void *)(uintptr_t)&backend }
#define BOTH(function) ON(#function "/uring", function, ring_on_uring), ON(#function "/epoll", function, ring_on_epoll)
