/* SPDX-License-Identifier: Apache-2.0 */
/* Text on its way out: stop strings over any cut, UTF-8 held until whole, nothing lost (cases D1-D5). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/base/utf8.h"
#include "src/engine/answer.h"

struct out { struct buffer text; bool stopped; };

/* Feeds @text cut at the bits of @cuts (bit i: a token ends after byte i), checks every release, returns the answer. */
static struct out feed(const char *text, size_t size, const char *const *stops, uint32_t stop_count, uint64_t cuts)
{
    struct engine_request q = { .stop_count = stop_count };
    struct out out = { .text = BUFFER_NULL };
    struct answer a = ANSWER_NULL;
    uint32_t offset;
    struct span s;

    for (uint32_t i = 0; i < stop_count; i++)
        q.stops[i] = (struct engine_stop){ .text = (const uint8_t *)stops[i], .size = (uint32_t)strlen(stops[i]) };
    answer_init(&a, &q);
    for (size_t at = 0; at < size && !a.stopped;) {
        size_t end = at + 1;

        while (end < size && !(cuts >> (end - 1) & 1))
            end++;
        buffer_put(answer_input(&a), text + at, end - at);
        s = answer_release(&a, &offset);
        assert_int_equal(offset, out.text.size);
        if (!a.stopped)
            assert_int_equal(utf8_incomplete_tail(s.data, s.size), 0);
        buffer_put(&out.text, s.data, s.size);
        at = end;
    }
    out.stopped = a.stopped;
    if (!a.stopped) {
        s = answer_flush(&a, &offset);
        assert_int_equal(offset, out.text.size);
        buffer_put(&out.text, s.data, s.size);
    }
    answer_deinit(&a);
    return out;
}

static void expect(const char *text, const char *const *stops, uint32_t stop_count, const char *answer, bool stopped)
{
    size_t size = strlen(text);

    assert_true(size <= 16);
    for (uint64_t cuts = 0; cuts < UINT64_C(1) << (size - 1); cuts++) {
        struct out out = feed(text, size, stops, stop_count, cuts);

        assert_int_equal(out.stopped, stopped);
        assert_int_equal(out.text.size, strlen(answer));
        assert_memory_equal(out.text.data ? (const char *)out.text.data : "", answer, strlen(answer));
        buffer_deinit(&out.text);
    }
}

static void stop_over_all_cuts(void **state)
{
    const char *const spaced[] = { "O P Q" }, *const two[] = { "zz", "END" }, *const nested[] = { "aab" };

    (void)state;
    expect("L M N O P Q R S", spaced, 1, "L M N ", true);
    expect("hello END there", two, 2, "hello ", true);
    expect("aaaaab!", nested, 1, "aaa", true);
    expect("O P O P R", spaced, 1, "O P O P R", false);
    expect("ends in O P", spaced, 1, "ends in O P", false);
}

static void earliest_stop_wins(void **state)
{
    const char *const stops[] = { "bcd", "ab" };

    (void)state;
    expect("xxabcd", stops, 2, "xx", true);
    expect("xxbcd", stops, 2, "xx", true);
}

static void utf8_is_whole(void **state)
{
    (void)state;
    expect("a\xf0\x9f\x98\x80z", NULL, 0, "a\xf0\x9f\x98\x80z", false);
    expect("\xe4\xbd\xa0\xe5\xa5\xbd", NULL, 0, "\xe4\xbd\xa0\xe5\xa5\xbd", false);
}

/* Bytes that never become a character are not held back for ever, and an incomplete end is not lost. */
static void broken_utf8_passes(void **state)
{
    (void)state;
    expect("a\xff\xfe z", NULL, 0, "a\xff\xfe z", false);
    expect("a\xc3(", NULL, 0, "a\xc3(", false);
    expect("tail\xf0\x9f\x98", NULL, 0, "tail\xf0\x9f\x98", false);
    expect("\x80\x80\x80\x80", NULL, 0, "\x80\x80\x80\x80", false);
}

static void stop_beside_utf8(void **state)
{
    const char *const stops[] = { "\xe4\xbd\xa0!" };

    (void)state;
    expect("x\xe4\xbd\xa0!y", stops, 1, "x", true);
    expect("x\xe4\xbd\xa0?y", stops, 1, "x\xe4\xbd\xa0?y", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stop_over_all_cuts), cmocka_unit_test(earliest_stop_wins), cmocka_unit_test(utf8_is_whole),
        cmocka_unit_test(broken_utf8_passes), cmocka_unit_test(stop_beside_utf8),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
