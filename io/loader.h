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
 *
 * Pieces of a lane come in the order in which they are complete, which is about the order of the spans.  Staging is
 * shared: a lane whose consumers are slow holds back itself, not the others, as long as every lane's longest span
 * fits into staging beside the others' (spans of 4 MiB do for 15 lanes, of 16 MiB for 3); beyond that lanes wait for
 * one another.  A thread gives back what it holds before it takes again, or it may wait for itself.
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
    uint64_t bytes_done, bytes_total, bytes_read;   /* of spans; read >= done: alignment */
    uint64_t started_ns, now_ns;    /* monotonic; now stands still when the last read is complete */
    bool direct;                    /* O_DIRECT in use */
    bool uring, registered, huge_staging;
    uint32_t depth;                 /* the most reads that were in flight at once */
    uint64_t staging_bytes;
    char note[256];                 /* steps down the ladder, "" if none */
};

struct loader_config {
    int fd;                         /* open for reading, borrowed; reopened for O_DIRECT through /proc/self/fd */
    enum io_kind kind;
    const struct loader_span *spans;    /* borrowed until loader_free(); ascending offsets read best */
    uint32_t span_count;
    uint32_t lanes;
    uint64_t staging_bytes;         /* 0 = LOADER_STAGING_MAX, also the limit; must hold the longest span + slack */
    const struct source_ops *source;    /* NULL = the real ones; tests give fakes (io/source.h) */
    void *source_arg;
};

struct loader;

/*
 * Starts reading at once.  0, or a negative errno with @error filled: -ENODATA = a span ends past the file's end;
 * with IO_URING also that io_uring is not available (IO_AUTO goes on with threads then).
 */
must_check int loader_new(const struct loader_config *config, struct loader **ret_loader, struct error *error);
/*
 * Stops at any time (reads in flight are waited for), frees; NULL-safe.  No taker may be inside loader_take(); pieces
 * not given back are gone.
 */
struct loader *loader_free(struct loader *loader);

/* Blocks for the next piece of @lane.  0 = a piece; 1 = the lane has had all; negative = the load failed. */
must_check int loader_take(struct loader *loader, uint32_t lane, struct loader_piece *ret_piece, struct error *error);
void loader_give(struct loader *loader, const struct loader_piece *piece);
/* A taker found the content bad: all takers fail with this.  The first failure is the one that is told. */
void loader_fail(struct loader *loader, const struct error *error);
/* Any thread, any time. */
void loader_report(struct loader *loader, struct loader_report *ret_report);
/* "40 % (0.40/1.00 GB, 2.10 GB/s, 0 s left)", for a terminal or a service manager. */
void loader_report_print(const struct loader_report *report, char *text, size_t size);
