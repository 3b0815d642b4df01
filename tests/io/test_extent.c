/* SPDX-License-Identifier: Apache-2.0 */
/* Extents: properties over random spans, and the shapes that the design names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "io/extent.h"

#define MIB (UINT64_C(1) << 20)

static uint64_t seed = 7;

static uint64_t draw(uint64_t below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (seed >> 24) % below;
}

static void check_reads(const struct extents *x, const struct extent *e)
{
    uint32_t n = extent_reads(x, e), at = 0;

    assert_true(n >= 1);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t begin, bytes;

        extent_read_at(x, e, i, &begin, &bytes);
        assert_int_equal(begin, at);
        assert_int_equal(begin % x->align, 0);
        assert_int_equal(bytes % x->align, 0);
        assert_true(bytes > 0 && bytes <= x->read_max);
        at += bytes;
    }
    assert_int_equal(at, e->bytes);
    /* Balanced: no crumb behind big reads. */
    assert_true(n == 1 || e->bytes / n + x->align * (uint64_t)n >= x->read_max / 2);
}

static void check_plan(const struct loader_span *spans, uint32_t count, uint32_t lanes, const struct extent_file *file,
                       const struct extents *x)
{
    uint8_t *seen = calloc(count + 1, 1);
    uint64_t span_bytes = 0, extent_bytes = 0;

    for (uint32_t l = 0; l < lanes; l++) {
        uint32_t largest = 0, last = 0;
        bool first = true;

        for (uint32_t i = x->lane_first[l]; i < x->lane_first[l + 1]; i++) {
            const struct extent *e = &x->list[i];
            uint64_t first_end;

            assert_int_equal(e->offset % file->align, 0);
            assert_int_equal(e->bytes % file->align, 0);
            assert_true(e->offset + e->bytes <= align_up(file->size, file->align));
            assert_true(e->count >= 1);
            /* Longer than a read only for the sake of its first span. */
            first_end = align_up(spans[x->order[e->first]].offset + spans[x->order[e->first]].bytes, file->align);
            assert_true(e->bytes <= max_u64(file->read_max, first_end - e->offset));
            for (uint32_t s = e->first; s < e->first + e->count; s++) {
                const struct loader_span *span = &spans[x->order[s]];

                assert_int_equal(span->lane, l);
                assert_false(seen[x->order[s]]);
                seen[x->order[s]] = 1;
                assert_true(span->offset >= e->offset && span->offset + span->bytes <= e->offset + e->bytes);
                assert_true(first || x->order[s] > last);
                last = x->order[s];
                first = false;
                span_bytes += span->bytes;
            }
            if (e->count == 1)
                assert_true(e->bytes < spans[x->order[e->first]].bytes + 2 * (uint64_t)file->align);
            check_reads(x, e);
            largest = e->bytes > largest ? e->bytes : largest;
            extent_bytes += e->bytes;
        }
        assert_int_equal(largest, x->lane_largest[l]);
    }
    for (uint32_t i = 0; i < count; i++)
        assert_true(seen[i]);
    assert_int_equal(span_bytes, x->span_bytes);
    assert_int_equal(extent_bytes, x->extent_bytes);
    assert_int_equal(x->lane_first[LOADER_LANES_MAX], x->lane_first[lanes]);
    free(seen);
}

static void test_properties(void **state)
{
    static const uint32_t aligns[] = { 1, 512, 4096, 65536, EXTENT_ALIGN_MAX };
    struct loader_span spans[300];

    (void)state;
    for (int round = 0; round < 3000; round++) {
        struct extent_file file = { .size = 1 + draw(round % 2 ? 200 * MIB : 70000), .align = aligns[draw(5)] };
        uint32_t count = (uint32_t)draw(300), lanes = 1 + (uint32_t)draw(round % 3 ? 4 : LOADER_LANES_MAX);
        struct extents x;
        uint64_t at = 0;

        file.read_max = EXTENT_READ_MIN << draw(5);
        if (file.read_max < file.align)
            file.read_max = file.align;
        for (uint32_t i = 0; i < count; i++) {
            uint64_t left, limit;

            /* Mostly ascending and adjacent, as tensors are; sometimes anywhere. */
            if (draw(10) == 0 || at >= file.size)
                at = draw(file.size);
            left = file.size - at;
            limit = min_u64(draw(8) ? 20000 : LOADER_SPAN_MAX, left);
            spans[i] = (struct loader_span){ .offset = at, .bytes = 1 + (uint32_t)draw(limit),
                                             .lane = (uint32_t)draw(lanes) };
            at += spans[i].bytes + (draw(2) ? 0 : draw(9000));
        }
        assert_int_equal(extents_plan(spans, count, lanes, &file, &x, NULL), 0);
        check_plan(spans, count, lanes, &file, &x);
        extents_deinit(&x);
    }
}

