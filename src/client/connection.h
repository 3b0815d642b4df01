/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One connection: bytes to frames and back, frames to the calls that wait for them.  Private to src/client.
 *
 * A frame that nobody waits for right now is kept in a queue (bounded by QUEUE_BYTES_MAX) if its request is in flight;
 * PING is answered and GOAWAY noted wherever frames are read.
 */

#include "src/client/tenon.h"
#include "src/wire/wire_gen.h"

#define FRAME_BYTES_MAX (FRAME_HEADER_BYTES + WIRE_LIMIT_FRAME_SERVER)
#define QUEUE_BYTES_MAX (64u << 20)
#define RAW_COOKIE_END (UINT64_C(1) << 32)      /* cookies of tenon_raw_send() lie below, ours from here on */

struct frame {                          /* read whole */
    struct frame *next;
    struct frame_header header;
    uint8_t bytes[];                    /* its header as it came, then the payload */
};

/* Bytes of the first frame among what was read, 0 while it is not whole; or TENON_E_PROTOCOL. */
int connection_frame_size(const struct tenon *tenon, size_t *ret_size, struct wire_fault *fault);

static inline struct span frame_payload(const struct frame *frame)
{
    return span_of(frame->bytes + FRAME_HEADER_BYTES, frame->header.length);
}

struct tenon {
    int fd;
    bool broken;                        /* nothing more will come */
    bool raw;                           /* tenon_raw_send() was used: keep request 0's frames for it */
    uint32_t timeout_ms;
    uint32_t max_frame;                 /* payload the server takes */
    uint64_t next_cookie;
    struct tenon_server server;
    uint64_t *flight;                   /* cookies of submitted requests that have not ended */
    size_t flight_count, flight_room;
    struct frame *queue, **queue_end;
    size_t queue_bytes;
    struct frame *held;                 /* the frame that the last event or raw frame points into */
    struct tenon_token *tokens;         /* of that event */
    struct tenon_alternative *alternatives;
    size_t in_start, in_size;           /* what was read and not yet taken: in_size bytes from in_start on */
    uint8_t in[FRAME_BYTES_MAX];
};

/* Fills @error when it is not NULL; returns @code. */
int tenon_error_set(struct tenon_error *error, int code, const char *format, ...) printf_like(3, 4);
/* The same, and nothing more is read or written. */
int connection_break(struct tenon *tenon, struct tenon_error *error, int code, const char *format, ...)
    printf_like(4, 5);
/* An ERROR frame's payload as an error.  Returns its code, or TENON_E_PROTOCOL where it cannot be read. */
int connection_error(struct tenon *tenon, struct span payload, struct tenon_error *error);

/* Monotonic deadline; @timeout_ms -1 = never. */
uint64_t connection_deadline(int64_t timeout_ms);

int connection_send(struct tenon *tenon, const void *bytes, size_t size, const int *fds, size_t fd_count,
                    struct tenon_error *error);
/* Encodes and sends.  A value out of its range is TENON_E_ARGUMENT with the field's name. */
int connection_send_message(struct tenon *tenon, const struct wire_message *message, const void *value,
                            uint64_t cookie, const int *fds, size_t fd_count, struct tenon_error *error);

typedef bool frame_wanted(const struct tenon *tenon, uint64_t cookie, uint64_t request);
/*
 * The next frame whose request is @wanted (called with @cookie); the caller frees it.  TENON_E_TIMEOUT leaves the
 * connection whole.
 */
int connection_next(struct tenon *tenon, frame_wanted *wanted, uint64_t cookie, uint64_t deadline_ns,
                    struct frame **ret_frame, struct tenon_error *error);
/* The next frame whatever it is, before HELLO_OK. */
int connection_first(struct tenon *tenon, uint64_t deadline_ns, struct frame **ret_frame, struct tenon_error *error);
bool frame_is_of(const struct tenon *tenon, uint64_t cookie, uint64_t request);

/*
 * Sends @value and calls @on_reply for each frame of the answer with its payload; a code that it returns ends the call.
 * An error from the server is the result.
 */
typedef int reply_taker(void *arg, struct tenon *tenon, struct span payload, struct tenon_error *error);
int connection_call(struct tenon *tenon, const struct wire_message *message, const void *value, const int *fds,
                    size_t fd_count, reply_taker *on_reply, void *arg, struct tenon_error *error);
/* wire_decode() of a reply: what the server did wrong breaks the connection. */
int connection_decode(struct tenon *tenon, const struct wire_message *message, struct span payload, void *ret_value,
                      struct tenon_error *error);
