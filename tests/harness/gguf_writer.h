/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writes a GGUF file in memory, valid unless asked otherwise.  For tests: running out of memory ends the program.
 *
 *     struct gguf_writer w = GGUF_WRITER_INIT;
 *     struct buffer file = BUFFER_NULL;
 *
 *     gguf_writer_string(&w, "general.architecture", "llama");
 *     gguf_writer_u32(&w, "llama.block_count", 2);
 *     gguf_writer_tensor(&w, "output_norm.weight", TENSOR_F32, 1, (uint64_t[]){ 256 }, weights);
 *     gguf_writer_finish(&w, &file);           (releases the writer)
 *     … file.data, file.size …
 *     buffer_deinit(&file);
 *
 * Faults: the fields of the first part may be set to anything before gguf_writer_finish(); gguf_writer_raw() and
 * gguf_writer_tensor_raw() put what no valid file has.  What is left to break is a patch of file.data, for which
 * gguf_writer_find() tells the place.
 */

#include "kernels/block.h"
#include "src/base/bytes.h"
#include "src/model/gguf.h"

#define GGUF_WRITER_SAME UINT64_MAX

struct gguf_writer {
    char magic[4];
    uint32_t version;
    uint32_t alignment;             /* of tensor data; another than 32 needs the key too: gguf_writer_alignment() */
    uint64_t claimed_kvs;           /* GGUF_WRITER_SAME: as many as were added */
    uint64_t claimed_tensors;
    bool tight;                     /* no padding after the last tensor (or, without tensors, after the header) */

    uint64_t kvs, tensors;          /* how many were added */
    struct buffer kv_bytes, tensor_bytes, data;
};

#define GGUF_WRITER_INIT { .magic = "GGUF", .version = 3, .alignment = 32, .claimed_kvs = GGUF_WRITER_SAME, \
                           .claimed_tensors = GGUF_WRITER_SAME }

/* Sets the alignment and adds general.alignment.  Before the first tensor. */
void gguf_writer_alignment(struct gguf_writer *w, uint32_t alignment);

/* Metadata.  Keys are not compared: the same one twice is a fault to order. */
void gguf_writer_u8(struct gguf_writer *w, const char *key, uint8_t value);
void gguf_writer_i8(struct gguf_writer *w, const char *key, int8_t value);
void gguf_writer_u16(struct gguf_writer *w, const char *key, uint16_t value);
void gguf_writer_i16(struct gguf_writer *w, const char *key, int16_t value);
void gguf_writer_u32(struct gguf_writer *w, const char *key, uint32_t value);
void gguf_writer_i32(struct gguf_writer *w, const char *key, int32_t value);
void gguf_writer_u64(struct gguf_writer *w, const char *key, uint64_t value);
void gguf_writer_i64(struct gguf_writer *w, const char *key, int64_t value);
void gguf_writer_f32(struct gguf_writer *w, const char *key, float value);
void gguf_writer_f64(struct gguf_writer *w, const char *key, double value);
void gguf_writer_bool(struct gguf_writer *w, const char *key, bool value);
void gguf_writer_string(struct gguf_writer *w, const char *key, const char *value);
void gguf_writer_bytes(struct gguf_writer *w, const char *key, const void *value, size_t size);    /* a string too */

/* Arrays: @values are C values of the element type (a bool is one byte), little-endian as the host is. */
void gguf_writer_array(struct gguf_writer *w, const char *key, enum gguf_type element, const void *values,
                       uint64_t count);
void gguf_writer_strings(struct gguf_writer *w, const char *key, const char *const *values, uint64_t count);
void gguf_writer_spans(struct gguf_writer *w, const char *key, const struct span *values, uint64_t count);

/*
 * A tensor with its data, aligned.  shape[0] is the row length and must be whole blocks.  @data NULL: zeros.
 * Returns its size in bytes.
 */
size_t gguf_writer_tensor(struct gguf_writer *w, const char *name, enum tensor_type type, uint32_t dims,
                          const uint64_t *shape, const void *data);
/* The size that such a tensor has. */
size_t gguf_writer_tensor_bytes(enum tensor_type type, uint32_t dims, const uint64_t *shape);

/* --- faults --- */

/* A key of any bytes, any type id and any bytes of value. */
void gguf_writer_raw(struct gguf_writer *w, const void *key, size_t key_size, uint32_t type, const void *value,
                     size_t value_size);

/*
 * Takes back what was added, so that something else may be put in its place.  A key's entry stays, under another name
 * of the same length; a tensor's entry goes, its data stays as a gap.  Returns whether it was there.
 */
bool gguf_writer_forget_key(struct gguf_writer *w, const char *key);
bool gguf_writer_forget_tensor(struct gguf_writer *w, const char *name);

/* An entry of the tensor list as it is, without data: any claim. */
struct gguf_writer_claim {
    const void *name;
    size_t name_size;
    uint64_t claimed_name_size;     /* 0: name_size */
    uint32_t dims;                  /* as many of shape[] are written, up to 8 */
    uint64_t shape[8];
    uint32_t file_type;
    uint64_t offset;
};
void gguf_writer_tensor_raw(struct gguf_writer *w, const struct gguf_writer_claim *claim);
/* Bytes of tensor data that belong to no entry (or to raw ones), padded. */
void gguf_writer_data(struct gguf_writer *w, const void *data, size_t size);

/* Appends the file to @file and releases the writer, which is empty and valid again. */
void gguf_writer_finish(struct gguf_writer *w, struct buffer *file);

/* The first place of @needle in a file, or SIZE_MAX. */
size_t gguf_writer_find(const struct buffer *file, const char *needle);
