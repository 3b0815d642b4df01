/* SPDX-License-Identifier: Apache-2.0 */
/* The loader against real files: contents, odd shapes, both real sources. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/io/fake_source.h"
#include "io/loader.h"
#include "tests/io/files.h"

static const enum io_kind kinds[] = { IO_URING, IO_PREADV };

static void load_all(const struct loader_config *config, uint32_t seen_expected)
{
    struct error error = ERROR_NULL;
    struct loader_report report;
    struct loader *loader = NULL;
    uint32_t seen = 0;
    int r = loader_new(config, &loader, &error);

    if (r)
        fail_msg("loader_new: %s", error.text);
    for (uint32_t lane = 0; lane < config->lanes; lane++) {
        struct loader_piece piece;

        while ((r = loader_take(loader, lane, &piece, &error)) == 0) {
            assert_int_equal(piece.span.lane, lane);
            assert_true(piece_is_right(&piece));
            loader_give(loader, &piece);
            seen++;
        }
        if (r < 0)
            fail_msg("loader_take: %s", error.text);
    }
    loader_report(loader, &report);
    assert_int_equal(seen, seen_expected);
    assert_int_equal(report.bytes_done, report.bytes_total);
    assert_true(report.bytes_read >= report.bytes_done || config->span_count > 1);
    assert_true(report.staging_bytes <= LOADER_STAGING_MAX);
    assert_int_equal(report.uring, config->kind == IO_URING);
    loader_free(loader);
}

static void test_shapes(void **state)
{
    static const struct { uint64_t file, from; uint32_t bytes, step; } shapes[] = {
        { 1, 0, 1, 1 },
        { 4096, 0, 4096, 4096 },
        { 4097, 4096, 1, 1 },
        { 100001, 0, 777, 777 },
        { 5000001, 13, 100003, 100003 },
        { (40u << 20) + 12345, 4096 * 3 + 5, 1u << 20, 1u << 20 },
        { (80u << 20) + 1, 1, LOADER_SPAN_MAX, LOADER_SPAN_MAX },
        { 9u << 20, 100, 300, 50000 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        int fd = make_file(shapes[i].file);
        struct loader_span *spans;
        uint32_t count = 0;

        spans = calloc(shapes[i].file / shapes[i].step + 1, sizeof(*spans));
        for (uint64_t at = shapes[i].from; at < shapes[i].file; at += shapes[i].step, count++)
            spans[count] = (struct loader_span){ .offset = at, .lane = count % 3, .tag = count,
                                                 .bytes = (uint32_t)min_u64(shapes[i].bytes, shapes[i].file - at) };
        for (size_t k = 0; k < 2; k++)
            load_all(&(struct loader_config){ .fd = fd, .kind = kinds[k], .spans = spans, .span_count = count,
                                              .lanes = 3 }, count);
        free(spans);
        close(fd);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
