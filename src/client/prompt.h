/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Segments of a caller as segments of the wire.  Private to src/client. */

#include "src/client/connection.h"

struct prompt {
    struct wire_list list;              /* of items */
    struct wire_segment *items;         /* borrow the caller's texts */
    int fds[WIRE_LIMIT_FDS];            /* memfds with the texts that are too long for a frame */
    size_t fd_count;
};

#define PROMPT_NULL { .items = NULL }

/* 0, TENON_E_ARGUMENT, TENON_E_LIMIT, TENON_E_SYSTEM.  prompt_deinit() in each case. */
int prompt_init(struct prompt *prompt, const struct tenon *tenon, const struct tenon_segment *segments, size_t count,
                struct tenon_error *error);
void prompt_deinit(struct prompt *prompt);
