/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The frame of the wire protocol (PROTOCOL.md): header, the three parts of a payload, TLVs.
 *
 * Pure functions: bytes in, structs out, no I/O, no allocation; spans point into the caller's bytes.  What a peer
 * did wrong comes back as a positive error code of the protocol (enum wire_code), with its story in a wire_fault.
 */

#include "src/base/bytes.h"

#define FRAME_HEADER_BYTES 16u
#define FRAME_REPLY 0x8000u             /* type of a reply = type of its request | this */
#define FRAME_TLVS_MAX 64u
#define FRAME_TLV_CRITICAL 0x8000u      /* bit of a tag: who does not know it must refuse the frame */
#define FRAME_TLV_GREASE 0x7000u        /* tags from here to 0x7fff are never assigned: clients send them at random */

enum frame_flag {
    FRAME_END = 0x01,                   /* last frame of the request */
    FRAME_ERROR = 0x02,                 /* the payload is an error; only with END */
    FRAME_SKIP = 0x04,                  /* who does not know the type may ignore the frame */
};

struct frame_header {
    uint32_t length;                    /* payload bytes, a multiple of 8 */
    uint16_t type;
    uint8_t flags;
    uint8_t nfds;                       /* descriptors that came with byte 0 of the header */
    uint64_t request;                   /* cookie; 0 = the connection itself */
};

struct wire_field;
struct wire_message;

/* What is wrong with a frame.  Pointers are to constants. */
struct wire_fault {
    uint32_t code;                      /* enum wire_code */
    uint32_t detail;                    /* as the code says; for INVALID the offset in the payload */
    const char *problem;
    const struct wire_message *message; /* NULL where the frame itself is wrong */
    const struct wire_field *field;     /* NULL where no single field is */
};

/* Fills @fault when it is not NULL; returns @code. */
int wire_fault_set(struct wire_fault *fault, uint32_t code, uint32_t detail, const char *problem);
/* One line for a person: "GENERATE.top_p: above its maximum (0 .. 1)". */
void wire_fault_text(const struct wire_fault *fault, char *ret_text, size_t size);

/*
 * 0, or WIRE_E_PROTOCOL: unknown flags, ERROR without END, length not of eights or above @max_length, nfds > 4.
 * Whether the type is known, and takes descriptors, is asked afterwards (wire_type_find()).
 */
must_check int frame_header_decode(const uint8_t bytes[FRAME_HEADER_BYTES], uint32_t max_length,
                                   struct frame_header *ret_header, struct wire_fault *fault);
void frame_header_encode(const struct frame_header *header, uint8_t ret_bytes[FRAME_HEADER_BYTES]);

/* A payload's parts.  An empty payload is { fixed_size 8, heap_size 0 }. */
struct frame_parts {
    struct span fixed;                  /* its 8 bytes of sizes included */
    struct span heap;
    struct span tlvs;
    uint32_t tlv_offset;                /* of tlvs in the payload */
};

/* 0 or WIRE_E_INVALID. */
must_check int frame_split(struct span payload, struct frame_parts *ret_parts, struct wire_fault *fault);

struct tlv {
    uint16_t tag;                       /* without the critical bit */
    bool critical;
    uint32_t offset;                    /* in the payload */
    struct span data;
};

/* Walks TLVs: `struct tlv_walk w = tlv_walk_of(&parts); while (tlv_next(&w, &tlv)) …; if (w.fault.code) …` */
struct tlv_walk {
    struct cursor cursor;
    uint32_t base, count;
    uint16_t seen[FRAME_TLVS_MAX];
    struct wire_fault fault;            /* code 0 at a good end */
};

struct tlv_walk tlv_walk_of(const struct frame_parts *parts);
/* false at the end or at a fault: INVALID (cut short, reserved bytes set, duplicate) or LIMIT (too many). */
bool tlv_next(struct tlv_walk *walk, struct tlv *ret_tlv);

/*
 * Where frames are written: memory of the caller's, whole frames one after the other.  A frame that does not fit
 * leaves size as it was.  With data == NULL nothing is written and size counts.
 */
struct frame_out {
    uint8_t *data;
    size_t size, capacity;
};
