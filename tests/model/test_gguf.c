/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GGUF directory parser against faults that other parsers had (published reports of wrapped counts and sizes,
 * trusted dimensions, lengths, alignments, offsets).  Each input is built here from the description of the fault.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/model/gguf.h"
#include "tests/harness/gguf_writer.h"
#include "tests/harness/guard.h"

/* A file size beyond the bytes at hand, where only the header is under test. */
#define HUGE_FILE (UINT64_C(1) << 50)

static const uint64_t row32[] = { 32 };

/* --- what must be refused --- */

/*
 * The whole file gives @code with @part in the text; no window of it is accepted, and a shorter one is refused in the
 * same way or asks for more.  @file_size 0: the file's own.
 */
static void refused_as(struct gguf_writer *w, uint64_t file_size, int code, const char *part)
{
    struct buffer file = BUFFER_NULL;
    struct error error = ERROR_NULL;
    struct gguf *gguf = NULL;

    gguf_writer_finish(w, &file);
    file_size = file_size ? file_size : file.size;
    for (size_t size = 0; size <= file.size; size++) {
        struct guard g = guard_copy(file.data, size);
        int r = gguf_parse(g.data, g.size, file_size, &gguf, &error);

        if (r != GGUF_E_MORE && r != code)
            fail_msg("window %zu of %zu: %d (%s), not %d", size, file.size, r, error.text, code);
        if (r == GGUF_E_MORE && size == file_size)
            fail_msg("asks for more than the file has");
        guard_free(&g);
        if (size == file.size) {
            assert_int_equal(r, code);
            if (!strstr(error.text, part))
                fail_msg("'%s' does not say '%s'", error.text, part);
            assert_int_equal(error.code, code);
        }
    }
    assert_null(gguf);
    buffer_deinit(&file);
}

static void refused(struct gguf_writer *w, const char *part)
{
    refused_as(w, 0, -EINVAL, part);
}

static void test_not_gguf(void **state)
{
    struct gguf_writer w = GGUF_WRITER_INIT;
    struct gguf *gguf = NULL;

    (void)state;
    memcpy(w.magic, "GGUf", 4);
    refused(&w, "not a GGUF file");
    w.version = 1;
    refused_as(&w, 0, -ENOTSUP, "version 1");
    w.version = 0x03000000;
    refused_as(&w, 0, -ENOTSUP, "big-endian");
    w.version = 0;
    refused_as(&w, 0, -ENOTSUP, "version 0");
    w.version = 4;
    refused_as(&w, 0, -ENOTSUP, "version 4");
    assert_int_equal(gguf_parse((const uint8_t *)"GG", 2, 2, &gguf, NULL), -EINVAL);
    assert_int_equal(gguf_parse((const uint8_t *)"", 0, 0, &gguf, NULL), -EINVAL);
    assert_int_equal(gguf_parse(NULL, 0, 100, &gguf, NULL), GGUF_E_MORE);
}

/* Counts that wrap a product, or that no file of this size can hold. */
static void test_counts(void **state)
{
    static const uint64_t wild[] = {
        1, 100, 1 << 16, 1 << 18, (1 << 18) + 1, UINT32_MAX, UINT64_C(1) << 32, UINT64_C(1) << 58,
        UINT64_MAX / 80 + 1, UINT64_MAX / 24 + 2, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX - 1,
    };
    struct gguf_writer w = GGUF_WRITER_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(wild); i++) {
        w.claimed_kvs = wild[i];
        refused(&w, wild[i] > GGUF_KV_MAX ? "claims" : "truncated");
        w.claimed_tensors = wild[i];
        refused(&w, wild[i] > GGUF_TENSORS_MAX ? "claims" : "truncated");
        gguf_writer_u32(&w, "a", 1);
        w.claimed_kvs = w.claimed_tensors = wild[i];
        refused(&w, wild[i] > GGUF_TENSORS_MAX ? "claims" : wild[i] > GGUF_KV_MAX ? "claims" : "truncated");
    }
    /* One entry short: the least size of an entry is not enough to tell, the end of the file is. */
    gguf_writer_u32(&w, "a", 1);
    gguf_writer_u32(&w, "b", 1);
    w.claimed_kvs = 3;
    refused(&w, "truncated");
}

