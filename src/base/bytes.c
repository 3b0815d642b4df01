/* SPDX-License-Identifier: Apache-2.0 */
#include "src/base/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the formats are read by plain loads");

bool cursor_take(struct cursor *c, size_t size, struct span *ret_span)
{
    *ret_span = (struct span){ .data = NULL };
    if (c->failed || size > c->size - c->position) {
        c->failed = true;
        return false;
    }
    *ret_span = (struct span){ .data = c->data + c->position, .size = size };
    c->position += size;
    return true;
}

bool cursor_skip(struct cursor *c, size_t size)
{
    struct span ignored;

    return cursor_take(c, size, &ignored);
}

static bool cursor_copy(struct cursor *c, void *ret, size_t size)
{
    struct span s;

    memset(ret, 0, size);
    if (!cursor_take(c, size, &s))
        return false;
    memcpy(ret, s.data, size);
    return true;
}

bool cursor_u8(struct cursor *c, uint8_t *ret) { return cursor_copy(c, ret, sizeof(*ret)); }
bool cursor_u16(struct cursor *c, uint16_t *ret) { return cursor_copy(c, ret, sizeof(*ret)); }
bool cursor_u32(struct cursor *c, uint32_t *ret) { return cursor_copy(c, ret, sizeof(*ret)); }
bool cursor_u64(struct cursor *c, uint64_t *ret) { return cursor_copy(c, ret, sizeof(*ret)); }
bool cursor_f32(struct cursor *c, float *ret) { return cursor_copy(c, ret, sizeof(*ret)); }
bool cursor_f64(struct cursor *c, double *ret) { return cursor_copy(c, ret, sizeof(*ret)); }

void buffer_deinit(struct buffer *b)
{
    free(b->data);
    *b = (struct buffer)BUFFER_NULL;
}

bool buffer_ok(const struct buffer *b)
{
    return !b->failed;
}

static bool buffer_reserve(struct buffer *b, size_t more)
{
    size_t need, capacity;
    uint8_t *data;

    if (b->failed || ckd_add(&need, b->size, more) || (b->limit && need > b->limit))
        return b->failed = true, false;
    if (need <= b->capacity)
        return true;
    capacity = b->capacity ? b->capacity : 64;
    while (capacity < need)
        if (ckd_mul(&capacity, capacity, (size_t)2))
            return b->failed = true, false;
    data = realloc(b->data, capacity);
    if (!data)
        return b->failed = true, false;
    b->data = data;
    b->capacity = capacity;
    return true;
}

void buffer_put(struct buffer *b, const void *data, size_t size)
{
    if (!size || !buffer_reserve(b, size))
        return;
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

void buffer_put_u8(struct buffer *b, uint8_t v) { buffer_put(b, &v, sizeof(v)); }
void buffer_put_u16(struct buffer *b, uint16_t v) { buffer_put(b, &v, sizeof(v)); }
void buffer_put_u32(struct buffer *b, uint32_t v) { buffer_put(b, &v, sizeof(v)); }
void buffer_put_u64(struct buffer *b, uint64_t v) { buffer_put(b, &v, sizeof(v)); }

void buffer_printf(struct buffer *b, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0 || !buffer_reserve(b, (size_t)n + 1)) {
        b->failed = true;
        return;
    }
    va_start(args, format);
    vsnprintf((char *)b->data + b->size, (size_t)n + 1, format, args);
    va_end(args);
    b->size += (size_t)n;
}
