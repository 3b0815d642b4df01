/* SPDX-License-Identifier: Apache-2.0 */
#include "src/model/unicode.h"

#include "src/model/unicode_tables.h"

#define CODE_MAX 0x10ffffu

/* Unicode Standard 3.12, conjoining jamo behaviour. */
#define HANGUL_FIRST 0xac00u
#define HANGUL_COUNT 11172u
#define JAMO_LEAD 0x1100u
#define JAMO_VOWEL 0x1161u
#define JAMO_TAIL 0x11a7u
#define JAMO_VOWELS 21u
#define JAMO_TAILS 28u

uint32_t unicode_class(uint32_t code)
{
    size_t low = 0, high = unicode_range_count;     /* the answer is in [low, high) */
    uint32_t range;

    if (code < 128)
        return unicode_ascii[code];
    if (code > CODE_MAX)
        return UNICODE_CN;
    if (code < UNICODE_INDEXED) {
        low = unicode_index[code / 256];
        high = (size_t)unicode_index[code / 256 + 1] + 1;
    }
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (unicode_ranges[middle] >> 6 <= code)
            low = middle;
        else
            high = middle;
    }
    range = unicode_ranges[low];
    return UINT32_C(1) << (range & 31) | (range >> 5 & 1 ? (uint32_t)UNICODE_SPACE : 0);
}

uint32_t unicode_lower(uint32_t code)
{
    size_t low = 0, high = unicode_lower_run_count;

    if (code < 0x80)
        return code >= 'A' && code <= 'Z' ? code + 32 : code;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct unicode_lower_run *run = &unicode_lower_runs[middle];

        if (code < run->first)
            high = middle;
        else if (code > run->last)
            low = middle + 1;
        else
            return (code - run->first) % run->step == 0 ? (uint32_t)((int32_t)code + run->delta) : code;
    }
    return code;
}

static const struct unicode_step *find_step(uint32_t code)
{
    size_t low = 0, high = unicode_step_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (code < unicode_steps[middle].code)
            high = middle;
        else if (code > unicode_steps[middle].code)
            low = middle + 1;
        else
            return &unicode_steps[middle];
    }
    return NULL;
}

static size_t decompose_hangul(uint32_t index, uint32_t ret[UNICODE_DECOMPOSED_MAX])
{
    uint32_t tail = index % JAMO_TAILS;

    ret[0] = JAMO_LEAD + index / (JAMO_VOWELS * JAMO_TAILS);
    ret[1] = JAMO_VOWEL + index / JAMO_TAILS % JAMO_VOWELS;
    ret[2] = JAMO_TAIL + tail;
    return tail > 0 ? 3 : 2;
}

size_t unicode_decompose(uint32_t code, uint32_t ret[UNICODE_DECOMPOSED_MAX])
{
    uint32_t marks[UNICODE_DECOMPOSED_MAX];
    size_t count = 0, written = 1;
    const struct unicode_step *step;

    if (code - HANGUL_FIRST < HANGUL_COUNT)
        return decompose_hangul(code - HANGUL_FIRST, ret);
    /* Only the first code of a step decomposes further; the generator has checked the depth. */
    while (code >= 0xc0 && count < UNICODE_DECOMPOSED_MAX - 1 && (step = find_step(code)) != NULL) {
        if (step->second != 0)
            marks[count++] = step->second;
        code = step->first;
    }
    ret[0] = code;
    while (count > 0)
        ret[written++] = marks[--count];
    return written;
}

bool unicode_is_ideograph(uint32_t code)
{
    static const uint32_t blocks[][2] = {
        {0x3400, 0x4dbf}, {0x4e00, 0x9fff}, {0xf900, 0xfaff}, {0x20000, 0x2a6df}, {0x2a700, 0x2b73f},
        {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0x2f800, 0x2fa1f},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(blocks); i++) {
        if (code >= blocks[i][0] && code <= blocks[i][1])
            return true;
    }
    return false;
}
