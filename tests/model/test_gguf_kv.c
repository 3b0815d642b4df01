/* SPDX-License-Identifier: Apache-2.0 */
/* What a good GGUF directory gives: metadata by type, arrays, tensors, and text for people. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/model/gguf.h"
#include "tests/harness/gguf_writer.h"

static struct gguf *parse(struct gguf_writer *w, struct buffer *file)
{
    struct gguf *gguf = NULL;
    struct error error = ERROR_NULL;

    gguf_writer_finish(w, file);
    if (gguf_parse(file->data, file->size, file->size, &gguf, &error))
        fail_msg("%s", error.text);
    return gguf;
}

static void write_scalars(struct gguf_writer *w)
{
    gguf_writer_u8(w, "u8", UINT8_MAX);
    gguf_writer_i8(w, "i8", INT8_MIN);
    gguf_writer_u16(w, "u16", UINT16_MAX);
    gguf_writer_i16(w, "i16", 1234);
    gguf_writer_u32(w, "u32", UINT32_MAX);
    gguf_writer_i32(w, "i32", -5);
    gguf_writer_u64(w, "u64", UINT64_MAX);
    gguf_writer_i64(w, "i64", INT64_MAX);
    gguf_writer_f32(w, "f32", 0.1f);
    gguf_writer_f64(w, "f64", 0.1);
    gguf_writer_bool(w, "yes", true);
    gguf_writer_bool(w, "no", false);
    gguf_writer_string(w, "string", "text");
    gguf_writer_string(w, "empty", "");
    gguf_writer_array(w, "array", GGUF_U16, (uint16_t[]){ 1, 2 }, 2);
}

static void expect_u64(const struct gguf *gguf, const char *key, uint64_t wanted)
{
    uint64_t value = 0;

    assert_int_equal(gguf_get_u64(gguf, key, &value, NULL), 0);
    assert_true(value == wanted);
}

static void test_scalars(void **state)
{
    struct gguf_writer w = GGUF_WRITER_INIT;
    struct buffer file = BUFFER_NULL;
    struct span s = { .data = NULL };
    double f = 0;
    bool b = false;
    struct gguf *gguf;

    (void)state;
    write_scalars(&w);
    gguf = parse(&w, &file);
    assert_int_equal(gguf_version(gguf), 3);
    assert_int_equal(gguf_alignment(gguf), 32);
    assert_int_equal(gguf_kv_count(gguf), 15);
    assert_int_equal(gguf_tensor_count(gguf), 0);
    expect_u64(gguf, "u8", UINT8_MAX);
    expect_u64(gguf, "u16", UINT16_MAX);
    expect_u64(gguf, "i16", 1234);
    expect_u64(gguf, "u32", UINT32_MAX);
    expect_u64(gguf, "u64", UINT64_MAX);
    expect_u64(gguf, "i64", INT64_MAX);
    assert_int_equal(gguf_get_f64(gguf, "f32", &f, NULL), 0);
    assert_true(f == (double)0.1f);
    assert_int_equal(gguf_get_f64(gguf, "f64", &f, NULL), 0);
    assert_true(f == 0.1);
    assert_int_equal(gguf_get_bool(gguf, "yes", &b, NULL), 0);
    assert_true(b);
    assert_int_equal(gguf_get_bool(gguf, "no", &b, NULL), 0);
    assert_false(b);
    assert_int_equal(gguf_get_string(gguf, "string", &s, NULL), 0);
    assert_int_equal(s.size, 4);
    assert_memory_equal(s.data, "text", 4);
    assert_int_equal(gguf_get_string(gguf, "empty", &s, NULL), 0);
    assert_int_equal(s.size, 0);
    assert_true(gguf_has(gguf, "array"));
    assert_false(gguf_has(gguf, "arra"));
    assert_false(gguf_has(gguf, ""));
    assert_memory_equal(gguf_kv_key(gguf, 0).data, "u8", 2);
    assert_int_equal(gguf_kv_type(gguf, 14), GGUF_ARRAY);
    gguf = gguf_free(gguf);
    assert_null(gguf_free(NULL));
    buffer_deinit(&file);
}

/* Every getter on every key: 0 for its own types, -EINVAL with both types in the text for others, 1 for absent. */
static void test_type_confusion(void **state)
{
    static const char *const keys[] = {
        "u8", "u16", "i16", "u32", "u64", "i64", "f32", "f64", "yes", "string", "array", "i8", "i32"
    };
    static const char kinds[] = "iiiiiiffbsa--";        /* '-': an integer, but negative */
    struct gguf_writer w = GGUF_WRITER_INIT;
    struct buffer file = BUFFER_NULL;
    struct gguf *gguf;

    (void)state;
    write_scalars(&w);
    gguf = parse(&w, &file);
    for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) {
        struct gguf_array array;
        struct error error = ERROR_NULL;
        struct span s;
        uint64_t u;
        double f;
        bool b;

        assert_int_equal(gguf_get_u64(gguf, keys[i], &u, &error), kinds[i] == 'i' ? 0 : -EINVAL);
        if (kinds[i] != 'i')
            assert_non_null(strstr(error.text, keys[i]));
        assert_int_equal(gguf_get_f64(gguf, keys[i], &f, NULL), kinds[i] == 'f' ? 0 : -EINVAL);
        assert_int_equal(gguf_get_bool(gguf, keys[i], &b, NULL), kinds[i] == 'b' ? 0 : -EINVAL);
        assert_int_equal(gguf_get_string(gguf, keys[i], &s, NULL), kinds[i] == 's' ? 0 : -EINVAL);
        for (int t = 0; t < GGUF_TYPE_COUNT; t++)
            assert_int_equal(gguf_get_array(gguf, keys[i], (enum gguf_type)t, &array, &error),
                             kinds[i] == 'a' && t == GGUF_U16 ? 0 : -EINVAL);
        assert_int_equal(gguf_get_u64(gguf, "absent", &u, &error), 1);
        assert_int_equal(gguf_get_f64(gguf, "absent", &f, &error), 1);
        assert_int_equal(gguf_get_bool(gguf, "absent", &b, &error), 1);
        assert_int_equal(gguf_get_string(gguf, "absent", &s, &error), 1);
        assert_int_equal(gguf_get_array(gguf, "absent", GGUF_U16, &array, &error), 1);
    }
    gguf_free(gguf);
    buffer_deinit(&file);
}

