/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Small text files of the kernel (sysfs, procfs, cgroups), read with a bound and believed nothing.
 * Internal to numa/; no state, any thread.
 */

#include "src/base/base.h"

/*
 * Reads the whole of @root + @path into text[capacity], NUL-terminated.  0, -EFBIG when it does not fit,
 * -EILSEQ when it holds a NUL, or the errno of open or read.  *ret_size without the NUL.
 */
must_check int text_read(const char *root, const char *path, char *text, size_t capacity, size_t *ret_size);

/* Skips blanks, then takes a decimal number that fits; leaves *text behind it.  Else false, *text as it was. */
bool text_u64(const char **text, uint64_t *ret);

/* A file that holds one number and a newline: 0, -EINVAL, or as text_read(). */
must_check int text_read_u64(const char *root, const char *path, uint64_t *ret);
must_check int text_write_u64(const char *root, const char *path, uint64_t value);

/*
 * Cuts the next line or word off *text, in place: returns its beginning, NUL-terminated, or NULL at the end.
 * An empty field between two separators is returned as "".
 */
char *text_next(char **text, char separator);
