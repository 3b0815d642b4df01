/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* vectors.json as C; vectors_to_c.py makes the array while building. */

#include "src/base/base.h"

struct vector {
    const char *name, *frame, *json;    /* json NULL where the content does not matter or the frame is refused */
    uint32_t error, detail;
    bool canonical;
};

extern const struct vector vectors[];
extern const size_t vector_count;