/* Scores declared as bytes and read as floats were an overrun elsewhere: here the element type is asked for. */
static void test_scores_of_wrong_type(void **state)
{
    struct gguf_writer w = GGUF_WRITER_INIT;
    struct buffer file = BUFFER_NULL;
    struct gguf_array array = { .count = 77 };
    struct error error = ERROR_NULL;
    struct gguf *gguf;

    (void)state;
    gguf_writer_array(&w, "tokenizer.ggml.scores", GGUF_I8, "\1\2\3", 3);
    gguf = parse(&w, &file);
    assert_int_equal(gguf_get_array(gguf, "tokenizer.ggml.scores", GGUF_F32, &array, &error), -EINVAL);
    assert_non_null(strstr(error.text, "array of int8; an array of float32 is needed"));
    assert_int_equal(array.count, 77);
    gguf_free(gguf);
    buffer_deinit(&file);
}

static void test_arrays(void **state)
{
    struct gguf_writer w = GGUF_WRITER_INIT;
    struct buffer file = BUFFER_NULL;
    struct gguf_array a;
    struct gguf *gguf;

    (void)state;
    gguf_writer_u8(&w, "odd", 1);       /* the arrays lie unaligned */
    gguf_writer_array(&w, "u8", GGUF_U8, (uint8_t[]){ 0, 255 }, 2);
    gguf_writer_array(&w, "i8", GGUF_I8, (int8_t[]){ -128, 127 }, 2);
    gguf_writer_array(&w, "i16", GGUF_I16, (int16_t[]){ -32768, 32767 }, 2);
    gguf_writer_array(&w, "u32", GGUF_U32, (uint32_t[]){ 7, UINT32_MAX }, 2);
    gguf_writer_array(&w, "i32", GGUF_I32, (int32_t[]){ INT32_MIN, 8 }, 2);
    gguf_writer_array(&w, "u64", GGUF_U64, (uint64_t[]){ 9, UINT64_MAX }, 2);
    gguf_writer_array(&w, "i64", GGUF_I64, (int64_t[]){ INT64_MIN, 10 }, 2);
    gguf_writer_array(&w, "bool", GGUF_BOOL, "\0\1", 2);
    gguf_writer_array(&w, "f32", GGUF_F32, (float[]){ -1.5f, 2.25f }, 2);
    gguf_writer_array(&w, "f64", GGUF_F64, (double[]){ 1e300, -0.1 }, 2);
    gguf_writer_array(&w, "none", GGUF_F64, NULL, 0);
    gguf_writer_strings(&w, "first", (const char *[]){ "a", "", "ccc" }, 3);
    gguf_writer_strings(&w, "no strings", NULL, 0);
    gguf_writer_strings(&w, "second", (const char *[]){ "dd", "e" }, 2);
    gguf = parse(&w, &file);

    static const struct { const char *key; enum gguf_type type; int64_t values[2]; } integers[] = {
        { "u8", GGUF_U8, { 0, 255 } },        { "i8", GGUF_I8, { -128, 127 } },
        { "i16", GGUF_I16, { -32768, 32767 } }, { "u32", GGUF_U32, { 7, UINT32_MAX } },
        { "i32", GGUF_I32, { INT32_MIN, 8 } }, { "u64", GGUF_U64, { 9, INT64_MAX } },
        { "i64", GGUF_I64, { INT64_MIN, 10 } }, { "bool", GGUF_BOOL, { 0, 1 } },
    };
    for (size_t i = 0; i < ARRAY_LENGTH(integers); i++) {
        assert_int_equal(gguf_get_array(gguf, integers[i].key, integers[i].type, &a, NULL), 0);
        assert_int_equal(a.count, 2);
        assert_true(gguf_array_i64(&a, 0) == integers[i].values[0]);
        assert_true(gguf_array_i64(&a, 1) == integers[i].values[1]);
    }
    assert_int_equal(gguf_get_array(gguf, "f32", GGUF_F32, &a, NULL), 0);
    assert_true(gguf_array_f64(&a, 0) == -1.5 && gguf_array_f64(&a, 1) == 2.25);
    assert_int_equal(gguf_get_array(gguf, "f64", GGUF_F64, &a, NULL), 0);
    assert_true(gguf_array_f64(&a, 0) == 1e300 && gguf_array_f64(&a, 1) == -0.1);
    assert_int_equal(gguf_get_array(gguf, "none", GGUF_F64, &a, NULL), 0);
    assert_int_equal(a.count, 0);
    assert_int_equal(gguf_get_array(gguf, "second", GGUF_STRING, &a, NULL), 0);
    assert_int_equal(gguf_array_string(&a, 0).size, 2);
    assert_memory_equal(gguf_array_string(&a, 1).data, "e", 1);
    assert_int_equal(gguf_get_array(gguf, "first", GGUF_STRING, &a, NULL), 0);
    assert_int_equal(gguf_array_string(&a, 1).size, 0);
    assert_memory_equal(gguf_array_string(&a, 2).data, "ccc", 3);
    gguf_free(gguf);
    buffer_deinit(&file);
}

