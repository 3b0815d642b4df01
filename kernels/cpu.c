/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu.h"

#include <cpuid.h>

#include "kernels/levels.h"

#define LEAF0_EBX_INTEL 0x756e6547u     /* "Genu" of GenuineIntel */
#define LEAF1_ECX_FMA (1u << 12)
#define LEAF1_ECX_OSXSAVE (1u << 27)
#define LEAF1_ECX_AVX (1u << 28)
#define LEAF1_ECX_F16C (1u << 29)
#define LEAF7_EBX_AVX2 (1u << 5)
#define LEAF7_EBX_AVX512 (1u << 16 | 1u << 17 | 1u << 30 | 1u << 31)    /* F, DQ, BW, VL */
#define LEAF7_ECX_VNNI (1u << 11)
#define LEAF7_EDX_AMX (1u << 24 | 1u << 25)     /* TILE, INT8 */
#define LEAF7_1_EAX_AVXVNNI (1u << 4)
#define XCR0_SSE_AVX 0x6u               /* XMM and YMM state are saved on a switch */
#define XCR0_AVX512 0xe0u               /* masks, the upper halves, the upper sixteen */

#define XCR0_AMX 0x60000u               /* configuration, tiles */
#define STATE_TILES 18u                 /* the tiles' bit */

#define SYSTEM_CALL_ARCH_PRCTL 158l
#define ARCH_GET_XCOMP_PERM 0x1022l
#define ARCH_REQ_XCOMP_PERM 0x1023l

#define MXCSR_WANTED 0x1f80u            /* nearest even, no FTZ, no DAZ, every exception masked, no flag set */
#define MXCSR_FLAGS 0x3fu

static uint64_t read_xcr0(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

/* arch_prctl(2), which libc does not offer, and this room calls nothing of libc. */
static long arch_prctl(long what, const void *argument)
{
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(SYSTEM_CALL_ARCH_PRCTL), "D"(what), "S"(argument)
                     : "rcx", "r11", "memory");
    return result;
}

/* Linux before 5.16 knows neither the question nor tiles. */
static uint64_t read_permitted(void)
{
    uint64_t permitted = 0;
    return arch_prctl(ARCH_GET_XCOMP_PERM, &permitted) < 0 ? 0 : permitted;
}

void kernel_cpu_read(struct cpu_bits *ret)
{
    uint32_t eax, ebx, ecx, edx;
    *ret = (struct cpu_bits){ 0 };
    if (__get_cpuid(0, &eax, &ebx, &ecx, &edx))
        ret->leaf0_ebx = ebx;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx))
        ret->leaf1_ecx = ecx;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
        const uint32_t subleaves = eax;
        ret->leaf7_ebx = ebx;
        ret->leaf7_ecx = ecx;
        ret->leaf7_edx = edx;
        if (subleaves >= 1 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx))
            ret->leaf7_1_eax = eax;
    }
    if (ret->leaf1_ecx & LEAF1_ECX_OSXSAVE)
        ret->xcr0 = read_xcr0();
    if ((ret->xcr0 & XCR0_AMX) == XCR0_AMX)
        ret->permitted = read_permitted();
}

static int has_avx2(const struct cpu_bits *bits)
{
    const uint32_t leaf1 = LEAF1_ECX_FMA | LEAF1_ECX_OSXSAVE | LEAF1_ECX_AVX | LEAF1_ECX_F16C;
    return (bits->leaf1_ecx & leaf1) == leaf1 && (bits->xcr0 & XCR0_SSE_AVX) == XCR0_SSE_AVX &&
           (bits->leaf7_ebx & LEAF7_EBX_AVX2);
}

static int has_avxvnni(const struct cpu_bits *bits)
{
    return has_avx2(bits) && (bits->leaf7_1_eax & LEAF7_1_EAX_AVXVNNI);
}

static int has_avx512(const struct cpu_bits *bits)
{
    return has_avx2(bits) && (bits->leaf7_ebx & LEAF7_EBX_AVX512) == LEAF7_EBX_AVX512 &&
           (bits->leaf7_ecx & LEAF7_ECX_VNNI) && (bits->xcr0 & XCR0_AVX512) == XCR0_AVX512;
}

/* All but the permission. */
static int could_have_amx(const struct cpu_bits *bits)
{
    return has_avx512(bits) && (bits->leaf7_edx & LEAF7_EDX_AMX) == LEAF7_EDX_AMX &&
           (bits->xcr0 & XCR0_AMX) == XCR0_AMX;
}

static int has_amx(const struct cpu_bits *bits)
{
    return could_have_amx(bits) && (bits->permitted >> STATE_TILES & 1);
}

int kernel_amx_permission(void)
{
    struct cpu_bits bits;
    kernel_cpu_read(&bits);
    if (!could_have_amx(&bits) || has_amx(&bits))
        return 0;
    return (int)arch_prctl(ARCH_REQ_XCOMP_PERM, (const void *)(uintptr_t)STATE_TILES);
}

int kernel_cpu_has(const struct cpu_bits *bits, enum kernel_level level)
{
    switch (level) {
    case KERNEL_REF: return 1;
    case KERNEL_AVX2: return has_avx2(bits);
    case KERNEL_AVXVNNI: return has_avxvnni(bits);
    case KERNEL_AVX512: return has_avx512(bits);
    case KERNEL_AMX: return has_amx(bits);
    case KERNEL_LEVEL_COUNT: break;
    }
    return 0;
}

/*
 * Intel's prefetchers stop at 4 KiB and a tile computes long on a line: on Sapphire Rapids fetching weights ahead made
 * decode 1.4 times as fast.  On Zen 3, whose prefetchers keep up, it lost some.
 */
unsigned kernel_cpu_traits(const struct cpu_bits *bits)
{
    return bits->leaf0_ebx == LEAF0_EBX_INTEL ? KERNEL_TRAIT_AHEAD : 0;
}

int kernel_thread_init(void)
{
    __builtin_ia32_ldmxcsr(MXCSR_WANTED);
    return (__builtin_ia32_stmxcsr() & ~MXCSR_FLAGS) == MXCSR_WANTED ? 0 : -1;
}
