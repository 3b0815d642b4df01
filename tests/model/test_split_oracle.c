/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pre-tokenizers against PCRE2: random texts of awkward characters must be cut as the published regular
 * expressions cut them.  Several expressions work one after another, each within the fragments of those before.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "src/base/utf8.h"
#include "src/model/split.h"

#define TEXT_MAX 96
#define STAGES_MAX 6
#define ROUNDS 40000

#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)"
#define LLAMA3(numbers) \
    "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" numbers \
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define EASTERN "[\\x{4e00}-\\x{9fa5}\\x{800}-\\x{4e00}\\x{ac00}-\\x{d7ff}]+"
#define LISTED \
    "\\s?[A-Za-z\\x{b5}\\x{c0}-\\x{d6}\\x{d8}-\\x{f6}\\x{f8}-\\x{1ba}\\x{1bc}-\\x{1bf}\\x{1c4}-\\x{293}" \
    "\\x{295}-\\x{2af}\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37b}-\\x{37d}\\x{37f}\\x{386}\\x{388}-\\x{38a}" \
    "\\x{38c}\\x{38e}-\\x{3a1}\\x{3a3}-\\x{3f5}\\x{3f7}-\\x{481}\\x{48a}-\\x{52f}\\x{531}-\\x{556}" \
    "\\x{10a0}-\\x{10c5}\\x{13a0}-\\x{13f5}\\x{13f8}-\\x{13fd}\\x{1c90}-\\x{1cba}\\x{1cbd}-\\x{1cbf}" \
    "\\x{1d00}-\\x{1d2b}\\x{1d6b}-\\x{1d77}\\x{1d79}-\\x{1d9a}\\x{1e00}-\\x{1f15}\\x{1f18}-\\x{1f1d}" \
    "\\x{1f20}-\\x{1f45}\\x{1f48}-\\x{1f4d}\\x{1f50}-\\x{1f57}\\x{1f59}\\x{1f5b}\\x{1f5d}\\x{1f5f}-\\x{1f7d}" \
    "\\x{1f80}-\\x{1fb4}\\x{1fb6}-\\x{1fbc}\\x{1fbe}\\x{1fc2}-\\x{1fc4}\\x{1fc6}-\\x{1fcc}\\x{1fd0}-\\x{1fd3}" \
    "\\x{1fd6}-\\x{1fdb}\\x{1fe0}-\\x{1fec}\\x{1ff2}-\\x{1ff4}\\x{1ff6}-\\x{1ffc}\\x{2102}\\x{2107}" \
    "\\x{210a}-\\x{2113}\\x{2115}\\x{2119}-\\x{211d}\\x{2124}\\x{2126}\\x{2128}\\x{212a}-\\x{212d}" \
    "\\x{212f}-\\x{2134}\\x{2139}\\x{213c}-\\x{213f}\\x{2145}-\\x{2149}\\x{214e}\\x{2183}\\x{2184}" \
    "\\x{2c00}-\\x{2c7b}\\x{2c7e}-\\x{2ce4}\\x{2ceb}-\\x{2cee}\\x{2cf2}\\x{2cf3}\\x{a640}-\\x{a66d}" \
    "\\x{a680}-\\x{a69b}\\x{a722}-\\x{a76f}\\x{a771}-\\x{a787}\\x{a78b}-\\x{a78e}\\x{ab70}-\\x{abbf}" \
    "\\x{fb00}-\\x{fb06}\\x{fb13}-\\x{fb17}\\x{ff21}-\\x{ff3a}\\x{ff41}-\\x{ff5a}\\x{10400}-\\x{1044f}" \
    "\\x{104b0}-\\x{104d3}\\x{104d8}-\\x{104fb}\\x{10c80}-\\x{10cb2}\\x{10cc0}-\\x{10cf2}\\x{118a0}-\\x{118df}" \
    "\\x{1e900}-\\x{1e943}]+"
