/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "src/wire/codec.h"
#include "src/wire/range.h"
#include "src/wire/wire_gen.h"

/* One payload on its way into a struct. */
struct decoder {
    const struct wire_message *message;
    struct span heap;
    uint64_t charged;                   /* bytes that references stand for; at most heap.size */
    struct wire_fault fault;
};

static int refuse(struct decoder *d, const struct wire_field *field, uint32_t code, uint32_t detail,
                  const char *problem)
{
    d->fault = (struct wire_fault){ code, detail, problem, d->message, field };
    return (int)code;
}

static int ranged(struct decoder *d, int code)
{
    d->fault.message = d->message;
    return code;
}

/* Reads a scalar and stores it into the struct. */
static int take_scalar(struct decoder *d, const struct wire_field *f, struct cursor *c, uint8_t *member, uint32_t at)
{
    union { uint8_t u8; uint16_t u16; uint32_t u32; uint64_t u64; float f32; double f64; } v;

    switch (f->type) {
    case WIRE_U8:
        cursor_u8(c, &v.u8);
        memcpy(member, &v.u8, 1);
        return ranged(d, range_integer(f, v.u8, at, &d->fault));
    case WIRE_U16:
        cursor_u16(c, &v.u16);
        memcpy(member, &v.u16, 2);
        return ranged(d, range_integer(f, v.u16, at, &d->fault));
    case WIRE_U32:
        cursor_u32(c, &v.u32);
        memcpy(member, &v.u32, 4);
        return ranged(d, range_integer(f, v.u32, at, &d->fault));
    case WIRE_U64:
        cursor_u64(c, &v.u64);
        memcpy(member, &v.u64, 8);
        return ranged(d, range_integer(f, v.u64, at, &d->fault));
    case WIRE_F32:
        cursor_f32(c, &v.f32);
        memcpy(member, &v.f32, 4);
        return ranged(d, range_float(f, (double)v.f32, at, &d->fault));
    case WIRE_F64:
        cursor_f64(c, &v.f64);
        memcpy(member, &v.f64, 8);
        return ranged(d, range_float(f, v.f64, at, &d->fault));
    case WIRE_BYTES:
    case WIRE_LIST:
    case WIRE_STRINGS:
        break;
    }
    check(false);                       /* a scalar type was asked for */
    return 0;
}

/* A reference {offset, count} to items of @unit bytes. */
static int take_reference(struct decoder *d, const struct wire_field *f, struct cursor *c, uint32_t unit, uint32_t at,
                          uint32_t *ret_count, struct span *ret_bytes)
{
    struct cursor heap = cursor_of(d->heap.data, d->heap.size);
    uint32_t offset, count;
    uint64_t size;
    int r;

    cursor_u32(c, &offset);
    cursor_u32(c, &count);
    r = ranged(d, range_integer(f, count, at + 4, &d->fault));
    if (r)
        return r;
    if (offset % 8)
        return refuse(d, f, WIRE_E_INVALID, at, "reference that is not 8-aligned");
    size = (uint64_t)count * unit;
    if (!cursor_skip(&heap, offset) || size > d->heap.size || !cursor_take(&heap, (size_t)size, ret_bytes))
        return refuse(d, f, WIRE_E_INVALID, at, "reference outside the heap");
    d->charged += size;
    if (d->charged > d->heap.size)
        return refuse(d, f, WIRE_E_INVALID, at, "references to more bytes than the heap has");
    *ret_count = count;
    return 0;
}

/* One record, at @c, into @ret_record. */
static int take_record(struct decoder *d, const struct wire_record *record, struct cursor *c, uint8_t *ret_record,
                       uint32_t at)
{
    size_t start = c->position;
    int r = 0;

    memset(ret_record, 0, record->struct_bytes);
    for (uint32_t i = 0; i < record->field_count && r == 0; i++) {
        const struct wire_field *f = &record->fields[i];
        uint8_t *member = ret_record + f->member;
        struct span bytes = { .data = NULL };
        uint32_t first, unit = 1, count;

        cursor_skip(c, start + f->offset - c->position);
        if (f->type == WIRE_BYTES) {
            memcpy(&first, ret_record, sizeof(first));
            if ((f->flags & WIRE_FIELD_IDS) && first == f->ids_when)
                unit = 4;
            r = take_reference(d, f, c, unit, at + f->offset, &count, &bytes);
            memcpy(member, &bytes, sizeof(bytes));
        } else {
            r = take_scalar(d, f, c, member, at + f->offset);
        }
    }
    cursor_skip(c, start + record->wire_bytes - c->position);
    return r;
}

