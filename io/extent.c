/* SPDX-License-Identifier: Apache-2.0 */
#include "io/extent.h"

#include <stdlib.h>
#include <string.h>

#define READS_WANTED 32u

static bool is_power_of_two(uint32_t v) { return v && !(v & (v - 1)); }

static int check_spans(const struct loader_span *spans, uint32_t span_count, uint32_t lanes,
                       const struct extent_file *file, struct error *error)
{
    if (lanes == 0 || lanes > LOADER_LANES_MAX)
        return error_set(error, -EINVAL, "%u lanes asked of the loader, 1 to %u are possible", lanes, LOADER_LANES_MAX);
    if (!is_power_of_two(file->align) || file->align > EXTENT_ALIGN_MAX || !is_power_of_two(file->read_max) ||
        file->read_max > EXTENT_READ_MAX || file->read_max < max_u64(file->align, EXTENT_READ_MIN))
        return error_set(error, -EINVAL, "alignment %u with reads of %u bytes is not possible", file->align,
                         file->read_max);
    for (uint32_t i = 0; i < span_count; i++) {
        const struct loader_span *s = &spans[i];
        uint64_t end;

        if (s->bytes == 0 || s->bytes > LOADER_SPAN_MAX || s->lane >= lanes)
            return error_set(error, -EINVAL, "span %u (%u bytes for lane %u) is outside the loader's limits", i,
                             s->bytes, s->lane);
        if (ckd_add(&end, s->offset, (uint64_t)s->bytes) || end > file->size)
            return error_set(error, -ENODATA,
                             "the file has %llu bytes, but %u bytes at offset %llu are needed: it is truncated, "
                             "fetch it again",
                             (unsigned long long)file->size, s->bytes, (unsigned long long)s->offset);
    }
    return 0;
}

/* Spans by lane, stable: a counting sort.  Leaves the begin of each lane's slice in @first. */
static void order_by_lane(const struct loader_span *spans, uint32_t span_count, uint32_t lanes, uint32_t *order,
                          uint32_t *first)
{
    uint32_t at[LOADER_LANES_MAX + 1] = { 0 };

    for (uint32_t i = 0; i < span_count; i++)
        at[spans[i].lane + 1]++;
    for (uint32_t l = 0; l < lanes; l++)
        at[l + 1] += at[l];
    memcpy(first, at, (lanes + 1) * sizeof(*first));
    for (uint32_t i = 0; i < span_count; i++)
        order[at[spans[i].lane]++] = i;
}

static uint64_t span_begin(const struct loader_span *s, uint32_t align) { return align_down(s->offset, align); }

/* The sum cannot overflow: the span lies within the file, and so does the rounded size unless the file ends at 2^64. */
static uint64_t span_end(const struct loader_span *s, const struct extent_file *file)
{
    return align_up(s->offset + s->bytes, file->align);
}

static bool fits_behind(const struct extent *e, const struct loader_span *s, const struct extent_file *file)
{
    uint64_t begin = span_begin(s, file->align), end = span_end(s, file);

    if (begin < e->offset || begin > e->offset + e->bytes)
        return false;
    return end - e->offset <= file->read_max;
}

static void plan_lane(const struct loader_span *spans, const struct extent_file *file, uint32_t begin, uint32_t end,
                      struct extents *x, uint32_t *count)
{
    struct extent *e = NULL;

    for (uint32_t i = begin; i < end; i++) {
        const struct loader_span *s = &spans[x->order[i]];

        if (e && fits_behind(e, s, file)) {
            e->bytes = (uint32_t)max_u64(e->bytes, span_end(s, file) - e->offset);
            e->count++;
        } else {
            e = &x->list[(*count)++];
            *e = (struct extent){ .offset = span_begin(s, file->align), .first = i, .count = 1 };
            e->bytes = (uint32_t)(span_end(s, file) - e->offset);
        }
        x->span_bytes += s->bytes;
    }
}

int extents_plan(const struct loader_span *spans, uint32_t span_count, uint32_t lanes, const struct extent_file *file,
                 struct extents *ret_extents, struct error *error)
{
    struct extents x = { .align = file->align, .read_max = file->read_max };
    uint32_t slices[LOADER_LANES_MAX + 1] = { 0 }, count = 0;
    int r = check_spans(spans, span_count, lanes, file, error);

    if (r)
        return r;
    if (file->size > INT64_MAX)
        return error_set(error, -EINVAL, "a file of more than 2^63 bytes cannot be");
    x.list = calloc((size_t)span_count + 1, sizeof(*x.list));
    x.order = calloc((size_t)span_count + 1, sizeof(*x.order));
    if (!x.list || !x.order) {
        extents_deinit(&x);
        return error_set(error, -ENOMEM, "no memory for the plan of %u reads", span_count);
    }
    order_by_lane(spans, span_count, lanes, x.order, slices);
    for (uint32_t l = 0; l < lanes; l++) {
        x.lane_first[l] = count;
        plan_lane(spans, file, slices[l], slices[l + 1], &x, &count);
        for (uint32_t i = x.lane_first[l]; i < count; i++) {
            x.extent_bytes += x.list[i].bytes;
            x.lane_largest[l] = (uint32_t)max_u64(x.lane_largest[l], x.list[i].bytes);
        }
    }
    for (uint32_t l = lanes; l <= LOADER_LANES_MAX; l++)
        x.lane_first[l] = count;
    *ret_extents = x;
    return 0;
}

void extents_deinit(struct extents *extents)
{
    free(extents->list);
    free(extents->order);
    *extents = (struct extents)EXTENTS_NULL;
}

/* Equal parts: 1 MiB and one page becomes two halves, not a read and a crumb. */
static uint32_t part_bytes(const struct extents *x, const struct extent *e)
{
    uint32_t parts = (e->bytes + x->read_max - 1) / x->read_max;

    return (uint32_t)align_up((e->bytes + parts - 1) / parts, x->align);
}

uint32_t extent_reads(const struct extents *extents, const struct extent *extent)
{
    uint32_t part = part_bytes(extents, extent);

    return (extent->bytes + part - 1) / part;
}

void extent_read_at(const struct extents *extents, const struct extent *extent, uint32_t index, uint32_t *ret_begin,
                    uint32_t *ret_bytes)
{
    uint32_t part = part_bytes(extents, extent), begin = index * part;

    check(begin < extent->bytes);
    *ret_begin = begin;
    *ret_bytes = (uint32_t)min_u64(part, extent->bytes - begin);
}

uint32_t extent_read_max(uint64_t staging_bytes, uint32_t align)
{
    uint32_t bytes = EXTENT_READ_MAX;

    while (bytes > EXTENT_READ_MIN && bytes > align && (uint64_t)bytes * READS_WANTED > staging_bytes)
        bytes /= 2;
    return bytes;
}
