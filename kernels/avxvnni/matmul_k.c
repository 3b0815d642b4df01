/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/avxvnni/tiles.h"

#define MANY_K kernel_avxvnni_many_k
#define INIT_MATMUL_K kernel_avxvnni_init_matmul_k
#include "kernels/vnni/matmul_k.inc"
