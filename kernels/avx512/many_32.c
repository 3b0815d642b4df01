/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/avx512/avx512.h"
#include "kernels/avx512/tile.h"

#define MANY_32 kernel_avx512_many_32
#include "kernels/vnni/many_32.inc"
