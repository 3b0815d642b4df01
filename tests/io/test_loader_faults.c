/* SPDX-License-Identifier: Apache-2.0 */
/* The loader over a source that fails: every read in turn, in every way a disk can. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/io/fake_source.h"
#include "tests/io/files.h"

#define FILE_SIZE ((UINT64_C(1) << 20) + 777)
#define SPANS 40u

static int file;
static struct loader_span spans[SPANS];
static struct error error;

static int set_up(void **state)
{
    uint32_t step = (uint32_t)(FILE_SIZE / SPANS);

    (void)state;
    file = make_file(FILE_SIZE);
    for (uint32_t i = 0; i < SPANS; i++)
        spans[i] = (struct loader_span){ .offset = (uint64_t)i * step, .bytes = step, .lane = i % 3 };
    spans[SPANS - 1].bytes = (uint32_t)(FILE_SIZE - spans[SPANS - 1].offset);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(file);
    return 0;
}

static struct loader *start(struct fake_source *fake, uint64_t staging)
{
    struct loader_config config = {
        .fd = file, .spans = spans, .span_count = SPANS, .lanes = 3, .staging_bytes = staging,
        .source = &fake_source_ops, .source_arg = fake,
    };
    struct loader *loader = NULL;

    assert_int_equal(loader_new(&config, &loader, &error), 0);
    return loader;
}

/* Takes all of all lanes; the first failure, or 0 when all came and were right. */
static int run(struct fake_source *fake, struct loader_report *ret_report)
{
    struct loader *loader = start(fake, 1u << 20);
    uint32_t seen = 0, open = 7;
    int r = 0, others;

    while (open && r >= 0) {
        for (uint32_t lane = 0; lane < 3 && r >= 0; lane++) {
            struct loader_piece piece;

            if (!(open & 1u << lane))
                continue;
            r = loader_take(loader, lane, &piece, &error);
            if (r == 1)
                open &= ~(1u << lane);
            if (r != 0)
                continue;
            assert_true(piece_is_right(&piece));
            seen++;
            loader_give(loader, &piece);
        }
    }
    if (r >= 0)
        assert_int_equal(seen, SPANS);
    /* A failure is everybody's: each taker that asks from now on has the same. */
    for (uint32_t lane = 0; lane < 3 && r < 0; lane++) {
        struct loader_piece piece;

        others = loader_take(loader, lane, &piece, &error);
        assert_int_equal(others, r);
    }
    if (ret_report)
        loader_report(loader, ret_report);
    loader_free(loader);
    assert_int_equal(fake->opened, fake->closed);
    return r < 0 ? r : 0;
}

static uint32_t count_reads(void)
{
    struct fake_source fake = { FAKE_SOURCE_INIT };

    assert_int_equal(run(&fake, NULL), 0);
    return fake.reads;
}

static void test_error_at_each_read(void **state)
{
    static const int codes[] = { -EIO, -ENXIO, -ENOMEM };
    uint32_t reads = count_reads();

    (void)state;
    assert_true(reads >= 3);
    for (uint32_t n = 1; n <= reads; n++) {
        struct fake_source fake = {
            FAKE_SOURCE_INIT, .file_size = FILE_SIZE, .fail_at = n, .fail_code = codes[n % 3], .reverse = n % 2,
        };

        assert_int_equal(run(&fake, NULL), codes[n % 3]);
        assert_non_null(strstr(error.text, "offset"));
        assert_non_null(strstr(error.text, "dmesg"));
    }
}

static void test_transient_at_each_read(void **state)
{
    uint32_t reads = count_reads();

    (void)state;
    for (uint32_t n = 1; n <= reads; n++)
        for (uint32_t count = 1; count <= 9; count += 4) {
            struct fake_source fake = {
                FAKE_SOURCE_INIT, .file_size = FILE_SIZE, .fail_at = n, .fail_code = n % 2 ? -EINTR : -EAGAIN,
                .fail_count = count,
            };

            assert_int_equal(run(&fake, NULL), 0);
        }
}

static void test_transient_for_ever(void **state)
{
    struct fake_source fake = { FAKE_SOURCE_INIT, .fail_at = 2, .fail_code = -EAGAIN, .fail_count = UINT32_MAX - 2 };

    (void)state;
    assert_int_equal(run(&fake, NULL), -EIO);
    assert_non_null(strstr(error.text, "in a row"));
}

static void test_short_reads(void **state)
{
    static const uint32_t by[] = { 0, 1, 511, 4096, 5000, 70000 };
    struct fake_source always = { FAKE_SOURCE_INIT, .short_every = 1, .direct_refused = true };

    (void)state;
    assert_int_equal(run(&always, NULL), 0);        /* buffered: every byte is progress */
    for (uint32_t every = 2; every <= 5; every++)
        for (size_t i = 0; i < ARRAY_LENGTH(by); i++) {
            struct fake_source fake = {
                FAKE_SOURCE_INIT, .file_size = FILE_SIZE, .short_every = every, .short_by = by[i], .reverse = i % 2,
            };
            struct loader_report r;

            assert_int_equal(run(&fake, &r), 0);
            assert_int_equal(r.bytes_done, FILE_SIZE);
            assert_null(strstr(r.note, "refused"));
        }
}

static void test_one_byte_at_a_time(void **state)
{
    /* Direct reads cannot go on from the middle of a block: that is told, not repeated for ever. */
    struct fake_source fake = { FAKE_SOURCE_INIT, .short_every = 1, .short_by = UINT32_MAX };
    struct loader_report r;

    (void)state;
    run(&fake, &r);
    if (r.direct)
        assert_non_null(strstr(error.text, "less than one block"));
}

