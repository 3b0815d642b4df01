/* SPDX-License-Identifier: Apache-2.0 */
/* Streaming: events in order, requests side by side, cancel, long prompts by memfd, servers that deal badly. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/client/tenon.h"
#include "tests/client/fake_server.h"

static struct fake *fake;
static struct tenon_error error;

static int setup(void **state)
{
    (void)state;
    fake = calloc(1, sizeof(*fake));
    error = (struct tenon_error){ .code = 0 };
    return fake ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    free(fake);
    return 0;
}

static struct tenon *opened(void)
{
    struct tenon_options options = { .timeout_ms = 5000 };
    struct tenon *tenon;

    if (tenon_open(fake->path, &options, &tenon, &error))
        fail_msg("%s", error.message);
    return tenon;
}

static const struct tenon_segment prompt = { TENON_UNTRUSTED_TEXT, "once", 4 };

static struct tenon_request a_request(void)
{
    struct tenon_request q = TENON_REQUEST_DEFAULT;

    q.segments = &prompt;
    q.segment_count = 1;
    return q;
}

static void send_started(struct fake *f, uint64_t request, uint64_t seed)
{
    struct wire_started s = { .kind = 1, .prompt_tokens = 3, .cached_tokens = 1, .queue_ns = 7, .seed = seed };

    fake_send(f, &wire_started_message, &s, request, 0);
}

/* One token with its text; with an alternative where @alternative is not 0. */
static void send_token(struct fake *f, uint64_t request, uint32_t id, const char *text, uint32_t alternative)
{
    struct wire_token t = { .id = id, .logprob = -0.5f, .text_length = (uint32_t)strlen(text),
                            .alternatives = alternative ? 1 : 0 };
    struct wire_logprob a = { alternative, -1.5f };
    struct wire_tokens w = { .kind = 2, .tokens = { .count = 1, .items = &t }, .text = span_of(text, strlen(text)),
                             .alternatives = { .count = t.alternatives, .items = &a } };

    fake_send(f, &wire_tokens_message, &w, request, 0);
}

static void send_done(struct fake *f, uint64_t request, uint32_t reason, const char *text)
{
    struct wire_done d = { .kind = 3, .reason = reason, .prompt_tokens = 3, .generated_tokens = 2, .decode_ns = 9,
                           .text = span_of(text, strlen(text)) };

    fake_send(f, &wire_done_message, &d, request, FRAME_END);
}

static struct wire_generate read_generate(struct fake *f)
{
    struct wire_generate g = { .max_tokens = 0 };

    fake_check(f, fake_read(f, WIRE_TYPE_GENERATE));
    fake_check(f, wire_generate_decode(fake_payload(f), &g, NULL) == 0);
    return g;
}

/* ---- one request with everything in it ---- */

static void answer_full(struct fake *f)
{
    struct wire_generate g = read_generate(f);
    struct wire_bias bias;
    struct span stop;
    uint64_t request = f->frame.header.request;

    fake_check(f, g.model.size == 1 && g.max_tokens == 9 && g.temperature == 0.5f && g.top_p == 1);
    fake_check(f, g.flags == (WIRE_FLAG_GENERATE_SEED | WIRE_FLAG_GENERATE_LOGPROB | WIRE_FLAG_GENERATE_NO_BOS));
    fake_check(f, g.seed == 99 && g.n_logprobs == 1 && g.repeat_last_n == 64);
    fake_check(f, g.stop_strings.count == 2 && g.stop_ids.count == 1 && g.logit_bias.count == 1);
    stop = wire_string_at(&g.stop_strings, 1);
    bias = wire_bias_at(&g.logit_bias, 0);
    fake_check(f, stop.size == 3 && !memcmp(stop.data, "End", 3));
    fake_check(f, bias.id == 6 && bias.bias == -100);
    send_started(f, request, 99);
    send_token(f, request, 100, "", 5);
    send_token(f, request, 101, "a \xc3\xa9", 0);
    fake_send(f, &wire_tokens_message, &(struct wire_tokens){ .kind = 2, .text = span_of("!", 1) }, request, 0);
    send_done(f, request, WIRE_REASON_STOP, " tail");
}

struct seen {
    uint32_t events, tokens;
    char text[64];
};

