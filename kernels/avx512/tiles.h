/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The copies of a tile of this level. */

#include "kernels/avx512/avx512.h"
#include "kernels/avx512/tile.h"

#define TILES_NAME "avx512_16x12"
#include "kernels/lanes/tiles.inc"

/* Up to so many columns weights are taken apart as they are used, twice if need be; 2-bit planes make that dear. */
#define FEW_CHEAP (2 * TILE)
#define FEW_FIFTH_BIT (2 * TILE)
#define FEW_DEAR TILE
