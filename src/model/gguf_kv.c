/* SPDX-License-Identifier: Apache-2.0 */
/* Metadata by key and for people. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/utf8.h"
#include "src/model/gguf.h"
#include "src/model/gguf_internal.h"

#define PRINT_STRING_MAX 256        /* bytes of a string shown */
#define PRINT_ELEMENT_MAX 40        /* of a string in an array */
#define PRINT_ELEMENTS 8

static const char *const type_names[GGUF_TYPE_COUNT] = {
    [GGUF_U8] = "uint8",   [GGUF_I8] = "int8",     [GGUF_U16] = "uint16",     [GGUF_I16] = "int16",
    [GGUF_U32] = "uint32", [GGUF_I32] = "int32",   [GGUF_F32] = "float32",    [GGUF_BOOL] = "bool",
    [GGUF_STRING] = "string", [GGUF_ARRAY] = "array", [GGUF_U64] = "uint64",  [GGUF_I64] = "int64",
    [GGUF_F64] = "float64",
};

const char *gguf_type_name(enum gguf_type type)
{
    return (unsigned)type < GGUF_TYPE_COUNT ? type_names[type] : "unknown";
}

static const struct gguf_kv *kv_at(const struct gguf *gguf, uint64_t index)
{
    check(gguf->magic == GGUF_OBJECT_MAGIC);
    check(index < gguf->kv_count);
    return &gguf->kvs[index];
}

static const struct gguf_kv *kv_find(const struct gguf *gguf, const char *key)
{
    uint32_t at = gguf_kv_lookup(gguf, key);

    return at == UINT32_MAX ? NULL : kv_at(gguf, at);
}

static bool is_integer(enum gguf_type type)
{
    return type != GGUF_F32 && type != GGUF_F64 && type != GGUF_STRING && type != GGUF_ARRAY && type != GGUF_BOOL;
}

/* Integers of 1 to 8 bytes; a uint64 above INT64_MAX saturates, which no meaningful count or id reaches. */
static int64_t load_integer(const uint8_t *at, enum gguf_type type)
{
    check(is_integer(type) || type == GGUF_BOOL);
    switch (type) {
    case GGUF_U8: case GGUF_BOOL: return *at;
    case GGUF_I8: return (int8_t)*at;
    case GGUF_U16: return load_u16(at);
    case GGUF_I16: return (int16_t)load_u16(at);
    case GGUF_U32: return load_u32(at);
    case GGUF_I32: return (int32_t)load_u32(at);
    case GGUF_U64: return (int64_t)min_u64(load_u64(at), INT64_MAX);
    case GGUF_I64: return (int64_t)load_u64(at);
    case GGUF_F32: case GGUF_F64: case GGUF_STRING: case GGUF_ARRAY: case GGUF_TYPE_COUNT: break;
    }
    return 0;
}

static double load_float(const uint8_t *at, enum gguf_type type)
{
    uint32_t bits32;
    uint64_t bits64;
    float f32;
    double f64;

    check(type == GGUF_F32 || type == GGUF_F64);
    if (type == GGUF_F64) {
        bits64 = load_u64(at);
        memcpy(&f64, &bits64, sizeof(f64));
        return f64;
    }
    bits32 = load_u32(at);
    memcpy(&f32, &bits32, sizeof(f32));
    return (double)f32;
}

static int wrong_type(const struct gguf_kv *kv, const char *key, const char *wanted, struct error *error)
{
    if (kv->type == GGUF_ARRAY)
        return error_set(error, -EINVAL, "metadata '%s' is an array of %s; %s is needed", key,
                         gguf_type_name(kv->element), wanted);
    return error_set(error, -EINVAL, "metadata '%s' is %s; %s is needed", key, gguf_type_name(kv->type), wanted);
}

/* --- scalars --- */

uint64_t gguf_kv_count(const struct gguf *gguf) { return gguf->kv_count; }
enum gguf_type gguf_kv_type(const struct gguf *gguf, uint64_t index) { return kv_at(gguf, index)->type; }
bool gguf_has(const struct gguf *gguf, const char *key) { return gguf_kv_lookup(gguf, key) != UINT32_MAX; }

struct span gguf_kv_key(const struct gguf *gguf, uint64_t index)
{
    const struct gguf_kv *kv = kv_at(gguf, index);

    return (struct span){ .data = gguf->window + kv->key_offset, .size = kv->key_size };
}

int gguf_get_u64(const struct gguf *gguf, const char *key, uint64_t *ret, struct error *error)
{
    const struct gguf_kv *kv = kv_find(gguf, key);
    int64_t value;

    if (!kv)
        return 1;
    if (!is_integer(kv->type))
        return wrong_type(kv, key, "an integer", error);
    if (kv->type == GGUF_U64) {
        *ret = load_u64(gguf->window + kv->value_offset);
        return 0;
    }
    value = load_integer(gguf->window + kv->value_offset, kv->type);
    if (value < 0)
        return error_set(error, -EINVAL, "metadata '%s' is %" PRId64 "; it may not be negative", key, value);
    *ret = (uint64_t)value;
    return 0;
}

int gguf_get_f64(const struct gguf *gguf, const char *key, double *ret, struct error *error)
{
    const struct gguf_kv *kv = kv_find(gguf, key);

    if (!kv)
        return 1;
    if (kv->type != GGUF_F32 && kv->type != GGUF_F64)
        return wrong_type(kv, key, "a float", error);
    *ret = load_float(gguf->window + kv->value_offset, kv->type);
    return 0;
}

