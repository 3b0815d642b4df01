/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A door with its engine's thread (the fake one) in threads of this process, and clients that talk to it over its
 * socket, frame by frame.
 */

#include <pthread.h>

#include "src/base/log.h"
#include "src/serve/door.h"
#include "src/serve/host.h"
#include "tests/serve/fake_engine.h"

struct fixture {
    char path[108], admin_path[108];
    struct socket_listener listener, admin;
    struct ring *ring;
    struct bridge *bridge;
    struct host *host;
    struct door *door;
    struct door_config config;
    struct instance_config models[2];
    _Atomic uint32_t serving;
    _Atomic int wake_fd;                /* eventfd in the place of signals: the test asks for a drain */
    uint32_t drain_deadline_ms;
    pthread_t thread;
    int result;
    struct error error;
    uint32_t fds_before;
};

/* Defaults: one model "fake", default limits, not started. */
struct fixture *fixture_new(void);
/* Waits until the model serves, unless loading takes time or fails. */
void fixture_start(struct fixture *f);
/* As SIGTERM would. */
void fixture_drain(struct fixture *f, uint32_t deadline_ms);
/* Waits for door_run() to return, checks what it returned, frees all, and that no descriptor leaked. */
void fixture_end(struct fixture *f, int expected);
/* fixture_drain() and fixture_end(0). */
void fixture_stop(struct fixture *f);

/* True as soon as @value reaches @wanted, within five seconds. */
bool reaches_u32(_Atomic uint32_t *value, uint32_t wanted);
/* The same, and it stays for a tenth of a second: until the kernel's buffers are full, too. */
bool settles_u32(_Atomic uint32_t *value, uint32_t wanted);

/* --- a client --- */

struct client {
    int fd;
    uint8_t buffer[FRAME_HEADER_BYTES + WIRE_LIMIT_FRAME_CLIENT];
};

struct reply {
    struct frame_header header;
    struct span payload;                /* in the client's buffer */
    const struct wire_message *message;
};

struct client *client_connect(const char *path);        /* no HELLO */
struct client *client_open(const char *path);           /* HELLO said and answered */
struct client *client_try(const char *path);            /* the same, or NULL: turned away */
struct client *client_close(struct client *c);
void client_hello(struct client *c, uint16_t low, uint16_t high, uint32_t max_frame);
void client_send_bytes(struct client *c, const void *bytes, size_t size);
void client_send(struct client *c, const struct wire_message *message, const void *value, uint64_t cookie);
void client_send_fds(struct client *c, const struct wire_message *message, const void *value, uint64_t cookie,
                     uint8_t nfds, const int *fds, uint32_t count);
/* The next frame, which must come within five seconds; false when the server closed. */
bool client_receive(struct client *c, struct reply *ret);
/* True when nothing comes for that long. */
bool client_silent(struct client *c, uint32_t ms);
/* The next frame is an error with this code. */
struct wire_error client_expect_error(struct client *c, uint64_t cookie, uint32_t code);
void client_expect_closed(struct client *c);
void client_ping(struct client *c, uint64_t cookie);

/* GENERATE with one trusted text, temperature 0; @edit may be NULL. */
void client_generate(struct client *c, uint64_t cookie, const char *text, uint32_t max_tokens, uint64_t seed,
                     void (*edit)(struct wire_generate *g, void *arg), void *arg);

struct answer {
    bool started, done;
    uint32_t reason, tokens, frames, error;
    struct wire_started start;
    struct wire_done end;
    struct buffer text;
};

/* Frames of one request until its END; @answer is added to.  Other requests' frames fail the test. */
void client_answer(struct client *c, uint64_t cookie, struct answer *answer);
/* One frame into the answer; true at END. */
bool answer_add(struct answer *answer, const struct reply *reply);
/* The text is what the fake engine makes of this prompt (with BOS). */
void answer_check(const struct answer *answer, const char *prompt, uint64_t seed, uint32_t tokens);
void answer_deinit(struct answer *answer);
