/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames: a header and a payload of any bytes.  As the message it says to be, and as every other one, the payload is
 * refused with a code and its story, or read; what was read can be written, read again, and shows the same JSON.
 */
#include <stdlib.h>
#include <string.h>

#include "src/wire/show.h"
#include "src/wire/wire_gen.h"
#include "tests/fuzz/fuzz.h"

static struct buffer shown(const struct wire_message *m, const struct frame_header *header, struct span payload)
{
    struct frame_header h = *header;
    struct buffer text = BUFFER_NULL;
    struct json json = json_to(&text);

    h.type = m->type;
    h.length = (uint32_t)payload.size;
    h.flags = m == &wire_error_message ? FRAME_ERROR | FRAME_END : FRAME_END;
    wire_to_json(&h, payload, &json);
    check(buffer_ok(&text));
    return text;
}

/* Written anew, a message is as long as it says and means the same. */
static void again(const struct wire_message *m, const struct frame_header *header, struct span payload,
                  const void *value)
{
    struct frame_out out = { .capacity = wire_size(m, value) };
    struct buffer first = shown(m, header, payload), second;

    check(out.capacity >= FRAME_HEADER_BYTES && out.capacity % 8 == 0);
    out.data = malloc(out.capacity);
    check(out.data && wire_encode(m, value, (struct frame_header){ .request = header->request }, &out, NULL) == 0);
    check(out.size == out.capacity);
    second = shown(m, header, span_of(out.data + FRAME_HEADER_BYTES, out.size - FRAME_HEADER_BYTES));
    check(first.size == second.size && memcmp(first.data, second.data, first.size) == 0);
    buffer_deinit(&first);
    buffer_deinit(&second);
    free(out.data);
}

static void read_as(const struct wire_message *m, const struct frame_header *header, struct span payload)
{
    _Alignas(16) uint8_t value[WIRE_STRUCT_MAX];
    struct wire_fault fault = { .code = 0 };
    char text[256];
    int r = wire_decode(m, payload, value, &fault);

    check(r >= 0 && (uint32_t)r == fault.code);
    if (r) {
        check(r <= WIRE_CODE_MAX && fault.problem && fault.message == m);
        wire_fault_text(&fault, text, sizeof(text));
        check(text[0]);
    } else if (wire_message_find(&(struct frame_header){ .type = m->type }, payload) == m || m == &wire_error_message) {
        again(m, header, payload, value);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct frame_header header;
    struct wire_fault fault = { .code = 0 };
    struct buffer text = BUFFER_NULL;
    struct json json = json_to(&text);
    struct span payload;

    if (size < FRAME_HEADER_BYTES)
        return 0;
    payload = span_of(data + FRAME_HEADER_BYTES, size - FRAME_HEADER_BYTES);
    if (frame_header_decode(data, WIRE_LIMIT_FRAME_CLIENT, &header, &fault)) {
        check(fault.code == WIRE_E_PROTOCOL && fault.problem);
        header = (struct frame_header){ .request = 1 };
    }
    header.length = (uint32_t)payload.size;     /* the reader gives as many bytes as the header says */
    wire_to_json(&header, payload, &json);      /* known or not, readable or not */
    check(buffer_ok(&text));
    buffer_deinit(&text);
    for (uint32_t i = 0; i < WIRE_MESSAGE_COUNT; i++)
        read_as(wire_messages[i], &header, payload);
    return 0;
}
