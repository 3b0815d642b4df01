/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gguf_read() on files, and what parsing costs: growing windows, interrupted and short reads, files that change,
 * things that are no files; memory, failing allocations, time.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/model/gguf.h"
#include "tests/harness/alloc_fail.h"
#include "tests/harness/gguf_writer.h"

/* --- pread, wrapped (as libc calls it where off_t has 64 bits) --- */

enum { READ_PLAIN, READ_SHORT, READ_EINTR, READ_EIO, READ_END };

static int read_mode;
static long reads;

ssize_t __real_pread64(int fd, void *data, size_t size, off_t offset);
ssize_t __wrap_pread64(int fd, void *data, size_t size, off_t offset);

ssize_t __wrap_pread64(int fd, void *data, size_t size, off_t offset)
{
    reads++;
    if (read_mode == READ_SHORT)
        size = size < 4097 ? size : 4097;
    if (read_mode == READ_EINTR && reads % 2)
        return errno = EINTR, -1;
    if (read_mode == READ_EIO && reads == 3)
        return errno = EIO, -1;
    if (read_mode == READ_END && reads == 3)
        return 0;
    return __real_pread64(fd, data, size, offset);
}

/* --- files --- */

static int file_of(const struct buffer *bytes)
{
    char path[] = "/tmp/test_gguf_read.XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(write(fd, bytes->data, bytes->size), bytes->size);
    return fd;
}

/* A vocabulary as large as the largest known ones. */
static void write_vocabulary(struct gguf_writer *w, uint32_t count)
{
    struct span *tokens = calloc(count, sizeof(*tokens));
    char *text = malloc(count * 16ul);
    float *scores = calloc(count, sizeof(*scores));

    for (uint32_t i = 0; i < count; i++) {
        int n = snprintf(text + i * 16ul, 16, "token%u", i);

        tokens[i] = (struct span){ .data = (uint8_t *)text + i * 16ul, .size = (size_t)n };
        scores[i] = -(float)i;
    }
    gguf_writer_string(w, "tokenizer.ggml.model", "llama");
    gguf_writer_spans(w, "tokenizer.ggml.tokens", tokens, count);
    gguf_writer_array(w, "tokenizer.ggml.scores", GGUF_F32, scores, count);
    gguf_writer_spans(w, "tokenizer.ggml.merges", tokens, count);
    gguf_writer_u32(w, "tokenizer.ggml.bos_token_id", 1);
    gguf_writer_tensor(w, "t", TENSOR_F32, 1, (uint64_t[]){ 32 }, NULL);
    free(tokens);
    free(text);
    free(scores);
}

static void check_vocabulary(const struct gguf *gguf, uint32_t count)
{
    struct gguf_array tokens, scores;
    char text[16];

    assert_int_equal(gguf_get_array(gguf, "tokenizer.ggml.tokens", GGUF_STRING, &tokens, NULL), 0);
    assert_int_equal(gguf_get_array(gguf, "tokenizer.ggml.scores", GGUF_F32, &scores, NULL), 0);
    assert_int_equal(tokens.count, count);
    for (uint32_t i = 0; i < count; i++) {
        struct span s = gguf_array_string(&tokens, i);
        int n = snprintf(text, sizeof(text), "token%u", i);

        assert_true(s.size == (size_t)n && !memcmp(s.data, text, s.size));
        assert_true(gguf_array_f64(&scores, i) == -(double)i);
    }
}

static void test_growing_window(void **state)
{
    static const uint32_t counts[] = { 10, 20000, 60000, 262144 };      /* 1 to 16 MiB of window */
    struct buffer file = BUFFER_NULL;

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(counts); i++) {
        for (read_mode = READ_PLAIN; read_mode <= READ_EINTR; read_mode++) {
            struct gguf_writer w = GGUF_WRITER_INIT;
            struct gguf *gguf = NULL;
            int fd;

            write_vocabulary(&w, counts[i]);
            file.size = 0;
            gguf_writer_finish(&w, &file);
            fd = file_of(&file);
            reads = 0;
            assert_int_equal(gguf_read(fd, &gguf, NULL), 0);
            assert_true(reads > 0 && reads < (read_mode == READ_SHORT ? 5000 : 20));
            close(fd);                  /* the directory does not need it any more */
            check_vocabulary(gguf, counts[i]);
            assert_int_equal(gguf_tensor_at(gguf, 0)->bytes, 128);
            gguf_free(gguf);
        }
    }
    read_mode = READ_PLAIN;
    buffer_deinit(&file);
}

