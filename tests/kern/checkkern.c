/* SPDX-License-Identifier: Apache-2.0 */

/*
 * checkkern: every kernel of every level against ref, ref against its formulas.
 *   checkkern [--function NAME] [--exhaustive] [--fast] [--soft-guards]
 * Exit 0, 1 (a difference), 2 (usage), 77 (skipped).  checkkern-emulated is the same with emulated levels.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kern/harness.h"

#define USAGE "usage: checkkern [--function NAME] [--exhaustive] [--fast] [--soft-guards]\n"
#define INTEL 0x756e6547u       /* "Genu", the vendor in leaf 0 */
#define ANOTHER 0x68747541u     /* "Auth" */

static const struct {
    const char *name;
    void (*check)(struct harness *h);
} cases[] = {
    { "cpu", check_cpu },       { "pack", check_pack },     { "scalar", check_scalar },
    { "exp", check_exp },       { "matmul", check_matmul }, { "vector", check_vector },
    { "attend", check_attend }, { "attend_q8", check_attend_q8 },
    { "golden", check_golden }, { "selftest", check_selftest },
};

/* The levels above ref that this CPU runs, as if it were of one maker and of another; the rest is named. */
static int find_levels(struct harness *h)
{
    static const uint32_t makers[] = { INTEL, ANOTHER };
    struct cpu_bits bits;
    if (find_cpu(&bits) < 0)
        return -1;
    kernel_ops_init(&h->ref, KERNEL_REF);
    for (unsigned l = KERNEL_REF + 1; l < KERNEL_LEVEL_COUNT; l++) {
        enum kernel_level level = (enum kernel_level)l;
        if (!kernel_cpu_has(&bits, level)) {
            printf("skipped: level %s, which this CPU lacks\n", kernel_level_name(level));
            continue;
        }
        printf("level %s\n", kernel_level_name(level));
        for (unsigned m = 0; m < 2; m++) {
            bits.leaf0_ebx = makers[m];
            kernel_ops_init_for(&h->levels[h->level_count++], level, &bits);
        }
    }
    return 0;
}

/* A name that is none: says which there are. */
static int unknown(const char *name)
{
    fprintf(stderr, "checkkern: there is no function \"%s\"; there are", name ? name : "");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        fprintf(stderr, " %s", cases[i].name);
    fprintf(stderr, "\n");
    return 2;
}

static int run(struct harness *h, const char *only)
{
    int found = 0, failed = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (only && strcmp(only, cases[i].name) != 0)
            continue;
        found = 1;
        h->what = cases[i].name;
        h->compared = h->failed = h->reported = 0;
        seed(h, i + 1);
        cases[i].check(h);
        failed |= harness_finish(h);
        printf("%-8s %llu words compared, %llu failed\n", h->what, (unsigned long long)h->compared,
               (unsigned long long)h->failed);
    }
    return found ? failed : unknown(only);
}

int main(int argc, char **argv)
{
    static struct harness h;
    const char *only = NULL, *lengthy = getenv("TENON_TEST_LONG");
    h.exhaustive = lengthy && strcmp(lengthy, "0") != 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--exhaustive") == 0)
            h.exhaustive = 1;
        else if (strcmp(argv[i], "--fast") == 0)
            h.fast = 1;
        else if (strcmp(argv[i], "--soft-guards") == 0)
            h.soft_guards = 1;
        else if (strcmp(argv[i], "--function") == 0 && i + 1 < argc)
            only = argv[++i];
        else
            return fprintf(stderr, USAGE), 2;
    }
    h.exhaustive &= !h.fast;            /* an emulator takes hours for every float */
    if (kernel_thread_init() < 0)
        return fprintf(stderr, "the floating point state does not stick\n"), 1;
    if (find_levels(&h) < 0)
        return 77;
    return run(&h, only);
}
