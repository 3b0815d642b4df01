/* SPDX-License-Identifier: Apache-2.0 */
/* What each verb answers, and what it refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <fcntl.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "tests/serve/fixture.h"

static struct fixture *f;
static struct client *c;

static int set_up(void **state)
{
    (void)state;
    fake_reset();
    f = fixture_new();
    return 0;
}

static void begin(void)
{
    fixture_start(f);
    c = client_open(f->path);
}

static void end(void)
{
    client_ping(c, 99);                 /* whatever was refused: the connection is in order */
    client_close(c);
    fixture_stop(f);
}

static struct span text(const char *s) { return (struct span){ (const uint8_t *)s, strlen(s) }; }

static void models(void **state)
{
    struct wire_model_list_reply list;
    struct wire_model_info_reply info;
    struct wire_model_entry one;
    struct wire_fault fault;
    struct reply r;

    (void)state;
    begin();
    client_send(c, &wire_model_list_message, &(struct wire_model_list){ .nothing = 0 }, 1);
    assert_true(client_receive(c, &r));
    assert_int_equal(wire_model_list_reply_decode(r.payload, &list, &fault), 0);
    assert_int_equal(list.models.count, 1);
    one = wire_model_entry_at(&list.models, 0);
    assert_memory_equal(one.id.data, "fake", 4);
    assert_int_equal(one.state, WIRE_MODEL_STATE_READY);
    assert_int_equal(one.context, 4096);
    assert_int_equal(one.bytes, 10000);

    client_send(c, &wire_model_info_message, &(struct wire_model_info){ .model = text("fake") }, 2);
    assert_true(client_receive(c, &r));
    assert_int_equal(wire_model_info_reply_decode(r.payload, &info, &fault), 0);
    assert_int_equal(info.vocab_size, FAKE_VOCAB);
    assert_int_equal(info.bos, FAKE_BOS);
    assert_int_equal(info.end_ids.count, 1);
    assert_int_equal(wire_u32_at(&info.end_ids, 0), FAKE_EOS);
    assert_int_equal(info.template.size, 14);
    assert_true(info.flags & WIRE_FLAG_MODEL_ADD_BOS);

    client_send(c, &wire_model_info_message, &(struct wire_model_info){ .model = text("other") }, 3);
    client_expect_error(c, 3, WIRE_E_NOT_FOUND);
    end();
}

static void several_models(void **state)
{
    struct wire_model_info m = { .model = { .data = NULL } };
    struct reply r;

    (void)state;
    f->config.model_count = 2;
    fixture_start(f);
    c = client_open(f->path);
    client_send(c, &wire_model_info_message, &m, 1);    /* which one? */
    client_expect_error(c, 1, WIRE_E_INVALID);
    m.model = text("second");
    client_send(c, &wire_model_info_message, &m, 2);
    assert_true(client_receive(c, &r));
    assert_ptr_equal(r.message, &wire_model_info_reply_message);
    end();
}

static void tokenize_and_back(void **state)
{
    struct wire_segment s[] = { { .kind = WIRE_SEGMENT_KIND_TRUSTED_TEXT, .data = text("a<|mark|>") },
                                { .kind = WIRE_SEGMENT_KIND_UNTRUSTED_TEXT, .data = text("b") } };
    static const uint32_t expected[] = { FAKE_BOS, 'a', FAKE_MARK, 'b' }, offsets[] = { 0, 0, 1, 9 };
    struct wire_tokenize t = { .segments = { .count = 2, .items = s } };
    struct wire_detokenize d = { .ids = { .count = 4, .items = expected }, .flags = WIRE_FLAG_DETOKENIZE_CONTROL };
    struct wire_tokenize_reply tr;
    struct wire_detokenize_reply dr;
    struct wire_fault fault;
    struct reply r;

    (void)state;
    begin();
    client_send(c, &wire_tokenize_message, &t, 1);
    assert_true(client_receive(c, &r));
    assert_int_equal(wire_tokenize_reply_decode(r.payload, &tr, &fault), 0);
    assert_int_equal(tr.total, 4);
    assert_int_equal(tr.ids.count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(wire_u32_at(&tr.ids, i), expected[i]);
        assert_int_equal(wire_u32_at(&tr.offsets, i), offsets[i]);
    }
    t.segments.count = 0;               /* nothing: BOS alone; and without it nothing, in one frame with END */
    t.flags = WIRE_FLAG_PROMPT_NO_BOS;
    client_send(c, &wire_tokenize_message, &t, 2);
    assert_true(client_receive(c, &r));
    assert_int_equal(wire_tokenize_reply_decode(r.payload, &tr, &fault), 0);
    assert_int_equal(tr.total, 0);
    assert_int_equal(r.header.flags, FRAME_END);

    client_send(c, &wire_detokenize_message, &d, 3);
    assert_true(client_receive(c, &r));
    assert_int_equal(wire_detokenize_reply_decode(r.payload, &dr, &fault), 0);
    assert_int_equal(dr.text.size, 10);
    assert_memory_equal(dr.text.data, "a<|mark|>b", 10);
    d.ids = (struct wire_list){ .count = 1, .items = (const uint32_t[]){ FAKE_VOCAB } };
    client_send(c, &wire_detokenize_message, &d, 4);
    client_expect_error(c, 4, WIRE_E_INVALID);
    end();
}

