/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the files of bench/kernels share.  A case is one call of one kernel on one shape; all levels run it, turn by
 * turn, so that what else the machine does hits each of them.  The best round counts, the spread is told.
 */

#include "src/base/bytes.h"
#include "src/tools/spread.h"
#include "src/tools/streams.h"
#include "tests/kern/harness.h"

enum bench_place { PLACE_L1, PLACE_L2, PLACE_MEMORY, PLACE_COUNT };     /* where a kernel's weights come from */
enum bench_bound { BOUND_INT8, BOUND_F32, BOUND_READ };                 /* which multiplications bound it, if any */

/* What a level could do at best, and what one thread reads with its loads. */
struct limits {
    double int8, f32;                   /* multiplications per second */
    double read[PLACE_COUNT];           /* bytes per second */
};

struct bench_case {
    const char *kernel, *type, *activations;    /* "matmul", "Q4_0", "int8"; "" where there is none */
    const char *name;                   /* of the function, "" where the table has none */
    uint32_t tokens, head_dim;          /* 0 where there is none */
    enum bench_place place;
    enum bench_bound bound;
    double macs, each, bytes;           /* of a call; @each: multiplications of a MAC (int16: two) */
};

struct bench_row {
    struct bench_case c;
    enum kernel_level level;
    bool any_level;                     /* the kernel is no level's */
    struct spread seconds;              /* of a call */
};

typedef void bench_call_fn(const struct kernel_ops *ops, void *arg);

struct bench {
    struct harness h;                   /* numbers and buffers */
    struct kernel_ops ops[KERNEL_LEVEL_COUNT];
    bool has[KERNEL_LEVEL_COUNT];
    struct limits limits[KERNEL_LEVEL_COUNT];
    double clock_hz;
    double seconds;                     /* of all rounds of a case at one level */
    bool quick;
    size_t l1_bytes, l2_bytes;          /* of weights in that cache: a part of it */
    uint8_t *memory;                    /* more than the last-level cache holds */
    size_t memory_bytes;
    struct buffer rows;                 /* struct bench_row, one after the other */
};

/* Every level that is there. */
void bench_run(struct bench *bench, const struct bench_case *c, bench_call_fn *call, void *arg);
/* A kernel that has no levels. */
void bench_run_once(struct bench *bench, const struct bench_case *c, bench_call_fn *call, void *arg);
/* Seconds of a call, several rounds. */
struct spread bench_time(const struct bench *bench, bench_call_fn *call, const struct kernel_ops *ops, void *arg);

/* Clock, peaks and read rates; called now and then, the best counts. */
void bench_limits(struct bench *bench);

void bench_matmul(struct bench *bench);
void bench_attend(struct bench *bench);
void bench_vector(struct bench *bench);
void bench_load(struct bench *bench);

/* Multiplications per second that a row's level, shape and place allow, bytes where it has none. */
double bench_roof(const struct bench *bench, const struct bench_row *row);
void bench_put_table(const struct bench *bench, struct buffer *out);
void bench_put_json(const struct bench *bench, struct buffer *out);
