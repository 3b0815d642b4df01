/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What checkkern's cases share: seeded numbers, buffers that end at a page nobody may touch, comparing.
 *
 * A case is a function that checks every level of the kernels it names against ref.  All state lives in one
 * struct harness; a difference is counted and printed, and the run goes on.
 */

#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu.h"

#define GUARDS_MAX 64
#define LEVELS_MAX (2 * KERNEL_LEVEL_COUNT)

struct guard {
    uint8_t *map;
    size_t map_bytes, offset, bytes;
};

struct harness {
    uint64_t rng;
    uint64_t compared, failed, reported;
    const char *what;                       /* the case that runs now, for messages */
    struct guard guards[GUARDS_MAX];
    unsigned guard_count;
    struct kernel_ops ref;
    struct kernel_ops levels[LEVELS_MAX];   /* those above ref that this CPU has, with and without their traits */
    unsigned level_count;
    int exhaustive;                         /* every float, where one in a thousand would do */
    int soft_guards;                        /* buffers end at a readable page: some emulators read what a mask hides */
    int fast;                               /* a part of it all: for valgrind and sanitizers */
};

/* --- numbers --- */

void seed(struct harness *h, uint64_t value);
uint32_t random_u32(struct harness *h);
float random_normal(struct harness *h);     /* mean 0, deviation about 1, |x| < 3.5 */
uint16_t random_f16(struct harness *h, int any);    /* positive and small, or any finite one */

/* --- buffers --- */

/*
 * @bytes bytes that end at an unreadable page, filled with a pattern; bytes before them are watched too.  Aligned to
 * 64 where @bytes is a multiple of 64.  Valid until guards_check().
 */
void *guarded(struct harness *h, size_t bytes);
/* A guarded copy. */
void *guarded_copy(struct harness *h, const void *data, size_t bytes);
/* Looks whether anything was written before a buffer, and releases all but the first @keep. */
void guards_release(struct harness *h, unsigned keep);
void guards_check(struct harness *h);       /* releases all */

/* --- verdicts --- */

__attribute__((format(printf, 3, 4))) int expect(struct harness *h, int good, const char *format, ...);
/* memcmp, and the first difference told. */
__attribute__((format(printf, 5, 6)))
int expect_same(struct harness *h, const void *ref, const void *got, size_t bytes, const char *format, ...);
/* Counts what was compared and fails a case that compared nothing. */
int harness_finish(struct harness *h);

/* --- the CPU that levels are for --- */

/* Of this machine; the emulated program adds what it emulates.  -1 where it cannot run at all, and says why. */
int find_cpu(struct cpu_bits *ret);

/* --- the cases, one file each --- */

void check_cpu(struct harness *h);
void check_pack(struct harness *h);
void check_scalar(struct harness *h);
void check_exp(struct harness *h);
void check_matmul(struct harness *h);
void check_vector(struct harness *h);
void check_attend(struct harness *h);
void check_attend_q8(struct harness *h);
void check_golden(struct harness *h);
void check_selftest(struct harness *h);
