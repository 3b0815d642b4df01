/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * AMX's tiles in C, after the operations that Intel's manual (SDM volume 2) writes down: palette 1, eight tiles of up
 * to 16 rows of 64 bytes, for each thread.  What would fault on a CPU ends the process with a sentence, and so does
 * what is no use to a kernel: a start_row that is not 0.
 */

#include <stddef.h>

enum tile_product { TILE_BSSD, TILE_BSUD, TILE_BUSD, TILE_BUUD };       /* sign of the first factor, of the second */

void emulated_tile_loadconfig(const void *config);      /* 64 bytes */
void emulated_tile_storeconfig(void *config);
void emulated_tile_release(void);
void emulated_tile_zero(unsigned tile);
void emulated_tile_loadd(unsigned tile, const void *base, ptrdiff_t stride);
void emulated_tile_stored(unsigned tile, void *base, ptrdiff_t stride);
/* to += a * b: 32-bit sums of four products, which wrap. */
void emulated_tile_product(enum tile_product kind, unsigned to, unsigned a, unsigned b);

/* Called with a fault's sentence; NULL (the start) prints it and aborts.  A handler does not return. */
extern void (*emulated_tile_fault)(const char *what);

#ifdef KERNEL_EMULATE
#undef _tile_loadconfig
#undef _tile_storeconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stream_loadd
#undef _tile_stored
#undef _tile_dpbssd
#undef _tile_dpbsud
#undef _tile_dpbusd
#undef _tile_dpbuud
#define _tile_loadconfig emulated_tile_loadconfig
#define _tile_storeconfig emulated_tile_storeconfig
#define _tile_release emulated_tile_release
#define _tile_zero emulated_tile_zero
#define _tile_loadd emulated_tile_loadd
#define _tile_stream_loadd emulated_tile_loadd
#define _tile_stored emulated_tile_stored
#define _tile_dpbssd(to, a, b) emulated_tile_product(TILE_BSSD, to, a, b)
#define _tile_dpbsud(to, a, b) emulated_tile_product(TILE_BSUD, to, a, b)
#define _tile_dpbusd(to, a, b) emulated_tile_product(TILE_BUSD, to, a, b)
#define _tile_dpbuud(to, a, b) emulated_tile_product(TILE_BUUD, to, a, b)
#endif