#define MARKS "\\s?[!-\\/:-~\\x{ff01}-\\x{ff0f}\\x{ff1a}-\\x{ff5e}\\x{2018}-\\x{201f}\\x{3000}-\\x{3002}]+"

static const struct oracle {
    const char *name;
    const char *stages[STAGES_MAX];
} oracles[] = {
    {"gpt-2", {GPT2}},
    {"mpt", {GPT2}},
    {"smollm", {"\\p{N}", GPT2}},
    {"starcoder", {"\\p{N}", GPT2}},
    {"refact", {"\\p{N}", GPT2}},
    {"command-r", {"\\p{N}", GPT2}},
    {"llama-bpe", {LLAMA3("\\p{N}{1,3}")}},
    {"llama3", {LLAMA3("\\p{N}{1,3}")}},
    {"qwen2", {LLAMA3("\\p{N}")}},
    {"falcon", {"[\\p{P}\\$\\+<=>\\^~\\|`]+", GPT2, "[0-9][0-9][0-9]"}},
    {"default", {"[\\p{P}\\$\\+<=>\\^~\\|]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]"}},
    {"deepseek-coder", {"[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", EASTERN, "\\p{N}"}},
    {"deepseek-llm", {"[\\r\\n]", LISTED, MARKS, "\\s+$", EASTERN, "\\p{N}+"}},
};

/* U+180E is missing: PCRE2 counts it as \s, Unicode since 6.3 does not. */
static const uint32_t alphabet[] = {
    ' ', ' ', ' ', ' ', ' ', '\n', '\n', '\r', '\t', 0x0b, 0x85, 0xa0, 0x2003, 0x2028, 0x3000, 0x3000, 0x1680,
    '\'', '\'', '\'', 's', 't', 'r', 'e', 'v', 'm', 'l', 'l', 'd', 'S', 'R', 'E', 'L', 'a', 'Z', 0x17f, 0x212a,
    '1', '2', '3', '4', '0', '9', 0xb2, 0xbd, 0x0664, 0x09e6, 0x2167, 0x3007, 0xff11, 0x1d7d8,
    '!', '.', ',', '$', '+', '<', '`', '^', '~', '|', '_', '-', '"', '\\', '[', 0x2019, 0x201f, 0x2026, 0x3001,
    0xff01, 0xff5e,
    0xa9, 0xd7, 0x2191, 0x20ac, 0x1f600, 0x1f999, 0xb4,
    0xe9, 0xb5, 0xaa, 0x1bb, 0x1c0, 0x1ed9, 0x1ef9, 0x3b1, 0x430, 0x561, 0x10d0, 0x13a0, 0x5d0, 0x628, 0x915, 0xe01,
    0x4e00, 0x4f60, 0x9fa5, 0x9fa6, 0x3042, 0xac00, 0xd7a3, 0xa4d0, 0xfb01, 0xff21, 0x10400, 0x20000, 0x1c90, 0x1fbe,
    0x301, 0x93e, 0x94d, 0xfe0f, 0x20dd, 0x200d, 0xad, 0x378, 0xe000, 0x7f, 0x00, 0x1b, 0xfffd, 0x10ffff,
};

struct cuts {
    size_t ends[TEXT_MAX * 4 + 1];
    size_t count;
};

static uint32_t random_state = 12345;

static uint32_t random_below(uint32_t bound)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(random_state >> 8) * bound >> 24);
}

static void add_cut(struct cuts *cuts, size_t end)
{
    size_t last = cuts->count > 0 ? cuts->ends[cuts->count - 1] : 0;

    if (end > last)
        cuts->ends[cuts->count++] = end;
}

/* Each match is a fragment of its own, and so is what lies between matches. */
static void apply(const pcre2_code *code, pcre2_match_data *data, const uint8_t *text, const struct cuts *before,
                  struct cuts *ret_after)
{
    size_t start = 0;

