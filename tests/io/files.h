/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the loader's tests share: files of the fake's pattern, pieces compared with it. */

#include "io/loader.h"

/* An unlinked file of @size bytes of fake_byte() in the build directory; open for reading and writing. */
int make_file(uint64_t size);
/* Whether an aligned read past the page cache succeeds here: asked of the kernel, not of the loader. */
bool direct_works(int fd);
/* Whether this process may lock that much, which registered buffers need. */
bool locking_works(uint64_t bytes);
bool piece_is_right(const struct loader_piece *piece);
/* Open descriptors of this process. */
uint32_t count_fds(void);
/* Threads named tenon-..., after giving those that are ending a second to be gone. */
uint32_t threads_left(void);