static bool see(void *arg, const struct tenon_event *e)
{
    struct seen *s = arg;

    s->events++;
    strncat(s->text, e->text, e->text_size);
    if (e->kind == TENON_STARTED) {
        assert_int_equal(e->prompt_tokens, 3);
        assert_int_equal(e->seed, 99);
    }
    for (size_t i = 0; i < e->token_count; i++) {
        assert_int_equal(e->tokens[i].id, 100 + s->tokens);
        assert_true(e->tokens[i].logprob == -0.5f);
        assert_int_equal(e->tokens[i].alternative_count, s->tokens == 0);
        if (s->tokens == 0)
            assert_int_equal(e->tokens[i].alternatives[0].id, 5);
        s->tokens++;
    }
    return true;
}

static void full(void **state)
{
    const char *stops[] = { "\n", "End" };
    const uint32_t stop_ids[] = { 4 };
    const struct tenon_bias biases[] = { { 6, -100 } };
    struct tenon_request q = a_request();
    struct tenon_event done;
    struct seen seen = { 0 };
    struct tenon *tenon;

    (void)state;
    q.model = "m";
    q.max_tokens = 9;
    q.temperature = 0.5f;
    q.seed_given = q.want_logprob = q.no_bos = true;
    q.seed = 99;
    q.logprobs = 1;
    q.stops = stops;
    q.stop_count = 2;
    q.stop_ids = stop_ids;
    q.stop_id_count = 1;
    q.biases = biases;
    q.bias_count = 1;
    fake_start(fake, answer_full);
    tenon = opened();
    if (tenon_generate(tenon, &q, see, &seen, &done, &error))
        fail_msg("%s", error.message);
    assert_int_equal(seen.events, 5);
    assert_int_equal(seen.tokens, 2);
    assert_string_equal(seen.text, "a \xc3\xa9! tail");
    assert_int_equal(done.reason, TENON_STOP);
    assert_int_equal(done.generated_tokens, 2);
    tenon_close(tenon);
    fake_stop(fake);
}

/* ---- side by side ---- */

static void answer_two(struct fake *f)
{
    uint64_t first, second;

    read_generate(f);
    first = f->frame.header.request;
    read_generate(f);
    second = f->frame.header.request;
    send_started(f, second, 2);
    send_started(f, first, 1);
    send_token(f, second, 20, "B", 0);
    send_token(f, first, 10, "A", 0);
    send_done(f, second, WIRE_REASON_EOS, "");
    send_token(f, first, 11, "a", 0);
    fake_send_error(f, WIRE_TYPE_STARTED, first, WIRE_E_IO, "disk gone");
}

static void side_by_side(void **state)
{
    struct tenon_request q = a_request();
    struct tenon_event e;
    uint64_t first, second;
    struct tenon *tenon;

    (void)state;
    fake_start(fake, answer_two);
    tenon = opened();
    assert_int_equal(tenon_submit(tenon, &q, &first, &error), 0);
    assert_int_equal(tenon_submit(tenon, &q, &second, &error), 0);
    /* All of the first, while the second's events are kept ... */
    assert_int_equal(tenon_next(tenon, first, -1, &e, &error), 0);
    assert_int_equal(e.seed, 1);
    assert_int_equal(tenon_next(tenon, first, -1, &e, &error), 0);
    assert_int_equal(e.tokens[0].id, 10);
    assert_int_equal(tenon_next(tenon, first, -1, &e, &error), 0);
    assert_int_equal(e.tokens[0].id, 11);
    assert_int_equal(tenon_next(tenon, first, -1, &e, &error), 0);
    assert_int_equal(e.kind, TENON_ERROR);
    assert_int_equal(e.error.code, TENON_E_IO);
    assert_string_equal(e.error.message, "disk gone");
    assert_int_equal(tenon_next(tenon, first, -1, &e, &error), TENON_E_ARGUMENT);
    /* ... then whatever comes, which is the second's. */
    assert_true(tenon_pending(tenon));
    assert_int_equal(tenon_next(tenon, 0, -1, &e, &error), 0);
    assert_true(e.request == second && e.seed == 2);
    assert_int_equal(tenon_next(tenon, 0, -1, &e, &error), 0);
    assert_memory_equal(e.text, "B", 1);
    assert_int_equal(tenon_next(tenon, 0, -1, &e, &error), 0);
    assert_int_equal(e.reason, TENON_EOS);
    assert_int_equal(tenon_next(tenon, 0, -1, &e, &error), TENON_E_ARGUMENT);
    tenon_close(tenon);
    fake_stop(fake);
}

static void answer_until_cancel(struct fake *f)
{
    uint64_t request;

    read_generate(f);
    request = f->frame.header.request;
    send_started(f, request, 1);
    fake_check(f, fake_read(f, WIRE_TYPE_GRANT));
    send_token(f, request, 10, "A", 0);
    fake_check(f, fake_read(f, WIRE_TYPE_CANCEL) && f->frame.header.request == request);
    send_token(f, request, 11, "late", 0);
    send_done(f, request, WIRE_REASON_CANCELLED, "");
}

