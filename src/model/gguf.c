/* SPDX-License-Identifier: Apache-2.0 */
#include "src/model/gguf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "src/base/hash.h"
#include "src/model/gguf_internal.h"

/* The least that an entry takes: a key of 1 byte, its length, type and a value of 1 byte; a name, one dim, … */
#define KV_BYTES_MIN 14
#define TENSOR_BYTES_MIN 33

#define DIM_MAX (UINT64_C(1) << 40)
#define ELEMENTS_MAX (UINT64_C(1) << 48)
#define ALIGNMENT_DEFAULT 32
#define NAME_SHOWN 80               /* bytes of a foreign name in a message */

/*
 * A header is judged against two ends.  @limit is where it must end at the latest: the file's size, or
 * GGUF_HEADER_MAX.  Past that nothing can help, so it is an error.  The cursor ends with the window; past that the
 * caller can read more.  Whatever the file claims is compared with @limit first, so a wild number is refused at once
 * instead of making the reader fetch the whole file, and memory is only allocated for what is in the window.
 */
struct parser {
    struct cursor cursor;
    uint64_t limit, file_size;
    struct gguf *gguf;
    struct error *error;
};

const uint8_t gguf_type_bytes[GGUF_TYPE_COUNT] = {
    [GGUF_U8] = 1,  [GGUF_I8] = 1,  [GGUF_U16] = 2,  [GGUF_I16] = 2, [GGUF_U32] = 4, [GGUF_I32] = 4,
    [GGUF_F32] = 4, [GGUF_BOOL] = 1, [GGUF_U64] = 8, [GGUF_I64] = 8, [GGUF_F64] = 8,
};

struct span gguf_string_at(const struct gguf *gguf, uint32_t offset)
{
    return (struct span){ .data = gguf->window + offset + 8, .size = load_u64(gguf->window + offset) };
}

/* --- names and their index --- */

typedef struct span (*name_func)(const struct gguf *gguf, uint32_t index);

static struct span kv_name(const struct gguf *gguf, uint32_t index)
{
    const struct gguf_kv *kv = &gguf->kvs[index];

    return (struct span){ .data = gguf->window + kv->key_offset, .size = kv->key_size };
}

static struct span tensor_name(const struct gguf *gguf, uint32_t index)
{
    return gguf->tensors[index].name;
}

static int index_init(struct gguf_index *index, uint32_t count)
{
    uint32_t slots = 16;

    while (slots < 2 * count)       /* count <= GGUF_TENSORS_MAX: no overflow */
        slots *= 2;
    index->slots = calloc(slots, sizeof(*index->slots));
    index->mask = slots - 1;
    return index->slots ? 0 : -ENOMEM;
}

/* The slot that holds @name, or the empty one where it belongs.  The seed keeps a file from aiming at one chain. */
static uint32_t *index_slot(const struct gguf *gguf, const struct gguf_index *index, name_func name_of,
                            struct span name)
{
    uint64_t at = hash64(name.data, name.size, gguf->hash_seed);

    for (;; at++) {
        uint32_t *slot = &index->slots[at & index->mask];
        struct span other;

        if (!*slot)
            return slot;
        other = name_of(gguf, *slot - 1);
        if (other.size == name.size && !memcmp(other.data, name.data, name.size))
            return slot;
    }
}

static uint32_t index_find(const struct gguf *gguf, const struct gguf_index *index, name_func name_of,
                           const char *name)
{
    return *index_slot(gguf, index, name_of, (struct span){ .data = (const uint8_t *)name, .size = strlen(name) }) - 1;
}

uint32_t gguf_kv_lookup(const struct gguf *gguf, const char *key)
{
    return index_find(gguf, &gguf->kv_index, kv_name, key);
}

/* --- what is left --- */

/* Asks for @size bytes at the cursor: 0, GGUF_E_MORE, or an error that says who wanted them. */
static int need(struct parser *p, uint64_t size, const char *what)
{
    uint64_t left = p->limit - p->cursor.position;

    if (size <= cursor_left(&p->cursor))
        return 0;
    if (size <= left)
        return GGUF_E_MORE;
    if (p->limit < p->file_size)
        return error_set(p->error, -EFBIG, "%s at byte %zu needs %" PRIu64 " bytes, which takes the header over the "
                         "limit of %" PRIu64 " bytes", what, p->cursor.position, size, (uint64_t)GGUF_HEADER_MAX);
    return error_set(p->error, -EINVAL, "%s at byte %zu needs %" PRIu64 " bytes, but the file has only %" PRIu64
                     " more: it is truncated or damaged", what, p->cursor.position, size, left);
}

