/* SPDX-License-Identifier: Apache-2.0 */
/* Headers, parts of payloads, TLVs, and the encoder's room; messages are tested by vectors and at random. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/wire/wire_gen.h"

static const struct frame_header plain = { .length = 24, .type = 0x0301, .request = 0x1122334455667788 };

static int decode_header(struct frame_header h, uint32_t max, struct wire_fault *fault)
{
    uint8_t bytes[FRAME_HEADER_BYTES];
    struct frame_header back;
    int r;

    frame_header_encode(&h, bytes);
    r = frame_header_decode(bytes, max, &back, fault);
    if (r == 0)
        assert_memory_equal(&back, &h, sizeof(h));
    return r;
}

static void header_bytes(void **state)
{
    static const uint8_t want[FRAME_HEADER_BYTES] = {
        24, 0, 0, 0, 1, 3, 3, 2, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
    };
    struct frame_header h = plain;
    uint8_t got[FRAME_HEADER_BYTES];

    (void)state;
    h.flags = FRAME_END | FRAME_ERROR;
    h.nfds = 2;
    frame_header_encode(&h, got);
    assert_memory_equal(got, want, sizeof(want));
}

static void header_limits(void **state)
{
    struct frame_header h = plain;
    struct wire_fault fault;

    (void)state;
    assert_int_equal(decode_header(h, 24, &fault), 0);
    assert_int_equal(decode_header(h, 16, &fault), WIRE_E_PROTOCOL);
    for (uint32_t bits = 0; bits < 256; bits++) {
        bool good = bits < 8 && (!(bits & FRAME_ERROR) || (bits & FRAME_END));

        h.flags = (uint8_t)bits;
        assert_int_equal(decode_header(h, 24, NULL), good ? 0 : WIRE_E_PROTOCOL);
    }
    h = plain;
    for (uint32_t n = 0; n < 256; n++) {
        h.nfds = (uint8_t)n;
        assert_int_equal(decode_header(h, 24, NULL), n <= WIRE_LIMIT_FDS ? 0 : WIRE_E_PROTOCOL);
    }
    h = plain;
    for (h.length = 0; h.length < 64; h.length++)
        assert_int_equal(decode_header(h, 64, NULL), h.length % 8 ? WIRE_E_PROTOCOL : 0);
    h.length = UINT32_MAX - 7;
    assert_int_equal(decode_header(h, UINT32_MAX, NULL), 0);
    assert_int_equal(decode_header(h, WIRE_LIMIT_FRAME_CLIENT, NULL), WIRE_E_PROTOCOL);
}

static int split(uint32_t fixed, uint32_t heap, size_t size)
{
    uint8_t payload[64] = { 0 };
    struct frame_parts parts;
    int r;

    memcpy(payload, &fixed, 4);
    memcpy(payload + 4, &heap, 4);
    r = frame_split(span_of(payload, size), &parts, NULL);
    if (r == 0 && size) {
        assert_int_equal(parts.fixed.size, fixed);
        assert_int_equal(parts.heap.size, heap);
        assert_int_equal(parts.tlvs.size, size - fixed - heap);
        assert_int_equal(parts.tlv_offset, fixed + heap);
    }
    return r;
}

static void parts(void **state)
{
    (void)state;
    assert_int_equal(split(0, 0, 0), 0);
    assert_int_equal(split(8, 0, 8), 0);
    assert_int_equal(split(16, 24, 48), 0);
    assert_int_equal(split(0, 0, 8), WIRE_E_INVALID);
    assert_int_equal(split(12, 0, 16), WIRE_E_INVALID);
    assert_int_equal(split(16, 0, 8), WIRE_E_INVALID);
    assert_int_equal(split(8, 8, 8), WIRE_E_INVALID);
    assert_int_equal(split(8, 4, 16), WIRE_E_INVALID);
    assert_int_equal(split(8, UINT32_MAX - 7, 48), WIRE_E_INVALID);
    assert_int_equal(split(UINT32_MAX - 7, 16, 48), WIRE_E_INVALID);
    assert_int_equal(split(8, 0, 7), WIRE_E_INVALID);
}

static void put_tlv(struct buffer *b, uint16_t tag, uint32_t size)
{
    static const uint8_t zeros[64];

    buffer_put_u16(b, tag);
    buffer_put_u16(b, 0);
    buffer_put_u32(b, size);
    buffer_put(b, zeros, align_up(size, 8));
}

static uint32_t walk(const struct buffer *b, uint32_t *ret_code)
{
    struct frame_parts p = { .tlvs = span_of(b->data, b->size), .tlv_offset = 8 };
    struct tlv_walk w = tlv_walk_of(&p);
    uint32_t n = 0;
    struct tlv tlv;

    while (tlv_next(&w, &tlv))
        n++;
    assert_false(tlv_next(&w, &tlv));
    *ret_code = w.fault.code;
    return n;
}

static void tlvs(void **state)
{
    struct buffer b = BUFFER_NULL;
    uint32_t code;

    (void)state;
    for (uint16_t i = 0; i < FRAME_TLVS_MAX; i++)
        put_tlv(&b, (uint16_t)(0x7000 + i), i % 9);
    assert_int_equal(walk(&b, &code), FRAME_TLVS_MAX);
    assert_int_equal(code, 0);
    put_tlv(&b, 0x6000, 0);
    assert_int_equal(walk(&b, &code), FRAME_TLVS_MAX);
    assert_int_equal(code, WIRE_E_LIMIT);

    b.size = 0;
    put_tlv(&b, 5, 3);
    put_tlv(&b, 5 | FRAME_TLV_CRITICAL, 3);     /* the bit is no part of the name */
    assert_int_equal(walk(&b, &code), 1);
    assert_int_equal(code, WIRE_E_INVALID);

    b.size = 0;
    put_tlv(&b, 5, 3);
    b.data[2] = 1;
    assert_int_equal(walk(&b, &code), 0);
    assert_int_equal(code, WIRE_E_INVALID);

    b.size = 0;
    put_tlv(&b, 5, 9);
    b.size -= 8;
    assert_int_equal(walk(&b, &code), 0);
    assert_int_equal(code, WIRE_E_INVALID);
    memset(b.data + 4, 0xff, 4);
    assert_int_equal(walk(&b, &code), 0);
    assert_int_equal(code, WIRE_E_INVALID);
    buffer_deinit(&b);
}

