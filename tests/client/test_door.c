/* SPDX-License-Identifier: Apache-2.0 */
/* libtenon and the Python client against the daemon's real door (its engine computes nothing). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/client/tenon.h"
#include "tests/serve/fixture.h"

static const char *python, *script;
static struct fixture *f;
static struct tenon *tenon;
static struct tenon_error error;

static int setup(void **state)
{
    (void)state;
    fake_reset();
    f = fixture_new();
    return 0;
}

static void start(void)
{
    fixture_start(f);
    if (tenon_open(f->path, NULL, &tenon, &error))
        fail_msg("%s", error.message);
}

static int teardown(void **state)
{
    (void)state;
    tenon = tenon_close(tenon);
    fixture_stop(f);
    return 0;
}

static struct tenon_request request_of(const struct tenon_segment *segment)
{
    struct tenon_request q = TENON_REQUEST_DEFAULT;

    q.segments = segment;
    q.segment_count = 1;
    q.seed_given = true;
    q.seed = 5;
    q.max_tokens = 20;
    return q;
}

struct heard { char text[256]; uint32_t tokens; };

static bool hear(void *arg, const struct tenon_event *e)
{
    struct heard *h = arg;

    strncat(h->text, e->text, e->text_size);
    h->tokens += (uint32_t)e->token_count;
    return true;
}

/* What the fake engine answers to BOS and these bytes. */
static void check_answer(const struct heard *h, const char *prompt, uint32_t tokens)
{
    uint32_t ids[64] = { FAKE_BOS }, n = (uint32_t)strlen(prompt);

    for (uint32_t i = 0; i < n; i++)
        ids[i + 1] = (uint8_t)prompt[i];
    assert_int_equal(h->tokens, tokens);
    assert_int_equal(strlen(h->text), tokens);
    for (uint32_t i = 0; i < tokens; i++)
        assert_int_equal((uint8_t)h->text[i], fake_answer_byte(ids, n + 1, 5, i));
}

static void calls(void **state)
{
    const struct tenon_segment segments[] = { { TENON_UNTRUSTED_TEXT, FAKE_MARK_TEXT, strlen(FAKE_MARK_TEXT) },
                                              { TENON_TRUSTED_TEXT, FAKE_MARK_TEXT, strlen(FAKE_MARK_TEXT) } };
    struct tenon_model_info *info;
    struct tenon_models *models;
    struct tenon_tokens *tokens;
    struct tenon_stats *stats;
    struct tenon_text *text;

    (void)state;
    start();
    assert_int_equal(tenon_server(tenon)->boot_id, 7);
    assert_int_equal(tenon_ping(tenon, NULL, &error), 0);
    assert_int_equal(tenon_models(tenon, &models, &error), 0);
    assert_int_equal(models->count, 1);
    assert_string_equal(models->items[0].id, "fake");
    assert_int_equal(models->items[0].state, TENON_READY);
    tenon_models_free(models);
    assert_int_equal(tenon_model_info(tenon, "fake", &info, &error), 0);
    assert_true(info->adds_bos);
    assert_int_equal(info->bos, FAKE_BOS);
    assert_string_equal(info->kernels, "F32 one; Q4_0 many from 9 columns, else few; "
                                       "Q4_1 many from 1 column, else few; Q4_K many never, else few");
    tenon_model_info_free(info);
    assert_int_equal(tenon_model_info(tenon, "other", &info, &error), TENON_E_NOT_FOUND);
    assert_int_equal(tenon_tokenize(tenon, NULL, segments, 2, 0, &tokens, &error), 0);
    assert_int_equal(tokens->count, 1 + strlen(FAKE_MARK_TEXT) + 1);    /* BOS, bytes, the one trusted marker */
    assert_int_equal(tokens->ids[0], FAKE_BOS);
    assert_int_equal(tokens->ids[tokens->count - 1], FAKE_MARK);
    assert_int_equal(tenon_detokenize(tenon, NULL, tokens->ids, tokens->count, false, &text, &error), 0);
    assert_non_null(strstr(text->data, FAKE_MARK_TEXT));
    tenon_text_free(text);
    tenon_tokens_free(tokens);
    assert_int_equal(tenon_stats(tenon, &stats, &error), 0);
    assert_true(stats->count > 10);
    tenon_stats_free(stats);
    assert_int_equal(tenon_metrics(tenon, &text, &error), 0);
    assert_non_null(strstr(text->data, "# TYPE"));
    assert_non_null(strstr(text->data, "\ntenon_kernel_info{model=\"fake\",type=\"F32\",kernel=\"one\"} 1\n"));
    assert_non_null(strstr(text->data, "\ntenon_kernel_info{model=\"fake\",type=\"Q4_0\",kernel=\"few\"} 1\n"));
    assert_null(strstr(text->data, "many_columns{model=\"fake\",type=\"F32\""));
    assert_non_null(strstr(text->data, "_many_columns{model=\"fake\",type=\"Q4_0\",kernel=\"many\"} 9\n"));
    assert_non_null(strstr(text->data, "_many_columns{model=\"fake\",type=\"Q4_K\",kernel=\"many\"} +Inf\n"));
    tenon_text_free(text);
}

