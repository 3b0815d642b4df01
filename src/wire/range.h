/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Ranges of values, the same for what comes in and what goes out.  Private to src/wire. */

#include "src/wire/codec.h"

/* 0, or the code also written to @fault; @at is the value's offset in the payload. */
must_check int range_integer(const struct wire_field *field, uint64_t v, uint32_t at, struct wire_fault *fault);
must_check int range_float(const struct wire_field *field, double v, uint32_t at, struct wire_fault *fault);