/* A string of min..max bytes, with the offset of its length prefix. */
static int parse_string(struct parser *p, const char *what, uint64_t min, uint64_t max, uint32_t *ret_offset,
                        struct span *ret_string)
{
    size_t start = p->cursor.position;
    uint64_t size;
    int r = need(p, sizeof(size), what);

    if (r)
        return r;
    cursor_u64(&p->cursor, &size);
    if (size < min || size > max)
        return error_set(p->error, -EINVAL, "%s at byte %zu claims %" PRIu64 " bytes; %" PRIu64 " to %" PRIu64
                         " are allowed", what, start, size, min, max);
    r = need(p, size, what);
    if (r)
        return r;
    cursor_take(&p->cursor, (size_t)size, ret_string);
    *ret_offset = (uint32_t)start;
    return 0;
}

/* --- metadata --- */

static int check_bools(struct parser *p, struct span bytes)
{
    for (size_t i = 0; i < bytes.size; i++)
        if (bytes.data[i] > 1)
            return error_set(p->error, -EINVAL, "a bool has the value %u; 0 and 1 are allowed", bytes.data[i]);
    return 0;
}

/* Room for @more strings, whose length prefixes are in the window; so are all that can still come. */
static int strings_reserve(struct parser *p, uint32_t more)
{
    struct gguf *gguf = p->gguf;
    uint32_t count = gguf->strings_count + more;    /* <= GGUF_HEADER_MAX / 8 */
    uint32_t capacity = (uint32_t)min_u64(2 * gguf->strings_capacity, p->cursor.size / 8);
    uint32_t *strings;

    if (count <= gguf->strings_capacity)
        return 0;
    if (capacity < count)
        capacity = count;
    strings = realloc(gguf->strings, capacity * sizeof(*strings));
    if (!strings)
        return -ENOMEM;
    gguf->strings = strings;
    gguf->strings_capacity = capacity;
    return 0;
}

/* Notes where each string of an array begins, so that reading one by index takes constant time later. */
static int parse_array_strings(struct parser *p, struct gguf_kv *kv)
{
    struct gguf *gguf = p->gguf;
    struct span ignored;
    int r = strings_reserve(p, kv->count);

    if (r)
        return error_set(p->error, r, "no memory for an array of %" PRIu32 " strings", kv->count);
    kv->first_string = gguf->strings_count;
    for (uint32_t i = 0; i < kv->count; i++) {
        r = parse_string(p, "a string in an array", 0, GGUF_STRING_MAX, &gguf->strings[gguf->strings_count], &ignored);
        if (r)
            return r;
        gguf->strings_count++;
    }
    return 0;
}

static int parse_array(struct parser *p, struct gguf_kv *kv)
{
    uint32_t element;
    uint64_t count, bytes;
    struct span values;
    int r = need(p, sizeof(element) + sizeof(count), "an array");

    if (r)
        return r;
    cursor_u32(&p->cursor, &element);
    cursor_u64(&p->cursor, &count);
    if (element == GGUF_ARRAY)
        return error_set(p->error, -EINVAL, "an array of arrays; only flat arrays are read");
    if (element >= GGUF_TYPE_COUNT)
        return error_set(p->error, -EINVAL, "an array of elements of the unknown type %" PRIu32, element);
    if (ckd_mul(&bytes, count, (uint64_t)(element == GGUF_STRING ? 8 : gguf_type_bytes[element])))
        bytes = UINT64_MAX;
    r = need(p, bytes, "an array");
    if (r)
        return r;
    kv->element = (uint8_t)element;
    kv->count = (uint32_t)count;    /* the window holds at least that many bytes */
    kv->value_offset = (uint32_t)p->cursor.position;
    if (element == GGUF_STRING)
        return parse_array_strings(p, kv);
    cursor_take(&p->cursor, (size_t)bytes, &values);
    return element == GGUF_BOOL ? check_bools(p, values) : 0;
}

static int parse_value(struct parser *p, struct gguf_kv *kv)
{
    struct span value;
    uint32_t type;
    int r = need(p, sizeof(type), "a value's type");

    if (r)
        return r;
    cursor_u32(&p->cursor, &type);
    if (type >= GGUF_TYPE_COUNT)
        return error_set(p->error, -EINVAL, "unknown value type %" PRIu32, type);
    kv->type = (uint8_t)type;
    kv->count = 1;
    if (type == GGUF_ARRAY)
        return parse_array(p, kv);
    if (type == GGUF_STRING)
        return parse_string(p, "a string", 0, GGUF_STRING_MAX, &kv->value_offset, &value);
    kv->value_offset = (uint32_t)p->cursor.position;
    r = need(p, gguf_type_bytes[type], "a value");
    if (r)
        return r;
    cursor_take(&p->cursor, gguf_type_bytes[type], &value);
    return type == GGUF_BOOL ? check_bools(p, value) : 0;
}