static void cancel(void **state)
{
    struct tenon_request q = a_request();
    struct tenon_event e;
    uint64_t id;
    struct tenon *tenon;

    (void)state;
    fake_start(fake, answer_until_cancel);
    tenon = opened();
    assert_int_equal(tenon_submit(tenon, &q, &id, &error), 0);
    assert_int_equal(tenon_next(tenon, id, -1, &e, &error), 0);
    assert_int_equal(tenon_next(tenon, id, 20, &e, &error), TENON_E_TIMEOUT);   /* and the connection is whole */
    assert_int_equal(tenon_grant(tenon, id, 0, &error), TENON_E_ARGUMENT);
    assert_int_equal(tenon_grant(tenon, id, 5, &error), 0);
    assert_int_equal(tenon_next(tenon, id, -1, &e, &error), 0);
    assert_int_equal(tenon_cancel(tenon, id, &error), 0);
    assert_int_equal(tenon_next(tenon, id, -1, &e, &error), 0);
    assert_int_equal(tenon_next(tenon, id, -1, &e, &error), 0);
    assert_int_equal(e.kind, TENON_DONE);
    assert_int_equal(e.reason, TENON_CANCELLED);
    assert_int_equal(tenon_cancel(tenon, id, &error), 0);       /* ended: a no-op */
    tenon_close(tenon);
    fake_stop(fake);
}

static bool stop_at_text(void *arg, const struct tenon_event *e)
{
    (void)arg;
    return e->text_size == 0;
}

static void answer_cancelled_by_callback(struct fake *f)
{
    read_generate(f);
    send_started(f, f->frame.header.request, 1);
    send_token(f, f->frame.header.request, 10, "A", 0);
    fake_check(f, fake_read(f, WIRE_TYPE_CANCEL));
    send_done(f, f->frame.header.request, WIRE_REASON_CANCELLED, "");
}

static void callback_cancels(void **state)
{
    struct tenon_request q = a_request();
    struct tenon_event done;
    struct tenon *tenon;

    (void)state;
    fake_start(fake, answer_cancelled_by_callback);
    tenon = opened();
    assert_int_equal(tenon_generate(tenon, &q, stop_at_text, NULL, &done, &error), 0);
    assert_int_equal(done.reason, TENON_CANCELLED);
    tenon_close(tenon);
    fake_stop(fake);
}

/* ---- refusals before anything is sent ---- */

static void answer_busy(struct fake *f)
{
    read_generate(f);
    fake_send_error(f, WIRE_TYPE_STARTED, f->frame.header.request, WIRE_E_BUSY, "later");
}

static void refusals(void **state)
{
    struct tenon_request q = a_request();
    uint64_t id;
    struct tenon *tenon;

    (void)state;
    fake_start(fake, answer_busy);
    tenon = opened();
    q.top_p = 2;
    assert_int_equal(tenon_submit(tenon, &q, &id, &error), TENON_E_ARGUMENT);
    assert_string_equal(error.message, "GENERATE.top_p: above its maximum (0 .. 1)");
    q = a_request();
    q.logprobs = 21;
    assert_int_equal(tenon_submit(tenon, &q, &id, &error), TENON_E_LIMIT);
    q = a_request();
    q.segment_count = 0;
    assert_int_equal(tenon_submit(tenon, &q, &id, &error), TENON_E_ARGUMENT);
    q = a_request();
    q.stop_count = 17;
    assert_int_equal(tenon_submit(tenon, &q, &id, &error), TENON_E_LIMIT);
    q = a_request();
    assert_int_equal(tenon_generate(tenon, &q, NULL, NULL, NULL, &error), TENON_E_BUSY);
    assert_int_equal(error.retry_after_ms, 250);
    tenon_close(tenon);
    fake_stop(fake);
}

/* ---- a prompt longer than a frame ---- */

#define LONG_BYTES (3u << 20)

