/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Byte ranges wanted, into ranges that a disk reads well.  Pure: no I/O, no clock.
 *
 * An extent is what one staging slot holds: its begin is rounded down and its end up to the alignment of direct
 * I/O (the end never past the file's size rounded up), so up to two alignments longer than what it serves.
 * Neighbours of one lane whose rounded ranges touch share an extent while it stays within one read; so a row of
 * small tensors costs one read, and no page between them is read twice.  An extent longer than one read is cut
 * into equal aligned reads.
 */

#include "io/loader.h"

#define EXTENT_ALIGN_MAX (1u << 20)
#define EXTENT_READ_MAX (1u << 20)
#define EXTENT_READ_MIN (64u << 10)

struct extent {
    uint64_t offset;                /* in the file, aligned */
    uint32_t bytes;                 /* aligned */
    uint32_t first, count;          /* its spans: extents.order[first .. first + count) */
};

struct extents {
    struct extent *list;            /* lane after lane, within a lane in the order of the spans */
    uint32_t *order;                /* indexes of spans, lane after lane */
    uint32_t lane_first[LOADER_LANES_MAX + 1];  /* lane l has list[lane_first[l] .. lane_first[l + 1]) */
    uint32_t lane_largest[LOADER_LANES_MAX];    /* bytes of its largest extent, 0 if it has none */
    uint64_t span_bytes, extent_bytes;          /* sums */
    uint32_t align, read_max;
};

#define EXTENTS_NULL { .list = NULL }

struct extent_file {
    uint64_t size;
    uint32_t align;                 /* a power of two, 1 .. EXTENT_ALIGN_MAX */
    uint32_t read_max;              /* a power of two, max(align, EXTENT_READ_MIN) .. EXTENT_READ_MAX */
};

/*
 * 0, or -EINVAL (a span is empty, too long, of no lane, or the numbers above are wrong), -ENODATA (a span reaches
 * past the file's end), -ENOMEM; with @error filled.  The caller owns *ret_extents.
 */
must_check int extents_plan(const struct loader_span *spans, uint32_t span_count, uint32_t lanes,
                            const struct extent_file *file, struct extents *ret_extents, struct error *error);
void extents_deinit(struct extents *extents);

/* Into how many reads an extent is cut, and the i-th of them relative to the extent's begin. */
uint32_t extent_reads(const struct extents *extents, const struct extent *extent);
void extent_read_at(const struct extents *extents, const struct extent *extent, uint32_t index, uint32_t *ret_begin,
                    uint32_t *ret_bytes);

/* The longest read that still lets 32 be in flight in @staging_bytes: a power of two, READ_MIN .. READ_MAX. */
uint32_t extent_read_max(uint64_t staging_bytes, uint32_t align);
