/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Tiles of this level: one vector of rows by columns, or two where row groups go in pairs. */

#include "kernels/avx512/ints.h"

#define TILE 8                          /* columns at most while weights are taken apart */
#define COLUMNS_MAX 12                  /* columns at most in any tile */

#include "kernels/vnni/tile.inc"
