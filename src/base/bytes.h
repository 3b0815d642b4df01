/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The only way to foreign bytes: a bounded cursor, and a growing buffer for the way out.
 *
 * A cursor never reads past its end: a read that does not fit returns false, leaves the output as
 * zero and makes the cursor fail for good, so a parser may read a whole record and ask once.
 * Little-endian throughout.  Not thread-safe; borrows the bytes it walks.
 */

#include "src/base/base.h"

struct span {
    const uint8_t *data;        /* may be NULL when size is 0 */
    size_t size;
};

struct cursor {
    const uint8_t *data;
    size_t size, position;
    bool failed;
};

static inline struct cursor cursor_of(const void *data, size_t size)
{
    return (struct cursor){ .data = data, .size = size };
}

static inline size_t cursor_left(const struct cursor *c)
{
    return c->failed ? 0 : c->size - c->position;
}

/* Takes @size bytes; *ret_span points into the cursor's memory. */
bool cursor_take(struct cursor *c, size_t size, struct span *ret_span);
bool cursor_skip(struct cursor *c, size_t size);
bool cursor_u8(struct cursor *c, uint8_t *ret);
bool cursor_u16(struct cursor *c, uint16_t *ret);
bool cursor_u32(struct cursor *c, uint32_t *ret);
bool cursor_u64(struct cursor *c, uint64_t *ret);
bool cursor_f32(struct cursor *c, float *ret);
bool cursor_f64(struct cursor *c, double *ret);

/* A growing byte buffer.  An allocation that fails makes it fail for good; ask buffer_ok() once. */
struct buffer {
    uint8_t *data;
    size_t size, capacity;
    size_t limit;               /* 0 = none; growth past it fails */
    bool failed;
};

#define BUFFER_NULL { .data = NULL }

void buffer_deinit(struct buffer *b);
bool buffer_ok(const struct buffer *b);
void buffer_put(struct buffer *b, const void *data, size_t size);
void buffer_put_u8(struct buffer *b, uint8_t v);
void buffer_put_u16(struct buffer *b, uint16_t v);
void buffer_put_u32(struct buffer *b, uint32_t v);
void buffer_put_u64(struct buffer *b, uint64_t v);
void buffer_printf(struct buffer *b, const char *format, ...) printf_like(2, 3);

/* Unaligned little-endian loads from memory whose bounds the caller has proven. */
static inline uint16_t load_u16(const void *p) { uint16_t v; __builtin_memcpy(&v, p, 2); return v; }
static inline uint32_t load_u32(const void *p) { uint32_t v; __builtin_memcpy(&v, p, 4); return v; }
static inline uint64_t load_u64(const void *p) { uint64_t v; __builtin_memcpy(&v, p, 8); return v; }