/* A wild count is refused in a file of any size before anything is allocated for it, however short the window. */
static void test_counts_in_huge_file(void **state)
{
    struct gguf_writer w = GGUF_WRITER_INIT;

    (void)state;
    w.claimed_tensors = UINT64_C(1) << 40;
    refused_as(&w, HUGE_FILE, -EINVAL, "claims");
    gguf_writer_raw(&w, "a", 1, GGUF_STRING, "\0\0\0\0\1\0\0\0", 8);
    refused_as(&w, HUGE_FILE, -EINVAL, "16777216");
    gguf_writer_raw(&w, "a", 1, GGUF_ARRAY, "\0\0\0\0\0\0\0\x20\0\0\0\0", 12);  /* 2^29 bytes of array */
    refused_as(&w, HUGE_FILE, -EFBIG, "limit");
    gguf_writer_raw(&w, "a", 1, GGUF_ARRAY, "\x08\0\0\0\0\0\0\x10\0\0\0\0", 12);  /* 2^28 strings */
    refused_as(&w, HUGE_FILE, -EFBIG, "limit");
}

static void test_key_lengths(void **state)
{
    static const uint64_t wild[] = { 65536, UINT32_MAX, UINT64_C(1) << 32, INT64_MAX, UINT64_MAX - 7, UINT64_MAX };
    struct gguf_writer w = GGUF_WRITER_INIT;
    char *key = malloc(65536);

    (void)state;
    gguf_writer_raw(&w, "", 0, GGUF_U32, "\1\0\0\0", 4);
    refused(&w, "a key");
    for (size_t i = 0; i < ARRAY_LENGTH(wild); i++) {
        w.claimed_kvs = 1;
        buffer_put_u64(&w.kv_bytes, wild[i]);
        buffer_put(&w.kv_bytes, "general.alignment", 17);
        refused(&w, "65535");
    }
    /* A length that is allowed and takes the key over the end of the file. */
    w.claimed_kvs = 1;
    buffer_put_u64(&w.kv_bytes, 60000);
    buffer_put(&w.kv_bytes, "general.alignment", 17);
    refused(&w, "truncated");
    memset(key, 'k', 65536);
    gguf_writer_raw(&w, key, 65536, GGUF_U8, "\1", 1);
    gguf_writer_data(&w, NULL, 1);
    {
        struct buffer file = BUFFER_NULL;
        struct gguf *gguf = NULL;

        gguf_writer_finish(&w, &file);
        assert_int_equal(gguf_parse(file.data, file.size, file.size, &gguf, NULL), -EINVAL);
        buffer_deinit(&file);
        gguf_writer_raw(&w, key, 65535, GGUF_U8, "\1", 1);
        gguf_writer_finish(&w, &file);
        assert_int_equal(gguf_parse(file.data, file.size, file.size, &gguf, NULL), 0);
        assert_int_equal(gguf_kv_key(gguf, 0).size, 65535);
        gguf_free(gguf);
        buffer_deinit(&file);
    }
    free(key);
}

static void test_string_lengths(void **state)
{
    static const uint64_t wild[] = {
        GGUF_STRING_MAX + 1, UINT32_MAX, UINT64_C(1) << 32, INT64_MAX, UINT64_MAX - 8, UINT64_MAX
    };
    struct gguf_writer w = GGUF_WRITER_INIT;
    uint8_t value[12 + 8 + 4] = { GGUF_STRING, 0, 0, 0, 1 };    /* as an array: one string */

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(wild); i++) {
        memcpy(value + 12, &wild[i], 8);
        gguf_writer_raw(&w, "s", 1, GGUF_STRING, value + 12, 12);
        refused(&w, "metadata 's'");
        gguf_writer_raw(&w, "s", 1, GGUF_ARRAY, value, sizeof(value));
        refused(&w, "metadata 's'");
    }
    memcpy(value + 12, &(uint64_t){ GGUF_STRING_MAX }, 8);      /* allowed, but not there */
    gguf_writer_raw(&w, "s", 1, GGUF_STRING, value + 12, 12);
    refused(&w, "truncated");
    gguf_writer_raw(&w, "s", 1, GGUF_ARRAY, value, sizeof(value));
    refused(&w, "truncated");
}

