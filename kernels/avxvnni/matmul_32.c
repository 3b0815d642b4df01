/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/avxvnni/tiles.h"

#define MANY_32 kernel_avxvnni_many_32
#define INIT_MATMUL_32 kernel_avxvnni_init_matmul_32
#include "kernels/vnni/matmul_32.inc"
