/* SPDX-License-Identifier: Apache-2.0 */
/* The loader against real files: contents, odd shapes, lanes of different speed, ends at any time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "tests/io/files.h"

#define MIB (UINT64_C(1) << 20)

static const enum io_kind kinds[] = { IO_URING, IO_PREADV };
static uint32_t fds_before;

static int set_up(void **state)
{
    (void)state;
    fds_before = count_fds();
    return 0;
}

static int tear_down(void **state)
{
    uint32_t fds = count_fds(), threads = threads_left();

    (void)state;
    if (fds != fds_before || threads)
        print_message("left: %u descriptors (%u before), %u threads\n", fds, fds_before, threads);
    return fds == fds_before && !threads ? 0 : -1;
}

static struct loader *start(const struct loader_config *config)
{
    struct error error = ERROR_NULL;
    struct loader *loader = NULL;

    if (loader_new(config, &loader, &error))
        fail_msg("loader_new: %s", error.text);
    return loader;
}

/* Takes, compares and gives back all of a lane; returns how many pieces there were. */
static uint32_t drain(struct loader *loader, uint32_t lane, uint32_t pause_us)
{
    struct error error = ERROR_NULL;
    struct loader_piece piece;
    uint32_t seen = 0;
    int r;

    while ((r = loader_take(loader, lane, &piece, &error)) == 0) {
        assert_int_equal(piece.span.lane, lane);
        assert_true(piece_is_right(&piece));
        if (pause_us)
            usleep(pause_us);
        loader_give(loader, &piece);
        seen++;
    }
    if (r < 0)
        fail_msg("loader_take: %s", error.text);
    return seen;
}

static void load_all(const struct loader_config *config)
{
    struct loader_report report;
    struct loader *loader = start(config);
    uint32_t seen = 0;

    for (uint32_t lane = 0; lane < config->lanes; lane++)
        seen += drain(loader, lane, 0);
    loader_report(loader, &report);
    assert_int_equal(seen, config->span_count);
    assert_int_equal(report.bytes_done, report.bytes_total);
    assert_true(report.bytes_read > 0 || !seen);
    assert_true(report.staging_bytes <= LOADER_STAGING_MAX);
    assert_int_equal(report.uring, config->kind == IO_URING);
    assert_true(report.now_ns >= report.started_ns);
    loader_free(loader);
}

static struct loader_span *tile(uint64_t file, uint64_t from, uint32_t bytes, uint32_t step, uint32_t lanes,
                                uint32_t *ret_count)
{
    struct loader_span *spans = calloc(file / step + 2, sizeof(*spans));
    uint32_t n = 0;

    for (uint64_t at = from; at < file; at += step, n++)
        spans[n] = (struct loader_span){
            .offset = at, .lane = n % lanes, .tag = n, .bytes = (uint32_t)min_u64(bytes, file - at),
        };
    *ret_count = n;
    return spans;
}

static void test_shapes(void **state)
{
    static const struct { uint64_t file, from; uint32_t bytes, step; } shapes[] = {
        { 1, 0, 1, 1 },
        { 4095, 0, 4095, 4095 },
        { 4096, 0, 4096, 4096 },
        { 4097, 4096, 1, 1 },
        { 100001, 0, 777, 777 },
        { 5000001, 13, 100003, 100003 },
        { 20 * MIB + 12345, 4096 * 3 + 5, MIB, MIB },
        { 50 * MIB + 1, 1, LOADER_SPAN_MAX, LOADER_SPAN_MAX },
        { 9 * MIB, 100, 300, 50000 },
        { 3 * MIB, 0, 1000000, 400000 },        /* overlapping */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(shapes); i++) {
        int fd = make_file(shapes[i].file);
        struct loader_config config = { .fd = fd, .lanes = 3 };
        struct loader_span *spans =
            tile(shapes[i].file, shapes[i].from, shapes[i].bytes, shapes[i].step, 3, &config.span_count);

        config.spans = spans;
        for (size_t k = 0; k < ARRAY_LENGTH(kinds); k++) {
            config.kind = kinds[k];
            load_all(&config);
        }
        free(spans);
        close(fd);
    }
}

/* Deep, within the budget, next to nothing read twice; direct where a read by hand is. */
static void test_rung(void **state)
{
    uint64_t size = 100 * MIB + 77;
    int fd = make_file(size);
    bool direct = direct_works(fd), locking = locking_works(LOADER_STAGING_MAX);
    struct loader_config config = { .fd = fd, .lanes = 1, .kind = IO_URING };
    struct loader_span *spans = tile(size, 4096 + 32, MIB, MIB, 1, &config.span_count);
    struct loader_report r;
    struct loader *loader;

    (void)state;
    config.spans = spans;
    loader = start(&config);
    assert_int_equal(drain(loader, 0, 0), config.span_count);
    loader_report(loader, &r);
    loader_free(loader);
    print_message("direct %d registered %d huge %d depth %u staging %llu MiB, %.1f MB/s; %s\n", r.direct, r.registered,
                  r.huge_staging, r.depth, (unsigned long long)(r.staging_bytes >> 20),
                  (double)r.bytes_done * 1e3 / (double)(r.now_ns - r.started_ns), r.note);
    assert_true(r.depth >= 32);
    assert_int_equal(r.staging_bytes, LOADER_STAGING_MAX);
    assert_true(r.bytes_read <= r.bytes_total + r.bytes_total / 50);
    assert_true(r.registered || !locking);
    assert_int_equal(r.direct, direct);
    free(spans);
    close(fd);
    if (!direct || !locking) {
        print_message("skipped: %s\n", direct ? "may not lock 64 MiB, which registered buffers need"
                                              : "no direct I/O in TENON_TEST_DIR");
        skip();
    }
}

