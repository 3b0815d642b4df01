/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernels/cpu.h"
#include "kernels/level_limits.h"
#include "kernels/levels.h"
#include "tests/kern/harness.h"

/* A CPU and system with everything AVX2 needs: FMA, OSXSAVE, AVX, F16C; AVX2; XMM and YMM state. */
static const struct cpu_bits capable = {
    .leaf0_ebx = 0x756e6547, .leaf1_ecx = 1u << 12 | 1u << 27 | 1u << 28 | 1u << 29, .leaf7_ebx = 1u << 5, .xcr0 = 7,
};
/* What AVX-512 adds: F, DQ, BW, VL; VNNI; mask and ZMM state. */
static const uint32_t avx512_ebx[] = { 1u << 16, 1u << 17, 1u << 30, 1u << 31 };

/* The highest level that a CPU has. */
static enum kernel_level best(const struct cpu_bits *bits)
{
    unsigned l = KERNEL_LEVEL_COUNT - 1;
    while (l > KERNEL_REF && !kernel_cpu_has(bits, (enum kernel_level)l))
        l--;
    return (enum kernel_level)l;
}

static struct cpu_bits capable_of_avx512(void)
{
    struct cpu_bits bits = capable;
    for (unsigned i = 0; i < 4; i++)
        bits.leaf7_ebx |= avx512_ebx[i];
    bits.leaf7_ecx = 1u << 11;
    bits.xcr0 = 0xe7;
    return bits;
}

static void check_avx512(struct harness *h)
{
    struct cpu_bits bits = capable_of_avx512();
    expect(h, best(&bits) == KERNEL_AVX512, "a CPU capable of AVX-512 is not taken for one");
    for (unsigned i = 0; i < 4; i++) {
        bits = capable_of_avx512();
        bits.leaf7_ebx &= ~avx512_ebx[i];
        expect(h, best(&bits) == KERNEL_AVX2, "AVX-512 without bit %#x of leaf 7", avx512_ebx[i]);
    }
    bits = capable_of_avx512();
    bits.leaf7_ecx = ~(1u << 11);
    expect(h, best(&bits) == KERNEL_AVX2, "AVX-512 without VNNI");
    for (uint64_t xcr0 = 0x07; xcr0 < 0xe7; xcr0 += 0x20) {
        bits = capable_of_avx512();
        bits.xcr0 = xcr0;
        expect(h, best(&bits) == KERNEL_AVX2, "AVX-512 where XCR0 is %#x", (unsigned)xcr0);
    }
    bits = capable_of_avx512();
    bits.leaf7_ebx &= ~(1u << 5);
    expect(h, best(&bits) == KERNEL_REF, "AVX-512 without AVX2");
}

/* AVX-VNNI needs what AVX2 needs and its own bit, which AVX-512 neither needs nor brings. */
static void check_avxvnni(struct harness *h)
{
    struct cpu_bits bits = capable;
    bits.leaf7_1_eax = 1u << 4;
    expect(h, best(&bits) == KERNEL_AVXVNNI, "a CPU capable of AVX-VNNI is not taken for one");
    bits.xcr0 = 3;
    expect(h, best(&bits) == KERNEL_REF, "AVX-VNNI where YMM is not saved");
    bits = capable;
    bits.leaf7_1_eax = ~(1u << 4);
    expect(h, best(&bits) == KERNEL_AVX2, "AVX-VNNI without its own bit");
    bits = capable_of_avx512();
    expect(h, !kernel_cpu_has(&bits, KERNEL_AVXVNNI), "AVX-512 is taken for AVX-VNNI");
    bits.leaf7_1_eax = 1u << 4;
    expect(h, best(&bits) == KERNEL_AVX512, "AVX-VNNI is preferred to AVX-512");
    bits.leaf7_ecx = 0;
    expect(h, best(&bits) == KERNEL_AVXVNNI, "AVX-VNNI is not what is left without AVX-512's VNNI");
}