/* Every record of a list is looked at once here, so that the accessors need not fail. */
static int check_records(struct decoder *d, const struct wire_field *f, struct span bytes, uint32_t count,
                         uint32_t at)
{
    struct cursor c = cursor_of(bytes.data, bytes.size);
    uint64_t before = d->charged;
    uint8_t record[64];

    if (!f->record)
        return 0;
    check(f->record->struct_bytes <= sizeof(record));
    for (uint32_t i = 0; i < count; i++) {
        int r = take_record(d, f->record, &c, record, at + i * f->record->wire_bytes);

        if (r)
            return r;
    }
    if (f->total_maximum && d->charged - before > f->total_maximum)
        return refuse(d, f, WIRE_E_LIMIT, f->total_maximum, "more bytes together than the limit");
    return 0;
}

static uint32_t item_bytes(const struct wire_field *f)
{
    return f->type == WIRE_BYTES ? 1 : f->record ? f->record->wire_bytes : 4;
}

static int take_field(struct decoder *d, const struct wire_field *f, struct cursor *c, uint8_t *value)
{
    struct span bytes = { .data = NULL };
    struct wire_list list = { .heap = d->heap };
    int r;

    if (f->type != WIRE_BYTES && f->type != WIRE_LIST)
        return take_scalar(d, f, c, value + f->member, f->offset);
    r = take_reference(d, f, c, item_bytes(f), f->offset, &list.count, &bytes);
    if (r)
        return r;
    if (f->type == WIRE_BYTES) {
        memcpy(value + f->member, &bytes, sizeof(bytes));
        return 0;
    }
    list.wire = bytes.data;
    memcpy(value + f->member, &list, sizeof(list));
    if (f->same_count) {
        struct wire_list other;

        memcpy(&other, value + f->same_count->member, sizeof(other));
        if (other.count != list.count)
            return refuse(d, f, WIRE_E_INVALID, f->offset, "not as many as its sister list has");
    }
    return check_records(d, f, bytes, list.count, f->offset);
}

/* Strings in a TLV: u32 size, bytes, padding to 4, one after the other. */
static int take_strings(struct decoder *d, const struct wire_field *f, const struct tlv *tlv,
                        struct wire_list *ret_list)
{
    struct cursor c = cursor_of(tlv->data.data, tlv->data.size);
    uint32_t size, at = tlv->offset + 8;

    *ret_list = (struct wire_list){ .wire = tlv->data.data, .heap = tlv->data };
    while (cursor_left(&c)) {
        if (!cursor_u32(&c, &size) || !cursor_skip(&c, size) || !cursor_skip(&c, (4 - size % 4) % 4))
            return refuse(d, f, WIRE_E_INVALID, at, "string cut short");
        if (size < f->item_minimum)
            return refuse(d, f, WIRE_E_INVALID, at, "string shorter than allowed");
        if (size > f->item_maximum)
            return refuse(d, f, WIRE_E_LIMIT, f->item_maximum, "string longer than the limit");
        ret_list->count++;
        at = tlv->offset + 8 + (uint32_t)c.position;
    }
    return ranged(d, range_integer(f, ret_list->count, tlv->offset, &d->fault));
}

static int take_tlv(struct decoder *d, const struct wire_field *f, const struct tlv *tlv, uint8_t *value)
{
    struct cursor c = cursor_of(tlv->data.data, tlv->data.size);
    struct wire_list list = { .wire = tlv->data.data };
    uint32_t unit = item_bytes(f), at = tlv->offset + 8;
    int r;

    if (f->type == WIRE_STRINGS) {
        r = take_strings(d, f, tlv, &list);
        memcpy(value + f->member, &list, sizeof(list));
        return r;
    }
    if (f->type != WIRE_BYTES && f->type != WIRE_LIST) {
        r = take_scalar(d, f, &c, value + f->member, at);
        if (c.failed || cursor_left(&c))
            return refuse(d, f, WIRE_E_INVALID, tlv->offset + 4, "TLV of a wrong length");
        return r;
    }
    if (tlv->data.size % unit)
        return refuse(d, f, WIRE_E_INVALID, tlv->offset + 4, "TLV of a wrong length");
    list.count = (uint32_t)(tlv->data.size / unit);
    r = ranged(d, range_integer(f, list.count, tlv->offset + 4, &d->fault));
    if (r)
        return r;
    if (f->type == WIRE_BYTES) {
        memcpy(value + f->member, &tlv->data, sizeof(tlv->data));
        return 0;
    }
    memcpy(value + f->member, &list, sizeof(list));
    return check_records(d, f, tlv->data, list.count, at);
}

static int take_tlvs(struct decoder *d, const struct frame_parts *parts, uint8_t *value)
{
    const struct wire_message *m = d->message;
    struct tlv_walk walk = tlv_walk_of(parts);
    uint64_t present = 0;
    struct tlv tlv;

    while (tlv_next(&walk, &tlv)) {
        uint32_t i = 0;
        int r;

        while (i < m->tlv_count && m->tlvs[i].offset != tlv.tag)
            i++;
        if (i == m->tlv_count) {
            if (tlv.critical)
                return refuse(d, NULL, WIRE_E_UNSUPPORTED, tlv.tag | FRAME_TLV_CRITICAL,
                              "unknown TLV that must be understood");
            continue;
        }
        r = take_tlv(d, &m->tlvs[i], &tlv, value);
        if (r)
            return r;
        present |= UINT64_C(1) << i;
    }
    if (m->tlv_count)
        memcpy(value + m->present_member, &present, sizeof(present));
    if (walk.fault.code)
        return refuse(d, NULL, walk.fault.code, walk.fault.detail, walk.fault.problem);
    return 0;
}

