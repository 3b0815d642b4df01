/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A source without a disk: it serves bytes of a pattern, or fails in the ways a disk and a file system can.
 * Give &fake_source_ops as loader_config.source and a struct fake_source as source_arg.
 */

#include <pthread.h>

#include "io/source.h"

#define FAKE_DEPTH 128u
#define FAKE_BLOCK 512u             /* direct reads must be aligned to it */

struct fake_source {
    /* How to behave; set before loader_new(). */
    uint64_t file_size;             /* reads end here, whatever fstat says; 0 = read the real file */
    uint32_t short_every;           /* each n-th read brings only a part, 0 = never */
    uint32_t short_by;              /* ... that many bytes fewer, at least 1 is brought; 0 = half */
    uint32_t fail_at;               /* the n-th read (from 1) fails, 0 = none */
    int fail_code;                  /* ... with this */
    uint32_t fail_count;            /* ... and so do the following, this many in all (0 = 1) */
    bool reverse;                   /* completions come latest first */
    uint32_t hold;                  /* completions are held back until this many are in flight or all are */
    uint32_t delay_us;              /* each wait takes this long */
    bool direct_refused;            /* EINVAL to every read of a descriptor with O_DIRECT */
    int open_code, wait_code;
    uint32_t depth;                 /* 0 = FAKE_DEPTH */

    /* What happened. */
    uint32_t reads, in_flight_max, opened, closed;

    /* Its own. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct source_read queue[FAKE_DEPTH];
    uint32_t queued;
    bool woken;
};

#define FAKE_SOURCE_INIT .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER

extern const struct source_ops fake_source_ops;

/* The byte at an offset of the invented file. */
uint8_t fake_byte(uint64_t offset);
