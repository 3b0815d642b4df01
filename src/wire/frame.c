/* SPDX-License-Identifier: Apache-2.0 */
#include "src/wire/frame.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/wire/wire_gen.h"

_Static_assert(WIRE_LIMIT_TLVS == FRAME_TLVS_MAX, "wire.json and frame.h name the same limit");

int wire_fault_set(struct wire_fault *fault, uint32_t code, uint32_t detail, const char *problem)
{
    if (fault)
        *fault = (struct wire_fault){ .code = code, .detail = detail, .problem = problem };
    return (int)code;
}

static size_t put_range(const struct wire_field *field, char *text, size_t size)
{
    int n;

    if (field->names)
        n = snprintf(text, size, " (%s)", field->names->name);
    else if (field->type == WIRE_F32 || field->type == WIRE_F64)
        n = snprintf(text, size, " (%g .. %g)", field->float_minimum, field->float_maximum);
    else
        n = snprintf(text, size, " (%" PRIu64 " .. %" PRIu64 "%s)", field->minimum, field->maximum,
                     field->flags & WIRE_FIELD_ZERO ? " or 0" : "");
    return n < 0 ? 0 : (size_t)n;
}

void wire_fault_text(const struct wire_fault *fault, char *ret_text, size_t size)
{
    const char *problem = fault->problem ? fault->problem : wire_code_name(fault->code);
    int n;

    if (fault->message && fault->field)
        n = snprintf(ret_text, size, "%s.%s: %s", fault->message->name, fault->field->name, problem);
    else if (fault->message)
        n = snprintf(ret_text, size, "%s: %s", fault->message->name, problem);
    else
        n = snprintf(ret_text, size, "%s", problem);
    if (fault->field && n > 0 && (size_t)n < size)
        put_range(fault->field, ret_text + n, size - (size_t)n);
}

int frame_header_decode(const uint8_t bytes[FRAME_HEADER_BYTES], uint32_t max_length, struct frame_header *ret_header,
                        struct wire_fault *fault)
{
    struct cursor c = cursor_of(bytes, FRAME_HEADER_BYTES);
    struct frame_header h;

    cursor_u32(&c, &h.length);
    cursor_u16(&c, &h.type);
    cursor_u8(&c, &h.flags);
    cursor_u8(&c, &h.nfds);
    cursor_u64(&c, &h.request);
    if (h.flags & ~(FRAME_END | FRAME_ERROR | FRAME_SKIP))
        return wire_fault_set(fault, WIRE_E_PROTOCOL, h.flags, "frame with flags that do not exist");
    if ((h.flags & FRAME_ERROR) && !(h.flags & FRAME_END))
        return wire_fault_set(fault, WIRE_E_PROTOCOL, h.flags, "frame with ERROR but not END");
    if (h.length % 8)
        return wire_fault_set(fault, WIRE_E_PROTOCOL, h.length, "frame whose length is not a multiple of 8");
    if (h.length > max_length)
        return wire_fault_set(fault, WIRE_E_PROTOCOL, h.length, "frame longer than agreed");
    if (h.nfds > WIRE_LIMIT_FDS)
        return wire_fault_set(fault, WIRE_E_PROTOCOL, h.nfds, "frame with too many descriptors");
    *ret_header = h;
    return 0;
}

void frame_header_encode(const struct frame_header *header, uint8_t ret_bytes[FRAME_HEADER_BYTES])
{
    memcpy(ret_bytes, &header->length, 4);
    memcpy(ret_bytes + 4, &header->type, 2);
    ret_bytes[6] = header->flags;
    ret_bytes[7] = header->nfds;
    memcpy(ret_bytes + 8, &header->request, 8);
}

int frame_split(struct span payload, struct frame_parts *ret_parts, struct wire_fault *fault)
{
    struct cursor c = cursor_of(payload.data, payload.size);
    struct span nothing = { (const uint8_t *)"", 0 };
    struct frame_parts parts = { .fixed = nothing, .heap = nothing, .tlvs = nothing };
    uint32_t fixed_size, heap_size;

    if (payload.size == 0) {
        *ret_parts = parts;
        return 0;
    }
    if (!cursor_u32(&c, &fixed_size) || !cursor_u32(&c, &heap_size))
        return wire_fault_set(fault, WIRE_E_INVALID, 0, "payload shorter than its two sizes");
    if (fixed_size < 8 || fixed_size % 8 || fixed_size > payload.size)
        return wire_fault_set(fault, WIRE_E_INVALID, 0, "fixed_size is not a multiple of 8 inside the payload");
    if (heap_size % 8 || heap_size > payload.size - fixed_size)
        return wire_fault_set(fault, WIRE_E_INVALID, 4, "heap_size is not a multiple of 8 inside the payload");
    c = cursor_of(payload.data, payload.size);
    cursor_take(&c, fixed_size, &parts.fixed);
    cursor_take(&c, heap_size, &parts.heap);
    parts.tlv_offset = (uint32_t)c.position;
    cursor_take(&c, cursor_left(&c), &parts.tlvs);
    *ret_parts = parts;
    return 0;
}

struct tlv_walk tlv_walk_of(const struct frame_parts *parts)
{
    return (struct tlv_walk){ .cursor = cursor_of(parts->tlvs.data, parts->tlvs.size), .base = parts->tlv_offset };
}

static bool tlv_fault(struct tlv_walk *walk, uint32_t code, uint32_t detail, const char *problem)
{
    wire_fault_set(&walk->fault, code, detail, problem);
    walk->cursor.failed = true;         /* a second call ends as well */
    return false;
}

bool tlv_next(struct tlv_walk *walk, struct tlv *ret_tlv)
{
    struct cursor *c = &walk->cursor;
    struct tlv tlv = { .offset = walk->base + (uint32_t)c->position };
    uint16_t tag, reserved;
    uint32_t length;

    if (cursor_left(c) == 0)
        return false;
    cursor_u16(c, &tag);
    cursor_u16(c, &reserved);
    if (!cursor_u32(c, &length))
        return tlv_fault(walk, WIRE_E_INVALID, tlv.offset, "TLV cut short");
    if (reserved)
        return tlv_fault(walk, WIRE_E_INVALID, tlv.offset + 2, "TLV whose reserved bytes are not 0");
    if (!cursor_take(c, length, &tlv.data) || !cursor_skip(c, (8 - length % 8) % 8))
        return tlv_fault(walk, WIRE_E_INVALID, tlv.offset + 4, "TLV longer than the payload");
    tlv.critical = tag & FRAME_TLV_CRITICAL;
    tlv.tag = (uint16_t)(tag & ~FRAME_TLV_CRITICAL);
    if (walk->count == FRAME_TLVS_MAX)
        return tlv_fault(walk, WIRE_E_LIMIT, FRAME_TLVS_MAX, "too many TLVs");
    for (uint32_t i = 0; i < walk->count; i++)
        if (walk->seen[i] == tlv.tag)
            return tlv_fault(walk, WIRE_E_INVALID, tlv.offset, "the same TLV twice");
    walk->seen[walk->count++] = tlv.tag;
    *ret_tlv = tlv;
    return true;
}
