/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pre-tokenizers: words that are known, cuts that stay between characters, time that stays linear.  Whether they
 * cut as the published regular expressions do is asked of PCRE2 in test_split_oracle.c.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "src/base/clock.h"
#include "src/base/utf8.h"
#include "src/model/split.h"

#define LONG_TEXT ((size_t)256 << 10)

/* Cuts @text and compares with @expected, where words are separated by '|'. */
static void expect(const char *name, const char *text, const char *expected)
{
    const struct split *split = split_find(name, strlen(name));
    size_t size = strlen(text), position = 0, written = 0;
    char found[1024];

    assert_non_null(split);
    while (position < size) {
        size_t end = split->next((const uint8_t *)text, size, position);

        assert_true(end > position && end <= size && written + end - position + 2 < sizeof(found));
        if (position > 0)
            found[written++] = '|';
        memcpy(found + written, text + position, end - position);
        written += end - position;
        position = end;
    }
    found[written] = 0;
    assert_string_equal(found, expected);
}

static void test_gpt2(void **state)
{
    (void)state;
    expect("gpt-2", "It's  1234 don'T", "It|'s| | 1234| don|'|T");
    expect("gpt-2", "a\n\n b \t", "a|\n\n| b| \t");
    expect("gpt-2", "naïve — (x)!", "naïve| —| (|x|)!");
    expect("mpt", "  ", "  ");
    expect("smollm", "x12 3  4", "x|1|2| |3|  |4");
    expect("starcoder", " 7 a", " |7| a");
}

static void test_llama3(void **state)
{
    (void)state;
    expect("llama-bpe", "I'LL pay 12345 (now)\r\n\r\n  ok", "I|'LL| pay| |123|45| (|now|)\r\n\r\n| | ok");
    expect("llama3", "\t\tx = 'quoted'", "\t|\tx| =| '|quoted|'");
    expect("llama3", " \n  \n   z", " \n  \n|  | z");
    expect("qwen2", "a123 ...b", "a|1|2|3| ...|b");
    expect("qwen2", "end \n", "end| \n");
}

static void test_deepseek(void **state)
{
    (void)state;
    expect("deepseek-coder", "  if x: 12\n", " | if| x|:| |1|2|\n");
    expect("deepseek-coder", "a 你好b", "a| |你好|b");
    expect("deepseek-llm", "caf\xc3\xa9! 42  \n", "caf|é|!| |42|  |\n");
    expect("deepseek-llm", "Việt Nam", "Vi|ệ|t| Nam");
}

static void test_falcon(void **state)
{
    (void)state;
    expect("falcon", "it's 12345=x^2", "it|'|s| |123|45|=|x|^|2");
    expect("default", "a 12 1234", "a| |12| |123|4");
    expect("falcon", "a 12 1234", "a| 12| |123|4");
}

static void test_unknown(void **state)
{
    size_t count;
    const struct split *table = split_table(&count);

    (void)state;
    assert_null(split_find("nope", 4));
    assert_null(split_find("gpt-2x", 6));
    assert_null(split_find("", 0));
    for (size_t i = 0; i < count; i++)
        assert_ptr_equal(split_find(table[i].name, strlen(table[i].name)), &table[i]);
}

/* A cut lies between characters, and bytes that are none stand for themselves. */
static void test_any_bytes(void **state)
{
    size_t count;
    const struct split *table = split_table(&count);
    uint8_t text[257];
    uint32_t random = 1;

    (void)state;
    for (unsigned round = 0; round < 2000; round++) {
        for (size_t i = 0; i < sizeof(text); i++) {
            random = random * 1664525u + 1013904223u;
            text[i] = (uint8_t)(random >> 24 & (round % 3 == 0 ? 0x7f : 0xff));
        }
        for (size_t t = 0; t < count; t++) {
            size_t position = 0, whole = 0;

            while (position < sizeof(text)) {
                size_t end = table[t].next(text, sizeof(text), position);

                assert_true(end > position && end <= sizeof(text));
                while (whole < end) {
                    uint32_t code;
                    size_t length = utf8_decode(text + whole, sizeof(text) - whole, &code);

                    whole += length ? length : 1;
                }
                assert_int_equal(whole, end);
                position = end;
            }
        }
    }
}

static double seconds_for(const struct split *split, const uint8_t *text, size_t size)
{
    uint64_t start = clock_now_ns();

    for (size_t position = 0; position < size;)
        position = split->next(text, size, position);
    return (double)(clock_now_ns() - start) / 1e9;
}

/* Patterns that make a careless scanner look ahead again and again. */
static void test_linear(void **state)
{
    static const char *const patterns[] = {
        " ", "a", "1", "\n", "!", "é", "ệ", "中", "ệa", "中1", "©", "© ", " \xe2\x80\x83", "\xe3\x80\x80",
        "\xe3\x80\x80 ", "1 ",
        "4²", " '", "'s", "\r\n ", "\xff", "\xc2", "aé", "!é", "\t", "中 ", "©\xe2\x80\x83", "12",
    };
    size_t count;
    const struct split *table = split_table(&count);
    uint8_t *text = malloc(LONG_TEXT);

    (void)state;
    assert_non_null(text);
    for (size_t p = 0; p < ARRAY_LENGTH(patterns); p++) {
        size_t length = strlen(patterns[p]);

        for (size_t i = 0; i < LONG_TEXT; i++)
            text[i] = (uint8_t)patterns[p][i % length];
        for (size_t t = 0; t < count; t++) {
            double took;

            if (t > 0 && table[t].next == table[t - 1].next)
                continue;
            took = seconds_for(&table[t], text, LONG_TEXT);
            if (took > 2.0)
                fail_msg("%s needs %.1f s for 256 KiB of \"%s\"", table[t].name, took, patterns[p]);
        }
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpt2),    cmocka_unit_test(test_llama3),    cmocka_unit_test(test_deepseek),
        cmocka_unit_test(test_falcon),  cmocka_unit_test(test_unknown),   cmocka_unit_test(test_any_bytes),
        cmocka_unit_test(test_linear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