/* Entries are published one by one: kv_count says how many the index may speak of. */
static int parse_kv(struct parser *p)
{
    struct gguf *gguf = p->gguf;
    struct gguf_kv *kv = &gguf->kvs[gguf->kv_count];
    uint32_t offset, *slot;
    struct span key;
    int r = parse_string(p, "a key", 1, GGUF_NAME_MAX, &offset, &key);

    if (r)
        return r;
    kv->key_offset = offset + 8;
    kv->key_size = (uint32_t)key.size;
    slot = index_slot(gguf, &gguf->kv_index, kv_name, key);
    r = *slot ? error_set(p->error, -EINVAL, "the key is there twice") : parse_value(p, kv);
    if (r < 0)
        error_prefix(p->error, "metadata '%.*s'", (int)min_u64(key.size, NAME_SHOWN), (const char *)key.data);
    if (r)
        return r;
    *slot = ++gguf->kv_count;
    return 0;
}

static int parse_kvs(struct parser *p, uint64_t count)
{
    int r = need(p, count * KV_BYTES_MIN, "the list of keys");      /* count <= GGUF_KV_MAX */

    if (r)
        return r;
    p->gguf->kvs = calloc(count + 1, sizeof(*p->gguf->kvs));
    if (!p->gguf->kvs || index_init(&p->gguf->kv_index, (uint32_t)count))
        return error_set(p->error, -ENOMEM, "no memory for %" PRIu64 " keys", count);
    for (uint64_t i = 0; i < count && !r; i++)
        r = parse_kv(p);
    return r;
}

static int parse_alignment(struct parser *p)
{
    struct gguf *gguf = p->gguf;
    uint32_t at = gguf_kv_lookup(gguf, "general.alignment");
    uint32_t alignment;

    gguf->alignment = ALIGNMENT_DEFAULT;
    if (at == UINT32_MAX)
        return 0;
    if (gguf->kvs[at].type != GGUF_U32)
        return error_set(p->error, -EINVAL, "general.alignment is %s; the format asks for uint32",
                         gguf_type_name(gguf->kvs[at].type));
    alignment = load_u32(gguf->window + gguf->kvs[at].value_offset);
    if (alignment < GGUF_ALIGNMENT_MIN || alignment > GGUF_ALIGNMENT_MAX || (alignment & (alignment - 1)))
        return error_set(p->error, -EINVAL, "general.alignment is %" PRIu32 "; a power of two from %d to %d is needed",
                         alignment, GGUF_ALIGNMENT_MIN, GGUF_ALIGNMENT_MAX);
    gguf->alignment = alignment;
    return 0;
}

/* --- tensors --- */

static int parse_shape(struct parser *p, struct gguf_tensor *tensor)
{
    uint64_t elements = 1;
    int r = need(p, sizeof(uint32_t), "a tensor's shape");

    if (r)
        return r;
    cursor_u32(&p->cursor, &tensor->dims);
    if (!tensor->dims || tensor->dims > GGUF_DIMS_MAX)
        return error_set(p->error, -EINVAL, "%" PRIu32 " dimensions; 1 to %d are allowed", tensor->dims,
                         GGUF_DIMS_MAX);
    r = need(p, tensor->dims * sizeof(uint64_t) + sizeof(uint32_t) + sizeof(uint64_t), "a tensor's shape");
    if (r)
        return r;
    for (uint32_t i = 0; i < GGUF_DIMS_MAX; i++) {
        uint64_t *dim = &tensor->shape[i];

        *dim = 1;
        if (i < tensor->dims)
            cursor_u64(&p->cursor, dim);
        if (!*dim || *dim > DIM_MAX)
            return error_set(p->error, -EINVAL, "dimension %" PRIu32 " is %" PRIu64 "; 1 to 2^40 are allowed", i,
                             *dim);
        if (ckd_mul(&elements, elements, *dim) || elements > ELEMENTS_MAX)
            return error_set(p->error, -EINVAL, "more than 2^48 elements");
    }
    return 0;
}