static void answer_memfd(struct fake *f)
{
    struct wire_generate g = read_generate(f);
    struct wire_segment first = wire_segment_at(&g.segments, 0), second = wire_segment_at(&g.segments, 1);
    int seals;
    char byte = 0;

    fake_check(f, f->frame.fd_count == 1);
    fake_check(f, first.kind == WIRE_SEGMENT_KIND_UNTRUSTED_TEXT && first.data.size == 4);
    fake_check(f, second.kind == WIRE_SEGMENT_KIND_TEXT_MEMFD && second.fd == 0 && second.data.size == 0);
    seals = fcntl(f->frame.fds[0], F_GET_SEALS);
    fake_check(f, seals == (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL));
    fake_check(f, lseek(f->frame.fds[0], 0, SEEK_END) == LONG_BYTES);
    fake_check(f, pread(f->frame.fds[0], &byte, 1, LONG_BYTES - 1) == 1 && byte == 'x');
    send_done(f, f->frame.header.request, WIRE_REASON_EOS, "");
}

static void long_prompt(void **state)
{
    struct tenon_segment segments[2] = { prompt, { TENON_UNTRUSTED_TEXT, NULL, LONG_BYTES } };
    struct tenon_request q = a_request();
    char *text = malloc(LONG_BYTES);
    uint64_t id;
    struct tenon *tenon;

    (void)state;
    memset(text, 'x', LONG_BYTES);
    segments[1].data = text;
    q.segments = segments;
    q.segment_count = 2;
    fake_start(fake, answer_memfd);
    tenon = opened();
    assert_int_equal(tenon_generate(tenon, &q, NULL, NULL, NULL, &error), 0);
    segments[1].kind = TENON_TRUSTED_TEXT;      /* trusted text has no such way */
    assert_int_equal(tenon_submit(tenon, &q, &id, &error), TENON_E_LIMIT);
    tenon_close(tenon);
    fake_stop(fake);
    free(text);
}

/* ---- servers that deal badly ---- */

static void more_text_than_tokens(struct fake *f)
{
    struct wire_token t = { .id = 1, .text_length = 1 };
    struct wire_tokens w = { .kind = 2, .tokens = { .count = 1, .items = &t }, .text = span_of("ab", 2) };

    read_generate(f);
    fake_send(f, &wire_tokens_message, &w, f->frame.header.request, 0);
}

static void less_text_than_tokens(struct fake *f)
{
    struct wire_token t = { .id = 1, .text_length = 3 };
    struct wire_tokens w = { .kind = 2, .tokens = { .count = 1, .items = &t }, .text = span_of("ab", 2) };

    read_generate(f);
    fake_send(f, &wire_tokens_message, &w, f->frame.header.request, 0);
}

static void missing_alternatives(struct fake *f)
{
    struct wire_token t = { .id = 1, .alternatives = 2 };
    struct wire_tokens w = { .kind = 2, .tokens = { .count = 1, .items = &t } };

    read_generate(f);
    fake_send(f, &wire_tokens_message, &w, f->frame.header.request, 0);
}

static void done_without_end(struct fake *f)
{
    struct wire_done d = { .kind = 3, .reason = 1 };

    read_generate(f);
    fake_send(f, &wire_done_message, &d, f->frame.header.request, 0);
}

static void another_type(struct fake *f)
{
    read_generate(f);
    fake_send(f, &wire_unload_reply_message, &(struct wire_unload_reply){ 0 }, f->frame.header.request, FRAME_END);
}

static void bad_servers(void **state)
{
    void (*const scripts[])(struct fake *f) = {
        more_text_than_tokens, less_text_than_tokens, missing_alternatives, done_without_end, another_type,
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(scripts); i++) {
        struct tenon_request q = a_request();
        struct tenon *tenon;

        fake_start(fake, scripts[i]);
        tenon = opened();
        assert_int_equal(tenon_generate(tenon, &q, NULL, NULL, NULL, &error), TENON_E_PROTOCOL);
        tenon_close(tenon);
        fake_stop(fake);
    }
}

/* Frames of strangers and of ended requests are dropped, not kept. */
static void answer_with_strangers(struct fake *f)
{
    uint64_t request;

    read_generate(f);
    request = f->frame.header.request;
    send_token(f, request + 1000, 1, "x", 0);
    send_done(f, request, WIRE_REASON_EOS, "");
    send_token(f, request, 1, "x", 0);
}

static void strangers(void **state)
{
    struct tenon_request q = a_request();
    struct tenon *tenon;

    (void)state;
    fake_start(fake, answer_with_strangers);
    tenon = opened();
    assert_int_equal(tenon_generate(tenon, &q, NULL, NULL, NULL, &error), 0);
    assert_int_equal(tenon_ping(tenon, NULL, &error), TENON_E_CLOSED);
    tenon_close(tenon);
    fake_stop(fake);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(full), CASE(side_by_side), CASE(cancel), CASE(callback_cancels), CASE(refusals), CASE(long_prompt),
        CASE(bad_servers), CASE(strangers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
