/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The generated data behind src/model/unicode.c; nobody else includes this. */

#include <stddef.h>
#include <stdint.h>

#define UNICODE_INDEXED 0x20000

struct unicode_lower_run {      /* first, first + step … last: the lowercase is the code plus delta */
    uint32_t first, last;
    uint32_t step;
    int32_t delta;
};

struct unicode_step {           /* one step of canonical decomposition; second is 0 where it is a single code */
    uint32_t code, first, second;
};

/* unicode_class() of the codes below 128. */
extern const uint32_t unicode_ascii[128];
/* Ascending: first code << 6 | white space << 5 | category; a range ends where the next one begins. */
extern const uint32_t unicode_ranges[];
extern const size_t unicode_range_count;
/* For the codes 256 * i below UNICODE_INDEXED: the range that holds them. */
extern const uint16_t unicode_index[UNICODE_INDEXED / 256 + 1];
extern const struct unicode_lower_run unicode_lower_runs[];
extern const size_t unicode_lower_run_count;
extern const struct unicode_step unicode_steps[];
extern const size_t unicode_step_count;
