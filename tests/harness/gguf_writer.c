/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/harness/gguf_writer.h"

#include <string.h>

static void put_string(struct buffer *b, const void *data, size_t size)
{
    buffer_put_u64(b, size);
    buffer_put(b, data, size);
}

static void put_padding(struct buffer *b, size_t alignment)
{
    while (b->size % alignment)
        buffer_put_u8(b, 0);
}

/* --- metadata --- */

static void begin(struct gguf_writer *w, const char *key, enum gguf_type type)
{
    put_string(&w->kv_bytes, key, strlen(key));
    buffer_put_u32(&w->kv_bytes, type);
    w->kvs++;
}

static void scalar(struct gguf_writer *w, const char *key, enum gguf_type type, const void *value, size_t size)
{
    begin(w, key, type);
    buffer_put(&w->kv_bytes, value, size);
}

#define SCALAR(suffix, c_type, type)                                                                        \
    void gguf_writer_##suffix(struct gguf_writer *w, const char *key, c_type value)                         \
    {                                                                                                       \
        scalar(w, key, type, &value, sizeof(value));                                                        \
    }

SCALAR(u8, uint8_t, GGUF_U8)
SCALAR(i8, int8_t, GGUF_I8)
SCALAR(u16, uint16_t, GGUF_U16)
SCALAR(i16, int16_t, GGUF_I16)
SCALAR(u32, uint32_t, GGUF_U32)
SCALAR(i32, int32_t, GGUF_I32)
SCALAR(u64, uint64_t, GGUF_U64)
SCALAR(i64, int64_t, GGUF_I64)
SCALAR(f32, float, GGUF_F32)
SCALAR(f64, double, GGUF_F64)

void gguf_writer_bool(struct gguf_writer *w, const char *key, bool value)
{
    uint8_t byte = value;

    scalar(w, key, GGUF_BOOL, &byte, 1);
}

void gguf_writer_bytes(struct gguf_writer *w, const char *key, const void *value, size_t size)
{
    begin(w, key, GGUF_STRING);
    put_string(&w->kv_bytes, value, size);
}

void gguf_writer_string(struct gguf_writer *w, const char *key, const char *value)
{
    gguf_writer_bytes(w, key, value, strlen(value));
}

static void begin_array(struct gguf_writer *w, const char *key, enum gguf_type element, uint64_t count)
{
    begin(w, key, GGUF_ARRAY);
    buffer_put_u32(&w->kv_bytes, element);
    buffer_put_u64(&w->kv_bytes, count);
}

void gguf_writer_array(struct gguf_writer *w, const char *key, enum gguf_type element, const void *values,
                       uint64_t count)
{
    static const uint8_t bytes[GGUF_TYPE_COUNT] = {
        [GGUF_U8] = 1, [GGUF_I8] = 1, [GGUF_U16] = 2, [GGUF_I16] = 2, [GGUF_U32] = 4, [GGUF_I32] = 4,
        [GGUF_F32] = 4, [GGUF_BOOL] = 1, [GGUF_U64] = 8, [GGUF_I64] = 8, [GGUF_F64] = 8,
    };

    check(bytes[element]);
    begin_array(w, key, element, count);
    buffer_put(&w->kv_bytes, values, count * bytes[element]);
}

void gguf_writer_strings(struct gguf_writer *w, const char *key, const char *const *values, uint64_t count)
{
    begin_array(w, key, GGUF_STRING, count);
    for (uint64_t i = 0; i < count; i++)
        put_string(&w->kv_bytes, values[i], strlen(values[i]));
}

void gguf_writer_spans(struct gguf_writer *w, const char *key, const struct span *values, uint64_t count)
{
    begin_array(w, key, GGUF_STRING, count);
    for (uint64_t i = 0; i < count; i++)
        put_string(&w->kv_bytes, values[i].data, values[i].size);
}

void gguf_writer_alignment(struct gguf_writer *w, uint32_t alignment)
{
    check(!w->tensors && alignment);
    w->alignment = alignment;
    gguf_writer_u32(w, "general.alignment", alignment);
}

void gguf_writer_raw(struct gguf_writer *w, const void *key, size_t key_size, uint32_t type, const void *value,
                     size_t value_size)
{
    put_string(&w->kv_bytes, key, key_size);
    buffer_put_u32(&w->kv_bytes, type);
    buffer_put(&w->kv_bytes, value, value_size);
    w->kvs++;
}

/* --- tensors --- */

size_t gguf_writer_tensor_bytes(enum tensor_type type, uint32_t dims, const uint64_t *shape)
{
    const struct tensor_type_info *info = &tensor_types[type];
    size_t bytes = shape[0] / info->block_values * info->block_bytes;

    check(dims && shape[0] % info->block_values == 0);
    for (uint32_t i = 1; i < dims; i++)
        bytes *= shape[i];
    return bytes;
}

