/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The copies of a tile of this level. */

#include "kernels/avx512/avx512.h"
#include "kernels/avx512/tile.h"

#define TILES_NAME "avx512_16x12"
#include "kernels/lanes/tiles.inc"

/* Up to so many columns weights are taken apart as they are used, for all of them at once. */
#define FEW_CHEAP TILE
#define FEW_FIFTH_BIT TILE
#define FEW_DEAR TILE