/* The borrowed descriptor keeps its flags and its position. */
static void test_borrowed(void **state)
{
    int fd = make_file(MIB), flags = fcntl(fd, F_GETFL);
    struct loader_span span = { .offset = 5, .bytes = 1000 };
    struct loader_config config = { .fd = fd, .spans = &span, .span_count = 1, .lanes = 1, .kind = IO_URING };

    (void)state;
    assert_int_equal(lseek(fd, 123, SEEK_SET), 123);
    load_all(&config);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 123);
    assert_int_equal(fcntl(fd, F_GETFL), flags);
    config.span_count = 0;              /* nothing to read is no error */
    load_all(&config);
    close(fd);
}

struct consumer {
    struct loader *loader;
    uint32_t lane, pause_us, seen;
    uint64_t done_ns;
    pthread_t thread;
};

static void *consume(void *arg)
{
    struct consumer *c = arg;

    c->seen = drain(c->loader, c->lane, c->pause_us);
    c->done_ns = clock_now_ns();
    return NULL;
}

/* Four lanes, one of them slow: the others do not wait for it. */
static void test_slow_lane(void **state)
{
    uint64_t size = 48 * MIB;
    int fd = make_file(size);

    (void)state;
    for (size_t k = 0; k < ARRAY_LENGTH(kinds); k++) {
        struct loader_config config = { .fd = fd, .lanes = 4, .kind = kinds[k], .staging_bytes = 8 * MIB };
        struct loader_span *spans = tile(size, 0, 300000, 300000, 4, &config.span_count);
        struct consumer c[4];

        config.spans = spans;
        c[0].loader = start(&config);
        for (uint32_t i = 0; i < 4; i++) {
            c[i] = (struct consumer){ .loader = c[0].loader, .lane = i, .pause_us = i == 0 ? 20000 : 0 };
            assert_int_equal(pthread_create(&c[i].thread, NULL, consume, &c[i]), 0);
        }
        for (uint32_t i = 0; i < 4; i++)
            pthread_join(c[i].thread, NULL);
        assert_int_equal(c[0].seen + c[1].seen + c[2].seen + c[3].seen, config.span_count);
        for (uint32_t i = 1; i < 4; i++)
            assert_true(c[i].done_ns < c[0].done_ns);
        loader_free(c[0].loader);
        free(spans);
    }
    close(fd);
}

/* The hardest case: a lane is not served at all before the others are done, each in its turn, by one thread. */
static void test_lane_after_lane(void **state)
{
    uint64_t size = 40 * MIB;
    int fd = make_file(size);

    (void)state;
    for (size_t k = 0; k < ARRAY_LENGTH(kinds); k++) {
        struct loader_config config = { .fd = fd, .lanes = 7, .kind = kinds[k], .staging_bytes = 8 * MIB };
        struct loader_span *spans = tile(size, 1, 999999, 999999, 7, &config.span_count);
        struct loader *loader;
        uint32_t seen = 0;

        config.spans = spans;
        loader = start(&config);
        for (uint32_t lane = 7; lane > 0; lane--)
            seen += drain(loader, lane - 1, 0);
        assert_int_equal(seen, config.span_count);
        loader_free(loader);
        free(spans);
    }
    close(fd);
}

/* Spans too long for homes: lanes depend on each other, but with all consumers alive nothing stops. */
static void test_long_spans(void **state)
{
    uint64_t size = 64 * MIB;
    int fd = make_file(size);
    struct loader_config config = { .fd = fd, .lanes = 6, .kind = IO_URING, .staging_bytes = 13 * MIB };
    struct loader_span *spans = tile(size, 3, 5 * MIB, 5 * MIB, 6, &config.span_count);
    struct consumer c[6];
    uint32_t seen = 0;

    (void)state;
    spans[1].bytes = spans[4].bytes = 70;
    config.spans = spans;
    c[0].loader = start(&config);
    for (uint32_t i = 0; i < 6; i++) {
        c[i] = (struct consumer){ .loader = c[0].loader, .lane = i, .pause_us = i * 2000 };
        assert_int_equal(pthread_create(&c[i].thread, NULL, consume, &c[i]), 0);
    }
    for (uint32_t i = 0; i < 6; i++) {
        pthread_join(c[i].thread, NULL);
        seen += c[i].seen;
    }
    assert_int_equal(seen, config.span_count);
    loader_free(c[0].loader);
    free(spans);
    close(fd);
}