static void test_value_types(void **state)
{
    struct gguf_writer w = GGUF_WRITER_INIT;

    (void)state;
    gguf_writer_raw(&w, "a\033[2J", 5, GGUF_TYPE_COUNT, "12345678", 8);
    refused(&w, "metadata 'a?[2J': unknown value type 13");
    gguf_writer_raw(&w, "a", 1, UINT32_MAX, "12345678", 8);
    refused(&w, "unknown value type");
    gguf_writer_raw(&w, "a", 1, GGUF_BOOL, "\2", 1);
    refused(&w, "bool");
    gguf_writer_array(&w, "a", GGUF_BOOL, "\1\0\1\xff", 4);
    refused(&w, "bool");
    gguf_writer_u32(&w, "same", 1);
    gguf_writer_string(&w, "same", "again");
    refused(&w, "'same': the key is there twice");
}

static void test_arrays(void **state)
{
    static const uint64_t wild[] = {
        100, UINT32_MAX, UINT64_C(1) << 61, UINT64_C(1) << 62, (UINT64_C(1) << 61) + 1, INT64_MAX, UINT64_C(1) << 63,
        UINT64_MAX,
    };
    struct gguf_writer w = GGUF_WRITER_INIT;
    uint8_t value[12 + 8] = { 0 };

    (void)state;
    for (uint32_t element = 0; element < GGUF_TYPE_COUNT; element++)
        for (size_t i = 0; i < ARRAY_LENGTH(wild); i++) {
            memcpy(value, &element, 4);
            memcpy(value + 4, &wild[i], 8);
            gguf_writer_raw(&w, "a", 1, GGUF_ARRAY, value, sizeof(value));
            refused(&w, "metadata 'a'");
        }
    gguf_writer_raw(&w, "a", 1, GGUF_ARRAY, "\x09\0\0\0\0\0\0\0\0\0\0\0", 12);
    refused(&w, "array of arrays");
    gguf_writer_raw(&w, "a", 1, GGUF_ARRAY, "\x0d\0\0\0\0\0\0\0\0\0\0\0", 12);
    refused(&w, "unknown type 13");
    gguf_writer_raw(&w, "a", 1, GGUF_ARRAY, "\xff\xff\xff\xff\1\0\0\0\0\0\0\0", 12);
    refused(&w, "unknown type");
}

/* Nothing is deep: a chain of arrays in arrays ends at its first link. */
static void test_nested_arrays(void **state)
{
    struct gguf_writer w = GGUF_WRITER_INIT;

    (void)state;
    w.claimed_kvs = 1;
    buffer_put_u64(&w.kv_bytes, 1);
    buffer_put_u8(&w.kv_bytes, 'a');
    buffer_put_u32(&w.kv_bytes, GGUF_ARRAY);
    for (int i = 0; i < 200; i++) {
        buffer_put_u32(&w.kv_bytes, GGUF_ARRAY);
        buffer_put_u64(&w.kv_bytes, 1);
    }
    refused(&w, "array of arrays");
}

static void test_alignment(void **state)
{
    static const uint32_t wild[] = { 0, 1, 2, 4, 7, 12, 33, 96, 65537, 131072, 1u << 31, UINT32_MAX };
    struct gguf_writer w = GGUF_WRITER_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(wild); i++) {
        gguf_writer_u32(&w, "general.alignment", wild[i]);
        gguf_writer_tensor(&w, "t", TENSOR_F32, 1, row32, NULL);
        refused(&w, "general.alignment");
    }
    gguf_writer_u64(&w, "general.alignment", 32);
    refused(&w, "general.alignment is uint64");
    gguf_writer_i32(&w, "general.alignment", -32);
    refused(&w, "general.alignment is int32");
    gguf_writer_string(&w, "general.alignment", "32");
    refused(&w, "general.alignment is string");
    gguf_writer_array(&w, "general.alignment", GGUF_U32, (uint32_t[]){ 32 }, 1);
    refused(&w, "general.alignment is array");
}

/* --- tensors --- */

static struct gguf_writer_claim claim_of(uint32_t dims, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    return (struct gguf_writer_claim){ .name = "t", .name_size = 1, .dims = dims, .shape = { a, b, c, d } };
}

static void test_dims(void **state)
{
    static const uint32_t wild[] = { 0, 5, 6, 8, 255, 65536, 1u << 31, UINT32_MAX };
    struct gguf_writer w = GGUF_WRITER_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(wild); i++) {
        struct gguf_writer_claim claim = claim_of(wild[i], 32, 1, 1, 1);

        gguf_writer_tensor_raw(&w, &claim);
        gguf_writer_data(&w, NULL, 128);
        refused(&w, "dimensions");
    }
}

