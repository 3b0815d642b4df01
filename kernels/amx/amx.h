/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The parts of the AMX level, hidden: only kernel_ops_init_amx() leaves the library. */

#include "kernels/ops.h"

/* Columns from which on tiles are worth their opening, where nobody has measured (src/engine/crossover.h). */
#define AMX_COLUMNS 12u

void kernel_amx_init_matmul_32(struct kernel_ops *ops);
void kernel_amx_init_matmul_k(struct kernel_ops *ops);
void kernel_amx_init_attend_q8(struct kernel_ops *ops);
void kernel_amx_init_limits(struct kernel_ops *ops);

/* One line of an init. */
#define MANY_ENTRY(ops, type, name, format)                                                                            \
    do {                                                                                                               \
        (ops)->matmul_many[type] = matmul_##name;                                                                      \
        (ops)->many_columns[type] = AMX_COLUMNS;                                                                       \
        (ops)->many_name[type] = "matmul_" #name "_" format "_f32__amx_32x16";                                         \
    } while (0)
