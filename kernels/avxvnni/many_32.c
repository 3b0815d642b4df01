/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/avxvnni/avxvnni.h"
#include "kernels/avxvnni/tile.h"

#define MANY_32 kernel_avxvnni_many_32
#include "kernels/vnni/many_32.inc"
