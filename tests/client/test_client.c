/* SPDX-License-Identifier: Apache-2.0 */
/* libtenon against servers that follow a script: right ones, slow ones, wrong ones. */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/client/tenon.h"
#include "tests/client/fake_server.h"

static struct fake *fake;
static struct tenon_error error;

static int open_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static int setup(void **state)
{
    static int fds;

    fds = open_fds();
    *state = &fds;
    fake = calloc(1, sizeof(*fake));
    error = (struct tenon_error){ .code = 0 };
    return fake ? 0 : -1;
}

static int teardown(void **state)
{
    free(fake);
    return open_fds() == *(int *)*state ? 0 : -1;       /* every descriptor was given back */
}

static struct tenon *opened(uint32_t timeout_ms)
{
    struct tenon_options options = { .name = "test", .timeout_ms = timeout_ms };
    struct tenon *tenon;

    if (tenon_open(fake->path, &options, &tenon, &error))
        fail_msg("%s", error.message);
    return tenon;
}

/* ---- the handshake ---- */

static uint32_t greased, future;

static void look_at_hello(struct fake *f)
{
    struct frame_parts parts;
    struct wire_hello hello;
    struct tlv_walk walk;
    struct tlv tlv;

    fake_check(f, fake_read(f, WIRE_TYPE_HELLO));
    fake_check(f, f->frame.header.request == 0 && f->frame.header.flags == 0);
    fake_check(f, wire_hello_decode(fake_payload(f), &hello, NULL) == 0);
    fake_check(f, hello.client.size == 4 && !memcmp(hello.client.data, "test", 4));
    fake_check(f, frame_split(fake_payload(f), &parts, NULL) == 0);
    walk = tlv_walk_of(&parts);
    while (tlv_next(&walk, &tlv))
        greased += tlv.tag >= FRAME_TLV_GREASE && !tlv.critical;
    future += hello.version_max > WIRE_VERSION;
    fake_send(f, &wire_hello_ok_message, &f->hello_ok, 0, FRAME_END);
}

static void handshake(void **state)
{
    (void)state;
    fake->silent = true;
    fake->connections = 64;
    fake_start(fake, look_at_hello);
    for (uint32_t i = 0; i < fake->connections; i++) {
        struct tenon *tenon = opened(5000);
        const struct tenon_server *s = tenon_server(tenon);

        assert_string_equal(s->name, "fake 1");
        assert_int_equal(s->version, WIRE_VERSION);
        assert_int_equal(s->boot_id, 42);
        assert_false(s->leaving);
        assert_null(tenon_close(tenon));
    }
    fake_stop(fake);
    assert_int_equal(greased, 64);
    assert_true(future > 10 && future < 54);
}

static void refuse_version(struct fake *f)
{
    fake_check(f, fake_read(f, WIRE_TYPE_HELLO));
    fake_send_error(f, WIRE_TYPE_HELLO_OK, 0, WIRE_E_VERSION, "speak version 9");
}

static void version_refused(void **state)
{
    struct tenon *tenon;

    (void)state;
    fake->silent = true;
    fake_start(fake, refuse_version);
    assert_int_equal(tenon_open(fake->path, NULL, &tenon, &error), TENON_E_VERSION);
    assert_string_equal(error.message, "speak version 9");
    assert_int_equal(error.detail, 61);
    fake_stop(fake);
}

static void hang_up(struct fake *f) { (void)f; }