/* A long text: the scribe has it while the door answers others; its reply is longer than the output queue. */
static void long_texts(void **state)
{
    uint32_t size = 200000, total = 0;
    char *long_text = malloc(size);
    struct wire_segment s = { .kind = WIRE_SEGMENT_KIND_UNTRUSTED_TEXT, .data = { (uint8_t *)long_text, size } };
    struct wire_tokenize t = { .segments = { .count = 1, .items = &s } };
    struct client *other;
    uint64_t begun;
    struct reply r;

    (void)state;
    for (uint32_t i = 0; i < size; i++)
        long_text[i] = (char)('a' + i % 26);
    f->config.limits.output_queue = 65536;
    begin();
    other = client_open(f->path);
    fake.encode_ns_per_byte = 2000;     /* 0.4 s */
    client_send(c, &wire_tokenize_message, &t, 1);
    begun = clock_now_ns();
    for (uint64_t i = 1; i < 50; i++)
        client_ping(other, i);
    assert_true(clock_now_ns() - begun < 200 * NS_PER_MS);
    usleep(600000);                     /* it is ready and waits for us to read */
    client_ping(other, 1);
    do {
        struct wire_tokenize_reply tr;
        struct wire_fault fault;

        assert_true(client_receive(c, &r));
        assert_int_equal(wire_tokenize_reply_decode(r.payload, &tr, &fault), 0);
        assert_int_equal(tr.first, total);
        assert_int_equal(tr.total, size + 1);
        for (uint32_t i = 0; i < tr.ids.count; i++, total++)
            assert_int_equal(wire_u32_at(&tr.ids, i), total ? 'a' + (total - 1) % 26 : FAKE_BOS);
    } while (!(r.header.flags & FRAME_END));
    assert_int_equal(total, size + 1);
    client_close(other);
    end();
    free(long_text);
}

static void prompt_in_a_memfd(void **state)
{
    struct wire_segment s = { .kind = WIRE_SEGMENT_KIND_TEXT_MEMFD, .fd = 0 };
    struct wire_generate g = { .segments = { .count = 1, .items = &s }, .max_tokens = 5, .seed = 4,
                               .flags = WIRE_FLAG_GENERATE_SEED };
    struct answer a = { .done = false };
    int fd = memfd_create("prompt", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    (void)state;
    begin();
    assert_int_equal(write(fd, "hello", 5), 5);
    client_send_fds(c, &wire_generate_message, &g, 1, 1, &fd, 1);
    client_expect_error(c, 1, WIRE_E_INVALID);          /* not sealed */
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), 0);
    client_send_fds(c, &wire_generate_message, &g, 1, 1, &fd, 1);
    client_answer(c, 1, &a);
    answer_check(&a, "hello", 4, 5);
    answer_deinit(&a);
    client_send(c, &wire_generate_message, &g, 2);      /* no descriptor came */
    client_expect_error(c, 2, WIRE_E_INVALID);
    close(fd);
    end();
}

static void edit(struct wire_generate *g, void *arg)
{
    memcpy(g, arg, sizeof(*g));
}

static void expect_refusal(struct wire_generate g, uint32_t code)
{
    static uint64_t cookie = 1000;

    client_generate(c, ++cookie, "x", 1, 0, edit, &g);
    client_expect_error(c, cookie, code);
}

