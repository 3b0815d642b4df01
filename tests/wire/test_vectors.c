/* SPDX-License-Identifier: Apache-2.0 */
/* Every vector of vectors.json: refused with the right code and detail, or read as its JSON, and written back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/wire/show.h"
#include "src/wire/wire_gen.h"
#include "tests/wire/vectors.h"

/* Each frame in memory of exactly its size, so that a sanitizer sees the first byte read too many. */
static struct span frame_bytes(const char *hex)
{
    size_t size = strlen(hex) / 2;
    uint8_t *bytes = malloc(size);

    for (size_t i = 0; i < size; i++) {
        char pair[3] = { hex[2 * i], hex[2 * i + 1], 0 };

        bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return span_of(bytes, size);
}

static int read_frame(struct span frame, struct frame_header *ret_header, void *value, struct wire_fault *fault)
{
    const struct wire_message *m;
    struct span payload = span_of(frame.data + FRAME_HEADER_BYTES, frame.size - FRAME_HEADER_BYTES);
    int r = frame_header_decode(frame.data, WIRE_LIMIT_FRAME_CLIENT, ret_header, fault);

    if (r)
        return r;
    assert_int_equal(ret_header->length, payload.size);
    m = wire_message_find(ret_header, payload);
    if (!m) {                           /* a reply whose kind the vector spoilt */
        const struct wire_type *type = wire_type_find(ret_header->type & (uint16_t)~FRAME_REPLY);

        assert_non_null(type);
        return wire_fault_set(fault, WIRE_E_INVALID, 8, "a kind of reply that does not exist");
    }
    return wire_decode(m, payload, value, fault);
}

static void check_good(const struct vector *v, struct span frame, const struct frame_header *header, const void *value)
{
    struct span payload = span_of(frame.data + FRAME_HEADER_BYTES, header->length);
    const struct wire_message *m = wire_message_find(header, payload);
    struct buffer text = BUFFER_NULL;
    struct json json = json_to(&text);
    uint8_t *again = malloc(frame.size);
    struct frame_out out = { .data = again, .capacity = frame.size };

    wire_to_json(header, payload, &json);
    assert_true(buffer_ok(&text));
    buffer_put_u8(&text, 0);
    if (strcmp((const char *)text.data, v->json) != 0)
        fail_msg("%s:\n%s\nwanted\n%s", v->name, (const char *)text.data, v->json);
    if (v->canonical) {
        assert_int_equal(wire_encode(m, value, *header, &out, NULL), 0);
        assert_int_equal(out.size, frame.size);
        assert_memory_equal(again, frame.data, frame.size);
    }
    free(again);
    buffer_deinit(&text);
}

static void all_vectors(void **state)
{
    uint32_t good = 0, bad = 0;

    (void)state;
    for (size_t i = 0; i < vector_count; i++) {
        const struct vector *v = &vectors[i];
        struct span frame = frame_bytes(v->frame);
        _Alignas(16) uint8_t value[WIRE_STRUCT_MAX];
        struct wire_fault fault = { .code = 0 };
        struct frame_header header;
        int r = read_frame(frame, &header, value, &fault);

        if ((uint32_t)r != v->error || fault.detail != v->detail)
            fail_msg("%s: got %s %u (%s), wanted %s %u", v->name, wire_code_name((uint32_t)r), fault.detail,
                     fault.problem ? fault.problem : "", wire_code_name(v->error), v->detail);
        if (r == 0 && v->json)
            check_good(v, frame, &header, value);
        r == 0 ? good++ : bad++;
        free((void *)frame.data);
    }
    print_message("%u frames read, %u refused\n", good, bad);
    assert_true(good > 100 && bad > 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_vectors) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
