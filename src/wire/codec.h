/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Messages to structs and back, driven by the tables that generate.py makes of wire.json (wire_gen.h).
 *
 * Decoding checks everything at once: every reference, every record of every list, ranges, enums, flags, TLVs; the
 * accessors below cannot fail afterwards.  References may not add up to more than the heap, so a small frame never
 * stands for more bytes than it has.  Structs borrow the payload.  Any thread; no allocation.
 */

#include "src/wire/frame.h"

#define WIRE_FIXED_MAX 256u             /* the generator keeps fixed parts below */
#define WIRE_STRUCT_MAX 640u            /* and the structs of messages */

enum wire_field_type {
    WIRE_U8, WIRE_U16, WIRE_U32, WIRE_U64, WIRE_F32, WIRE_F64,
    WIRE_BYTES,                         /* struct span: text or bytes */
    WIRE_LIST,                          /* struct wire_list of u32 (record == NULL) or of records */
    WIRE_STRINGS,                       /* struct wire_list of strings, in TLVs only */
};

enum wire_field_flag {
    WIRE_FIELD_LIMIT = 1,               /* above maximum is LIMIT, not INVALID */
    WIRE_FIELD_ZERO = 2,                /* 0 is legal beside minimum .. maximum */
    WIRE_FIELD_CONST = 4,               /* must equal minimum; else the error is PROTOCOL */
    WIRE_FIELD_IDS = 8,                 /* the reference counts u32 ids where the record's first field is ids_when */
};

struct wire_name { uint32_t value; const char *name; };

struct wire_names {                     /* an enum, or flags (value = bit number) */
    const char *name;
    bool bits, open;                    /* open: values nobody knows are let through */
    uint32_t mask;                      /* bits of known values (enums: 1 << value) */
    uint32_t count;
    const struct wire_name *items;
};

struct wire_record {
    const char *name;
    uint16_t wire_bytes, struct_bytes, field_count;
    bool references;                    /* has BYTES */
    const struct wire_field *fields;
};

struct wire_field {
    const char *name;
    enum wire_field_type type;
    uint16_t flags;
    uint16_t offset;                    /* in the fixed part or the record; of a TLV its tag */
    uint16_t member;                    /* offsetof in the struct */
    const struct wire_names *names;     /* NULL for plain numbers */
    const struct wire_record *record;
    uint64_t minimum, maximum;          /* of integers; of bytes and lists their count */
    double float_minimum, float_maximum;
    uint32_t total_maximum;             /* bytes of all BYTES in all records; 0 = no limit of its own */
    uint32_t item_minimum, item_maximum;    /* STRINGS: bytes of one */
    uint32_t ids_when;
    const struct wire_field *same_count;    /* list that must be as long as this one */
};

struct wire_message {
    const char *name;
    uint16_t type;
    uint16_t kind;                      /* GENERATE's replies; 0 elsewhere */
    uint16_t fixed_bytes, struct_bytes, field_count, tlv_count;
    uint16_t present_member;            /* offsetof uint64_t present: bit i = TLV i is there; only with TLVs */
    const struct wire_field *fields, *tlvs;
};

struct wire_type {                      /* by the requests' and events' type numbers */
    uint16_t type;
    const char *name;
    bool from_client, from_server, admin, reserved;
    uint8_t fds;                        /* most descriptors it takes */
    uint16_t since;
};

/*
 * A list.  To encode: count and items (an array of the record's struct, of uint32_t, or of struct span for STRINGS),
 * wire NULL.  Decoded: wire set; read it with wire_<record>_at(), wire_u32_at(), wire_string_at().
 */
struct wire_list {
    uint32_t count;
    const void *items;
    const uint8_t *wire;
    struct span heap;
};

/* 0, or the positive code that @fault tells more of.  *ret_value is written on 0 only. */
must_check int wire_decode(const struct wire_message *message, struct span payload, void *ret_value,
                           struct wire_fault *fault);
/*
 * Appends one frame.  @head gives request, flags, nfds, and a type if it is not the message's own (0).
 * 0; WIRE_E_LIMIT where it does not fit; WIRE_E_INVALID where a value is out of its range (a mistake of the caller's).
 */
must_check int wire_encode(const struct wire_message *message, const void *value, struct frame_header head,
                           struct frame_out *out, struct wire_fault *fault);
/* Bytes that wire_encode() would append, header included. */
size_t wire_size(const struct wire_message *message, const void *value);

/* NULL where the number is not known. */
const struct wire_type *wire_type_find(uint16_t type);
/* Which message a frame is: by its flags (ERROR), its type and the kind in its payload.  NULL: not known. */
const struct wire_message *wire_message_find(const struct frame_header *header, struct span payload);

void wire_record_at(const struct wire_record *record, const struct wire_list *list, uint32_t index, void *ret_record);
uint32_t wire_u32_at(const struct wire_list *list, uint32_t index);
struct span wire_string_at(const struct wire_list *list, uint32_t index);   /* walks: short lists only */
/* Name of a value, or NULL. */
const char *wire_name_of(const struct wire_names *names, uint32_t value);
const char *wire_code_name(uint32_t code);      /* "INVALID"; "unknown error" */
uint32_t wire_code_http(uint32_t code);         /* 500 for unknown ones */
const char *wire_code_grpc(uint32_t code);

/* What wire_gen.h has for each record and message: its table, and the functions above with its own type. */
#define WIRE_RECORD(name)                                                                                       \
    extern const struct wire_record wire_##name##_record;                                                       \
    static inline struct wire_##name wire_##name##_at(const struct wire_list *list, uint32_t index)             \
    {                                                                                                           \
        struct wire_##name r;                                                                                   \
        wire_record_at(&wire_##name##_record, list, index, &r);                                                 \
        return r;                                                                                               \
    }

#define WIRE_MESSAGE(name)                                                                                      \
    extern const struct wire_message wire_##name##_message;                                                     \
    must_check static inline int wire_##name##_decode(struct span payload, struct wire_##name *ret_value,       \
                                                      struct wire_fault *fault)                                 \
    {                                                                                                           \
        return wire_decode(&wire_##name##_message, payload, ret_value, fault);                                  \
    }                                                                                                           \
    must_check static inline int wire_##name##_encode(const struct wire_##name *value, struct frame_header head,\
                                                      struct frame_out *out)                                    \
    {                                                                                                           \
        return wire_encode(&wire_##name##_message, value, head, out, NULL);                                     \
    }

static inline struct span span_of(const void *data, size_t size) { return (struct span){ data, size }; }