static void generations_that_are_refused(void **state)
{
    static const uint32_t bad_id = FAKE_VOCAB;
    struct wire_segment s = { .kind = WIRE_SEGMENT_KIND_UNTRUSTED_TEXT, .data = text("hello") };
    struct wire_segment empty = { .kind = WIRE_SEGMENT_KIND_UNTRUSTED_TEXT }, ids = s;
    struct wire_generate good = { .segments = { .count = 1, .items = &s }, .max_tokens = 1 }, g;
    struct wire_bias bias = { .id = 1, .bias = 1 };
    char *large = calloc(1, 5000);

    (void)state;
    begin();
    memset(large, 'x', 4999);
    g = good, g.model = text("none");
    expect_refusal(g, WIRE_E_NOT_FOUND);
    g = good, g.segments.items = &empty;
    expect_refusal(g, WIRE_E_INVALID);
    ids = (struct wire_segment){ .kind = WIRE_SEGMENT_KIND_TOKEN_IDS, .data = { (const uint8_t *)&bad_id, 4 } };
    g = good, g.segments.items = &ids;
    expect_refusal(g, WIRE_E_INVALID);
    g = good, g.min_p = 0.123f;         /* the engine's own check */
    expect_refusal(g, WIRE_E_INVALID);
    g = good, g.present = WIRE_GENERATE_HAS_GRAMMAR, g.grammar = text("root ::= x");
    expect_refusal(g, WIRE_E_UNSUPPORTED);
    g = good, g.present = WIRE_GENERATE_HAS_LOGIT_BIAS;
    g.logit_bias = (struct wire_list){ .count = 1, .items = &bias };
    expect_refusal(g, WIRE_E_UNSUPPORTED);
    ids = (struct wire_segment){ .kind = WIRE_SEGMENT_KIND_UNTRUSTED_TEXT, .data = text(large) };
    g = good, g.segments.items = &ids;
    expect_refusal(g, WIRE_E_CONTEXT_TOO_LONG);
    client_generate(c, 0, "x", 1, 0, NULL, NULL);       /* no cookie */
    client_expect_error(c, 0, WIRE_E_INVALID);
    free(large);
    end();
}

/* Byte by byte over a good GENERATE: whatever the payload says, the daemon answers once and lives. */
static void generate_with_any_byte_changed(void **state)
{
    struct wire_segment s = { .kind = WIRE_SEGMENT_KIND_UNTRUSTED_TEXT, .data = text("hello") };
    struct span stops[] = { text("stop"), text("x") };
    struct wire_generate g = { .segments = { .count = 1, .items = &s }, .max_tokens = 2,
                               .present = WIRE_GENERATE_HAS_STOP_STRINGS,
                               .stop_strings = { .count = 2, .items = stops } };
    struct frame_out out = { .capacity = 1024, .data = (uint8_t[1024]){ 0 } };
    struct reply r;

    (void)state;
    begin();
    assert_int_equal(wire_encode(&wire_generate_message, &g, (struct frame_header){ .request = 5 }, &out, NULL), 0);
    for (size_t i = FRAME_HEADER_BYTES; i < out.size; i++)
        for (uint32_t v = 0; v < 4; v++) {
            uint8_t old = out.data[i];

            out.data[i] = (uint8_t[]){ 0, 1, 0x80, 0xff }[v];
            client_send_bytes(c, out.data, out.size);
            client_send(c, &wire_cancel_message, &(struct wire_cancel){ .nothing = 0 }, 5);
            do {
                if (!client_receive(c, &r))
                    fail_msg("closed after byte %zu became %u", i, out.data[i]);
                assert_int_equal(r.header.request, 5);
            } while (!(r.header.flags & FRAME_END));
            out.data[i] = old;
        }
    end();
}

static void types_that_are_refused(void **state)
{
    static const struct { uint16_t type; uint8_t flags; uint32_t code; } cases[] = {
        { 0x0777, 0, WIRE_E_UNSUPPORTED }, { WIRE_TYPE_EMBED, 0, WIRE_E_UNSUPPORTED },
        { WIRE_TYPE_SCORE, 0, WIRE_E_UNSUPPORTED }, { WIRE_TYPE_GOAWAY, 0, WIRE_E_INVALID },
        { WIRE_TYPE_RELOAD, 0, WIRE_E_PERMISSION }, { WIRE_TYPE_LOG_LEVEL, 0, WIRE_E_PERMISSION },
        { WIRE_TYPE_PING, FRAME_ERROR | FRAME_END, WIRE_E_INVALID },
    };
    uint8_t bytes[FRAME_HEADER_BYTES];

    (void)state;
    begin();
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct frame_header h = { .type = cases[i].type, .flags = cases[i].flags, .request = 7 };

        frame_header_encode(&h, bytes);
        client_send_bytes(c, bytes, sizeof(bytes));
        client_expect_error(c, 7, cases[i].code);
    }
    frame_header_encode(&(struct frame_header){ .type = 0x0777, .flags = FRAME_SKIP, .request = 7 }, bytes);
    client_send_bytes(c, bytes, sizeof(bytes));         /* may be left out: no answer */
    frame_header_encode(&(struct frame_header){ .type = WIRE_TYPE_PONG, .request = 0 }, bytes);
    client_send_bytes(c, bytes, sizeof(bytes));
    end();
}

