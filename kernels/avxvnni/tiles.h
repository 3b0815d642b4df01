/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The copies of a tile of this level. */

#include "kernels/avxvnni/avxvnni.h"
#include "kernels/avxvnni/tile.h"

#define TILES_NAME "avxvnni_16x6"
#include "kernels/lanes/tiles.inc"

/* Up to so many columns weights are taken apart as they are used; planes of bits beside nibbles make that dear. */
#define FEW_CHEAP (4 * TILE)
#define FEW_FIFTH_BIT TILE
#define FEW_DEAR TILE
