/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the loader's tests share: files of the fake's pattern, pieces compared with it. */

#include "io/loader.h"

/* An unlinked file of @size bytes of fake_byte() in the build directory; open for reading and writing. */
int make_file(uint64_t size);
bool piece_is_right(const struct loader_piece *piece);
/* Open descriptors of this process. */
uint32_t count_fds(void);
/* Threads named tenon-..., after giving those that are ending a second to be gone. */
uint32_t threads_left(void);