/* An index past the end is the program's fault, not the file's: it stops, it does not read. */
static void test_array_bounds(void **state)
{
    struct gguf_writer w = GGUF_WRITER_INIT;
    struct buffer file = BUFFER_NULL;
    struct gguf_array strings, numbers;
    struct gguf *gguf;

    (void)state;
    gguf_writer_strings(&w, "s", (const char *[]){ "a", "b" }, 2);
    gguf_writer_array(&w, "n", GGUF_U32, (uint32_t[]){ 1, 2 }, 2);
    gguf = parse(&w, &file);
    assert_int_equal(gguf_get_array(gguf, "s", GGUF_STRING, &strings, NULL), 0);
    assert_int_equal(gguf_get_array(gguf, "n", GGUF_U32, &numbers, NULL), 0);
    for (int i = 0; i < 4; i++) {
        pid_t pid = fork();
        int status;

        if (!pid) {
            signal(SIGABRT, SIG_DFL);
            if (!freopen("/dev/null", "w", stderr))
                _exit(2);
            switch (i) {
            case 0: gguf_array_string(&strings, 2); break;
            case 1: gguf_array_i64(&numbers, 2); break;
            case 2: gguf_array_i64(&numbers, UINT64_C(1) << 62); break;
            case 3: gguf_array_f64(&numbers, 0); break;         /* integers read as floats */
            }
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
    gguf_free(gguf);
    buffer_deinit(&file);
}

static void test_tensors(void **state)
{
    struct gguf_writer w = GGUF_WRITER_INIT;
    struct buffer file = BUFFER_NULL;
    struct gguf *gguf;
    char name[32];

    (void)state;
    w.version = 2;
    gguf_writer_alignment(&w, 4096);
    for (int t = 0; t < TENSOR_TYPE_COUNT; t++)
        gguf_writer_tensor(&w, tensor_types[t].name, (enum tensor_type)t, (uint32_t)(1 + t % 4),
                           (uint64_t[]){ 512, 3, 2, 5 }, NULL);
    gguf = parse(&w, &file);
    assert_int_equal(gguf_version(gguf), 2);
    assert_int_equal(gguf_alignment(gguf), 4096);
    assert_int_equal(gguf_tensor_count(gguf), TENSOR_TYPE_COUNT);
    for (int t = 0; t < TENSOR_TYPE_COUNT; t++) {
        const struct gguf_tensor *tensor = gguf_tensor_find(gguf, tensor_types[t].name);
        uint64_t values = 512u * (t % 4 > 0 ? 3 : 1) * (t % 4 > 1 ? 2 : 1) * (t % 4 > 2 ? 5 : 1);

        assert_ptr_equal(tensor, gguf_tensor_at(gguf, (uint64_t)t));
        assert_true(tensor->known && tensor->type == (enum tensor_type)t);
        assert_int_equal(tensor->file_type, tensor_types[t].file_id);
        assert_int_equal(tensor->dims, 1 + t % 4);
        assert_int_equal(tensor->shape[0], 512);
        assert_int_equal(tensor->shape[3], t % 4 == 3 ? 5 : 1);
        assert_int_equal(tensor->bytes, values / tensor_types[t].block_values * tensor_types[t].block_bytes);
        assert_int_equal(tensor->offset % 4096, 0);
        assert_true(tensor->offset + tensor->bytes <= file.size);
        snprintf(name, sizeof(name), "%sx", tensor_types[t].name);
        assert_null(gguf_tensor_find(gguf, name));
    }
    assert_true(gguf_header_bytes(gguf) <= gguf_tensor_at(gguf, 0)->offset);
    gguf_free(gguf);
    buffer_deinit(&file);
}

/* Types that we do not compute with, and rows that are no whole blocks, are listed, not refused: inspect shows them. */
static void test_unknown_tensors(void **state)
{
    static const uint32_t ids[] = { 4, 5, 9, 15, 16, 29, 31, 39, 1000, UINT32_MAX };
    struct gguf_writer w = GGUF_WRITER_INIT;
    struct buffer file = BUFFER_NULL;
    struct gguf_writer_claim ragged = { .name = "ragged", .name_size = 6, .dims = 1, .shape = { 48 } };
    struct gguf *gguf;
    char name[16];

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(ids); i++) {
        struct gguf_writer_claim claim = {
            .name = name, .name_size = 2, .dims = 2, .shape = { 7, 3 }, .file_type = ids[i], .offset = 32 * i
        };

        snprintf(name, sizeof(name), "t%zu", i);
        gguf_writer_tensor_raw(&w, &claim);
    }
    ragged.file_type = tensor_types[TENSOR_Q4_0].file_id;
    ragged.offset = 32 * ARRAY_LENGTH(ids);
    gguf_writer_tensor_raw(&w, &ragged);
    gguf_writer_data(&w, NULL, 4096);
    gguf = parse(&w, &file);
    for (size_t i = 0; i <= ARRAY_LENGTH(ids); i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(gguf, i);

        assert_false(tensor->known);
        assert_int_equal(tensor->bytes, 0);
        assert_true(tensor->file_type == (i < ARRAY_LENGTH(ids) ? ids[i] : 2));
    }
    gguf_free(gguf);
    buffer_deinit(&file);
}

/* A file of metadata alone, without even the padding, as vocabulary files are. */
static void test_vocabulary_only(void **state)
{
    struct gguf_writer w = GGUF_WRITER_INIT;
    struct buffer file = BUFFER_NULL;
    struct gguf *gguf;

    (void)state;
    w.tight = true;
    gguf_writer_strings(&w, "tokenizer.ggml.tokens", (const char *[]){ "a" }, 1);
    gguf = parse(&w, &file);
    assert_int_equal(gguf_header_bytes(gguf), file.size);
    gguf_free(gguf);
    buffer_deinit(&file);
    gguf = parse(&w, &file);            /* nothing at all is a directory too */
    assert_int_equal(gguf_kv_count(gguf), 0);
    assert_null(gguf_tensor_find(gguf, "t"));
    assert_false(gguf_has(gguf, "k"));
    gguf_free(gguf);
    buffer_deinit(&file);
}

/* Many names, each found again: the index grows with the count; a power of two must leave room to miss. */
static void test_many_names(void **state)
{
    struct gguf_writer w = GGUF_WRITER_INIT;
    struct buffer file = BUFFER_NULL;
    struct gguf *gguf;
    char name[32];

    (void)state;
    for (uint32_t i = 0; i < 4096; i++) {
        snprintf(name, sizeof(name), "key.%u", i);
        gguf_writer_u32(&w, name, i);
        snprintf(name, sizeof(name), "blk.%u.weight", i);
        gguf_writer_tensor(&w, name, TENSOR_F32, 1, (uint64_t[]){ 1 + i % 3 }, NULL);
    }
    gguf = parse(&w, &file);
    for (uint32_t i = 0; i < 4096; i++) {
        snprintf(name, sizeof(name), "key.%u", i);
        expect_u64(gguf, name, i);
        snprintf(name, sizeof(name), "blk.%u.weight", i);
        assert_ptr_equal(gguf_tensor_find(gguf, name), gguf_tensor_at(gguf, i));
    }
    assert_null(gguf_tensor_find(gguf, "blk.4096.weight"));
    gguf_free(gguf);
    buffer_deinit(&file);
}

/* --- text --- */

static void expect_print(const struct gguf *gguf, uint64_t index, const char *wanted)
{
    struct buffer out = BUFFER_NULL;

    gguf_kv_print(gguf, index, &out);
    buffer_put_u8(&out, 0);
    assert_true(buffer_ok(&out));
    assert_string_equal((const char *)out.data, wanted);
    buffer_deinit(&out);
}

static void test_print(void **state)
{
    static const char *const wanted[] = {
        "255", "-128", "65535", "1234", "4294967295", "-5", "18446744073709551615", "9223372036854775807",
        "0.1", "0.1", "true", "false", "\"text\"", "\"\"", "2 x uint16 [1, 2]",
        "\"\\u{1b}[2J\\u{0}\\n\\u{7f}\\u{9b}\\u{202e}\\u{2028}\\xff\\xc3é\\\"\\\\\"",
        "10 x string [\"0\", \"1\", \"2\", \"3\", \"4\", \"5\", \"6\", \"7\", …]",
        "9 x bool [true, false, true, false, true, false, true, false, …]",
        "2 x string [\"\\u{1b}\", \"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn\"… (50 bytes)]",
        "0 x float64 []", "nan", "-inf",
    };
    static const char hostile[] = "\x1b[2J\0\n\x7f\xc2\x9b\xe2\x80\xae\xe2\x80\xa8\xff\xc3\xc3\xa9\"\\";
    struct gguf_writer w = GGUF_WRITER_INIT;
    struct buffer file = BUFFER_NULL;
    struct gguf *gguf;

    (void)state;
    write_scalars(&w);
    gguf_writer_bytes(&w, "hostile", hostile, sizeof(hostile) - 1);
    gguf_writer_strings(&w, "ten", (const char *[]){ "0", "1", "2", "3", "4", "5", "6", "7", "8", "9" }, 10);
    gguf_writer_array(&w, "bools", GGUF_BOOL, "\1\0\1\0\1\0\1\0\1", 9);
    gguf_writer_strings(&w, "long", (const char *[]){ "\x1b", "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" },
                        2);
    gguf_writer_array(&w, "none", GGUF_F64, NULL, 0);
    gguf_writer_raw(&w, "nan", 3, GGUF_F32, "\0\0\xc0\x7f", 4);
    gguf_writer_raw(&w, "inf", 3, GGUF_F32, "\0\0\x80\xff", 4);
    gguf = parse(&w, &file);
    assert_int_equal(gguf_kv_count(gguf), ARRAY_LENGTH(wanted));
    for (size_t i = 0; i < ARRAY_LENGTH(wanted); i++)
        expect_print(gguf, i, wanted[i]);
    gguf_free(gguf);
    buffer_deinit(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalars),      cmocka_unit_test(test_type_confusion),
        cmocka_unit_test(test_scores_of_wrong_type), cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_array_bounds), cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_unknown_tensors), cmocka_unit_test(test_vocabulary_only),
        cmocka_unit_test(test_many_names),   cmocka_unit_test(test_print),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