void gguf_writer_tensor_raw(struct gguf_writer *w, const struct gguf_writer_claim *claim)
{
    buffer_put_u64(&w->tensor_bytes, claim->claimed_name_size ? claim->claimed_name_size : claim->name_size);
    buffer_put(&w->tensor_bytes, claim->name, claim->name_size);
    buffer_put_u32(&w->tensor_bytes, claim->dims);
    for (uint32_t i = 0; i < claim->dims && i < ARRAY_LENGTH(claim->shape); i++)
        buffer_put_u64(&w->tensor_bytes, claim->shape[i]);
    buffer_put_u32(&w->tensor_bytes, claim->file_type);
    buffer_put_u64(&w->tensor_bytes, claim->offset);
    w->tensors++;
}

static void put_zeros(struct buffer *b, size_t size)
{
    static const uint8_t zeros[4096];

    for (; size > sizeof(zeros); size -= sizeof(zeros))
        buffer_put(b, zeros, sizeof(zeros));
    buffer_put(b, zeros, size);
}

size_t gguf_writer_tensor(struct gguf_writer *w, const char *name, enum tensor_type type, uint32_t dims,
                          const uint64_t *shape, const void *data)
{
    struct gguf_writer_claim claim = {
        .name = name, .name_size = strlen(name), .dims = dims, .file_type = tensor_types[type].file_id,
    };
    size_t bytes = gguf_writer_tensor_bytes(type, dims, shape);

    check(dims <= GGUF_DIMS_MAX);
    memcpy(claim.shape, shape, dims * sizeof(*shape));
    put_padding(&w->data, w->alignment);
    claim.offset = w->data.size;
    gguf_writer_tensor_raw(w, &claim);
    if (data)
        buffer_put(&w->data, data, bytes);
    else
        put_zeros(&w->data, bytes);
    return bytes;
}

/* Where a name begins that was added with its length before it, or SIZE_MAX. */
static size_t name_at(const struct buffer *b, const char *name)
{
    struct buffer entry = BUFFER_NULL;
    const uint8_t *at;

    put_string(&entry, name, strlen(name));
    check(buffer_ok(&entry));
    at = b->size ? memmem(b->data, b->size, entry.data, entry.size) : NULL;
    buffer_deinit(&entry);
    return at ? (size_t)(at - b->data) + 8 : SIZE_MAX;
}

bool gguf_writer_forget_key(struct gguf_writer *w, const char *key)
{
    size_t at = name_at(&w->kv_bytes, key);

    if (at == SIZE_MAX)
        return false;
    w->kv_bytes.data[at] = '!';
    return true;
}

bool gguf_writer_forget_tensor(struct gguf_writer *w, const char *name)
{
    struct buffer *b = &w->tensor_bytes;
    size_t at = name_at(b, name), dims, end;

    if (at == SIZE_MAX)
        return false;
    dims = at + strlen(name);
    end = dims + 4 + (size_t)load_u32(b->data + dims) * 8 + 4 + 8;
    memmove(b->data + at - 8, b->data + end, b->size - end);
    b->size -= end - (at - 8);
    w->tensors--;
    return true;
}

void gguf_writer_data(struct gguf_writer *w, const void *data, size_t size)
{
    put_padding(&w->data, w->alignment);
    if (data)
        buffer_put(&w->data, data, size);
    else
        put_zeros(&w->data, size);
}

void gguf_writer_finish(struct gguf_writer *w, struct buffer *file)
{
    size_t start = file->size;
    struct buffer head = BUFFER_NULL;

    buffer_put(&head, w->magic, sizeof(w->magic));
    buffer_put_u32(&head, w->version);
    buffer_put_u64(&head, w->claimed_tensors == GGUF_WRITER_SAME ? w->tensors : w->claimed_tensors);
    buffer_put_u64(&head, w->claimed_kvs == GGUF_WRITER_SAME ? w->kvs : w->claimed_kvs);
    buffer_put(&head, w->kv_bytes.data, w->kv_bytes.size);
    buffer_put(&head, w->tensor_bytes.data, w->tensor_bytes.size);
    if (w->data.size || !w->tight)
        put_padding(&head, w->alignment);
    if (!w->tight)
        put_padding(&w->data, w->alignment);
    buffer_put(file, head.data, head.size);
    buffer_put(file, w->data.data, w->data.size);
    check(buffer_ok(&w->kv_bytes) && buffer_ok(&w->tensor_bytes) && buffer_ok(&w->data) && buffer_ok(&head));
    check(buffer_ok(file) && file->size >= start + head.size);
    buffer_deinit(&head);
    buffer_deinit(&w->kv_bytes);
    buffer_deinit(&w->tensor_bytes);
    buffer_deinit(&w->data);
    *w = (struct gguf_writer)GGUF_WRITER_INIT;
}

size_t gguf_writer_find(const struct buffer *file, const char *needle)
{
    const uint8_t *at = memmem(file->data, file->size, needle, strlen(needle));

    return at ? (size_t)(at - file->data) : SIZE_MAX;
}
