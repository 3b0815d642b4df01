/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/avxvnni/avxvnni.h"
#include "kernels/avxvnni/tile.h"

#define MANY_K kernel_avxvnni_many_k
#include "kernels/vnni/many_k.inc"
