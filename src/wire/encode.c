/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "src/wire/codec.h"
#include "src/wire/range.h"
#include "src/wire/wire_gen.h"

/* One frame on its way out.  Offsets count from its header; base NULL: only counted. */
struct encoder {
    const struct wire_message *message;
    uint8_t *base;
    size_t room, at;                    /* at: where the next byte is appended */
    size_t heap;                        /* where the heap begins */
    uint64_t charged;                   /* bytes of texts so far, without padding */
    bool full;
    struct wire_fault fault;
};

static void poke(struct encoder *e, size_t offset, const void *data, size_t size)
{
    if (e->base && !e->full && size)
        memcpy(e->base + offset, data, size);
}

/* Appends @size zero bytes, returns where they begin. */
static size_t reserve(struct encoder *e, size_t size)
{
    size_t start = e->at;

    if (e->full || size > e->room - e->at) {
        e->full = true;
        return start;
    }
    if (e->base)
        memset(e->base + start, 0, size);
    e->at += size;
    return start;
}

static void append(struct encoder *e, const void *data, size_t size)
{
    poke(e, reserve(e, size), data, size);
}

static void pad(struct encoder *e, size_t to)
{
    reserve(e, (to - e->at % to) % to);
}

static int outside(struct encoder *e, int code)
{
    e->fault.message = e->message;
    return code;
}

static int put_scalar(struct encoder *e, const struct wire_field *f, const uint8_t *member, size_t at)
{
    union { uint8_t u8; uint16_t u16; uint32_t u32; uint64_t u64; float f32; double f64; } v = { .u64 = 0 };
    uint32_t where = (uint32_t)(at - FRAME_HEADER_BYTES);
    size_t size = f->type == WIRE_U8 ? 1 : f->type == WIRE_U16 ? 2 : f->type == WIRE_U64 || f->type == WIRE_F64 ? 8 : 4;
    int r;

    memcpy(&v, member, size);
    if (f->type == WIRE_F32)
        r = range_float(f, (double)v.f32, where, &e->fault);
    else if (f->type == WIRE_F64)
        r = range_float(f, v.f64, where, &e->fault);
    else
        r = range_integer(f, v.u64, where, &e->fault);
    poke(e, at, member, size);
    return r ? outside(e, r) : 0;
}

/* Writes the reference {offset, count} at @at to what will be appended next. */
static int put_reference(struct encoder *e, const struct wire_field *f, size_t at, size_t count)
{
    uint32_t offset_count[2];
    int r;

    pad(e, 8);
    r = range_integer(f, count, (uint32_t)(at + 4 - FRAME_HEADER_BYTES), &e->fault);
    if (r)
        return outside(e, r);
    offset_count[0] = count ? (uint32_t)(e->at - e->heap) : 0;
    offset_count[1] = (uint32_t)count;
    poke(e, at, offset_count, sizeof(offset_count));
    return 0;
}

static int put_bytes(struct encoder *e, const struct wire_field *f, struct span bytes, size_t unit, size_t at)
{
    int r;

    if (bytes.size % unit) {
        e->fault = (struct wire_fault){ WIRE_E_INVALID, 0, "ids that are not of four bytes", e->message, f };
        return WIRE_E_INVALID;
    }
    r = put_reference(e, f, at, bytes.size / unit);
    if (r == 0)
        append(e, bytes.data, bytes.size);
    e->charged += bytes.size;
    return r;
}

static int put_record(struct encoder *e, const struct wire_record *record, const uint8_t *value, size_t at)
{
    int r = 0;

    for (uint32_t i = 0; i < record->field_count && r == 0; i++) {
        const struct wire_field *f = &record->fields[i];
        struct span bytes;
        uint32_t first;

        if (f->type != WIRE_BYTES) {
            r = put_scalar(e, f, value + f->member, at + f->offset);
            continue;
        }
        memcpy(&bytes, value + f->member, sizeof(bytes));
        memcpy(&first, value, sizeof(first));
        r = put_bytes(e, f, bytes, (f->flags & WIRE_FIELD_IDS) && first == f->ids_when ? 4 : 1, at + f->offset);
    }
    return r;
}

/* The items of a list, where the encoder stands. */
static int put_items(struct encoder *e, const struct wire_field *f, const struct wire_list *list)
{
    const uint8_t *plain = list->wire ? list->wire : list->items;
    uint64_t before = e->charged;
    size_t first, bytes;
    _Alignas(16) uint8_t record[64];
    int r = 0;

    if (!f->record) {
        append(e, plain, (size_t)list->count * 4);
        return 0;
    }
    bytes = (size_t)list->count * f->record->wire_bytes;
    first = reserve(e, bytes);
    for (uint32_t i = 0; i < list->count && r == 0 && !e->full; i++) {
        wire_record_at(f->record, list, i, record);
        r = put_record(e, f->record, record, first + (size_t)i * f->record->wire_bytes);
    }
    if (r == 0 && f->total_maximum && e->charged - before > f->total_maximum) {
        e->fault = (struct wire_fault){ WIRE_E_LIMIT, f->total_maximum, "more bytes together than the limit",
                                        e->message, f };
        r = WIRE_E_LIMIT;
    }
    return r;
}