static void test_shapes(void **state)
{
    static const struct {
        uint32_t dims;
        uint64_t shape[4];
        const char *part;
    } rows[] = {
        { 1, { 0 }, "dimension 0 is 0" },
        { 2, { 32, 0 }, "dimension 1 is 0" },
        { 4, { 32, 1, 1, 0 }, "dimension 3 is 0" },
        { 1, { (UINT64_C(1) << 40) + 32 }, "2^40" },
        { 1, { (UINT64_C(1) << 42) + 1 }, "2^40" },
        { 1, { UINT64_C(1) << 62 }, "2^40" },
        { 1, { UINT64_MAX }, "2^40" },
        { 2, { INT64_MAX, 2 }, "2^40" },
        { 2, { 2, (UINT64_C(1) << 63) + 1 }, "2^40" },
        { 2, { UINT64_C(1) << 40, 257 }, "2^48" },
        { 4, { 65536, 65536, 65536, 65536 }, "2^48" },         /* the product is 2^64, that is 0 */
        { 4, { UINT64_C(1) << 40, UINT64_C(1) << 40, UINT64_C(1) << 40, UINT64_C(1) << 40 }, "2^48" },
        { 3, { UINT64_C(1) << 32, UINT64_C(1) << 31, 2 }, "2^48" },
        { 2, { UINT64_C(1) << 40, 256 }, "the file has" },     /* 2^48 elements are a shape, not a file */
        { 1, { UINT64_C(1) << 40 }, "the file has" },
        { 2, { 1024, 1024 }, "the file has" },
    };
    struct gguf_writer w = GGUF_WRITER_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
        for (int t = 0; t < TENSOR_TYPE_COUNT; t++) {
            struct gguf_writer_claim claim = claim_of(rows[i].dims, 0, 0, 0, 0);

            memcpy(claim.shape, rows[i].shape, sizeof(rows[i].shape));
            claim.file_type = tensor_types[t].file_id;
            gguf_writer_tensor_raw(&w, &claim);
            gguf_writer_data(&w, NULL, 128);
            refused(&w, rows[i].part);
        }
}

static void test_tensor_names(void **state)
{
    static const uint64_t wild[] = { 65536, UINT32_MAX, INT64_MAX, UINT64_MAX - 15, UINT64_MAX };
    struct gguf_writer w = GGUF_WRITER_INIT;
    struct gguf_writer_claim claim = claim_of(1, 8, 0, 0, 0);

    (void)state;
    claim.name_size = 0;
    gguf_writer_tensor_raw(&w, &claim);
    gguf_writer_data(&w, NULL, 128);
    refused(&w, "name");
    claim.name_size = 1;
    for (size_t i = 0; i < ARRAY_LENGTH(wild); i++) {
        claim.claimed_name_size = wild[i];
        gguf_writer_tensor_raw(&w, &claim);
        gguf_writer_data(&w, NULL, 128);
        refused(&w, "65535");
    }
    gguf_writer_tensor(&w, "twin", TENSOR_F32, 1, row32, NULL);
    gguf_writer_tensor(&w, "twin", TENSOR_F16, 1, row32, NULL);
    refused(&w, "'twin': a tensor of this name is there twice");
}

static void test_offsets(void **state)
{
    static const uint64_t wild[] = {
        256, 1 << 20, UINT64_C(1) << 40, INT64_MAX - 31, UINT64_C(1) << 63, UINT64_MAX - 31, UINT64_MAX - 63,
        UINT64_MAX - 127,
    };
    struct gguf_writer w = GGUF_WRITER_INIT;
    struct gguf_writer_claim claim = claim_of(1, 32, 0, 0, 0), second = claim;

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(wild); i++) {
        claim.offset = wild[i];
        gguf_writer_tensor_raw(&w, &claim);
        gguf_writer_data(&w, NULL, 128);
        refused(&w, "tensor 't'");
        claim.file_type = 999;          /* an unknown type has no size, but its place is checked */
        gguf_writer_tensor_raw(&w, &claim);
        gguf_writer_data(&w, NULL, 64);
        refused(&w, "tensor 't'");
        claim.file_type = 0;
    }
    claim.offset = 4;
    gguf_writer_tensor_raw(&w, &claim);
    gguf_writer_data(&w, NULL, 256);
    refused(&w, "alignment");
    claim.offset = 0;
    second.name = "u";
    for (second.offset = 0; second.offset < 128; second.offset += 32) {    /* 128 bytes each: they overlap */
        gguf_writer_tensor_raw(&w, &claim);
        gguf_writer_tensor_raw(&w, &second);
        gguf_writer_data(&w, NULL, 1024);
        refused(&w, "tensor 'u': it begins");
    }
    claim.offset = 128;                 /* a good place, listed after the one behind it */
    second.offset = 0;
    gguf_writer_tensor_raw(&w, &claim);
    gguf_writer_tensor_raw(&w, &second);
    gguf_writer_data(&w, NULL, 1024);
    refused(&w, "tensor 'u': it begins");
}

