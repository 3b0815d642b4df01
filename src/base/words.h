/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A setting that is one of a few words: the value of an enum is the index of its word. */

#include "src/base/error.h"

struct words {
    const char *const *names;           /* NULL entries are values without a word */
    size_t count;
};

#define WORDS(array) { .names = (array), .count = ARRAY_LENGTH(array) }

/* -EINVAL with the words that are known. */
must_check int words_parse(const struct words *words, const char *text, uint32_t *ret_value, struct error *error);
