/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Bytes and descriptors from one client, put together to frames.  No I/O: the connection receives into the room that
 * inbox_room() names, tells what came, and takes whole frames out.  Memory grows only as bytes arrive, never beyond
 * the largest frame allowed.  A descriptor belongs to the frame that claims it in its header; those that no frame
 * claims are a framing error, and whatever is left is closed.
 *
 *     inbox_room() -> receive -> inbox_received() -> { inbox_next() -> use the frame -> inbox_drop() }* -> again
 */

#include "src/wire/wire_gen.h"

#define INBOX_BASE_BYTES 4096u

struct inbox {
    uint8_t *data;                      /* [capacity]; [begin, end) came and is not dropped yet */
    uint32_t capacity, begin, end;
    uint32_t max_payload;               /* of a frame */
    int fds[WIRE_LIMIT_FDS];            /* arrived, in order; the first claimed ones are the current frame's */
    uint32_t fd_count, claimed;
    bool have_header;                   /* of the frame at begin */
    struct frame_header header;
};

#define INBOX_NULL { .data = NULL }

/* A frame in the inbox, valid until inbox_drop().  fds stay the inbox's, but those that were set to -1. */
struct inbox_frame {
    struct frame_header header;
    struct span payload;
    int *fds;                           /* [header.nfds] */
};

must_check int inbox_init(struct inbox *inbox);     /* 0 or -ENOMEM; frames as before HELLO */
void inbox_deinit(struct inbox *inbox);

/* Where to receive next: at least one byte.  0, or -ENOMEM. */
must_check int inbox_room(struct inbox *inbox, uint8_t **ret_data, uint32_t *ret_size);
/*
 * @size bytes came, and @fd_count descriptors with them, which now are the inbox's.  0; or WIRE_E_PROTOCOL with
 * @fault: more descriptors than a frame may have.
 */
must_check int inbox_received(struct inbox *inbox, uint32_t size, const int *fds, uint32_t fd_count, bool truncated,
                              struct wire_fault *fault);

enum { INBOX_MORE = -1 };               /* no whole frame yet */
/* 0 and a frame; INBOX_MORE; or WIRE_E_PROTOCOL with @fault. */
must_check int inbox_next(struct inbox *inbox, struct inbox_frame *ret_frame, struct wire_fault *fault);
/* Done with the frame that inbox_next() gave; closes its descriptors. */
void inbox_drop(struct inbox *inbox);

/* A frame has begun to arrive and is not whole. */
static inline bool inbox_started(const struct inbox *inbox) { return inbox->end > inbox->begin; }
