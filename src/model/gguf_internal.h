/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What gguf.c, gguf_kv.c and gguf_read.c share.  Nobody else includes this.
 *
 * Everything is an offset into the header window, and the window is at most GGUF_HEADER_MAX (256 MiB), so offsets are
 * 32 bits.  Memory besides the window: 24 bytes a key, 80 a tensor, 4 an array string (at least 8 in the file), and
 * the two indexes.  With the limits of gguf.h that is below 160 MiB for the worst header of 256 MiB; the header of a
 * vocabulary of 262144 tokens (6.5 MB) takes 1.1 MB.
 */

#include "src/model/gguf.h"

#define GGUF_OBJECT_MAGIC UINT32_C(0x66756767)

struct gguf_kv {
    uint32_t key_offset, key_size;
    uint32_t value_offset;          /* scalars: the value; strings: their length prefix; arrays: the first element */
    uint32_t count;                 /* elements of an array, 1 for anything else */
    uint32_t first_string;          /* arrays of strings: where they begin in gguf.strings */
    uint8_t type, element;          /* enum gguf_type; element is valid for arrays */
};

/* Open addressing; a slot holds index + 1, 0 is empty.  At most half full. */
struct gguf_index {
    uint32_t *slots;
    uint32_t mask;
};

struct gguf {
    uint32_t magic;
    uint32_t version;
    const uint8_t *window;          /* borrowed from the caller of gguf_parse() … */
    size_t owned_bytes;             /* … or, where not 0, a mapping of gguf_read() */
    size_t header_bytes;            /* to the end of the tensor list, before padding */
    uint64_t hash_seed;
    uint32_t alignment;
    uint32_t kv_count, tensor_count;
    struct gguf_kv *kvs;            /* [kv_count] */
    struct gguf_tensor *tensors;    /* [tensor_count] */
    uint32_t *strings;              /* offsets of the length prefixes of all array strings, arrays in file order */
    uint32_t strings_count, strings_capacity;
    struct gguf_index kv_index, tensor_index;
};

/* Bytes of one value in the file; 0 for strings and arrays, whose size varies. */
extern const uint8_t gguf_type_bytes[GGUF_TYPE_COUNT];

/* The string whose length prefix is at @offset; proven to be inside the window when it was parsed. */
struct span gguf_string_at(const struct gguf *gguf, uint32_t offset);

/* The index of a key or tensor, or UINT32_MAX. */
uint32_t gguf_kv_lookup(const struct gguf *gguf, const char *key);