/* Several threads on one lane, each holding one piece. */
static void test_shared_lane(void **state)
{
    uint64_t size = 32 * MIB;
    int fd = make_file(size);
    struct loader_config config = { .fd = fd, .lanes = 1, .kind = IO_URING, .staging_bytes = 4 * MIB };
    struct loader_span *spans = tile(size, 0, 100000, 100000, 1, &config.span_count);
    struct consumer c[4];
    uint32_t seen = 0;

    (void)state;
    config.spans = spans;
    c[0].loader = start(&config);
    for (uint32_t i = 0; i < 4; i++) {
        c[i] = (struct consumer){ .loader = c[0].loader };
        assert_int_equal(pthread_create(&c[i].thread, NULL, consume, &c[i]), 0);
    }
    for (uint32_t i = 0; i < 4; i++) {
        pthread_join(c[i].thread, NULL);
        seen += c[i].seen;
    }
    assert_int_equal(seen, config.span_count);
    loader_free(c[0].loader);
    free(spans);
    close(fd);
}

/* Freed after n pieces, held or given back, at once or a little later. */
static void test_free_any_time(void **state)
{
    uint64_t size = 24 * MIB;
    int fd = make_file(size);
    struct loader_config config = { .fd = fd, .lanes = 2, .staging_bytes = 8 * MIB };
    struct loader_span *spans = tile(size, 0, 500000, 500000, 2, &config.span_count);

    (void)state;
    config.spans = spans;
    for (uint32_t n = 0; n < 24; n++) {
        struct loader *loader;
        struct loader_piece piece;

        config.kind = kinds[n % 2];
        loader = start(&config);
        for (uint32_t i = 0; i < n % 7; i++) {
            assert_int_equal(loader_take(loader, i % 2, &piece, NULL), 0);
            if (i % 3)
                loader_give(loader, &piece);
        }
        if (n % 4 == 3)
            usleep(3000);
        assert_null(loader_free(loader));
        assert_int_equal(threads_left(), 0);
    }
    assert_null(loader_free(NULL));
    free(spans);
    close(fd);
}

static void test_fail(void **state)
{
    uint64_t size = 24 * MIB;
    int fd = make_file(size);
    struct loader_config config = { .fd = fd, .lanes = 2, .staging_bytes = 8 * MIB, .kind = IO_URING };
    struct loader_span *spans = tile(size, 0, 500000, 500000, 2, &config.span_count);
    struct error bad = ERROR_NULL, error = ERROR_NULL;
    struct loader_piece piece;
    struct loader *loader;

    (void)state;
    config.spans = spans;
    loader = start(&config);
    assert_int_equal(loader_take(loader, 0, &piece, &error), 0);
    error_set(&bad, -EBADMSG, "block 3 holds a NaN");
    loader_fail(loader, &bad);
    for (uint32_t lane = 0; lane < 2; lane++) {
        assert_int_equal(loader_take(loader, lane, &piece, &error), -EBADMSG);
        assert_string_equal(error.text, "block 3 holds a NaN");
    }
    error_set(&bad, -EIO, "later");
    loader_fail(loader, &bad);          /* the first one stays */
    assert_int_equal(loader_take(loader, 0, &piece, &error), -EBADMSG);
    assert_int_equal(loader_take(loader, 2, &piece, &error), -EINVAL);
    loader_free(loader);
    free(spans);
    close(fd);
}

static void test_refused(void **state)
{
    int fd = make_file(MIB), p[2];
    struct loader_span span = { .offset = 0, .bytes = 1000 };
    struct loader_config config = { .fd = fd, .spans = &span, .span_count = 1, .lanes = 1 };
    struct loader *loader = NULL;
    struct error error = ERROR_NULL;

    (void)state;
    config.lanes = 0;
    assert_int_equal(loader_new(&config, &loader, &error), -EINVAL);
    config.lanes = LOADER_LANES_MAX + 1;
    assert_int_equal(loader_new(&config, &loader, &error), -EINVAL);
    config.lanes = 1;
    span.offset = MIB - 999;
    assert_int_equal(loader_new(&config, &loader, &error), -ENODATA);
    assert_non_null(strstr(error.text, "truncated"));
    span = (struct loader_span){ .offset = 0, .bytes = MIB };
    config.staging_bytes = MIB / 2;
    assert_int_equal(loader_new(&config, &loader, &error), -EINVAL);
    config.staging_bytes = 0;
    assert_int_equal(pipe(p), 0);
    config.fd = p[0];
    assert_int_equal(loader_new(&config, &loader, &error), -EINVAL);
    config.fd = -1;
    assert_int_equal(loader_new(&config, &loader, &error), -EBADF);
    close(p[0]);
    close(p[1]);
    close(fd);
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_shapes),     CASE(test_rung),        CASE(test_borrowed),      CASE(test_slow_lane),
        CASE(test_lane_after_lane), CASE(test_long_spans), CASE(test_shared_lane), CASE(test_free_any_time),
        CASE(test_fail),       CASE(test_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
