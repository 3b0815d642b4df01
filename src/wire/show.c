/* SPDX-License-Identifier: Apache-2.0 */
#include "src/wire/show.h"

#include <stdio.h>
#include <string.h>

#include "src/base/utf8.h"
#include "src/wire/wire_gen.h"

static bool is_utf8(struct span s)
{
    uint32_t code;

    for (size_t i = 0, n; i < s.size; i += n) {
        n = utf8_decode(s.data + i, s.size - i, &code);
        if (n == 0)
            return false;
    }
    return true;
}

static void show_hex(struct json *j, struct span s)
{
    struct buffer hex = BUFFER_NULL;

    for (size_t i = 0; i < s.size; i++)
        buffer_printf(&hex, "%02x", s.data[i]);
    if (buffer_ok(&hex))
        json_string(j, hex.data, hex.size);
    else
        json_text(j, "no memory");
    buffer_deinit(&hex);
}

static void show_bytes(struct json *j, struct span s)
{
    if (is_utf8(s)) {
        json_string(j, s.data, s.size);
        return;
    }
    json_object(j);
    json_key(j, "hex");
    show_hex(j, s);
    json_end(j, '}');
}

static void show_flags(struct json *j, const struct wire_names *names, uint32_t v)
{
    json_array(j);
    for (uint32_t bit = 0; bit < 32; bit++) {
        const char *name = wire_name_of(names, bit);

        if (!(v >> bit & 1))
            continue;
        if (name)
            json_text(j, name);
        else
            json_u64(j, UINT64_C(1) << bit);
    }
    json_end(j, ']');
}

static void show_u32(struct json *j, const struct wire_field *f, uint32_t v)
{
    const char *name = f->names && !f->names->bits ? wire_name_of(f->names, v) : NULL;

    if (f->names && f->names->bits)
        show_flags(j, f->names, v);
    else if (name)
        json_text(j, name);
    else
        json_u64(j, v);
}

static void show_scalar(struct json *j, const struct wire_field *f, const uint8_t *member)
{
    union { uint8_t u8; uint16_t u16; uint32_t u32; uint64_t u64; float f32; double f64; } v = { .u64 = 0 };

    switch (f->type) {
    case WIRE_U8:
        json_u64(j, *member);
        return;
    case WIRE_U16:
        memcpy(&v, member, 2);
        json_u64(j, v.u16);
        return;
    case WIRE_U32:
        memcpy(&v, member, 4);
        show_u32(j, f, v.u32);
        return;
    case WIRE_U64:
        memcpy(&v, member, 8);
        json_u64(j, v.u64);
        return;
    case WIRE_F32:
        memcpy(&v, member, 4);
        json_f64(j, (double)v.f32);
        return;
    case WIRE_F64:
        memcpy(&v, member, 8);
        json_f64(j, v.f64);
        return;
    case WIRE_BYTES:
    case WIRE_LIST:
    case WIRE_STRINGS:
        break;
    }
    check(false);                       /* a scalar type was asked for */
}

static void show_record(struct json *j, const struct wire_record *record, const uint8_t *value)
{
    uint32_t first;
    struct span s;

    memcpy(&first, value, sizeof(first));
    json_object(j);
    for (uint32_t i = 0; i < record->field_count; i++) {
        const struct wire_field *f = &record->fields[i];

        json_key(j, f->name);
        if (f->type != WIRE_BYTES) {
            show_scalar(j, f, value + f->member);
            continue;
        }
        memcpy(&s, value + f->member, sizeof(s));
        if ((f->flags & WIRE_FIELD_IDS) && first == f->ids_when) {
            json_array(j);
            for (size_t k = 0; k + 4 <= s.size; k += 4)
                json_u64(j, load_u32(s.data + k));
            json_end(j, ']');
        } else {
            show_bytes(j, s);
        }
    }
    json_end(j, '}');
}

static void show_list(struct json *j, const struct wire_field *f, const struct wire_list *list)
{
    _Alignas(16) uint8_t record[64];

    json_array(j);
    for (uint32_t i = 0; i < list->count; i++) {
        if (f->type == WIRE_STRINGS) {
            show_bytes(j, wire_string_at(list, i));
        } else if (!f->record) {
            json_u64(j, wire_u32_at(list, i));
        } else {
            wire_record_at(f->record, list, i, record);
            show_record(j, f->record, record);
        }
    }
    json_end(j, ']');
}

static void show_field(struct json *j, const struct wire_field *f, const uint8_t *value)
{
    struct wire_list list;
    struct span s;

    json_key(j, f->name);
    if (f->type == WIRE_BYTES) {
        memcpy(&s, value + f->member, sizeof(s));
        show_bytes(j, s);
    } else if (f->type == WIRE_LIST || f->type == WIRE_STRINGS) {
        memcpy(&list, value + f->member, sizeof(list));
        show_list(j, f, &list);
    } else {
        show_scalar(j, f, value + f->member);
    }
}

static void show_payload(struct json *j, const struct wire_message *m, const uint8_t *value)
{
    uint64_t present = 0;

    if (m->tlv_count)
        memcpy(&present, value + m->present_member, sizeof(present));
    json_key(j, "payload");
    json_object(j);
    for (uint32_t i = 0; i < m->field_count; i++)
        show_field(j, &m->fields[i], value);
    for (uint32_t i = 0; i < m->tlv_count; i++)
        if (present >> i & 1)
            show_field(j, &m->tlvs[i], value);
    json_end(j, '}');
}

static void show_header(struct json *j, const struct frame_header *h, const struct wire_message *m)
{
    const struct wire_type *type = wire_type_find(h->type);
    char number[16];

    snprintf(number, sizeof(number), "0x%04x", h->type);
    json_key(j, "type");
    json_text(j, m ? m->name : type ? type->name : number);
    if (h->flags & FRAME_ERROR) {
        json_key(j, "of");
        json_text(j, number);
    }
    json_key(j, "request");
    json_u64(j, h->request);
    json_key(j, "flags");
    json_array(j);
    for (uint32_t flag = 1; flag <= FRAME_SKIP; flag <<= 1)
        if (h->flags & flag)
            json_text(j, flag == FRAME_END ? "END" : flag == FRAME_ERROR ? "ERROR" : "SKIP");
    json_end(j, ']');
    json_key(j, "fds");
    json_u64(j, h->nfds);
}

void wire_to_json(const struct frame_header *header, struct span payload, struct json *json)
{
    const struct wire_message *m = wire_message_find(header, payload);
    _Alignas(16) uint8_t value[WIRE_STRUCT_MAX];
    struct wire_fault fault;
    char text[256];

    json_object(json);
    show_header(json, header, m);
    if (m && wire_decode(m, payload, value, &fault) == 0) {
        show_payload(json, m, value);
    } else {
        if (m) {
            wire_fault_text(&fault, text, sizeof(text));
            json_key(json, "fault");
            json_text(json, text);
        }
        json_key(json, "payload_hex");
        show_hex(json, payload);
    }
    json_end(json, '}');
}
