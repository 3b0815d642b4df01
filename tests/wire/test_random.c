/* SPDX-License-Identifier: Apache-2.0 */
/* Each message with random values: encoded, decoded, encoded again to the same bytes.  And each limit is hit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/wire/wire_gen.h"

#define ROUNDS 200
#define POOL_BYTES (1u << 20)

/* splitmix64: the same values on each run. */
static uint64_t seed;

static uint64_t random_u64(void)
{
    uint64_t z = (seed += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t random_between(uint64_t low, uint64_t high)
{
    return high - low == UINT64_MAX ? random_u64() : low + random_u64() % (high - low + 1);
}

/* Memory for what structs point to; taken back whole after each round. */
static uint8_t *pool;
static size_t pool_used;

static void *take(size_t size)
{
    void *p = pool + pool_used;

    pool_used += align_up(size, 16);
    assert_true(pool_used <= POOL_BYTES);
    return p;
}

static struct span random_bytes(uint64_t low, uint64_t high)
{
    size_t size = (size_t)random_between(low, min_u64(high, low + 40));
    uint8_t *data = take(size);

    for (size_t i = 0; i < size; i++)
        data[i] = (uint8_t)random_u64();
    return span_of(data, size);
}

static uint64_t random_integer(const struct wire_field *f)
{
    if (f->names && f->names->bits)
        return random_u64() & f->names->mask;
    if (f->names)
        return f->names->items[random_between(0, f->names->count - 1)].value;
    if ((f->flags & WIRE_FIELD_ZERO) && random_u64() % 2)
        return 0;
    switch (random_u64() % 4) {
    case 0: return f->minimum;
    case 1: return f->maximum;
    default: return random_between(f->minimum, f->maximum);
    }
}

static double random_float(const struct wire_field *f)
{
    double low = f->float_minimum < -1e6 ? -1e6 : f->float_minimum;
    double high = f->float_maximum > 1e6 ? 1e6 : f->float_maximum;

    return low + (high - low) * (double)(random_u64() >> 11) * 0x1p-53;
}

static void random_scalar(const struct wire_field *f, uint8_t *member)
{
    uint64_t v = f->type == WIRE_F32 || f->type == WIRE_F64 ? 0 : random_integer(f);
    double d = f->type == WIRE_F32 || f->type == WIRE_F64 ? random_float(f) : 0;
    float single = (float)d;

    switch (f->type) {
    case WIRE_U8: memcpy(member, &v, 1); return;
    case WIRE_U16: memcpy(member, &v, 2); return;
    case WIRE_U32: memcpy(member, &v, 4); return;
    case WIRE_U64: memcpy(member, &v, 8); return;
    case WIRE_F32: memcpy(member, &single, 4); return;
    case WIRE_F64: memcpy(member, &d, 8); return;
    case WIRE_BYTES: case WIRE_LIST: case WIRE_STRINGS: break;
    }
    fail();
}

static void random_record(const struct wire_record *record, uint8_t *value)
{
    memset(value, 0, record->struct_bytes);
    for (uint32_t i = 0; i < record->field_count; i++) {
        const struct wire_field *f = &record->fields[i];
        struct span s;
        uint32_t first;

        if (f->type != WIRE_BYTES) {
            random_scalar(f, value + f->member);
            continue;
        }
        s = random_bytes(f->minimum, f->maximum);
        memcpy(&first, value, sizeof(first));
        if ((f->flags & WIRE_FIELD_IDS) && first == f->ids_when)
            s.size &= ~(size_t)3;
        memcpy(value + f->member, &s, sizeof(s));
    }
}

static struct wire_list random_list(const struct wire_field *f, uint32_t count)
{
    size_t size = f->type == WIRE_STRINGS ? sizeof(struct span) : f->record ? f->record->struct_bytes : 4;
    uint8_t *items = take(size * count);

    for (uint32_t i = 0; i < count; i++) {
        uint8_t *item = items + i * size;
        struct span s;

        if (f->type == WIRE_STRINGS) {
            s = random_bytes(f->item_minimum, f->item_maximum);
            memcpy(item, &s, sizeof(s));
        } else if (f->record) {
            random_record(f->record, item);
        } else {
            uint32_t v = (uint32_t)random_u64();

            memcpy(item, &v, sizeof(v));
        }
    }
    return (struct wire_list){ .count = count, .items = items };
}

static void random_field(const struct wire_field *f, uint8_t *value)
{
    uint8_t *member = value + f->member;
    struct wire_list list;
    struct span s;

    if (f->type == WIRE_BYTES) {
        s = random_bytes(f->minimum, f->maximum);
        memcpy(member, &s, sizeof(s));
    } else if (f->type == WIRE_LIST || f->type == WIRE_STRINGS) {
        uint32_t count = (uint32_t)random_between(f->minimum, min_u64(f->maximum, 8));

        if (f->same_count) {
            memcpy(&list, value + f->same_count->member, sizeof(list));
            count = list.count;
        }
        list = random_list(f, count);
        memcpy(member, &list, sizeof(list));
    } else {
        random_scalar(f, member);
    }
}

static void random_message(const struct wire_message *m, uint8_t *value)
{
    uint64_t present = 0;

    memset(value, 0, m->struct_bytes);
    pool_used = 0;
    for (uint32_t i = 0; i < m->field_count; i++)
        random_field(&m->fields[i], value);
    for (uint32_t i = 0; i < m->tlv_count; i++) {
        if (random_u64() % 2)
            continue;
        random_field(&m->tlvs[i], value);
        present |= UINT64_C(1) << i;
    }
    if (m->tlv_count)
        memcpy(value + m->present_member, &present, sizeof(present));
}

static void one_round(const struct wire_message *m)
{
    _Alignas(16) uint8_t value[WIRE_STRUCT_MAX], back[WIRE_STRUCT_MAX];
    static uint8_t first[65536], second[65536];
    struct frame_out out = { .data = first, .capacity = sizeof(first) };
    struct frame_out again = { .data = second, .capacity = sizeof(second) };
    struct frame_header head = { .request = random_u64(), .flags = FRAME_END };
    struct wire_fault fault;
    uint8_t *exact;

    if (m == &wire_error_message)
        head.flags |= FRAME_ERROR;
    random_message(m, value);
    if (wire_encode(m, value, head, &out, &fault))
        fail_msg("%s.%s: %s", m->name, fault.field ? fault.field->name : "", fault.problem);
    assert_int_equal(out.size, wire_size(m, value));
    assert_int_equal(out.size % 8, 0);
    exact = malloc(out.size);
    memcpy(exact, first, out.size);
    assert_int_equal(frame_header_decode(exact, UINT32_MAX, &head, &fault), 0);
    assert_int_equal(head.length + FRAME_HEADER_BYTES, out.size);
    assert_ptr_equal(wire_message_find(&head, span_of(exact + 16, head.length)), m);
    if (wire_decode(m, span_of(exact + 16, head.length), back, &fault))
        fail_msg("%s.%s: %s", m->name, fault.field ? fault.field->name : "", fault.problem);
    assert_int_equal(wire_encode(m, back, head, &again, &fault), 0);
    assert_int_equal(again.size, out.size);
    assert_memory_equal(first, second, out.size);
    free(exact);
}

static void round_trips(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < WIRE_MESSAGE_COUNT; i++)
        for (uint32_t n = 0; n < ROUNDS; n++) {
            seed = (uint64_t)i << 32 | n;
            one_round(wire_messages[i]);
        }
}

/*
 * Encodes a GENERATE without looking at limits (through a copy of the tables) and returns what the true decoder says.
 * The encoder with its true tables must agree.
 */
static int verdict(const struct wire_generate *g, uint32_t *ret_detail)
{
    struct wire_field fields[32], tlvs[16];
    struct wire_message lax = wire_generate_message;
    struct frame_out out = { .capacity = 4u << 20 };
    struct wire_generate back;
    struct wire_fault fault = { .code = 0 };
    struct frame_out nowhere = { .data = NULL, .capacity = SIZE_MAX };
    int r;

    assert_true(lax.field_count <= ARRAY_LENGTH(fields) && lax.tlv_count <= ARRAY_LENGTH(tlvs));
    memcpy(fields, lax.fields, lax.field_count * sizeof(fields[0]));
    memcpy(tlvs, lax.tlvs, lax.tlv_count * sizeof(tlvs[0]));
    for (uint32_t i = 0; i < lax.field_count + lax.tlv_count; i++) {
        struct wire_field *f = i < lax.field_count ? &fields[i] : &tlvs[i - lax.field_count];

        f->maximum = UINT64_MAX;
        f->total_maximum = 0;
        f->item_maximum = UINT32_MAX;
    }
    lax.fields = fields;
    lax.tlvs = tlvs;
    out.data = malloc(out.capacity);
    assert_int_equal(wire_encode(&lax, g, (struct frame_header){ .request = 1 }, &out, NULL), 0);
    r = wire_generate_decode(span_of(out.data + 16, out.size - 16), &back, &fault);
    assert_int_equal(r, wire_generate_encode(g, (struct frame_header){ .request = 1 }, &nowhere));
    free(out.data);
    *ret_detail = fault.detail;
    return r;
}

/* @g is what the limit allows, @count points to the number in it that one more makes too many. */
static void limit_is(const struct wire_generate *g, void *count, bool is_size, uint32_t limit)
{
    uint32_t detail, small = limit;
    size_t size = limit;

    memcpy(count, is_size ? (void *)&size : (void *)&small, is_size ? sizeof(size) : sizeof(small));
    assert_int_equal(verdict(g, &detail), 0);
    size++;
    small++;
    memcpy(count, is_size ? (void *)&size : (void *)&small, is_size ? sizeof(size) : sizeof(small));
    assert_int_equal(verdict(g, &detail), WIRE_E_LIMIT);
    assert_int_equal(detail, limit);
}

static void limits(void **state)
{
    static uint8_t text[1u << 20];
    static struct wire_segment segments[WIRE_LIMIT_SEGMENTS + 1];
    static struct wire_bias biases[WIRE_LIMIT_LOGIT_BIAS + 1];
    static uint32_t ids[WIRE_LIMIT_STOP_IDS + 1];
    struct span strings[WIRE_LIMIT_STOP_STRINGS + 1], one = { text, 1 };
    const struct wire_generate least = { .segments = { .count = 1, .items = segments } };
    struct wire_generate g = least;

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(segments); i++)
        segments[i].kind = WIRE_SEGMENT_KIND_UNTRUSTED_TEXT;
    limit_is(&g, &g.segments.count, false, WIRE_LIMIT_SEGMENTS);
    g = least;
    limit_is(&g, &g.n_logprobs, false, WIRE_LIMIT_LOGPROBS);
    g = least;
    segments[0].data.data = segments[1].data.data = text;
    limit_is(&g, &segments[0].data.size, true, WIRE_LIMIT_PROMPT_INLINE);
    g.segments.count = 2;                       /* the limit is one of the sum */
    segments[1].data.size = 1000;
    segments[0].data.size = WIRE_LIMIT_PROMPT_INLINE - 1000;
    assert_int_equal(verdict(&g, ids), 0);
    segments[0].data.size++;
    assert_int_equal(verdict(&g, ids), WIRE_E_LIMIT);
    segments[0].data = segments[1].data = (struct span){ .data = NULL };

    g = least;
    g.present = WIRE_GENERATE_HAS_GRAMMAR;
    g.grammar.data = text;
    limit_is(&g, &g.grammar.size, true, WIRE_LIMIT_GRAMMAR);
    g = least;
    g.present = WIRE_GENERATE_HAS_STOP_STRINGS;
    for (size_t i = 0; i < ARRAY_LENGTH(strings); i++)
        strings[i] = one;
    g.stop_strings.items = strings;
    limit_is(&g, &g.stop_strings.count, false, WIRE_LIMIT_STOP_STRINGS);
    g.stop_strings.count = 1;
    limit_is(&g, &strings[0].size, true, WIRE_LIMIT_STOP_STRING);
    g = least;
    g.present = WIRE_GENERATE_HAS_STOP_IDS;
    g.stop_ids.items = ids;
    limit_is(&g, &g.stop_ids.count, false, WIRE_LIMIT_STOP_IDS);
    g = least;
    g.present = WIRE_GENERATE_HAS_LOGIT_BIAS;
    g.logit_bias.items = biases;
    limit_is(&g, &g.logit_bias.count, false, WIRE_LIMIT_LOGIT_BIAS);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(round_trips), cmocka_unit_test(limits) };
    int r;

    pool = malloc(POOL_BYTES);
    r = cmocka_run_group_tests(tests, NULL, NULL);
    free(pool);
    return r;
}
