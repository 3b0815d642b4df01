/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * File ranges into staging memory, fast: O_DIRECT through registered huge-page buffers, at least 32 reads
 * of up to 1 MiB in flight, on a thread of its own that lives while loading.  Consumers on any thread take
 * finished pieces by lane (a lane is a NUMA node), use them in place and give them back.
 *
 * Ladder, each step recorded in the report: registered buffers -> plain io_uring -> preadv; O_DIRECT -> buffered
 * with DONTNEED (EINVAL at open or at the first read).  A short read is right only at the size fstat gave at the
 * start; anything else, a changed file, or an error fails the load: every taker then gets it.
 */

#include "src/base/bytes.h"
#include "src/base/error.h"

enum io_kind { IO_AUTO, IO_URING, IO_PREADV };

struct loader_span {
    uint64_t offset;                /* in the file; any alignment */
    uint32_t bytes;                 /* 1 .. LOADER_SPAN_MAX */
    uint32_t lane;                  /* who consumes it */
    uint64_t tag;                   /* the caller's */
};

#define LOADER_SPAN_MAX (16u << 20)
#define LOADER_STAGING_MAX (UINT64_C(64) << 20)
#define LOADER_LANES_MAX 64u

struct loader_piece {
    struct loader_span span;
    const uint8_t *data;            /* span.bytes of it, any alignment; valid until loader_give() */
    uint32_t slot;                  /* loader's own */
};

struct loader_report {
    uint64_t bytes_done, bytes_total, bytes_read;   /* read >= done: alignment */
    uint64_t started_ns, now_ns;
    bool direct;                    /* O_DIRECT in use */
    bool uring, registered, huge_staging;
    uint32_t depth;                 /* reads in flight at most */
    uint64_t staging_bytes;
    char note[256];                 /* steps down the ladder, "" if none */
};

struct loader_config {
    int fd;                         /* open for reading, borrowed; reopened for O_DIRECT through /proc/self/fd */
    enum io_kind kind;
    const struct loader_span *spans;    /* borrowed until loader_free(); ascending offsets read best */
    uint32_t span_count;
    uint32_t lanes;
    uint64_t staging_bytes;         /* 0 = LOADER_STAGING_MAX */
    const struct source_ops *source;    /* NULL = the real ones; tests give fakes (io/source.h) */
    void *source_arg;
};

struct loader;

/* Starts reading at once.  0, or a negative errno with @error filled. */
must_check int loader_new(const struct loader_config *config, struct loader **ret_loader, struct error *error);
/* Stops (reads in flight are waited for), frees; NULL-safe.  No taker may be inside loader_take(). */
struct loader *loader_free(struct loader *loader);

/* Blocks for the next piece of @lane.  0 = a piece; 1 = the lane has had all; negative = the load failed. */
must_check int loader_take(struct loader *loader, uint32_t lane, struct loader_piece *ret_piece, struct error *error);
void loader_give(struct loader *loader, const struct loader_piece *piece);
/* A taker found the content bad: all takers fail with this. */
void loader_fail(struct loader *loader, const struct error *error);
/* Any thread, any time. */
void loader_report(struct loader *loader, struct loader_report *ret_report);