static void test_truncated(void **state)
{
    static const uint64_t ends[] = { 1, 4096, 100000, FILE_SIZE / 2, FILE_SIZE - 4096, FILE_SIZE - 1 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
        struct fake_source fake = { FAKE_SOURCE_INIT, .file_size = ends[i] };
        int r = run(&fake, NULL);

        /* fstat does not confirm it here, so a direct read may also end as a device that stalls. */
        assert_true(r == -ENODATA || r == -EIO);
        assert_true(strstr(error.text, "truncated while reading") || strstr(error.text, "less than one block"));
    }
    for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
        struct fake_source fake = { FAKE_SOURCE_INIT, .delay_us = 1000, .hold = 1 };
        struct loader *loader = start(&fake, 1u << 20);
        int r = 0;

        assert_int_equal(ftruncate(file, (off_t)ends[i]), 0);
        for (uint32_t lane = 0; lane < 3 && r >= 0; lane++) {
            struct loader_piece piece;

            while ((r = loader_take(loader, lane, &piece, &error)) == 0)
                loader_give(loader, &piece);
        }
        assert_true(r == -ENODATA || r == -ESTALE);
        assert_true(strstr(error.text, "truncated while reading") || strstr(error.text, "changed while loading"));
        loader_free(loader);
        tear_down(NULL);
        set_up(NULL);
    }
}

/* Nothing but the times tells: written in place, or touched. */
static void test_changed(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct fake_source fake = { FAKE_SOURCE_INIT, .delay_us = 2000, .hold = 1 };
        struct loader *loader = start(&fake, 1u << 20);
        struct loader_piece piece;
        int r = 0;

        usleep(20000);                  /* past the kernel's clock tick */
        if (i == 0)
            assert_int_equal(pwrite(file, "x", 1, 5), 1);
        else
            assert_int_equal(fchmod(file, 0400), 0);
        for (uint32_t lane = 0; lane < 3 && r >= 0; lane++)
            while ((r = loader_take(loader, lane, &piece, &error)) == 0)
                loader_give(loader, &piece);
        assert_int_equal(r, -ESTALE);
        assert_non_null(strstr(error.text, "changed while loading"));
        loader_free(loader);
        tear_down(NULL);
        set_up(NULL);
    }
}

static void test_direct_refused(void **state)
{
    struct fake_source plain = { FAKE_SOURCE_INIT }, fake = { FAKE_SOURCE_INIT, .direct_refused = true };
    struct loader_report r;

    (void)state;
    assert_int_equal(run(&plain, &r), 0);
    if (!r.direct) {
        print_message("skipped: no direct I/O in TENON_TEST_DIR\n");
        skip();
    }
    assert_null(strstr(r.note, "buffered"));
    assert_int_equal(run(&fake, &r), 0);
    assert_false(r.direct);
    assert_non_null(strstr(r.note, "buffered reads: a direct read was refused (Invalid argument)"));
    /* EINVAL of a buffered read is an error like any other; so is the second EFAULT. */
    fake = (struct fake_source){ FAKE_SOURCE_INIT, .direct_refused = true, .fail_at = 4, .fail_code = -EFAULT,
                                 .fail_count = 100 };
    assert_int_equal(run(&fake, &r), -EFAULT);
}

static void test_order_and_depth(void **state)
{
    for (uint32_t depth = 1; depth <= FAKE_DEPTH; depth = depth * 4 - 1) {
        struct fake_source fake = { FAKE_SOURCE_INIT, .reverse = true, .hold = 1, .depth = depth };
        struct loader_report r;

        (void)state;
        assert_int_equal(run(&fake, &r), 0);
        assert_true(fake.in_flight_max <= depth);
        assert_true(r.depth <= depth && r.depth >= 1);
    }
}

static void test_source_broken(void **state)
{
    struct fake_source fake = { FAKE_SOURCE_INIT, .wait_code = -EBADF };
    struct loader_config config = {
        .fd = file, .spans = spans, .span_count = SPANS, .lanes = 3, .source = &fake_source_ops, .source_arg = &fake,
    };
    struct loader *loader = NULL;

    (void)state;
    assert_int_equal(run(&fake, NULL), -EBADF);
    fake = (struct fake_source){ FAKE_SOURCE_INIT, .open_code = -EPERM };
    assert_int_equal(loader_new(&config, &loader, &error), -EPERM);
    assert_null(loader);
}

/* Freed while reads are slow, with and without a failure on the way. */
static void test_free_slow(void **state)
{
    (void)state;
    for (uint32_t n = 0; n < 8; n++) {
        struct fake_source fake = {
            FAKE_SOURCE_INIT, .delay_us = 3000, .hold = 1, .fail_at = n % 2 ? 2 : 0, .fail_code = -EIO,
        };
        struct loader *loader = start(&fake, 1u << 20);
        struct loader_piece piece;

        if (n > 3 && loader_take(loader, 0, &piece, &error) == 0 && n > 5)
            loader_give(loader, &piece);
        loader_free(loader);
        assert_int_equal(fake.opened, fake.closed);
        assert_int_equal(fake.queued, 0);           /* none still in flight into freed memory */
        assert_int_equal(threads_left(), 0);
    }
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_error_at_each_read), CASE(test_transient_at_each_read), CASE(test_transient_for_ever),
        CASE(test_short_reads),        CASE(test_one_byte_at_a_time),     CASE(test_truncated),
        CASE(test_changed),            CASE(test_direct_refused),         CASE(test_order_and_depth),
        CASE(test_source_broken),      CASE(test_free_slow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