int gguf_get_bool(const struct gguf *gguf, const char *key, bool *ret, struct error *error)
{
    const struct gguf_kv *kv = kv_find(gguf, key);

    if (!kv)
        return 1;
    if (kv->type != GGUF_BOOL)
        return wrong_type(kv, key, "a bool", error);
    *ret = gguf->window[kv->value_offset];
    return 0;
}

int gguf_get_string(const struct gguf *gguf, const char *key, struct span *ret, struct error *error)
{
    const struct gguf_kv *kv = kv_find(gguf, key);

    if (!kv)
        return 1;
    if (kv->type != GGUF_STRING)
        return wrong_type(kv, key, "a string", error);
    *ret = gguf_string_at(gguf, kv->value_offset);
    return 0;
}

/* --- arrays --- */

int gguf_get_array(const struct gguf *gguf, const char *key, enum gguf_type element, struct gguf_array *ret,
                   struct error *error)
{
    const struct gguf_kv *kv = kv_find(gguf, key);
    char wanted[64];

    if (!kv)
        return 1;
    if (kv->type != GGUF_ARRAY || kv->element != element) {
        snprintf(wanted, sizeof(wanted), "an array of %s", gguf_type_name(element));
        return wrong_type(kv, key, wanted, error);
    }
    *ret = (struct gguf_array){ .type = element, .count = kv->count, .owner = gguf,
                                .kv = (uint64_t)(kv - gguf->kvs) };
    return 0;
}

static const uint8_t *array_at(const struct gguf_array *array, uint64_t index)
{
    const struct gguf_kv *kv = kv_at(array->owner, array->kv);

    check(kv->type == GGUF_ARRAY && kv->element == array->type && index < kv->count);
    return array->owner->window + kv->value_offset + index * gguf_type_bytes[kv->element];
}

struct span gguf_array_string(const struct gguf_array *array, uint64_t index)
{
    const struct gguf *gguf = array->owner;
    const struct gguf_kv *kv = kv_at(gguf, array->kv);

    check(kv->type == GGUF_ARRAY && kv->element == GGUF_STRING && index < kv->count);
    return gguf_string_at(gguf, gguf->strings[kv->first_string + index]);
}

int64_t gguf_array_i64(const struct gguf_array *array, uint64_t index)
{
    return load_integer(array_at(array, index), array->type);
}

double gguf_array_f64(const struct gguf_array *array, uint64_t index)
{
    return load_float(array_at(array, index), array->type);
}

/* --- for people --- */

static void print_string(struct span s, size_t limit, struct buffer *out)
{
    size_t at = 0;

    buffer_put_u8(out, '"');
    while (at < s.size && at < limit) {
        uint32_t c;
        size_t n = utf8_decode(s.data + at, s.size - at, &c);

        if (!n)
            buffer_printf(out, "\\x%02x", s.data[at]);
        else if (c == '\n')
            buffer_printf(out, "\\n");
        else if (c == '"' || c == '\\')
            buffer_printf(out, "\\%c", (int)c);
        else if (!utf8_is_printable(c))
            buffer_printf(out, "\\u{%" PRIx32 "}", c);
        else
            buffer_put(out, s.data + at, n);
        at += n ? n : 1;
    }
    buffer_put_u8(out, '"');
    if (at < s.size)
        buffer_printf(out, "… (%zu bytes)", s.size);
}

/* With the fewest digits that read back as the same number: 1e-06, not 9.99999997e-07. */
static void print_float(double value, enum gguf_type type, struct buffer *out)
{
    char text[40];
    double back;

    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        back = strtod(text, NULL);
        if (type == GGUF_F32 ? (float)back == (float)value : back == value)
            break;
    }
    buffer_printf(out, "%s", text);
}

static void print_scalar(const uint8_t *at, enum gguf_type type, struct buffer *out)
{
    if (type == GGUF_F32 || type == GGUF_F64)
        print_float(load_float(at, type), type, out);
    else if (type == GGUF_BOOL)
        buffer_printf(out, *at ? "true" : "false");
    else if (type == GGUF_U64)
        buffer_printf(out, "%" PRIu64, load_u64(at));
    else
        buffer_printf(out, "%" PRId64, load_integer(at, type));
}

static void print_array(const struct gguf *gguf, const struct gguf_kv *kv, struct buffer *out)
{
    buffer_printf(out, "%" PRIu32 " x %s [", kv->count, gguf_type_name(kv->element));
    for (uint32_t i = 0; i < kv->count && i < PRINT_ELEMENTS; i++) {
        buffer_printf(out, i ? ", " : "");
        if (kv->element == GGUF_STRING)
            print_string(gguf_string_at(gguf, gguf->strings[kv->first_string + i]), PRINT_ELEMENT_MAX, out);
        else
            print_scalar(gguf->window + kv->value_offset + i * gguf_type_bytes[kv->element], kv->element, out);
    }
    buffer_printf(out, kv->count > PRINT_ELEMENTS ? ", …]" : "]");
}

void gguf_kv_print(const struct gguf *gguf, uint64_t index, struct buffer *out)
{
    const struct gguf_kv *kv = kv_at(gguf, index);

    if (kv->type == GGUF_ARRAY)
        print_array(gguf, kv, out);
    else if (kv->type == GGUF_STRING)
        print_string(gguf_string_at(gguf, kv->value_offset), PRINT_STRING_MAX, out);
    else
        print_scalar(gguf->window + kv->value_offset, kv->type, out);
}
