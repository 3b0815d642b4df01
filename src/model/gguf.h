/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The directory of a GGUF file, versions 2 and 3 (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md):
 * metadata and tensor places.  Hostile input: bounded cursor, checked sums, limits; no raw-pointer accessor.
 * Immutable after gguf_parse(); any thread may read it.
 */

#include "kernels/block.h"
#include "src/base/bytes.h"
#include "src/base/error.h"

#define GGUF_DIMS_MAX 4             /* dimensions 1 … 2^40 each, 2^48 elements */
#define GGUF_HEADER_MAX (UINT64_C(256) << 20)
#define GGUF_NAME_MAX 65535         /* bytes of a key or a tensor's name; at least 1 */
#define GGUF_STRING_MAX (16 << 20)  /* bytes of a string value */
#define GGUF_KV_MAX (1 << 16)
#define GGUF_TENSORS_MAX (1 << 18)
#define GGUF_ALIGNMENT_MIN 8        /* general.alignment: a power of two */
#define GGUF_ALIGNMENT_MAX 65536

enum gguf_type {                    /* ids of the format */
    GGUF_U8, GGUF_I8, GGUF_U16, GGUF_I16, GGUF_U32, GGUF_I32, GGUF_F32, GGUF_BOOL, GGUF_STRING, GGUF_ARRAY,
    GGUF_U64, GGUF_I64, GGUF_F64, GGUF_TYPE_COUNT,
};

struct gguf_tensor {
    struct span name;               /* bytes, not NUL-terminated; points into the header */
    enum tensor_type type;          /* valid only where known */
    uint32_t file_type;
    bool known;                     /* a type of kernels/block.h, with a row that is whole blocks */
    uint32_t dims;
    uint64_t shape[GGUF_DIMS_MAX];  /* shape[0] is the row length; absent ones are 1 */
    uint64_t offset, bytes;         /* in the file, checked against its size; bytes 0 where not known */
};

struct gguf;

/*
 * Parses a header window, which the caller keeps as long as the directory.  0; GGUF_E_MORE when the window ends too
 * early (read more, parse again; never once it holds the file or GGUF_HEADER_MAX bytes); negative errno.
 */
enum { GGUF_E_MORE = 1 };
must_check int gguf_parse(const uint8_t *window, size_t size, uint64_t file_size, struct gguf **ret_gguf,
                          struct error *error);
/* Reads the header of an open regular file with growing windows, keeps it.  The file's position does not move. */
must_check int gguf_read(int fd, struct gguf **ret_gguf, struct error *error);
/* Opens a regular file for reading and nothing else.  *ret_fd is the caller's. */
must_check int gguf_open(const char *path, int *ret_fd, uint64_t *ret_bytes, struct error *error);
/* Both, for those who want the directory alone. */
must_check int gguf_read_file(const char *path, struct gguf **ret_gguf, struct error *error);
struct gguf *gguf_free(struct gguf *gguf);

uint32_t gguf_version(const struct gguf *gguf);
uint32_t gguf_alignment(const struct gguf *gguf);
uint64_t gguf_header_bytes(const struct gguf *gguf);    /* to the end of the list of tensors, before padding */
uint64_t gguf_tensor_count(const struct gguf *gguf);
const struct gguf_tensor *gguf_tensor_at(const struct gguf *gguf, uint64_t index);
const struct gguf_tensor *gguf_tensor_find(const struct gguf *gguf, const char *name);

/* Metadata by key.  Getters return 0, 1 when the key is absent, or -EINVAL with @error when its type is another. */
uint64_t gguf_kv_count(const struct gguf *gguf);
struct span gguf_kv_key(const struct gguf *gguf, uint64_t index);
enum gguf_type gguf_kv_type(const struct gguf *gguf, uint64_t index);
const char *gguf_type_name(enum gguf_type type);        /* "uint32" … */
bool gguf_has(const struct gguf *gguf, const char *key);
/* u64: any unsigned type, or a signed one that is >= 0.  f64: f32 or f64. */
must_check int gguf_get_u64(const struct gguf *gguf, const char *key, uint64_t *ret, struct error *error);
must_check int gguf_get_f64(const struct gguf *gguf, const char *key, double *ret, struct error *error);
must_check int gguf_get_bool(const struct gguf *gguf, const char *key, bool *ret, struct error *error);
must_check int gguf_get_string(const struct gguf *gguf, const char *key, struct span *ret, struct error *error);

/* Arrays: the handle is checked once for element type; elements are read by index. */
struct gguf_array {
    enum gguf_type type;
    uint64_t count;
    const struct gguf *owner;
    uint64_t kv;                    /* index of the key */
};
must_check int gguf_get_array(const struct gguf *gguf, const char *key, enum gguf_type element, struct gguf_array *ret,
                              struct error *error);
/* index < count, checked.  Strings are indexed at parse time: constant time. */
struct span gguf_array_string(const struct gguf_array *array, uint64_t index);
int64_t gguf_array_i64(const struct gguf_array *array, uint64_t index);     /* integers, bool; u64 saturates */
double gguf_array_f64(const struct gguf_array *array, uint64_t index);      /* f32, f64 */

/*
 * Renders a value for a person, for `tenon inspect`: arrays as their first elements, long strings cut, control and
 * direction characters and bytes that are no UTF-8 escaped.
 */
void gguf_kv_print(const struct gguf *gguf, uint64_t index, struct buffer *out);