/* Bytes of a tensor of a known type; elements <= 2^48 and at most 4 bytes each, but sums are checked all the same. */
static int resolve_type(struct parser *p, struct gguf_tensor *tensor)
{
    const struct tensor_type_info *info;
    uint64_t rows = tensor->shape[1] * tensor->shape[2] * tensor->shape[3];     /* <= 2^48, by parse_shape() */

    if (tensor_type_from_file(tensor->file_type, &tensor->type))
        return 0;
    info = &tensor_types[tensor->type];
    if (tensor->shape[0] % info->block_values)
        return 0;
    if (ckd_mul(&tensor->bytes, tensor->shape[0] / info->block_values, (uint64_t)info->block_bytes) ||
        ckd_mul(&tensor->bytes, tensor->bytes, rows))
        return error_set(p->error, -EINVAL, "its size does not fit in 64 bits");
    tensor->known = true;
    return 0;
}

static int parse_tensor(struct parser *p)
{
    struct gguf *gguf = p->gguf;
    struct gguf_tensor *tensor = &gguf->tensors[gguf->tensor_count];
    uint32_t ignored, *slot;
    int r = parse_string(p, "a tensor's name", 1, GGUF_NAME_MAX, &ignored, &tensor->name);

    if (r)
        return r;
    slot = index_slot(gguf, &gguf->tensor_index, tensor_name, tensor->name);
    r = *slot ? error_set(p->error, -EINVAL, "a tensor of this name is there twice") : parse_shape(p, tensor);
    if (!r) {
        cursor_u32(&p->cursor, &tensor->file_type);     /* parse_shape() asked for these too */
        cursor_u64(&p->cursor, &tensor->offset);
        r = resolve_type(p, tensor);
    }
    if (r < 0)
        error_prefix(p->error, "tensor '%.*s'", (int)min_u64(tensor->name.size, NAME_SHOWN),
                     (const char *)tensor->name.data);
    if (r)
        return r;
    *slot = ++gguf->tensor_count;
    return 0;
}

/*
 * From offsets within the data to places in the file.  Ranges must ascend without overlapping, as every writer of the
 * format lays them out; so no two tensors share bytes and the loader reads forward.  A type that we do not know has no
 * size here: only where it begins is checked.
 */
static int place_tensor(struct parser *p, struct gguf_tensor *tensor, uint64_t data_start, uint64_t *end)
{
    uint64_t start;

    if (tensor->offset & (p->gguf->alignment - 1))
        return error_set(p->error, -EINVAL, "its offset %" PRIu64 " is no multiple of the alignment %" PRIu32,
                         tensor->offset, p->gguf->alignment);
    if (ckd_add(&start, data_start, tensor->offset))
        return error_set(p->error, -EINVAL, "its offset %" PRIu64 " does not fit in 64 bits", tensor->offset);
    if (start < *end)
        return error_set(p->error, -EINVAL, "it begins at byte %" PRIu64 ", inside or before the tensor listed before "
                         "it, which ends at %" PRIu64, start, *end);
    if (start > p->file_size || tensor->bytes > p->file_size - start)
        return error_set(p->error, -EINVAL, "it takes %" PRIu64 " bytes from byte %" PRIu64 " on, but the file has "
                         "%" PRIu64 " bytes: it is truncated or damaged; copy or download it again",
                         tensor->bytes, start, p->file_size);
    tensor->offset = start;
    *end = start + tensor->bytes;
    return 0;
}

static int place_tensors(struct parser *p)
{
    struct gguf *gguf = p->gguf;
    uint64_t data_start = align_up(p->cursor.position, gguf->alignment);    /* position <= GGUF_HEADER_MAX */
    uint64_t end = data_start;

    for (uint32_t i = 0; i < gguf->tensor_count; i++) {
        struct gguf_tensor *tensor = &gguf->tensors[i];
        int r = place_tensor(p, tensor, data_start, &end);

        if (r) {
            error_prefix(p->error, "tensor '%.*s'", (int)min_u64(tensor->name.size, NAME_SHOWN),
                         (const char *)tensor->name.data);
            return r;
        }
    }
    return 0;
}

static int parse_tensors(struct parser *p, uint64_t count)
{
    int r = need(p, count * TENSOR_BYTES_MIN, "the list of tensors");       /* count <= GGUF_TENSORS_MAX */

    if (r)
        return r;
    p->gguf->tensors = calloc(count + 1, sizeof(*p->gguf->tensors));
    if (!p->gguf->tensors || index_init(&p->gguf->tensor_index, (uint32_t)count))
        return error_set(p->error, -ENOMEM, "no memory for %" PRIu64 " tensors", count);
    for (uint64_t i = 0; i < count && !r; i++)
        r = parse_tensor(p);
    return r ? r : place_tensors(p);
}

/* --- the whole --- */