static void test_read_faults(void **state)
{
    struct gguf_writer w = GGUF_WRITER_INIT;
    struct buffer file = BUFFER_NULL;
    struct error error = ERROR_NULL;
    struct gguf *gguf = NULL;
    int fd;

    (void)state;
    write_vocabulary(&w, 100000);
    gguf_writer_finish(&w, &file);
    fd = file_of(&file);
    reads = 0;
    read_mode = READ_EIO;
    assert_int_equal(gguf_read(fd, &gguf, &error), -EIO);
    assert_non_null(strstr(error.text, "cannot read the header at byte 2097152"));
    reads = 0;
    read_mode = READ_END;
    assert_int_equal(gguf_read(fd, &gguf, &error), -EIO);
    assert_non_null(strstr(error.text, "being changed"));
    read_mode = READ_PLAIN;
    assert_int_equal(ftruncate(fd, 3 << 20), 0);
    assert_int_equal(gguf_read(fd, &gguf, &error), -EINVAL);
    assert_non_null(strstr(error.text, "truncated"));
    assert_null(gguf);
    close(fd);
    buffer_deinit(&file);
}

static void test_not_a_file(void **state)
{
    struct error error = ERROR_NULL;
    struct gguf *gguf = NULL;
    struct buffer empty = BUFFER_NULL;
    int fds[2], fd;

    (void)state;
    fd = open("/tmp", O_RDONLY | O_DIRECTORY);
    assert_int_equal(gguf_read(fd, &gguf, &error), -EISDIR);
    assert_non_null(strstr(error.text, "directory"));
    close(fd);
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(gguf_read(fds[0], &gguf, &error), -EINVAL);
    assert_non_null(strstr(error.text, "not a regular file"));
    close(fds[0]);
    close(fds[1]);
    fd = open("/dev/zero", O_RDONLY);
    assert_int_equal(gguf_read(fd, &gguf, &error), -EINVAL);
    close(fd);
    fd = file_of(&empty);
    assert_int_equal(gguf_read(fd, &gguf, &error), -EINVAL);
    assert_non_null(strstr(error.text, "empty"));
    close(fd);
    assert_int_equal(gguf_read(fd, &gguf, &error), -EBADF);
    fd = open("/proc/self/exe", O_RDONLY);
    assert_int_equal(gguf_read(fd, &gguf, &error), -EINVAL);
    assert_non_null(strstr(error.text, "it begins with 7f454c46"));
    close(fd);
    assert_null(gguf);
}

/* A sparse file of 6 GiB: places beyond 32 bits, and one byte too few is noticed without reading the data. */
static void test_large_file(void **state)
{
    struct gguf_writer w = GGUF_WRITER_INIT;
    struct gguf_writer_claim claim = { .name = "a", .name_size = 1, .dims = 2, .shape = { 32768, 24576 } };
    struct buffer file = BUFFER_NULL;
    struct error error = ERROR_NULL;
    struct gguf *gguf = NULL;
    uint64_t end;
    int fd;

    (void)state;
    gguf_writer_tensor_raw(&w, &claim);         /* 3 GiB each */
    claim.name = "b";
    claim.offset = UINT64_C(3) << 30;
    gguf_writer_tensor_raw(&w, &claim);
    gguf_writer_finish(&w, &file);
    end = file.size + (UINT64_C(6) << 30);
    fd = file_of(&file);
    assert_int_equal(ftruncate(fd, (off_t)end), 0);
    assert_int_equal(gguf_read(fd, &gguf, NULL), 0);
    assert_int_equal(gguf_tensor_find(gguf, "b")->offset, file.size + claim.offset);
    assert_int_equal(gguf_tensor_find(gguf, "b")->bytes, claim.offset);
    gguf = gguf_free(gguf);
    assert_int_equal(ftruncate(fd, (off_t)end - 1), 0);
    assert_int_equal(gguf_read(fd, &gguf, &error), -EINVAL);
    assert_non_null(strstr(error.text, "tensor 'b': it takes 3221225472 bytes"));
    assert_non_null(strstr(error.text, "truncated"));
    close(fd);
    buffer_deinit(&file);
}

/* A header that has no end within the limit is refused, though the file would go on. */
static void test_header_limit(void **state)
{
    struct gguf_writer w = GGUF_WRITER_INIT;
    struct buffer file = BUFFER_NULL;
    struct error error = ERROR_NULL;
    struct gguf *gguf = NULL;
    int fd;

    (void)state;
    w.claimed_kvs = 60000;
    w.tight = true;
    gguf_writer_finish(&w, &file);
    fd = file_of(&file);
    for (uint64_t i = 0, at = file.size; i < 20; i++) {          /* 16 MiB each: allowed, and sparse on disk */
        uint8_t entry[26] = { 2, 0, 0, 0, 0, 0, 0, 0, 'k', (uint8_t)('a' + i), GGUF_ARRAY, 0, 0, 0, GGUF_U8 };

        memcpy(entry + 18, &(uint64_t){ 16 << 20 }, 8);
        assert_int_equal(pwrite(fd, entry, sizeof(entry), (off_t)at), sizeof(entry));
        at += sizeof(entry) + (16 << 20);
    }
    assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
    assert_int_equal(gguf_read(fd, &gguf, &error), -EFBIG);
    assert_non_null(strstr(error.text, "limit of 268435456 bytes"));
    assert_null(gguf);
    close(fd);
    buffer_deinit(&file);
}

