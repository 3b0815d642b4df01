/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GGUF directory: any bytes are refused, or give a directory of which every part can be read.  The header's verdict
 * must not depend on how much of the file the window shows, and a whole file never needs more.
 */
#include <string.h>

#include "src/model/gguf.h"
#include "tests/fuzz/fuzz.h"

#define LARGE_FILE (UINT64_C(1) << 44)

static void walk_array(const struct gguf *gguf, const char *key, uint64_t *sum)
{
    for (int t = 0; t < GGUF_TYPE_COUNT; t++) {
        struct gguf_array a;
        struct error error = ERROR_NULL;

        if (gguf_get_array(gguf, key, (enum gguf_type)t, &a, &error))
            continue;
        for (uint64_t i = 0; i < a.count; i++) {
            if (t == GGUF_STRING) {
                struct span s = gguf_array_string(&a, i);

                *sum += s.size ? (uint64_t)s.data[0] + s.data[s.size - 1] : 1;
            } else if (t == GGUF_F32 || t == GGUF_F64) {
                *sum += gguf_array_f64(&a, i) > 0;
            } else {
                *sum += (uint64_t)gguf_array_i64(&a, i);
            }
        }
    }
}

static void walk_kv(const struct gguf *gguf, uint64_t index, uint64_t *sum)
{
    struct span name = gguf_kv_key(gguf, index), s;
    struct buffer text = BUFFER_NULL;
    struct error error = ERROR_NULL;
    uint64_t u = 0;
    double f = 0;
    bool b = false;
    int answers = 0;
    char key[256];

    gguf_kv_print(gguf, index, &text);
    check(buffer_ok(&text) && !memchr(text.data, '\n', text.size) && !memchr(text.data, 0x1b, text.size));
    buffer_deinit(&text);
    if (name.size >= sizeof(key) || memchr(name.data, 0, name.size))
        return;
    memcpy(key, name.data, name.size);
    key[name.size] = 0;
    check(gguf_has(gguf, key));
    answers += !gguf_get_u64(gguf, key, &u, &error);
    answers += !gguf_get_f64(gguf, key, &f, &error);
    answers += !gguf_get_bool(gguf, key, &b, &error);
    answers += !gguf_get_string(gguf, key, &s, &error);
    check(answers <= 1);            /* a value has one type */
    walk_array(gguf, key, sum);
    *sum += u + b + (f > 0);
}

static uint64_t walk(const struct gguf *gguf, uint64_t file_size)
{
    uint64_t sum = gguf_version(gguf) + gguf_alignment(gguf), end = gguf_header_bytes(gguf);

    for (uint64_t i = 0; i < gguf_kv_count(gguf); i++)
        walk_kv(gguf, i, &sum);
    for (uint64_t i = 0; i < gguf_tensor_count(gguf); i++) {
        const struct gguf_tensor *t = gguf_tensor_at(gguf, i);

        check(t->name.size && t->dims >= 1 && t->dims <= GGUF_DIMS_MAX);
        check(t->offset >= end && t->offset % gguf_alignment(gguf) == 0);
        check(t->offset <= file_size && t->bytes <= file_size - t->offset);
        check(t->known == (t->bytes > 0));
        end = t->offset + t->bytes;
        sum += t->name.data[0] + t->name.data[t->name.size - 1];
    }
    check(!gguf_tensor_find(gguf, "") && !gguf_has(gguf, ""));
    return sum;
}

/* One verdict, 0, negative or GGUF_E_MORE; what is accepted is read through. */
static int parse(const uint8_t *data, size_t size, uint64_t file_size, uint64_t *ret_sum)
{
    struct error error = ERROR_NULL;
    struct gguf *gguf = NULL;
    int r = gguf_parse(data, size, file_size, &gguf, &error);

    check(!r == (gguf != NULL));
    if (r < 0)
        check(error.text[0] && error.code == r);
    if (!r)
        *ret_sum = walk(gguf, file_size);
    gguf_free(gguf);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t sum = 0, large_sum = 0, other;
    int whole = parse(data, size, size, &sum);
    int large = parse(data, size, LARGE_FILE, &large_sum);

    check(whole <= 0);
    check(whole || (!large && sum == large_sum));   /* more room harms nobody */
    for (size_t cut = size / 2, n = 0; n < 4 && size; cut = (cut * 7 + 13) % size, n++) {
        int r = parse(data, cut, size, &other);

        check(r == GGUF_E_MORE || r == whole);
        check(r || other == sum);
        r = parse(data, cut, LARGE_FILE, &other);
        check(r == GGUF_E_MORE || r == large);
        check(r || other == large_sum);
    }
    return 0;
}
