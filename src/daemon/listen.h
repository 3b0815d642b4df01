/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The sockets: those that a service manager passed (sd_listen_fds(3)), else our own. */

#include "src/daemon/config.h"
#include "src/serve/door.h"

struct listen {
    struct door_listener listeners[DOOR_LISTENERS_MAX];
    uint32_t count;
    bool passed;                        /* by the service manager */
    struct socket_listener own[2];      /* clients', administrators' */
};

#define LISTEN_NULL { .own = { SOCKET_LISTENER_NULL, SOCKET_LISTENER_NULL } }

/* 0, or a negative errno with @error: -EADDRINUSE where another daemon answers. */
must_check int listen_open(struct listen *listen, const struct config *config, struct error *error);
/* What listen_open() would refuse of the configuration itself, nothing made: groups, lengths, directories. */
must_check int listen_check(const struct config *config, struct error *error);
/* Removes our own paths and closes everything. */
void listen_close(struct listen *listen);