/* Each of what AMX needs, one at a time: AMX-TILE, AMX-INT8, both states, the permission; and all of AVX-512. */
static void check_amx(struct harness *h)
{
    struct cpu_bits whole = capable_of_avx512(), bits;
    whole.leaf7_edx = 1u << 24 | 1u << 25;
    whole.xcr0 |= 1u << 17 | 1u << 18;
    whole.permitted = 1u << 18;
    expect(h, best(&whole) == KERNEL_AMX, "a CPU capable of AMX is not taken for one");
    for (unsigned i = 0; i < 5; i++) {
        bits = whole;
        bits.leaf7_edx &= i < 2 ? ~(1u << (24 + i)) : ~0u;
        bits.xcr0 &= i == 2 ? ~(1ull << 17) : i == 3 ? ~(1ull << 18) : ~0ull;
        bits.permitted = i == 4 ? ~(1ull << 18) : ~0ull;
        expect(h, best(&bits) == KERNEL_AVX512, "AMX without the %u. thing it needs", i + 1);
    }
    bits = whole;
    bits.leaf7_ecx = 0;
    expect(h, best(&bits) == KERNEL_AVX2, "AMX without VNNI");
    bits = whole;
    bits.xcr0 = 0x60007;
    expect(h, best(&bits) == KERNEL_AVX2, "AMX where the state of AVX-512 is not saved");
    const int answer = kernel_amx_permission();
    kernel_cpu_read(&bits);
    expect(h, answer == kernel_amx_permission() && (answer == 0 || !kernel_cpu_has(&bits, KERNEL_AMX)),
           "AMX was refused with %d and is used", answer);
}

static void check_levels(struct harness *h)
{
    static const uint32_t needed[] = { 1u << 12, 1u << 27, 1u << 28, 1u << 29 };
    struct cpu_bits bits = capable;
    expect(h, best(&bits) == KERNEL_AVX2, "a capable CPU is not taken for one");
    for (unsigned i = 0; i < sizeof needed / sizeof *needed; i++) {
        bits = capable;
        bits.leaf1_ecx &= ~needed[i];
        expect(h, best(&bits) == KERNEL_REF, "leaf 1 without bit %#x still gives AVX2", needed[i]);
    }
    bits = capable;
    bits.leaf7_ebx = ~(1u << 5);
    expect(h, best(&bits) == KERNEL_REF, "AVX2 without its own bit");
    for (uint64_t xcr0 = 0; xcr0 < 6; xcr0++) {
        bits = capable;
        bits.xcr0 = xcr0;
        expect(h, best(&bits) == KERNEL_REF, "AVX2 where XCR0 is %d: YMM is not saved", (int)xcr0);
    }
    expect(h, kernel_cpu_traits(&capable) == KERNEL_TRAIT_AHEAD, "an Intel CPU without its trait");
    bits = capable;
    bits.leaf0_ebx = 0x68747541;
    expect(h, kernel_cpu_traits(&bits) == 0, "another CPU with the trait");
    expect(h, !kernel_cpu_has(&capable, KERNEL_LEVEL_COUNT), "a CPU has a level that is none");
}

static void check_names(struct harness *h)
{
    for (unsigned a = 0; a < KERNEL_LEVEL_COUNT; a++) {
        const char *name = kernel_level_name((enum kernel_level)a);
        expect(h, name && name[0], "level %u has no name", a);
        for (unsigned b = 0; b < a; b++)
            expect(h, strcmp(name, kernel_level_name((enum kernel_level)b)) != 0, "two levels are named %s", name);
    }
}

/* "matmul_", operands, "__" and the level that wrote the entry: this one, or a lower one that it left as it was. */
static int is_named(const char *name, enum kernel_level level)
{
    const char *end = name ? strstr(name, "__") : NULL;
    for (unsigned l = KERNEL_REF; end && l <= level; l++) {
        const char *at = kernel_level_name((enum kernel_level)l);
        size_t length = strlen(at);
        if (strncmp(end + 2, at, length) == 0 && (end[2 + length] == '_' || end[2 + length] == '\0'))
            return strncmp(name, "matmul_", 7) == 0;
    }
    return 0;
}

