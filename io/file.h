/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The file under a load: a second open file for direct I/O beside the borrowed one, its alignment, and who it was
 * at the start.  The borrowed descriptor's flags and position are never touched.
 */

#include <sys/stat.h>

#include "src/base/error.h"

struct load_file {
    int fd;                         /* borrowed: buffered reads */
    int direct_fd;                  /* ours, or -1 */
    uint32_t align;                 /* of offsets, lengths and memory; a power of two */
    uint64_t size;
    struct stat before;
    char note[128];                 /* why reads are not direct, "" if they are */
};

#define LOAD_FILE_NULL { .fd = -1, .direct_fd = -1 }

/* 0, or a negative errno with @error filled: not a regular file, not open for reading. */
must_check int load_file_open(int fd, struct load_file *ret_file, struct error *error);
void load_file_close(struct load_file *file);
/* 0, or -ESTALE with @error filled: size, times or inode are not what they were at load_file_open(). */
must_check int load_file_same(const struct load_file *file, struct error *error);
/* Whether the file is shorter now than at load_file_open(). */
bool load_file_shrank(const struct load_file *file);
/* Drops what a buffered read left in the page cache. */
void load_file_forget(const struct load_file *file, uint64_t offset, uint64_t bytes);
