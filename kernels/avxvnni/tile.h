/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tiles of this level: both vectors of a row group by columns.  Twelve sums, two vectors of weights and a broadcast
 * fill the sixteen registers.
 */

#include "kernels/avxvnni/ints.h"

#define TILE 4                          /* columns at most while weights are taken apart */
#define COLUMNS_MAX 6                   /* columns at most in any tile */

#include "kernels/vnni/tile.inc"