static void statistics(void **state)
{
    struct buffer all = BUFFER_NULL;
    struct wire_stats_reply s;
    struct wire_fault fault;
    struct answer a = { .done = false };
    struct reply r;

    (void)state;
    begin();
    client_generate(c, 9, "x", 1, 0, NULL, NULL);
    client_answer(c, 9, &a);
    answer_deinit(&a);
    client_send(c, &wire_stats_message, &(struct wire_stats){ .format = WIRE_STATS_FORMAT_COUNTERS }, 1);
    assert_true(client_receive(c, &r));
    assert_int_equal(wire_stats_reply_decode(r.payload, &s, &fault), 0);
    assert_int_equal(s.connections, 1);
    assert_int_equal(s.done_length_total, 1);
    assert_true(s.requests_total >= 1 && s.uptime_ns > 0);

    client_send(c, &wire_stats_message, &(struct wire_stats){ .format = WIRE_STATS_FORMAT_PROMETHEUS }, 2);
    do {
        assert_true(client_receive(c, &r));
        assert_int_equal(wire_stats_reply_decode(r.payload, &s, &fault), 0);
        buffer_put(&all, s.text.data, s.text.size);
    } while (!(r.header.flags & FRAME_END));
    buffer_put_u8(&all, '\0');
    assert_non_null(strstr((char *)all.data, "\ntenon_generation_tokens_total{model=\"fake\"} 1\n"));
    assert_non_null(strstr((char *)all.data, "tenon_request_duration_seconds_bucket{model=\"fake\",le=\"+Inf\"} 1\n"));
    assert_non_null(strstr((char *)all.data, "reason=\"length\",code=\"\"} 1\n"));
    buffer_deinit(&all);
    end();
}

static void events(void **state)
{
    uint32_t loads = 0, ready = 0;
    struct wire_fault fault;
    struct wire_event e;
    struct reply r;

    (void)state;
    fake.load_ns = 300 * NS_PER_MS;
    fixture_start(f);
    c = client_open(f->path);
    client_send(c, &wire_subscribe_message, &(struct wire_subscribe){ .mask = 0 }, 1);
    while (!ready) {
        assert_true(client_receive(c, &r));
        assert_int_equal(wire_event_decode(r.payload, &e, &fault), 0);
        assert_int_equal(r.header.flags, 0);
        loads += e.event == WIRE_EVENT_KIND_LOAD;
        ready += e.event == WIRE_EVENT_KIND_STATE && e.state == WIRE_MODEL_STATE_READY;
    }
    assert_true(loads >= 2);
    client_send(c, &wire_cancel_message, &(struct wire_cancel){ .nothing = 0 }, 1);
    assert_true(client_receive(c, &r));
    assert_int_equal(wire_event_decode(r.payload, &e, &fault), 0);
    assert_int_equal(r.header.flags, FRAME_END);
    assert_int_equal(e.event, 0);
    end();
}

static void log_levels(void **state)
{
    struct wire_log_level_reply reply;
    struct wire_fault fault;
    struct client *admin;
    struct reply r;

    (void)state;
    begin();
    admin = client_open(f->admin_path);
    client_send(admin, &wire_log_level_message, &(struct wire_log_level){ .level = LOG_LEVEL_ERROR }, 1);
    assert_true(client_receive(admin, &r));
    assert_int_equal(wire_log_level_reply_decode(r.payload, &reply, &fault), 0);
    assert_int_equal(reply.previous, LOG_LEVEL_ERROR);
    client_send(admin, &wire_reload_message, &(struct wire_reload){ .nothing = 0 }, 2);
    client_expect_error(admin, 2, WIRE_E_UNSUPPORTED);
    client_ping(admin, 3);
    client_close(admin);
    end();
}

static void with_logprobs(struct wire_generate *g, void *arg)
{
    (void)arg;
    g->n_logprobs = 3;
}

static void alternatives(void **state)
{
    struct wire_fault fault;
    struct wire_tokens t;
    struct reply r;

    (void)state;
    begin();
    client_generate(c, 1, "hello", 2, 1, with_logprobs, NULL);
    do {
        assert_true(client_receive(c, &r));
        if (r.message != &wire_tokens_message)
            continue;
        assert_int_equal(wire_tokens_decode(r.payload, &t, &fault), 0);
        assert_int_equal(wire_token_at(&t.tokens, 0).alternatives, 3);
        assert_true(wire_token_at(&t.tokens, 0).logprob == -0.5f);
        assert_int_equal(wire_logprob_at(&t.alternatives, 2).id, 2);
        assert_true(wire_logprob_at(&t.alternatives, 2).logprob == -2);
    } while (!(r.header.flags & FRAME_END));
    end();
}

int main(void)
{
#define CASE(function) cmocka_unit_test_setup(function, set_up)
    const struct CMUnitTest tests[] = {
        CASE(models), CASE(several_models), CASE(tokenize_and_back), CASE(long_texts), CASE(prompt_in_a_memfd),
        CASE(generations_that_are_refused), CASE(generate_with_any_byte_changed), CASE(types_that_are_refused),
        CASE(statistics), CASE(events), CASE(log_levels), CASE(alternatives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