static int put_strings(struct encoder *e, const struct wire_field *f, const struct wire_list *list, size_t at)
{
    for (uint32_t i = 0; i < list->count; i++) {
        struct span s = wire_string_at(list, i);
        uint32_t size = (uint32_t)s.size;

        if (s.size < f->item_minimum || s.size > f->item_maximum) {
            e->fault = (struct wire_fault){ s.size > f->item_maximum ? WIRE_E_LIMIT : WIRE_E_INVALID,
                                            f->item_maximum, "string of a wrong length", e->message, f };
            return (int)e->fault.code;
        }
        append(e, &size, sizeof(size));
        append(e, s.data, s.size);
        pad(e, 4);
    }
    return range_integer(f, list->count, (uint32_t)(at - FRAME_HEADER_BYTES), &e->fault);
}

static int put_field(struct encoder *e, const struct wire_field *f, const uint8_t *value)
{
    size_t at = FRAME_HEADER_BYTES + f->offset;
    struct wire_list list;
    struct span bytes;
    int r;

    if (f->type == WIRE_BYTES) {
        memcpy(&bytes, value + f->member, sizeof(bytes));
        return put_bytes(e, f, bytes, 1, at);
    }
    if (f->type != WIRE_LIST)
        return put_scalar(e, f, value + f->member, at);
    memcpy(&list, value + f->member, sizeof(list));
    r = put_reference(e, f, at, list.count);
    return r ? r : put_items(e, f, &list);
}

static int put_tlv(struct encoder *e, const struct wire_field *f, const uint8_t *value)
{
    size_t at = reserve(e, 8), start = e->at;
    uint16_t tag = f->offset;
    struct wire_list list;
    struct span bytes;
    uint32_t length;
    int r = 0;

    if (f->type == WIRE_BYTES) {
        memcpy(&bytes, value + f->member, sizeof(bytes));
        r = range_integer(f, bytes.size, (uint32_t)(at - FRAME_HEADER_BYTES), &e->fault);
        append(e, bytes.data, bytes.size);
    } else if (f->type == WIRE_LIST || f->type == WIRE_STRINGS) {
        memcpy(&list, value + f->member, sizeof(list));
        r = range_integer(f, list.count, (uint32_t)(at - FRAME_HEADER_BYTES), &e->fault);
        if (r == 0)
            r = f->type == WIRE_LIST ? put_items(e, f, &list) : put_strings(e, f, &list, at);
    } else {
        r = put_scalar(e, f, value + f->member, reserve(e, f->type == WIRE_U64 || f->type == WIRE_F64 ? 8 : 4));
    }
    length = (uint32_t)(e->at - start);
    pad(e, 8);
    poke(e, at, &tag, sizeof(tag));
    poke(e, at + 4, &length, sizeof(length));
    return r ? outside(e, r) : 0;
}

static int put_all(struct encoder *e, const uint8_t *value)
{
    const struct wire_message *m = e->message;
    uint32_t sizes[2] = { m->fixed_bytes, 0 };
    uint64_t present = 0;
    int r = 0;

    reserve(e, FRAME_HEADER_BYTES + (size_t)m->fixed_bytes);
    e->heap = e->at;
    for (uint32_t i = 0; i < m->field_count && r == 0; i++)
        r = put_field(e, &m->fields[i], value);
    pad(e, 8);
    sizes[1] = (uint32_t)(e->at - e->heap);
    poke(e, FRAME_HEADER_BYTES, sizes, sizeof(sizes));
    if (m->tlv_count)
        memcpy(&present, value + m->present_member, sizeof(present));
    for (uint32_t i = 0; i < m->tlv_count && r == 0; i++)
        if (present >> i & 1)
            r = put_tlv(e, &m->tlvs[i], value);
    return r;
}

int wire_encode(const struct wire_message *message, const void *value, struct frame_header head,
                struct frame_out *out, struct wire_fault *fault)
{
    struct encoder e = {
        .message = message,
        .base = out->data ? out->data + out->size : NULL,
        .room = out->capacity - out->size,
    };
    int r;

    if (e.room > UINT32_MAX)
        e.room = UINT32_MAX;            /* offsets in a frame are of 32 bits */
    r = put_all(&e, value);
    if (r == 0 && e.full) {
        e.fault = (struct wire_fault){ WIRE_E_LIMIT, (uint32_t)e.room, "does not fit into the room", message, NULL };
        r = WIRE_E_LIMIT;
    }
    if (r) {
        if (fault)
            *fault = e.fault;
        return r;
    }
    head.length = (uint32_t)(e.at - FRAME_HEADER_BYTES);
    if (!head.type)
        head.type = message->type;
    if (e.base)
        frame_header_encode(&head, e.base);
    out->size += e.at;
    return 0;
}

size_t wire_size(const struct wire_message *message, const void *value)
{
    struct frame_out out = { .data = NULL, .capacity = SIZE_MAX };

    return wire_encode(message, value, (struct frame_header){ .flags = 0 }, &out, NULL) ? 0 : out.size;
}
