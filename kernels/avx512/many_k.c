/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/avx512/avx512.h"
#include "kernels/avx512/tile.h"

#define MANY_K kernel_avx512_many_k
#include "kernels/vnni/many_k.inc"
