/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ops.h"

#include "kernels/cpu.h"
#include "kernels/levels.h"

static const struct {
    const char *name;
    void (*init)(struct kernel_ops *ops, unsigned traits);
} levels[KERNEL_LEVEL_COUNT] = {
    [KERNEL_REF] = { "ref", kernel_ops_init_ref },
    [KERNEL_AVX2] = { "avx2", kernel_ops_init_avx2 },
    [KERNEL_AVXVNNI] = { "avxvnni", kernel_ops_init_avxvnni },
    [KERNEL_AVX512] = { "avx512", kernel_ops_init_avx512 },
    [KERNEL_AMX] = { "amx", kernel_ops_init_amx },
};

enum kernel_level kernel_ops_init_for(struct kernel_ops *ops, enum kernel_level highest, const struct cpu_bits *bits)
{
    for (unsigned l = KERNEL_REF; l <= highest && l < KERNEL_LEVEL_COUNT; l++)
        if (kernel_cpu_has(bits, (enum kernel_level)l))
            levels[l].init(ops, kernel_cpu_traits(bits));
    return ops->level;
}

enum kernel_level kernel_ops_init(struct kernel_ops *ops, enum kernel_level highest)
{
    struct cpu_bits bits;
    if (highest >= KERNEL_AMX)
        kernel_amx_permission();        /* the bits tell how it ended */
    kernel_cpu_read(&bits);
    return kernel_ops_init_for(ops, highest, &bits);
}

const char *kernel_level_name(enum kernel_level level) { return levels[level].name; }
