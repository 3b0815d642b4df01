/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Numbers as people write them in a configuration: 64, 0660, 4G, 512M, 30s, 250ms; and the word they may have meant. */

#include "src/base/base.h"

/* Each: true and the value, or false: not a number of this kind, or too large. */
must_check bool units_number(const char *text, uint64_t *ret);         /* decimal */
must_check bool units_octal(const char *text, uint64_t *ret);
must_check bool units_bytes(const char *text, uint64_t *ret);          /* K, M, G, T are powers of 1024 */
must_check bool units_ms(const char *text, uint64_t *ret);             /* ms, s, min, h; a number alone is seconds */

/* Index of the name that is nearest to @word, if it is near at all; else @count. */
size_t units_nearest(const char *word, const char *const *names, size_t count);