/* Every entry of every table is set, and names say operation, operands and level. */
static void check_tables(struct harness *h)
{
    for (unsigned l = 0; l <= h->level_count; l++) {
        const struct kernel_ops *ops = l ? &h->levels[l - 1] : &h->ref;
        int own = 0;
        for (unsigned t = 0; t < TENSOR_TYPE_COUNT; t++) {
            expect(h, ops->matmul[t] && is_named(ops->matmul_name[t], ops->level),
                   "level %s, type %s: no kernel or no name", kernel_level_name(ops->level), tensor_types[t].name);
            expect(h, ops->matmul_many[t] ? is_named(ops->many_name[t], ops->level)
                                          : !ops->many_name[t] && ops->many_columns[t] == UINT32_MAX,
                   "level %s, type %s: another way without a name, or a name without one",
                   kernel_level_name(ops->level), tensor_types[t].name);
            own += strstr(ops->matmul_name[t], kernel_level_name(ops->level)) != NULL;
            own += ops->many_name[t] && strstr(ops->many_name[t], kernel_level_name(ops->level));
        }
        expect(h, own > 0, "level %s has no kernel of its own", kernel_level_name(ops->level));
        expect(h, ops->limits && ops->limits->int8(2) > 0 && ops->limits->f32(2) > 0, "level %s has no limits",
               kernel_level_name(ops->level));
        const void *const entries[] = {
            (void *)ops->quantise,     (void *)ops->sumsq,       (void *)ops->epilogue,      (void *)ops->add,
            (void *)ops->norm,         (void *)ops->norm_add,    (void *)ops->scale,         (void *)ops->gated_silu,
            (void *)ops->gated_gelu,   (void *)ops->exp,         (void *)ops->rope_adjacent, (void *)ops->rope_halves,
            (void *)ops->kv_store,     (void *)ops->attend,      (void *)ops->attend_merge,  (void *)ops->attend_finish,
            (void *)ops->kv_store_q8,  (void *)ops->attend_q8,
        };
        for (unsigned i = 0; i < sizeof entries / sizeof *entries; i++)
            expect(h, entries[i] != NULL, "level %s: entry %u is empty", kernel_level_name(ops->level), i);
    }
}

/* Of this CPU: no level above the one that was asked for, and each one up to its highest. */
static void check_limit(struct harness *h)
{
    struct kernel_ops ops;
    struct cpu_bits bits;
    kernel_cpu_read(&bits);
    for (unsigned l = 0; l < KERNEL_LEVEL_COUNT; l++) {
        enum kernel_level asked = (enum kernel_level)l, due = asked;
        while (!kernel_cpu_has(&bits, due))
            due = (enum kernel_level)(due - 1);
        expect(h, kernel_ops_init(&ops, asked) == due && ops.level == due, "level %s was asked for, %s given",
               kernel_level_name(asked), kernel_level_name(ops.level));
    }
}

static void check_thread(struct harness *h)
{
    static const uint32_t states[] = { 0x1f80, 0x9fc0, 0x7f80, 0x0000 | 0x1f80 | 0x2000, 0x1fbf };
    for (unsigned i = 0; i < sizeof states / sizeof *states; i++) {
        __builtin_ia32_ldmxcsr(states[i]);
        expect(h, kernel_thread_init() == 0 && __builtin_ia32_stmxcsr() == 0x1f80, "MXCSR %#x was not put right",
               states[i]);
    }
}

void check_cpu(struct harness *h)
{
    check_levels(h);
    check_avx512(h);
    check_avxvnni(h);
    check_amx(h);
    check_limit(h);
    check_names(h);
    check_tables(h);
    for (int i = 0; i < 20; i++)
        check_thread(h);
}
