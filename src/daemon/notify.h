/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Telling the service manager how things stand (the protocol of sd_notify(3): datagrams of lines to $NOTIFY_SOCKET).
 * Without that variable every call does nothing.  One thread.
 */

#include "src/base/base.h"

struct notify {
    int fd;                             /* connected; -1 = nobody listens */
    uint64_t watchdog_ns;               /* WATCHDOG=1 is expected that often; 0 = not */
};

#define NOTIFY_NULL { .fd = -1 }

/* Reads $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID and takes them out of the environment. */
void notify_open(struct notify *notify);
void notify_close(struct notify *notify);
/* Lines without the last newline: "READY=1\nSTATUS=Serving". */
void notify_send(const struct notify *notify, const char *format, ...) printf_like(2, 3);