static int parse_version(struct parser *p)
{
    uint32_t magic, version;
    int r = need(p, sizeof(magic), "the magic");

    if (r)
        return r;
    cursor_u32(&p->cursor, &magic);
    if (magic != load_u32("GGUF"))
        return error_set(p->error, -EINVAL, "this is not a GGUF file: it begins with %08" PRIx32 ", not with \"GGUF\"",
                         __builtin_bswap32(magic));
    r = need(p, sizeof(version), "the version");
    if (r)
        return r;
    cursor_u32(&p->cursor, &version);
    if (version && !(version & 0xffff))
        return error_set(p->error, -ENOTSUP, "this is a big-endian GGUF file (version %" PRIu32 "); convert it to "
                         "little-endian", __builtin_bswap32(version));
    if (version == 1)
        return error_set(p->error, -ENOTSUP, "GGUF version 1 is no longer read (2 and 3 are); convert the model again "
                         "with a present-day converter");
    if (version != 2 && version != 3)
        return error_set(p->error, -ENOTSUP, "GGUF version %" PRIu32 " is unknown (2 and 3 are read)", version);
    p->gguf->version = version;
    return 0;
}

static int parse_all(struct parser *p)
{
    uint64_t kv_count, tensor_count;
    int r = parse_version(p);

    if (r)
        return r;
    r = need(p, sizeof(tensor_count) + sizeof(kv_count), "the counts");
    if (r)
        return r;
    cursor_u64(&p->cursor, &tensor_count);
    cursor_u64(&p->cursor, &kv_count);
    if (tensor_count > GGUF_TENSORS_MAX || kv_count > GGUF_KV_MAX)
        return error_set(p->error, -EINVAL, "the file claims %" PRIu64 " tensors and %" PRIu64 " keys; at most %d and "
                         "%d are read", tensor_count, kv_count, GGUF_TENSORS_MAX, GGUF_KV_MAX);
    r = need(p, tensor_count * TENSOR_BYTES_MIN + kv_count * KV_BYTES_MIN, "the list of keys and tensors");
    if (!r)
        r = parse_kvs(p, kv_count);
    if (!r)
        r = parse_alignment(p);
    if (!r)
        r = parse_tensors(p, tensor_count);
    p->gguf->header_bytes = p->cursor.position;
    return r;
}

int gguf_parse(const uint8_t *window, size_t size, uint64_t file_size, struct gguf **ret_gguf, struct error *error)
{
    struct parser p = { .file_size = file_size, .limit = min_u64(file_size, GGUF_HEADER_MAX), .error = error };
    int r;

    p.cursor = cursor_of(window, (size_t)min_u64(size, p.limit));
    p.gguf = calloc(1, sizeof(*p.gguf));
    if (!p.gguf)
        return error_set(error, -ENOMEM, "no memory for a GGUF directory");
    p.gguf->magic = GGUF_OBJECT_MAGIC;
    p.gguf->window = window;
    if (getrandom(&p.gguf->hash_seed, sizeof(p.gguf->hash_seed), GRND_NONBLOCK) < 0)
        p.gguf->hash_seed = (uintptr_t)p.gguf;      /* early boot: still not the file's choice */
    r = parse_all(&p);
    if (r) {
        gguf_free(p.gguf);
        return r;
    }
    *ret_gguf = p.gguf;
    return 0;
}

struct gguf *gguf_free(struct gguf *gguf)
{
    if (!gguf)
        return NULL;
    check(gguf->magic == GGUF_OBJECT_MAGIC);
    gguf->magic = 0;
    if (gguf->owned_bytes)
        munmap((void *)gguf->window, gguf->owned_bytes);
    free(gguf->kvs);
    free(gguf->tensors);
    free(gguf->strings);
    free(gguf->kv_index.slots);
    free(gguf->tensor_index.slots);
    free(gguf);
    return NULL;
}

uint32_t gguf_version(const struct gguf *gguf) { return gguf->version; }
uint32_t gguf_alignment(const struct gguf *gguf) { return gguf->alignment; }
uint64_t gguf_header_bytes(const struct gguf *gguf) { return gguf->header_bytes; }
uint64_t gguf_tensor_count(const struct gguf *gguf) { return gguf->tensor_count; }

const struct gguf_tensor *gguf_tensor_at(const struct gguf *gguf, uint64_t index)
{
    check(index < gguf->tensor_count);
    return &gguf->tensors[index];
}

const struct gguf_tensor *gguf_tensor_find(const struct gguf *gguf, const char *name)
{
    uint32_t at = index_find(gguf, &gguf->tensor_index, tensor_name, name);

    return at == UINT32_MAX ? NULL : &gguf->tensors[at];
}