/* Every cut of a good file is refused, and the text says why. */
static void cut_everywhere(struct gguf_writer *w)
{
    struct buffer file = BUFFER_NULL;

    gguf_writer_finish(w, &file);
    for (size_t size = 0; size < file.size; size++) {
        struct guard g = guard_copy(file.data, size);
        struct error error = ERROR_NULL;
        struct gguf *gguf = NULL;

        assert_int_equal(gguf_parse(g.data, g.size, size, &gguf, &error), -EINVAL);
        assert_non_null(strstr(error.text, "truncated"));
        guard_free(&g);
        /* A window that shows more than the file has counts for nothing. */
        assert_int_equal(gguf_parse(file.data, file.size, size, &gguf, NULL), -EINVAL);
    }
    buffer_deinit(&file);
}

static void test_truncated(void **state)
{
    struct gguf_writer w = GGUF_WRITER_INIT;

    (void)state;
    gguf_writer_string(&w, "general.architecture", "llama");
    gguf_writer_strings(&w, "tokens", (const char *[]){ "a", "", "bc" }, 3);
    gguf_writer_array(&w, "scores", GGUF_F32, (float[]){ 0, 1, 2 }, 3);
    gguf_writer_tensor(&w, "t", TENSOR_Q4_0, 2, (uint64_t[]){ 64, 3 }, NULL);
    gguf_writer_tensor(&w, "u", TENSOR_F32, 1, row32, NULL);
    w.tight = true;
    cut_everywhere(&w);
    gguf_writer_u32(&w, "general.file_type", 1);
    w.tight = true;                     /* without tensors, where only the window can tell */
    cut_everywhere(&w);
}

/* Any one byte changed: accepted or refused, but never out of bounds, and what is accepted lies in the file. */
static void test_every_byte(void **state)
{
    static const uint8_t patches[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
    struct gguf_writer w = GGUF_WRITER_INIT;
    struct buffer file = BUFFER_NULL;
    int accepted = 0, refused_count = 0;

    (void)state;
    gguf_writer_alignment(&w, 64);
    gguf_writer_strings(&w, "tokens", (const char *[]){ "a", "bc" }, 2);
    gguf_writer_array(&w, "flags", GGUF_BOOL, "\1\0", 2);
    gguf_writer_tensor(&w, "t", TENSOR_Q8_0, 2, (uint64_t[]){ 64, 3 }, NULL);
    gguf_writer_tensor(&w, "u", TENSOR_F16, 1, row32, NULL);
    gguf_writer_finish(&w, &file);
    for (size_t at = 0; at < file.size; at++)
        for (size_t i = 0; i < ARRAY_LENGTH(patches); i++) {
            struct gguf *gguf = NULL;
            uint8_t old = file.data[at];
            struct guard g;

            file.data[at] = patches[i];
            g = guard_copy(file.data, file.size);
            file.data[at] = old;
            if (gguf_parse(g.data, g.size, g.size, &gguf, NULL)) {
                refused_count++;
            } else {
                accepted++;
                for (uint64_t t = 0; t < gguf_tensor_count(gguf); t++) {
                    const struct gguf_tensor *tensor = gguf_tensor_at(gguf, t);

                    assert_true(tensor->offset <= g.size && tensor->bytes <= g.size - tensor->offset);
                }
            }
            gguf_free(gguf);
            guard_free(&g);
        }
    assert_true(accepted > 100 && refused_count > 100);
    buffer_deinit(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_not_gguf),     cmocka_unit_test(test_counts),
        cmocka_unit_test(test_counts_in_huge_file), cmocka_unit_test(test_key_lengths),
        cmocka_unit_test(test_string_lengths), cmocka_unit_test(test_value_types),
        cmocka_unit_test(test_arrays),       cmocka_unit_test(test_nested_arrays),
        cmocka_unit_test(test_alignment),    cmocka_unit_test(test_dims),
        cmocka_unit_test(test_shapes),       cmocka_unit_test(test_tensor_names),
        cmocka_unit_test(test_offsets),      cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_every_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