    ret_after->count = 0;
    for (size_t i = 0; i < before->count; i++) {
        size_t size = before->ends[i] - start, position = 0;

        while (position < size && pcre2_match(code, text + start, size, position, 0, data, NULL) > 0) {
            const PCRE2_SIZE *match = pcre2_get_ovector_pointer(data);

            assert_true(match[1] > match[0]);
            add_cut(ret_after, start + match[0]);
            add_cut(ret_after, start + match[1]);
            position = match[1];
        }
        add_cut(ret_after, before->ends[i]);
        start = before->ends[i];
    }
}

static size_t random_text(uint8_t *text)
{
    size_t size = 0, characters = 1 + random_below(random_below(4) == 0 ? 24 : 9);
    uint32_t narrow = random_below(3), first = random_below(ARRAY_LENGTH(alphabet));

    for (size_t i = 0; i < characters; i++) {
        uint32_t pick = random_below(ARRAY_LENGTH(alphabet));

        if (narrow == 0)        /* a few neighbours only, so that runs happen */
            pick = (first + pick % 5) % (uint32_t)ARRAY_LENGTH(alphabet);
        if (narrow == 1 && random_below(2) == 0)
            pick = random_below(17);
        size += utf8_encode(alphabet[pick], text + size);
    }
    return size;
}

static void complain(const struct oracle *oracle, const uint8_t *text, size_t size, const struct cuts *expected,
                     const struct cuts *found)
{
    fprintf(stderr, "%s:", oracle->name);
    for (size_t i = 0, length; i < size; i += length) {
        uint32_t code;

        length = utf8_decode(text + i, size - i, &code);
        fprintf(stderr, " %zu:U+%04X", i, code);
    }
    fprintf(stderr, "\nexpected:");
    for (size_t i = 0; i < expected->count; i++)
        fprintf(stderr, " %zu", expected->ends[i]);
    fprintf(stderr, "\nfound:   ");
    for (size_t i = 0; i < found->count; i++)
        fprintf(stderr, " %zu", found->ends[i]);
    fprintf(stderr, "\n");
    fail_msg("%s cuts otherwise than its expressions", oracle->name);
}

static void compare(const struct oracle *oracle, pcre2_code *const *codes, pcre2_match_data *data)
{
    const struct split *split = split_find(oracle->name, strlen(oracle->name));
    uint8_t text[TEXT_MAX];

    assert_non_null(split);
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t size = random_text(text);
        struct cuts cuts[2] = {{.count = 0}}, found = {.count = 0};
        unsigned turn = 0;

        add_cut(&cuts[0], size);
        for (size_t s = 0; s < STAGES_MAX && oracle->stages[s] != NULL; s++, turn ^= 1)
            apply(codes[s], data, text, &cuts[turn], &cuts[turn ^ 1]);
        for (size_t position = 0; position < size;) {
            position = split->next(text, size, position);
            found.ends[found.count++] = position;
        }
        if (found.count != cuts[turn].count || memcmp(found.ends, cuts[turn].ends, found.count * sizeof(size_t)) != 0)
            complain(oracle, text, size, &cuts[turn], &found);
    }
}

static void test_oracles(void **state)
{
    pcre2_match_data *data = pcre2_match_data_create(4, NULL);

    (void)state;
    assert_non_null(data);
    for (size_t i = 0; i < ARRAY_LENGTH(oracles); i++) {
        pcre2_code *codes[STAGES_MAX] = {NULL};

        for (size_t s = 0; s < STAGES_MAX && oracles[i].stages[s] != NULL; s++) {
            int error;
            PCRE2_SIZE where;

            codes[s] = pcre2_compile((PCRE2_SPTR)oracles[i].stages[s], PCRE2_ZERO_TERMINATED,
                                     PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY, &error, &where, NULL);
            if (codes[s] == NULL)
                fail_msg("%s, expression %zu: error %d at %zu", oracles[i].name, s, error, where);
            (void)pcre2_jit_compile(codes[s], PCRE2_JIT_COMPLETE);
        }
        compare(&oracles[i], codes, data);
        for (size_t s = 0; s < STAGES_MAX; s++)
            pcre2_code_free(codes[s]);
    }
    pcre2_match_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_oracles)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