static uint32_t plan_count(const struct loader_span *spans, uint32_t count, const struct extent_file *file)
{
    struct extents x;
    uint32_t n;

    assert_int_equal(extents_plan(spans, count, 2, file, &x, NULL), 0);
    check_plan(spans, count, 2, file, &x);
    n = x.lane_first[LOADER_LANES_MAX];
    extents_deinit(&x);
    return n;
}

static void test_merging(void **state)
{
    const struct extent_file file = { .size = 100 * MIB, .align = 4096, .read_max = EXTENT_READ_MAX };
    struct loader_span spans[64];

    (void)state;
    /* A row of small tensors is one read; a gap of whole pages parts them; lanes part them; 1 MiB parts them. */
    for (uint32_t i = 0; i < 64; i++)
        spans[i] = (struct loader_span){ .offset = 100 + i * 576, .bytes = 576 };
    assert_int_equal(plan_count(spans, 64, &file), 1);
    spans[32].offset += 1u << 20;
    assert_int_equal(plan_count(spans, 64, &file), 3);
    for (uint32_t i = 0; i < 64; i++)
        spans[i] = (struct loader_span){ .offset = 100 + i * 576, .bytes = 576, .lane = i & 1 };
    assert_int_equal(plan_count(spans, 64, &file), 2);
    for (uint32_t i = 0; i < 64; i++)
        spans[i] = (struct loader_span){ .offset = i * MIB, .bytes = MIB };
    assert_int_equal(plan_count(spans, 64, &file), 64);
    for (uint32_t i = 0; i < 64; i++)
        spans[i] = (struct loader_span){ .offset = i * MIB / 4, .bytes = MIB / 4 };
    assert_int_equal(plan_count(spans, 64, &file), 16);
}

static void test_refused(void **state)
{
    struct extent_file file = { .size = 10000, .align = 4096, .read_max = EXTENT_READ_MAX };
    struct loader_span span = { .offset = 9000, .bytes = 1000 };
    struct error error = ERROR_NULL;
    struct extents x;

    (void)state;
    assert_int_equal(extents_plan(&span, 1, 1, &file, &x, &error), 0);
    extents_deinit(&x);
    span.bytes = 1001;
    assert_int_equal(extents_plan(&span, 1, 1, &file, &x, &error), -ENODATA);
    assert_non_null(strstr(error.text, "truncated"));
    span = (struct loader_span){ .offset = UINT64_MAX - 5, .bytes = 100 };
    assert_int_equal(extents_plan(&span, 1, 1, &file, &x, &error), -ENODATA);
    span = (struct loader_span){ .offset = 0, .bytes = 0 };
    assert_int_equal(extents_plan(&span, 1, 1, &file, &x, &error), -EINVAL);
    span = (struct loader_span){ .offset = 0, .bytes = LOADER_SPAN_MAX + 1 };
    assert_int_equal(extents_plan(&span, 1, 1, &file, &x, &error), -EINVAL);
    span = (struct loader_span){ .offset = 0, .bytes = 1, .lane = 1 };
    assert_int_equal(extents_plan(&span, 1, 1, &file, &x, &error), -EINVAL);
    span.lane = 0;
    assert_int_equal(extents_plan(&span, 1, 0, &file, &x, &error), -EINVAL);
    assert_int_equal(extents_plan(&span, 1, LOADER_LANES_MAX + 1, &file, &x, &error), -EINVAL);
    file.align = 3000;
    assert_int_equal(extents_plan(&span, 1, 1, &file, &x, &error), -EINVAL);
    file.align = 2 * EXTENT_ALIGN_MAX;
    assert_int_equal(extents_plan(&span, 1, 1, &file, &x, &error), -EINVAL);
}

/* 32 reads fit into any staging that is not tiny, and no read is longer than 1 MiB. */
static void test_read_max(void **state)
{
    (void)state;
    assert_int_equal(extent_read_max(LOADER_STAGING_MAX, 4096), 1u << 20);
    assert_int_equal(extent_read_max(32 * MIB, 4096), 1u << 20);
    assert_int_equal(extent_read_max(16 * MIB, 4096), 1u << 19);
    assert_int_equal(extent_read_max(1, 4096), EXTENT_READ_MIN);
    assert_int_equal(extent_read_max(1, EXTENT_ALIGN_MAX), EXTENT_ALIGN_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_properties), cmocka_unit_test(test_merging), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_read_max),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
