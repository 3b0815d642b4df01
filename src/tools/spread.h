/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What several measurements of one thing say. */

#include <stdint.h>

#include "src/base/json.h"

struct spread { double min, median, max; };     /* all 0 of none */

/* Sorts @values. */
struct spread spread_of(double *values, uint32_t n);
/* "key": [min, median, max] */
void spread_put(struct json *json, const char *key, const struct spread *spread);