static void generate(void **state)
{
    const struct tenon_segment segment = { TENON_UNTRUSTED_TEXT, "once", 4 };
    struct tenon_request q = request_of(&segment);
    struct heard heard = { .tokens = 0 };
    struct tenon_event done;

    (void)state;
    start();
    if (tenon_generate(tenon, &q, hear, &heard, &done, &error))
        fail_msg("%s", error.message);
    check_answer(&heard, "once", 20);
    assert_int_equal(done.reason, TENON_LENGTH);
    assert_int_equal(done.prompt_tokens, 5);
    q.model = "other";
    assert_int_equal(tenon_generate(tenon, &q, hear, &heard, &done, &error), TENON_E_NOT_FOUND);
    q.model = NULL;
    q.segment_count = 0;
    assert_int_equal(tenon_generate(tenon, &q, hear, &heard, &done, &error), TENON_E_ARGUMENT);
}

/* Texts of tokens that no frame can hold come in parts and whole. */
static void long_tokens(void **state)
{
    const struct tenon_segment segment = { TENON_UNTRUSTED_TEXT, "once", 4 };
    struct tenon_request q = request_of(&segment);
    struct tenon_event e;
    uint64_t id;
    size_t bytes = 0;

    (void)state;
    fake.long_token = 200000;
    q.max_tokens = 3;
    start();
    assert_int_equal(tenon_submit(tenon, &q, &id, &error), 0);
    do {
        if (tenon_next(tenon, id, 5000, &e, &error))
            fail_msg("%s", error.message);
        bytes += e.text_size;
    } while (e.kind != TENON_DONE);
    assert_int_equal(bytes, 600000);
}

static void side_by_side(void **state)
{
    const struct tenon_segment segments[] = { { TENON_UNTRUSTED_TEXT, "first", 5 },
                                              { TENON_UNTRUSTED_TEXT, "2nd", 3 } };
    struct heard heard[2] = { { .tokens = 0 }, { .tokens = 0 } };
    struct tenon_event e;
    uint64_t id[2], cancelled;
    int left = 3;

    (void)state;
    fake.step_ns = 1000000;
    start();
    for (int i = 0; i < 2; i++) {
        struct tenon_request q = request_of(&segments[i]);

        assert_int_equal(tenon_submit(tenon, &q, &id[i], &error), 0);
    }
    struct tenon_request endless = request_of(&segments[0]);
    endless.max_tokens = 4000;
    assert_int_equal(tenon_submit(tenon, &endless, &cancelled, &error), 0);
    assert_int_equal(tenon_cancel(tenon, cancelled, &error), 0);
    while (left) {
        if (tenon_next(tenon, 0, 5000, &e, &error))
            fail_msg("%s", error.message);
        left -= e.kind == TENON_DONE || e.kind == TENON_ERROR;
        if (e.request == cancelled) {
            assert_true(e.kind != TENON_DONE || e.reason == TENON_CANCELLED);
            assert_true(e.kind != TENON_ERROR || e.error.code == TENON_E_CANCELLED);
        } else {
            hear(&heard[e.request == id[1]], &e);
        }
    }
    check_answer(&heard[0], "first", 20);
    check_answer(&heard[1], "2nd", 20);
}

/* A text beyond what a frame holds goes by memfd, and is the same text. */
static void long_prompt(void **state)
{
    size_t size = 2u << 20;
    char *text = malloc(size);
    const struct tenon_segment segment = { TENON_UNTRUSTED_TEXT, text, size };
    struct tenon_tokens *tokens;

    (void)state;
    for (size_t i = 0; i < size; i++)
        text[i] = (char)('a' + i % 26);
    start();
    if (tenon_tokenize(tenon, NULL, &segment, 1, TENON_NO_BOS, &tokens, &error))
        fail_msg("%s", error.message);
    assert_int_equal(tokens->count, size);
    for (size_t i = 0; i < size; i++)
        if (tokens->ids[i] != (uint8_t)text[i] || tokens->offsets[i] != i)
            fail_msg("token %zu", i);
    tenon_tokens_free(tokens);
    free(text);
}

static void vanishing(void **state)
{
    const struct tenon_segment segment = { TENON_UNTRUSTED_TEXT, "once", 4 };
    struct tenon_request q = request_of(&segment);
    struct tenon_event e;
    uint64_t id;

    (void)state;
    fake.step_ns = 1000000;
    q.max_tokens = 4000;
    start();
    assert_int_equal(tenon_submit(tenon, &q, &id, &error), 0);
    assert_int_equal(tenon_next(tenon, id, 5000, &e, &error), 0);
    tenon = tenon_close(tenon);
    assert_true(reaches_u32(&fake.live, 0));
}

static void python_client(void **state)
{
    char command[1024];

    (void)state;
    start();
    snprintf(command, sizeof(command), "TENON_SOCKET='%s' '%s' -B '%s'", f->path, python, script);
    assert_int_equal(system(command), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        CASE(calls), CASE(generate), CASE(long_tokens), CASE(side_by_side), CASE(long_prompt), CASE(vanishing),
        CASE(python_client),
    };

    if (argc != 3)
        return 2;
    python = argv[1];
    script = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
