/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/log.h"
#include "src/daemon/config.h"
#include "src/engine/choices.h"
#include "src/daemon/daemon.h"
#include "src/daemon/ini.h"
#include "src/daemon/units.h"

static struct config config;
static struct error error;

static int set_up(void **state)
{
    (void)state;
    config_init(&config);
    error = (struct error)ERROR_NULL;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    config_deinit(&config);
    return 0;
}

static int take(const char *text)
{
    return config_take_text(&config, "test.conf", text, strlen(text), &error);
}

static void expect_error(const char *text, const char *words)
{
    assert_true(take(text) < 0);
    if (!strstr(error.text, words))
        fail_msg("\"%s\" does not say \"%s\"", error.text, words);
}

/* Runs @act with stderr in a pipe and returns what was written. */
static const char *logged(const char *text)
{
    static char said[2048];
    int fds[2], old = dup(STDERR_FILENO);
    ssize_t n;

    assert_int_equal(pipe(fds), 0);
    dup2(fds[1], STDERR_FILENO);
    assert_int_equal(take(text), 0);
    dup2(old, STDERR_FILENO);
    close(old);
    close(fds[1]);
    n = read(fds[0], said, sizeof(said) - 1);
    close(fds[0]);
    said[n > 0 ? n : 0] = '\0';
    return said;
}

static size_t option(const char *name)
{
    for (size_t i = 0; i < config_setting_count(); i++)
        if (config_setting_name(i) && strcmp(config_setting_name(i), name) == 0)
            return i;
    fail_msg("no setting %s", name);
    return 0;
}

static void whole_file(void **state)
{
    struct instance_config c;
    uint32_t wide;

    (void)state;
    assert_int_equal(activations_parse("int16:ffn_down", &wide, &error), 0);
    assert_int_equal(take("# a comment\n"
                          "; another\n"
                          "[server]\r\n"
                          "socket = /run/x.sock \n"
                          "socket-mode=0600\n"
                          "drain-timeout = 250ms\n"
                          "stall-timeout = 5\n"
                          "bytes-per-user = 2G\n"
                          "log-level = debug\n"
                          "[compute]\n"
                          "threads = 3\n"
                          "isa = ref\n"
                          "memory = require-huge\n"
                          "io = preadv\n"
                          "[model small]\n"
                          "file = /models/a = b.gguf\n"
                          "context = 2048\n"
                          "activations = int16:ffn_down\n"
                          "[model  large ]\n"
                          "file = /models/large.gguf\n"
                          "kv-bytes = 4G\n"
                          "kv = q8\n"
                          "[model small]\n"
                          "sequences = 2"), 0);
    assert_string_equal(config.socket, "/run/x.sock");
    assert_int_equal(config.socket_mode, 0600);
    assert_int_equal(config.drain_ms, 250);
    assert_int_equal(config.limits.stall_ms, 5000);
    assert_true(config.limits.bytes_uid == UINT64_C(2) << 30);
    assert_int_equal(config.log_level, LOG_LEVEL_DEBUG);
    assert_int_equal(config.model_count, 2);
    assert_string_equal(config.models[0].file, "/models/a = b.gguf");
    c = config_instance(&config, 0, NULL, NULL);
    assert_string_equal(c.id, "small");
    assert_int_equal(c.context, 2048);
    assert_int_equal(c.sequences, 2);
    assert_int_equal(c.wide_mask, wide);
    assert_int_equal(c.kv, KV_F16);
    assert_int_equal(c.threads, 3);
    assert_int_equal(c.level, KERNEL_REF);
    assert_true(c.level_required);
    assert_int_equal(c.memory, ARENA_REQUIRE_HUGE);
    assert_int_equal(c.io, IO_PREADV);
    c = config_instance(&config, 1, NULL, NULL);
    assert_string_equal(c.id, "large");
    assert_true(c.kv_bytes == UINT64_C(4) << 30);
    assert_int_equal(c.kv, KV_Q8);
    assert_int_equal(c.context, 0);
}

static void command_line_wins(void **state)
{
    (void)state;
    assert_int_equal(take("[compute]\nthreads = 3\n[model a]\nfile = /a\ncontext = 100\nsequences = 5\n"), 0);
    assert_int_equal(config_take_option(&config, option("threads"), "7", &error), 0);
    assert_int_equal(config_take_option(&config, option("context"), "200", &error), 0);
    assert_int_equal(config_take_model(&config, "b=/b", &error), 0);
    assert_int_equal(config_instance(&config, 0, NULL, NULL).context, 200);
    assert_int_equal(config_instance(&config, 0, NULL, NULL).sequences, 5);
    assert_int_equal(config_instance(&config, 1, NULL, NULL).context, 200);
    assert_int_equal(config_instance(&config, 1, NULL, NULL).threads, 7);
    assert_true(config_take_option(&config, option("threads"), "many", &error) < 0);
    assert_non_null(strstr(error.text, "--threads: \"many\" is no number"));
}

