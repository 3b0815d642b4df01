/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The copies of a tile of this level. */

#include "kernels/avx2/avx2.h"
#include "kernels/avx2/tile.h"

#define TILES_NAME "avx2_16x4"
#include "kernels/lanes/tiles.inc"

/* kernel_avx2_matmul_many() opens a record for all tokens, which pays from here on. */
#define FEW (MANY_COLUMNS - 1)