/* A frame as it leaves a client; returns its payload. */
static struct span encode_generate(uint8_t *memory, size_t size, struct wire_generate *g)
{
    static const uint32_t ids[] = { 1, 2, 3 };
    static const struct wire_segment segments[] = {
        { .kind = WIRE_SEGMENT_KIND_TRUSTED_TEXT, .data = { (const uint8_t *)"<s>", 3 } },
        { .kind = WIRE_SEGMENT_KIND_TOKEN_IDS, .data = { (const uint8_t *)ids, sizeof(ids) } },
    };
    static const struct span stops[] = { { (const uint8_t *)"\n", 1 }, { (const uint8_t *)"stop", 4 } };
    static const uint32_t stop_ids[] = { 7 };
    struct frame_out out = { .data = memory, .capacity = size };

    *g = (struct wire_generate){
        .model = span_of("m", 1),
        .segments = { .items = segments, .count = 2 },
        .max_tokens = 5, .temperature = 0.5f, .top_p = 1,
        .present = WIRE_GENERATE_HAS_STOP_STRINGS | WIRE_GENERATE_HAS_STOP_IDS,
        .stop_strings = { .items = stops, .count = 2 },
        .stop_ids = { .items = stop_ids, .count = 1 },
    };
    assert_int_equal(wire_generate_encode(g, (struct frame_header){ .request = 9 }, &out), 0);
    assert_int_equal(out.size, wire_size(&wire_generate_message, g));
    return span_of(memory + FRAME_HEADER_BYTES, out.size - FRAME_HEADER_BYTES);
}

static void round_trip(void **state)
{
    uint8_t memory[512];
    struct wire_generate sent, got;
    struct span payload = encode_generate(memory, sizeof(memory), &sent), s;
    struct wire_segment segment;

    (void)state;
    assert_int_equal(wire_generate_decode(payload, &got, NULL), 0);
    assert_int_equal(got.segments.count, 2);
    segment = wire_segment_at(&got.segments, 1);
    assert_int_equal(segment.kind, WIRE_SEGMENT_KIND_TOKEN_IDS);
    assert_int_equal(segment.data.size, 12);
    assert_int_equal(load_u32(segment.data.data + 8), 3);
    assert_true(got.present == sent.present);
    s = wire_string_at(&got.stop_strings, 1);
    assert_int_equal(s.size, 4);
    assert_memory_equal(s.data, "stop", 4);
    assert_int_equal(wire_u32_at(&got.stop_ids, 0), 7);
    assert_true(got.temperature == 0.5f);
}