static void errors_name_file_and_line(void **state)
{
    char *large = malloc(6000);

    (void)state;
    expect_error("[server]\nsocket\n", "test.conf:2: neither");
    expect_error("socket = x\n", "test.conf:1: a key before");
    expect_error("[server\n", "test.conf:1: a section");
    expect_error("[]\n", "test.conf:1: a section has a name");
    expect_error("[server]\n = 5\n", "test.conf:2: a key has");
    expect_error("[server]\nsocket =\n", "test.conf:2: socket: the value is empty");
    expect_error("[compute]\n\n\nthreads = 4x\n", "test.conf:4: threads: \"4x\" is no number");
    expect_error("[compute]\nthreads = 99999\n", "within 0 to 1024");
    expect_error("[compute]\nthreads = 99999999999999999999999\n", "is no number");
    expect_error("[compute]\nisa = avx9\n", "isa: \"avx9\" is not known");
    expect_error("[compute]\nplacement = here\n", "shard, local, mirror");
    expect_error("[server]\nlog-level = loud\n", "error, warning, notice, info, debug");
    expect_error("[server]\ndrain-timeout = 3 weeks\n", "is no time");
    expect_error("[model]\nfile = x\n", "a model's id has");
    expect_error("[model a b]\nfile = x\n", "no blanks");
    expect_error("[model a]\nactivations = int4\n", "int4");
    expect_error("[model a]\nkv-bytes = 99999999T\n", "is no size");
    memset(large, 'x', 5999);
    memcpy(large, "[server]\n", 9);
    large[20] = '=';
    large[5999] = '\0';
    expect_error(large, "test.conf:2: a value has at most");
    assert_true(config_take_text(&config, "test.conf", "[server]\nsocket = a\0b\n", 22, &error) < 0);
    assert_non_null(strstr(error.text, "zero byte"));
    free(large);
}

static void unknown_keys_are_warnings(void **state)
{
    const char *said;

    (void)state;
    said = logged("[server]\nsoket = x\n");
    assert_non_null(strstr(said, "test.conf:2: [server] knows no soket; did you mean socket?"));
    said = logged("[compute]\nqwertyuiop = x\n");
    assert_non_null(strstr(said, "knows no qwertyuiop"));
    assert_null(strstr(said, "did you mean"));
    said = logged("[sever]\nsocket = x\n");
    assert_non_null(strstr(said, "no section [sever] is known; did you mean server"));
    assert_null(config.socket);
}

static void models_on_the_command_line(void **state)
{
    (void)state;
    assert_int_equal(config_take_model(&config, "a=/x/y=z.gguf", &error), 0);
    assert_string_equal(config.models[0].id, "a");
    assert_string_equal(config.models[0].file, "/x/y=z.gguf");
    assert_int_equal(config_take_model(&config, "/x/y=z.gguf", &error), 0);
    assert_string_equal(config.models[1].id, "y=z");
    assert_int_equal(config_take_model(&config, "plain.gguf", &error), 0);
    assert_string_equal(config.models[2].id, "plain");
    assert_true(config_take_model(&config, "a=/other", &error) < 0);
    assert_non_null(strstr(error.text, "two models"));
    assert_true(config_take_model(&config, "b=", &error) < 0);
    assert_true(config_take_model(&config, "=x", &error) < 0);
    assert_true(config_take_model(&config, "a b=x", &error) < 0);
    for (int i = 3; i < (int)LIMIT_MODELS; i++) {
        char text[32];

        snprintf(text, sizeof(text), "m%d=/m", i);
        assert_int_equal(config_take_model(&config, text, &error), 0);
    }
    assert_true(config_take_model(&config, "more=/m", &error) < 0);
}

static void what_must_hold_together(void **state)
{
    (void)state;
    assert_int_equal(config_check(&config, &error), -EINVAL);
    assert_non_null(strstr(error.text, "no model"));
    assert_int_equal(config_take_model(&config, "a=/dev/null", &error), 0);
    assert_int_equal(config_check(&config, &error), 0);
    assert_int_equal(config_take_model(&config, "b=/nowhere/at/all", &error), 0);
    assert_int_equal(config_check(&config, &error), -ENOENT);
    assert_non_null(strstr(error.text, "model b: /nowhere/at/all"));
}

static void files_that_are_none(void **state)
{
    (void)state;
    assert_int_equal(config_read(&config, "/nowhere.conf", &error), -ENOENT);
    assert_int_equal(config_read(&config, "/", &error), -EINVAL);
    assert_int_equal(config_read(&config, "/dev/zero", &error), -EINVAL);
}

static void units(void **state)
{
    uint64_t v;

    (void)state;
    assert_true(units_bytes("4G", &v) && v == UINT64_C(4) << 30);
    assert_true(units_bytes("4 GiB", &v) && v == UINT64_C(4) << 30);
    assert_true(units_bytes("17", &v) && v == 17);
    assert_false(units_bytes("4g", &v) || units_bytes("G", &v) || units_bytes("-1", &v) || units_bytes("", &v));
    assert_false(units_bytes("18446744073709551616", &v) || units_bytes("99999999999T", &v));
    assert_true(units_ms("2min", &v) && v == 120000);
    assert_true(units_ms("250ms", &v) && v == 250);
    assert_true(units_ms("30", &v) && v == 30000);
    assert_false(units_ms("30 d", &v));
    assert_true(units_octal("0660", &v) && v == 0660);
    assert_false(units_octal("0668", &v));
}

static void exit_codes(void **state)
{
    (void)state;
    assert_int_equal(daemon_exit_code(0), 0);
    assert_int_equal(daemon_exit_code(-EACCES), 77);
    assert_int_equal(daemon_exit_code(-ENOMEM), 71);
    assert_int_equal(daemon_exit_code(-EADDRINUSE), 69);
    assert_int_equal(daemon_exit_code(-ENOENT), 78);
    assert_int_equal(daemon_exit_code(-EINVAL), 78);        /* a broken model: a restart would not mend it */
    assert_int_equal(daemon_exit_code(-EBADMSG), 78);
    assert_int_equal(daemon_exit_code(-EIO), 1);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(whole_file), CASE(command_line_wins), CASE(errors_name_file_and_line), CASE(unknown_keys_are_warnings),
        CASE(models_on_the_command_line), CASE(what_must_hold_together), CASE(files_that_are_none), CASE(units),
        CASE(exit_codes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
