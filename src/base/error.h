/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The story of a failure, for a person: what, where, what to do.  The code travels as the return
 * value; this text travels beside it in memory that the caller owns.  NULL means "not wanted".
 */

#include "src/base/base.h"

#define ERROR_TEXT_MAX 768

struct error {
    int code;                   /* negative errno, as returned */
    char text[ERROR_TEXT_MAX];  /* one line, no newline at the end, never empty after error_set() */
};

#define ERROR_NULL { .code = 0, .text = "" }

/* Fills @error when it is not NULL and returns @code, so that `return error_set(e, -EINVAL, …)`. */
int error_set(struct error *error, int code, const char *format, ...) printf_like(3, 4);

/* Puts "context: " before the text; for callers that know the file or the tensor. */
void error_prefix(struct error *error, const char *format, ...) printf_like(2, 3);
