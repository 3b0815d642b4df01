/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Configuration text as systemd writes it: [section] or [section name] lines, key = value lines, # and ; comments.
 * No quotes and no continuation lines: a value is what stands behind the = without blanks around it.
 * Bounded: what is longer than these limits is an error with its line.
 */

#include "src/base/bytes.h"
#include "src/base/error.h"

#define INI_FILE_MAX (1u << 20)
#define INI_LINE_MAX 4096u
#define INI_WORD_MAX 256u

struct ini {
    const char *name;                   /* of the file, for messages; borrowed */
    struct cursor cursor;
    uint32_t line;
    char section[INI_WORD_MAX];         /* "server"; of "[model small]" it is "model" */
    char argument[INI_WORD_MAX];        /* "small", "" where there is none */
    char key[INI_WORD_MAX];
    char value[INI_LINE_MAX];
};

struct ini ini_of(const char *name, const void *text, size_t size);
enum { INI_END = 1 };
/* 0 and the next key; INI_END; or -EINVAL with @error ("file:line: what"). */
must_check int ini_next(struct ini *ini, struct error *error);

/* A whole file, at most INI_FILE_MAX bytes; the caller frees @ret_text.  Negative errno with @error. */
must_check int ini_read_file(const char *path, char **ret_text, size_t *ret_size, struct error *error);
