/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A server that follows a script: listens on a socket in a directory of its own, shakes hands, calls the script for
 * each connection, on a thread.  What goes wrong in the script is kept and told by fake_stop().
 */

#include <pthread.h>

#include "src/wire/wire_gen.h"

struct fake_frame {
    struct frame_header header;
    uint8_t payload[WIRE_LIMIT_FRAME_CLIENT];
    int fds[WIRE_LIMIT_FDS];
    size_t fd_count;
};

struct fake {
    char path[108], directory[64];
    int listener, fd;                   /* fd: of the connection */
    bool silent;                        /* no handshake: the script does it */
    uint32_t connections;               /* to serve */
    void (*script)(struct fake *fake);
    char failure[256];
    pthread_t thread;
    struct fake_frame frame;            /* the last one read */
    struct wire_hello_ok hello_ok;      /* what the handshake answers */
};

#define fake_check(fake, condition) fake_verify(fake, condition, #condition, __LINE__)

void fake_start(struct fake *fake, void (*script)(struct fake *fake));
/* Waits for the script; fails the test with what it found. */
void fake_stop(struct fake *fake);

void fake_verify(struct fake *fake, bool condition, const char *text, int line);
/* Reads a frame of this type into fake->frame; false at the end of the connection. */
bool fake_read(struct fake *fake, uint16_t type);
struct span fake_payload(const struct fake *fake);
void fake_send(struct fake *fake, const struct wire_message *message, const void *value, uint64_t request,
               uint8_t flags);
void fake_send_error(struct fake *fake, uint16_t type, uint64_t request, uint32_t code, const char *text);
void fake_send_bytes(struct fake *fake, const void *bytes, size_t size);