static void talk_http(struct fake *f)
{
    fake_send_bytes(f, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
    fake_read(f, WIRE_TYPE_HELLO);
}

static void not_tenond(void **state)
{
    struct tenon *tenon;

    (void)state;
    fake->silent = true;
    fake_start(fake, hang_up);
    assert_int_equal(tenon_open(fake->path, NULL, &tenon, &error), TENON_E_CLOSED);
    fake_stop(fake);
    fake_start(fake, talk_http);
    assert_int_equal(tenon_open(fake->path, NULL, &tenon, &error), TENON_E_PROTOCOL);
    fake_stop(fake);
}

static void places(void **state)
{
    char before[4096] = "";
    struct tenon *tenon;

    (void)state;
    if (getenv("TENON_SOCKET"))
        snprintf(before, sizeof(before), "%s", getenv("TENON_SOCKET"));
    assert_int_equal(tenon_open("/nonexistent/tenon.sock", NULL, &tenon, &error), TENON_E_CONNECT);
    assert_non_null(strstr(error.message, "is tenond running?"));
    setenv("TENON_SOCKET", "/nonexistent/other.sock", 1);
    assert_int_equal(tenon_open(NULL, NULL, &tenon, &error), TENON_E_CONNECT);
    assert_non_null(strstr(error.message, "/nonexistent/other.sock"));
    fake_start(fake, NULL);
    setenv("TENON_SOCKET", fake->path, 1);
    assert_int_equal(tenon_open(NULL, NULL, &tenon, &error), 0);
    tenon_close(tenon);
    fake_stop(fake);
    if (access("/run/tenon/tenon.sock", F_OK)) {        /* else that one comes first */
        unsetenv("TENON_SOCKET");
        fake_start(fake, NULL);
        setenv("XDG_RUNTIME_DIR", fake->directory, 1);
        assert_int_equal(tenon_open(NULL, NULL, &tenon, &error), 0);
        tenon_close(tenon);
        fake_stop(fake);
        unsetenv("XDG_RUNTIME_DIR");
    }
    before[0] ? setenv("TENON_SOCKET", before, 1) : unsetenv("TENON_SOCKET");
}

/* ---- calls ---- */

static void answer_ping(struct fake *f)
{
    struct wire_goaway away = { .reason = WIRE_GOAWAY_REASON_SHUTDOWN };
    struct wire_ping ping, own = { .opaque = 77 };
    struct wire_pong pong;
    uint64_t request;

    fake_check(f, fake_read(f, WIRE_TYPE_PING));
    request = f->frame.header.request;
    fake_check(f, wire_ping_decode(fake_payload(f), &ping, NULL) == 0);
    fake_send(f, &wire_ping_message, &own, 0, 0);       /* the server's own, answered in passing */
    fake_send(f, &wire_goaway_message, &away, 0, 0);
    fake_check(f, fake_read(f, WIRE_TYPE_PONG));
    fake_check(f, wire_pong_decode(fake_payload(f), &pong, NULL) == 0 && pong.opaque == 77);
    fake_check(f, f->frame.header.request == 0);
    pong.opaque = ping.opaque;
    fake_send(f, &wire_pong_message, &pong, request, FRAME_END);
}

static void ping(void **state)
{
    uint64_t ns = 0;
    struct tenon *tenon;

    (void)state;
    fake_start(fake, answer_ping);
    tenon = opened(5000);
    assert_int_equal(tenon_ping(tenon, &ns, &error), 0);
    assert_true(ns > 0);
    assert_true(tenon_server(tenon)->leaving);
    tenon_close(tenon);
    fake_stop(fake);
}

static void answer_models(struct fake *f)
{
    struct wire_model_entry a = { span_of("a", 1), WIRE_MODEL_STATE_READY, 4096, 1000 };
    struct wire_model_entry b = { span_of("bb", 2), WIRE_MODEL_STATE_LOADING, 0, 2000 };
    struct wire_model_list_reply reply = { { .count = 1, .items = &a } };
    static const uint32_t ends[] = { 2, 32007 };
    static const struct wire_page_bytes pages[] = { { 2 << 20, 90 << 20 } };
    struct wire_model_info_reply info = {
        .id = span_of("a", 1), .state = WIRE_MODEL_STATE_READY, .flags = WIRE_FLAG_MODEL_ADD_BOS,
        .architecture = span_of("llama", 5), .vocab_size = 49152, .bos = 1, .eos = UINT32_MAX,
        .end_ids = { .count = 2, .items = ends }, .pages = { .count = 1, .items = pages },
        .present = WIRE_MODEL_INFO_REPLY_HAS_TEMPLATE, .template = span_of("{{ <|im_start|> }}", 18),
    };
    struct wire_model_info ask;

    fake_check(f, fake_read(f, WIRE_TYPE_MODEL_LIST));
    fake_send(f, &wire_model_list_reply_message, &reply, f->frame.header.request, 0);
    reply.models.items = &b;
    fake_send(f, &wire_model_list_reply_message, &reply, f->frame.header.request, FRAME_END);
    fake_check(f, fake_read(f, WIRE_TYPE_MODEL_INFO));
    fake_check(f, wire_model_info_decode(fake_payload(f), &ask, NULL) == 0 && ask.model.size == 0);
    fake_send(f, &wire_model_info_reply_message, &info, f->frame.header.request, FRAME_END);
    fake_check(f, fake_read(f, WIRE_TYPE_MODEL_INFO));
    fake_send_error(f, WIRE_TYPE_MODEL_INFO_REPLY, f->frame.header.request, WIRE_E_NOT_FOUND, "no model \"zz\"");
}

static void models(void **state)
{
    struct tenon_message message = { "user", "hi", 2 };
    struct tenon_models *list;
    struct tenon_model_info *info;
    struct tenon_prompt *prompt;
    struct tenon *tenon;

    (void)state;
    fake_start(fake, answer_models);
    tenon = opened(5000);
    assert_int_equal(tenon_models(tenon, &list, &error), 0);
    assert_int_equal(list->count, 2);
    assert_string_equal(list->items[0].id, "a");
    assert_int_equal(list->items[0].state, TENON_READY);
    assert_string_equal(list->items[1].id, "bb");
    assert_int_equal(list->items[1].bytes, 2000);
    assert_null(tenon_models_free(list));
    assert_int_equal(tenon_model_info(tenon, NULL, &info, &error), 0);
    assert_string_equal(info->architecture, "llama");
    assert_string_equal(info->note, "");
    assert_true(info->adds_bos && !info->pinned);
    assert_int_equal(info->eos, TENON_NO_TOKEN);
    assert_int_equal(info->end_id_count, 2);
    assert_int_equal(info->end_ids[1], 32007);
    assert_int_equal(info->pages[0].page_size, 2 << 20);
    assert_int_equal(tenon_chat(info, &message, 1, &prompt, &error), 0);
    assert_int_equal(prompt->count, 3);
    tenon_prompt_free(prompt);
    tenon_model_info_free(info);
    assert_int_equal(tenon_model_info(tenon, "zz", &info, &error), TENON_E_NOT_FOUND);
    assert_string_equal(error.message, "no model \"zz\"");
    assert_int_equal(error.retry_after_ms, 250);
    tenon_close(tenon);
    fake_stop(fake);
}

static void answer_tokens(struct fake *f)
{
    static const uint32_t ids[] = { 10, 11, 12 }, offsets[] = { 0, 2, 5 };
    struct wire_tokenize_reply reply = { .total = 3, .ids = { .count = 2, .items = ids },
                                         .offsets = { .count = 2, .items = offsets } };
    struct wire_detokenize_reply text = { span_of("\xc3", 1) };
    struct wire_detokenize back;
    struct wire_tokenize ask;
    struct wire_segment second;

    fake_check(f, fake_read(f, WIRE_TYPE_TOKENIZE));
    fake_check(f, wire_tokenize_decode(fake_payload(f), &ask, NULL) == 0 && ask.segments.count == 2);
    second = wire_segment_at(&ask.segments, 1);
    fake_check(f, second.kind == WIRE_SEGMENT_KIND_TOKEN_IDS && second.data.size == 8);
    fake_check(f, ask.flags == WIRE_FLAG_PROMPT_NO_BOS);
    fake_send(f, &wire_tokenize_reply_message, &reply, f->frame.header.request, 0);
    reply = (struct wire_tokenize_reply){ .first = 2, .total = 3, .ids = { .count = 1, .items = ids + 2 },
                                          .offsets = { .count = 1, .items = offsets + 2 } };
    fake_send(f, &wire_tokenize_reply_message, &reply, f->frame.header.request, FRAME_END);
    fake_check(f, fake_read(f, WIRE_TYPE_DETOKENIZE));
    fake_check(f, wire_detokenize_decode(fake_payload(f), &back, NULL) == 0 && wire_u32_at(&back.ids, 2) == 12);
    fake_send(f, &wire_detokenize_reply_message, &text, f->frame.header.request, 0);
    text.text = span_of("\xa9", 1);
    fake_send(f, &wire_detokenize_reply_message, &text, f->frame.header.request, FRAME_END);
    /* An answer with a hole in it. */
    fake_check(f, fake_read(f, WIRE_TYPE_TOKENIZE));
    fake_send(f, &wire_tokenize_reply_message, &reply, f->frame.header.request, FRAME_END);
}

static void tokens(void **state)
{
    static const uint32_t ids[] = { 1, 2 };
    const struct tenon_segment segments[] = {
        { TENON_UNTRUSTED_TEXT, "text", 4 }, { TENON_TOKEN_IDS, ids, sizeof(ids) }, { TENON_TOKEN_IDS, ids, 7 },
    };
    struct tenon_tokens *t;
    struct tenon_text *text;
    struct tenon *tenon;

    (void)state;
    fake_start(fake, answer_tokens);
    tenon = opened(5000);
    assert_int_equal(tenon_tokenize(tenon, "m", segments + 2, 1, 0, &t, &error), TENON_E_ARGUMENT);
    assert_int_equal(tenon_tokenize(tenon, "m", segments, 2, 8, &t, &error), TENON_E_ARGUMENT);
    assert_int_equal(tenon_tokenize(tenon, "m", segments, 2, TENON_NO_BOS, &t, &error), 0);
    assert_int_equal(t->count, 3);
    assert_int_equal(t->ids[2], 12);
    assert_int_equal(t->offsets[2], 5);
    assert_int_equal(tenon_detokenize(tenon, "m", t->ids, t->count, false, &text, &error), 0);
    assert_string_equal(text->data, "\xc3\xa9");
    assert_int_equal(text->size, 2);
    tenon_text_free(text);
    tenon_tokens_free(t);
    assert_int_equal(tenon_tokenize(tenon, "m", segments, 1, 0, &t, &error), TENON_E_PROTOCOL);
    assert_int_equal(tenon_ping(tenon, NULL, &error), TENON_E_CLOSED);
    tenon_close(tenon);
    fake_stop(fake);
}

static void answer_stats(struct fake *f)
{
    struct wire_stats_reply reply = { .present = WIRE_STATS_REPLY_HAS_UPTIME_NS | WIRE_STATS_REPLY_HAS_KV_BLOCKS,
                                      .uptime_ns = 5, .kv_blocks = 9 };

    fake_check(f, fake_read(f, WIRE_TYPE_STATS));
    fake_send(f, &wire_stats_reply_message, &reply, f->frame.header.request, FRAME_END);
    reply = (struct wire_stats_reply){ .format = WIRE_STATS_FORMAT_PROMETHEUS, .text = span_of("tenon_up 1\n", 11) };
    fake_check(f, fake_read(f, WIRE_TYPE_STATS));
    fake_send(f, &wire_stats_reply_message, &reply, f->frame.header.request, 0);
    fake_send(f, &wire_stats_reply_message, &reply, f->frame.header.request, FRAME_END);
}

static void stats(void **state)
{
    struct tenon_stats *s;
    struct tenon_text *text;
    struct tenon *tenon;

    (void)state;
    fake_start(fake, answer_stats);
    tenon = opened(5000);
    assert_int_equal(tenon_stats(tenon, &s, &error), 0);
    assert_int_equal(s->count, 2);
    assert_string_equal(s->items[1].name, "kv_blocks");
    assert_int_equal(s->items[1].value, 9);
    tenon_stats_free(s);
    assert_int_equal(tenon_metrics(tenon, &text, &error), 0);
    assert_string_equal(text->data, "tenon_up 1\ntenon_up 1\n");
    tenon_text_free(text);
    tenon_close(tenon);
    fake_stop(fake);
}

static void answer_raw(struct fake *f)
{
    struct wire_pong pong = { .opaque = 3 };

    fake_check(f, fake_read(f, WIRE_TYPE_PING) && f->frame.header.request == 5);
    fake_send(f, &wire_pong_message, &pong, 5, FRAME_END);
}

static void raw(void **state)
{
    struct wire_ping ask = { .opaque = 3 };
    uint8_t memory[64];
    struct frame_out out = { .data = memory, .capacity = sizeof(memory) };
    const void *frame;
    size_t size;
    struct tenon *tenon;

    (void)state;
    assert_int_equal(wire_ping_encode(&ask, (struct frame_header){ .request = 5 }, &out), 0);
    fake_start(fake, answer_raw);
    tenon = opened(5000);
    assert_int_equal(tenon_raw_send(tenon, memory, out.size - 1, &error), TENON_E_ARGUMENT);
    assert_int_equal(tenon_raw_send(tenon, memory, out.size, &error), 0);
    assert_int_equal(tenon_raw_next(tenon, 5000, &frame, &size, &error), 0);
    assert_int_equal(size, FRAME_HEADER_BYTES + 24);
    assert_int_equal(load_u16((const uint8_t *)frame + 4), WIRE_TYPE_PONG);
    assert_int_equal(tenon_raw_next(tenon, 5000, &frame, &size, &error), TENON_E_CLOSED);
    tenon_close(tenon);
    fake_stop(fake);
}

/* ---- trouble ---- */

static void stay_silent(struct fake *f) { fake_read(f, WIRE_TYPE_PING), fake_read(f, WIRE_TYPE_PING); }

static void timeout(void **state)
{
    struct tenon *tenon;

    (void)state;
    fake_start(fake, stay_silent);
    tenon = opened(50);
    assert_int_equal(tenon_ping(tenon, NULL, &error), TENON_E_TIMEOUT);
    assert_int_equal(tenon_ping(tenon, NULL, &error), TENON_E_CLOSED);
    tenon_close(tenon);
    fake_stop(fake);
}

static void send_nonsense(struct fake *f)
{
    static const uint8_t nonsense[16] = { 12, 0, 0, 0, 2, 0x80, 1 };

    fake_check(f, fake_read(f, WIRE_TYPE_PING));
    fake_send_bytes(f, nonsense, sizeof(nonsense));
}

static void half_a_frame(struct fake *f)
{
    static const uint8_t half[20] = { 24, 0, 0, 0, 2, 0x80, 1 };

    fake_check(f, fake_read(f, WIRE_TYPE_PING));
    fake_send_bytes(f, half, sizeof(half));
}

static void complain(struct fake *f)
{
    fake_check(f, fake_read(f, WIRE_TYPE_PING));
    fake_send_error(f, FRAME_REPLY, 0, WIRE_E_PROTOCOL, "bad frame");
}

static void broken_servers(void **state)
{
    static const struct { void (*script)(struct fake *f); int code; } cases[] = {
        { send_nonsense, TENON_E_PROTOCOL }, { half_a_frame, TENON_E_CLOSED }, { complain, TENON_E_PROTOCOL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct tenon *tenon;

        fake_start(fake, cases[i].script);
        tenon = opened(5000);
        assert_int_equal(tenon_ping(tenon, NULL, &error), cases[i].code);
        assert_true(error.message[0]);
        assert_int_equal(tenon_ping(tenon, NULL, NULL), TENON_E_CLOSED);
        tenon_close(tenon);
        fake_stop(fake);
    }
}

static void names(void **state)
{
    (void)state;
    assert_string_equal(tenon_code_name(0), "OK");
    assert_string_equal(tenon_code_name(TENON_E_INTERNAL), "INTERNAL");
    assert_string_equal(tenon_code_name(TENON_E_CHAT), "CHAT");
    assert_string_equal(tenon_code_name(-5), "unknown error");
    assert_int_equal(TENON_E_LOADING, WIRE_E_LOADING);
    assert_int_equal(TENON_E_INTERNAL, WIRE_CODE_MAX);
    assert_null(tenon_close(NULL));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(handshake), CASE(version_refused), CASE(not_tenond), CASE(places), CASE(ping), CASE(models),
        CASE(tokens), CASE(stats), CASE(raw), CASE(timeout), CASE(broken_servers), CASE(names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
