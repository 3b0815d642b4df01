/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A file that is there whole or as it was: written beside its place, and moved there when all of it is on the way to
 * the disk.  What is no regular file (a pipe, /dev/stdout) is written as it is.
 */

#include <stdio.h>

#include "src/base/error.h"

struct out_file {
    FILE *file;
    char *path, *temporary;             /* temporary NULL: written in place */
};

#define OUT_FILE_NULL { .file = NULL }

/* Finds out now whether the place can be written to. */
must_check int out_file_open(const char *path, struct out_file *ret_out, struct error *error);
/* Flushes and moves it to its place. */
must_check int out_file_commit(struct out_file *out, struct error *error);
/* Without a commit nothing stays. */
void out_file_deinit(struct out_file *out);