/* Cut anywhere, a frame is refused or read in part, never beyond its end (run under ASan). */
static void cut_anywhere(void **state)
{
    uint8_t memory[512];
    struct wire_generate sent, got;
    struct span payload = encode_generate(memory, sizeof(memory), &sent);

    (void)state;
    for (size_t n = 0; n < payload.size; n++) {
        uint8_t *copy = malloc(n ? n : 1);

        memcpy(copy, payload.data, n);
        /* Only a cut between TLVs leaves something whole. */
        if (wire_generate_decode(span_of(copy, n), &got, NULL) == 0)
            assert_true(n % 8 == 0 && got.present != sent.present);
        free(copy);
    }
}

/* Every capacity below the right one is refused, writes nothing behind it, and leaves size alone. */
static void no_room(void **state)
{
    uint8_t memory[512], small[512];
    struct wire_generate g;
    size_t need = encode_generate(memory, sizeof(memory), &g).size + FRAME_HEADER_BYTES;

    (void)state;
    for (size_t n = 0; n <= need; n++) {
        struct frame_out out = { .data = small, .capacity = n };

        memset(small, 0xa5, sizeof(small));
        assert_int_equal(wire_generate_encode(&g, (struct frame_header){ .request = 9 }, &out),
                         n < need ? WIRE_E_LIMIT : 0);
        assert_int_equal(out.size, n < need ? 0 : need);
        for (size_t i = n; i < sizeof(small); i++)
            assert_int_equal(small[i], 0xa5);
    }
    assert_memory_equal(memory, small, need);
}

static void encoder_refuses(void **state)
{
    struct wire_generate g;
    uint8_t memory[512];
    struct frame_out out = { .data = memory, .capacity = sizeof(memory) };
    struct frame_header head = { .request = 1 };

    (void)state;
    encode_generate(memory, sizeof(memory), &g);
    g.top_p = 1.5f;
    assert_int_equal(wire_generate_encode(&g, head, &out), WIRE_E_INVALID);
    g.top_p = NAN;
    assert_int_equal(wire_generate_encode(&g, head, &out), WIRE_E_INVALID);
    g.top_p = 0;
    g.flags = 0x80000000;
    assert_int_equal(wire_generate_encode(&g, head, &out), WIRE_E_UNSUPPORTED);
    g.flags = 0;
    g.n_logprobs = WIRE_LIMIT_LOGPROBS + 1;
    assert_int_equal(wire_generate_encode(&g, head, &out), WIRE_E_LIMIT);
    g.n_logprobs = 0;
    assert_int_equal(wire_generate_encode(&g, head, &out), 0);
}

static void fault_text(void **state)
{
    uint8_t memory[512];
    struct wire_generate sent, got;
    struct wire_fault fault;
    char text[128];

    (void)state;
    encode_generate(memory, sizeof(memory), &sent);
    memory[FRAME_HEADER_BYTES + 35] = 0x40;     /* top_p = 2.x or so */
    assert_int_equal(wire_generate_decode(span_of(memory + 16, load_u32(memory)), &got, &fault), WIRE_E_INVALID);
    wire_fault_text(&fault, text, sizeof(text));
    assert_string_equal(text, "GENERATE.top_p: above its maximum (0 .. 1)");
    assert_int_equal(fault.detail, 32);
    wire_fault_text(&fault, text, 10);
    assert_string_equal(text, "GENERATE.");
}

static void tables(void **state)
{
    (void)state;
    assert_non_null(wire_type_find(WIRE_TYPE_GENERATE));
    assert_true(wire_type_find(WIRE_TYPE_EMBED)->reserved);
    assert_true(wire_type_find(WIRE_TYPE_SWAP)->admin);
    assert_null(wire_type_find(0x0666));
    for (uint32_t i = 1; i < WIRE_TYPE_COUNT; i++)
        assert_true(wire_types[i - 1].type < wire_types[i].type);
    assert_string_equal(wire_code_name(WIRE_E_BUSY), "BUSY");
    assert_int_equal(wire_code_http(WIRE_E_BUSY), 429);
    assert_string_equal(wire_code_grpc(WIRE_E_NOT_FOUND), "NOT_FOUND");
    assert_string_equal(wire_code_name(0), "unknown error");
    assert_int_equal(wire_code_http(9999), 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_bytes), cmocka_unit_test(header_limits), cmocka_unit_test(parts),
        cmocka_unit_test(tlvs), cmocka_unit_test(round_trip), cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(no_room), cmocka_unit_test(encoder_refuses), cmocka_unit_test(fault_text),
        cmocka_unit_test(tables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
