/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/avx512/tiles.h"

#define MANY_K kernel_avx512_many_k
#define INIT_MATMUL_K kernel_avx512_init_matmul_k
#include "kernels/vnni/matmul_k.inc"
