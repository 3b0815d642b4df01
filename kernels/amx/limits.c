/* SPDX-License-Identifier: Apache-2.0 */

/* What tiles could do at best: products of full tiles that are loaded once.  All else is AVX-512's. */

#include "kernels/amx/amx.h"
#include "kernels/amx/tile.h"
#include "kernels/lanes/limits.inc"

static uint64_t limit_int8(uint32_t rounds)
{
    struct tile_config config = { .palette = 0 };
    configure_tiles(BLOCK_COLUMNS, 64, &config);
    for (uint32_t i = 0; i < rounds; i++) {
        _tile_dpbssd(TILE_C00, TILE_A0, TILE_B0);
        _tile_dpbssd(TILE_C01, TILE_A1, TILE_B0);
        _tile_dpbssd(TILE_C10, TILE_A0, TILE_B1);
        _tile_dpbssd(TILE_C11, TILE_A1, TILE_B1);
    }
    _tile_release();
    return (uint64_t)rounds * 4 * TILE_COLUMNS * ROWS * 64;
}

void kernel_amx_init_limits(struct kernel_ops *ops)
{
    static const struct kernel_limits limits = { limit_int8, limit_f32, limit_read };
    ops->limits = &limits;
}