static int take_all(struct decoder *d, const struct frame_parts *parts, uint8_t *value)
{
    const struct wire_message *m = d->message;
    uint8_t fixed[WIRE_FIXED_MAX] = { 0 };      /* a shorter fixed part reads as if it went on with zeros */
    struct cursor c = cursor_of(fixed, m->fixed_bytes);

    memcpy(fixed, parts->fixed.data, min_u64(parts->fixed.size, m->fixed_bytes));
    for (uint32_t i = 0; i < m->field_count; i++) {
        const struct wire_field *f = &m->fields[i];
        int r;

        cursor_skip(&c, f->offset - c.position);
        r = take_field(d, f, &c, value);
        if (r)
            return r;
    }
    check(!c.failed);
    return take_tlvs(d, parts, value);
}

int wire_decode(const struct wire_message *message, struct span payload, void *ret_value, struct wire_fault *fault)
{
    _Alignas(16) uint8_t value[WIRE_STRUCT_MAX] = { 0 };
    struct decoder d = { .message = message };
    struct frame_parts parts;
    int r;

    check(message->struct_bytes <= sizeof(value) && message->fixed_bytes <= WIRE_FIXED_MAX);
    r = frame_split(payload, &parts, &d.fault);
    if (r) {
        d.fault.message = message;
    } else {
        d.heap = parts.heap;
        r = take_all(&d, &parts, value);
    }
    if (r) {
        if (fault)
            *fault = d.fault;
        return r;
    }
    memcpy(ret_value, value, message->struct_bytes);
    return 0;
}

void wire_record_at(const struct wire_record *record, const struct wire_list *list, uint32_t index, void *ret_record)
{
    struct decoder d = { .heap = list->heap };
    struct cursor c;

    check(index < list->count);
    if (!list->wire) {
        memcpy(ret_record, (const uint8_t *)list->items + (size_t)index * record->struct_bytes, record->struct_bytes);
        return;
    }
    c = cursor_of(list->wire + (size_t)index * record->wire_bytes, record->wire_bytes);
    check(take_record(&d, record, &c, ret_record, 0) == 0);     /* check_records() has seen it */
}

uint32_t wire_u32_at(const struct wire_list *list, uint32_t index)
{
    check(index < list->count);
    return load_u32((list->wire ? list->wire : (const uint8_t *)list->items) + (size_t)index * 4);
}

struct span wire_string_at(const struct wire_list *list, uint32_t index)
{
    struct cursor c = cursor_of(list->heap.data, list->heap.size);
    struct span s = { .data = NULL };

    check(index < list->count);
    if (!list->wire)
        return ((const struct span *)list->items)[index];
    for (uint32_t i = 0; i <= index; i++) {
        uint32_t size;

        check(cursor_u32(&c, &size) && cursor_take(&c, size, &s) && cursor_skip(&c, (4 - size % 4) % 4));
    }
    return s;
}

const struct wire_type *wire_type_find(uint16_t type)
{
    for (uint32_t i = 0; i < WIRE_TYPE_COUNT; i++)
        if (wire_types[i].type == type)
            return &wire_types[i];
    return NULL;
}

const struct wire_message *wire_message_find(const struct frame_header *header, struct span payload)
{
    struct cursor c = cursor_of(payload.data, payload.size);
    uint32_t kind;

    if (header->flags & FRAME_ERROR)
        return &wire_error_message;
    cursor_skip(&c, 8);
    cursor_u32(&c, &kind);
    for (uint32_t i = 0; i < WIRE_MESSAGE_COUNT; i++)
        if (wire_messages[i]->type == header->type && (!wire_messages[i]->kind || wire_messages[i]->kind == kind))
            return wire_messages[i];
    return NULL;
}

const char *wire_name_of(const struct wire_names *names, uint32_t value)
{
    for (uint32_t i = 0; i < names->count; i++)
        if (names->items[i].value == value)
            return names->items[i].name;
    return NULL;
}

static const struct wire_code_info *code_info(uint32_t code)
{
    return code <= WIRE_CODE_MAX && wire_codes[code].name ? &wire_codes[code] : NULL;
}

const char *wire_code_name(uint32_t code) { return code_info(code) ? code_info(code)->name : "unknown error"; }
uint32_t wire_code_http(uint32_t code) { return code_info(code) ? code_info(code)->http : 500; }
const char *wire_code_grpc(uint32_t code) { return code_info(code) ? code_info(code)->grpc : "INTERNAL"; }