/* --- cost --- */

/* What a directory holds besides the window is bounded by the header, whatever the header says. */
static void test_memory(void **state)
{
    struct gguf_writer w = GGUF_WRITER_INIT;
    struct buffer file = BUFFER_NULL;
    struct gguf *gguf = NULL;
    size_t held;

    (void)state;
    write_vocabulary(&w, 262144);
    gguf_writer_finish(&w, &file);
    held = alloc_held();
    alloc_peak_reset();
    assert_int_equal(gguf_parse(file.data, file.size, file.size, &gguf, NULL), 0);
    print_message("header %" PRIu64 " bytes, directory %zu, peak %zu, %ld allocations\n", gguf_header_bytes(gguf),
                  alloc_held() - held, alloc_peak() - held, alloc_count());
    assert_true(alloc_peak() - held < file.size / 2);
    assert_true(alloc_count() < 20);
    gguf_free(gguf);
    assert_int_equal(alloc_held(), held);

    /* Claims near every limit, in a small file: nothing is allocated for what is not there. */
    file.size = 0;
    gguf_writer_raw(&w, "a", 1, GGUF_ARRAY, "\x08\0\0\0\0\0\0\x01\0\0\0\0", 12);
    w.claimed_kvs = GGUF_KV_MAX;
    w.claimed_tensors = GGUF_TENSORS_MAX;
    gguf_writer_finish(&w, &file);
    held = alloc_held();
    alloc_peak_reset();
    assert_int_equal(gguf_parse(file.data, file.size, file.size, &gguf, NULL), -EINVAL);
    assert_int_equal(gguf_parse(file.data, file.size, UINT64_C(1) << 40, &gguf, NULL), GGUF_E_MORE);
    assert_true(alloc_peak() - held < 4096);
    assert_int_equal(alloc_held(), held);
    buffer_deinit(&file);
}

static void test_failing_allocations(void **state)
{
    struct gguf_writer w = GGUF_WRITER_INIT;
    struct buffer file = BUFFER_NULL;
    size_t held;
    long n;

    (void)state;
    write_vocabulary(&w, 100);
    gguf_writer_finish(&w, &file);
    held = alloc_held();
    for (n = 1;; n++) {
        struct error error = ERROR_NULL;
        struct gguf *gguf = NULL;
        int r;

        alloc_fail_after(n);
        r = gguf_parse(file.data, file.size, file.size, &gguf, &error);
        if (!alloc_fail_hit()) {
            assert_int_equal(r, 0);
            gguf_free(gguf);
            break;
        }
        assert_int_equal(r, -ENOMEM);
        assert_non_null(strstr(error.text, "memory"));
        assert_null(gguf);
        assert_int_equal(alloc_held(), held);
    }
    assert_true(n > 6);                 /* object, keys, index, strings twice, tensors, index */
    buffer_deinit(&file);
}

static double cpu_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TIME_MAX_MS 2000
#else
#define TIME_MAX_MS 200
#endif

/* Checks must not make loading slow: the header of 262144 tokens within 200 ms of processor time, best of five. */
static void test_time(void **state)
{
    struct gguf_writer w = GGUF_WRITER_INIT;
    struct buffer file = BUFFER_NULL;
    double best = 1e9;
    int fd;

    (void)state;
    write_vocabulary(&w, 262144);
    gguf_writer_finish(&w, &file);
    fd = file_of(&file);
    for (int i = 0; i < 5; i++) {
        struct gguf *gguf = NULL;
        double start = cpu_ms(), took;

        assert_int_equal(gguf_read(fd, &gguf, NULL), 0);
        took = cpu_ms() - start;
        best = took < best ? took : best;
        gguf_free(gguf);
    }
    print_message("header of %zu bytes read in %.1f ms\n", file.size, best);
    assert_true(best < TIME_MAX_MS);
    close(fd);
    buffer_deinit(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growing_window), cmocka_unit_test(test_read_faults),
        cmocka_unit_test(test_not_a_file),     cmocka_unit_test(test_large_file),
        cmocka_unit_test(test_header_limit),   cmocka_unit_test(test_memory),
        cmocka_unit_test(test_failing_allocations), cmocka_unit_test(test_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
