/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What several measurements of one thing say. */

#include <stdint.h>

struct spread { double min, median, max; };     /* all 0 of none */

/* Sorts @values. */
struct spread spread_of(double *values, uint32_t n);
