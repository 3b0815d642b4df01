/* SPDX-License-Identifier: Apache-2.0 */
#include "src/model/split.h"

#include <string.h>

#include "src/base/utf8.h"
#include "src/model/unicode.h"

struct character {
    uint32_t code;              /* END behind the text */
    uint32_t class;             /* 0 behind the text */
    size_t end;
};

#define END UINT32_MAX
#define NOT_UTF8 0xfffdu

enum { WORDLESS = UNICODE_SPACE | UNICODE_LETTER | UNICODE_NUMBER };

static inline struct character at(const uint8_t *text, size_t size, size_t position)
{
    uint32_t code;
    size_t length;

    if (position >= size)
        return (struct character){.code = END, .class = 0, .end = size};
    length = utf8_decode(text + position, size - position, &code);
    if (length == 0) {
        code = NOT_UTF8;
        length = 1;
    }
    return (struct character){.code = code, .class = unicode_class(code), .end = position + length};
}

static inline bool is_newline(const struct character *c) { return c->code == '\r' || c->code == '\n'; }

/* The end of a run of characters of @class that begins at @position (which may be empty). */
static size_t run_of(const uint8_t *text, size_t size, size_t position, uint32_t class)
{
    struct character c = at(text, size, position);

    while (c.class & class) {
        position = c.end;
        c = at(text, size, position);
    }
    return position;
}

/* 's 't 're 've 'm 'll 'd: the length of the one that begins here, else 0. */
static size_t contraction(const uint8_t *text, size_t size, size_t position, bool any_case)
{
    uint8_t fold = any_case ? 0x20 : 0, first, second;

    if (text[position] != '\'' || size - position < 2)
        return 0;
    first = text[position + 1] | fold;
    if (first == 's' || first == 't' || first == 'm' || first == 'd')
        return 2;
    if (size - position < 3)
        return 0;
    second = text[position + 2] | fold;
    if (((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l'))
        return 3;
    return 0;
}

/*
 * \s+(?!\S)|\s+ from @position: all of a run of white space that ends the text (or the fragment, where @barrier says
 * so of the next character), else the run without its last character, which belongs to the next word.
 */
static size_t spaces(const uint8_t *text, size_t size, size_t position, bool (*barrier)(const struct character *))
{
    struct character c = at(text, size, position);
    size_t last = position, end = c.end;

    for (c = at(text, size, end); c.class & UNICODE_SPACE; c = at(text, size, end)) {
        last = end;
        end = c.end;
    }
    if (c.code == END || barrier(&c) || last == position)
        return end;
    return last;
}

/*
 * 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 * within a fragment that ends before the first character for which @barrier is true (@position itself is none).
 */
static inline size_t gpt2_words(const uint8_t *text, size_t size, size_t position,
                                bool (*barrier)(const struct character *))
{
    size_t length = contraction(text, size, position, false), end;
    struct character c, first;

    if (length > 0)
        return position + length;
    c = first = at(text, size, position);
    if (c.code == ' ') {
        first = at(text, size, c.end);
        if (first.code == END || barrier(&first))
            return c.end;
    }
    if (first.class & UNICODE_LETTER)
        return run_of(text, size, first.end, UNICODE_LETTER);
    if (first.class & UNICODE_NUMBER)
        return run_of(text, size, first.end, UNICODE_NUMBER);
    if (first.class & UNICODE_SPACE)
        return spaces(text, size, position, barrier);
    do {
        end = first.end;
        first = at(text, size, end);
    } while (first.code != END && !(first.class & WORDLESS) && !barrier(&first));
    return end;
}

static bool never(const struct character *c)
{
    (void)c;
    return false;
}

/* gpt-2, mpt: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S) */
static size_t gpt2_next(const uint8_t *text, size_t size, size_t position)
{
    return gpt2_words(text, size, position, never);
}

static bool is_number(const struct character *c) { return c->class & UNICODE_NUMBER; }

/* smollm, starcoder, refact, command-r: \p{N} one by one, then the words of gpt-2 between them. */
static size_t digits_next(const uint8_t *text, size_t size, size_t position)
{
    struct character c = at(text, size, position);

    return is_number(&c) ? c.end : gpt2_words(text, size, position, is_number);
}

static bool is_one_of(uint32_t code, const char *set) { return code < 0x80 && code != 0 && strchr(set, (int)code); }

static bool is_falcon_mark(const struct character *c)
{
    return c->class & UNICODE_PUNCTUATION || is_one_of(c->code, "$+<=>^~|`");
}

static bool is_default_mark(const struct character *c)
{
    return c->class & UNICODE_PUNCTUATION || is_one_of(c->code, "$+<=>^~|");
}

static bool three_digits(const uint8_t *text, size_t size, size_t position)
{
    if (size - position < 3)
        return false;
    for (size_t i = 0; i < 3; i++) {
        if (text[position + i] < '0' || text[position + i] > '9')
            return false;
    }
    return true;
}

/*
 * [0-9][0-9][0-9] set apart within a run of numbers: the end of the first piece that begins at @position, where the
 * run may follow a space.
 */
static size_t cut_triples(const uint8_t *text, size_t size, size_t position, size_t run)
{
    struct character c;

    if (position == run && three_digits(text, size, run))
        return run + 3;
    for (c = at(text, size, run); is_number(&c) && !three_digits(text, size, run); c = at(text, size, run))
        run = c.end;
    return run;
}

/* Marks in runs, then the words of gpt-2, then triples of digits within them. */
static inline size_t marks_next(const uint8_t *text, size_t size, size_t position,
                                bool (*mark)(const struct character *), bool numbers_apart)
{
    struct character c = at(text, size, position);
    size_t end;

    if (mark(&c)) {
        do {
            end = c.end;
            c = at(text, size, end);
        } while (c.code != END && mark(&c));
        return end;
    }
    if (is_number(&c))
        return cut_triples(text, size, position, position);
    if (c.code == ' ') {
        struct character second = at(text, size, c.end);

        if (is_number(&second))
            return numbers_apart ? c.end : cut_triples(text, size, position, c.end);
    }
    return gpt2_words(text, size, position, mark);
}

/* falcon: [\p{P}\$\+<=>\^~\|`]+, then the words of gpt-2, then [0-9][0-9][0-9] */
static size_t falcon_next(const uint8_t *text, size_t size, size_t position)
{
    return marks_next(text, size, position, is_falcon_mark, false);
}

/* default: [\p{P}\$\+<=>\^~\|]+, then the words of gpt-2, then \p{N}+, then [0-9][0-9][0-9] */
static size_t default_next(const uint8_t *text, size_t size, size_t position)
{
    return marks_next(text, size, position, is_default_mark, true);
}

/* \s*[\r\n]+|\s+(?!\S)|\s+ */
static size_t lines_or_spaces(const uint8_t *text, size_t size, size_t position)
{
    struct character c = at(text, size, position);
    size_t after_newline = 0, last = position, end = position;

    for (; c.class & UNICODE_SPACE; c = at(text, size, end)) {
        last = end;
        end = c.end;
        if (is_newline(&c))
            after_newline = end;
    }
    if (after_newline > 0)
        return after_newline;
    return c.code == END || last == position ? end : last;
}

/*
 * (?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,digits}|
 *  ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
 */
static inline size_t llama3_words(const uint8_t *text, size_t size, size_t position, unsigned digits)
{
    size_t length = contraction(text, size, position, true), end;
    struct character c, first;

    if (length > 0)
        return position + length;
    c = first = at(text, size, position);
    if (c.class & UNICODE_NUMBER) {
        for (end = c.end, c = at(text, size, end); --digits > 0 && c.class & UNICODE_NUMBER; c = at(text, size, end))
            end = c.end;
        return end;
    }
    if (c.class & UNICODE_LETTER)
        return run_of(text, size, c.end, UNICODE_LETTER);
    if (!is_newline(&c)) {
        struct character second = at(text, size, c.end);

        if (second.class & UNICODE_LETTER)
            return run_of(text, size, second.end, UNICODE_LETTER);
        if (c.code == ' ' && second.code != END && !(second.class & WORDLESS))
            first = second;
    }
    if (first.class & WORDLESS)
        return lines_or_spaces(text, size, position);
    do {
        end = first.end;
        first = at(text, size, end);
    } while (first.code != END && !(first.class & WORDLESS));
    while (is_newline(&first)) {
        end = first.end;
        first = at(text, size, end);
    }
    return end;
}

/* llama-bpe, llama3 and those of their kind: as above, numbers by three */
static size_t llama3_next(const uint8_t *text, size_t size, size_t position)
{
    return llama3_words(text, size, position, 3);
}

/* qwen2 and those of its kind: as above, numbers one by one */
static size_t qwen2_next(const uint8_t *text, size_t size, size_t position)
{
    return llama3_words(text, size, position, 1);
}

/* [一-龥ࠀ-一가-퟿], set apart by both DeepSeek rules in whatever fragment it occurs. */
static bool is_eastern(uint32_t code)
{
    return (code >= 0x0800 && code <= 0x9fa5) || (code >= 0xac00 && code <= 0xd7ff);
}

/* White space that a word may take with it: not the newlines, which are cut out before. */
static bool is_blank(const struct character *c) { return c->class & UNICODE_SPACE && !is_newline(c); }

/*
 * deepseek-coder, one after another, each within the fragments of those before:
 * [\r\n]   \s?\p{L}+   \s?\p{P}+   [一-龥ࠀ-一가-퟿]+   \p{N}
 * A white space goes with what follows it, so what a character belongs to shows in itself and its successor.
 */
static size_t deepseek_coder_next(const uint8_t *text, size_t size, size_t position)
{
    enum { LETTERS_OR_MARKS = UNICODE_LETTER | UNICODE_PUNCTUATION };
    struct character c = at(text, size, position), second = at(text, size, c.end);
    bool eastern = is_eastern(c.code);
    uint32_t kind = c.class & UNICODE_LETTER ? UNICODE_LETTER : 0;
    size_t end = c.end;

    if (is_newline(&c) || c.class & UNICODE_NUMBER)
        return end;
    if (c.class & UNICODE_PUNCTUATION)
        kind = UNICODE_PUNCTUATION;
    if (is_blank(&c) && second.class & LETTERS_OR_MARKS)
        kind = second.class & UNICODE_LETTER ? UNICODE_LETTER : UNICODE_PUNCTUATION;
    for (c = second; c.code != END; c = second) {
        second = at(text, size, c.end);
        if (c.class & UNICODE_NUMBER || is_newline(&c) || is_eastern(c.code) != eastern)
            break;
        if (kind != 0 ? !(c.class & kind) : c.class & LETTERS_OR_MARKS)
            break;
        if (kind == 0 && is_blank(&c) && second.class & LETTERS_OR_MARKS)
            break;
        end = c.end;
    }
    return end;
}

/* The letters that deepseek-llm lists: cased ones, as of its Unicode. */
static bool is_listed_letter(uint32_t code)
{
    static const uint32_t listed[][2] = {
        {0x41, 0x5a}, {0x61, 0x7a}, {0xb5, 0xb5}, {0xc0, 0xd6}, {0xd8, 0xf6}, {0xf8, 0x1ba}, {0x1bc, 0x1bf},
        {0x1c4, 0x293}, {0x295, 0x2af}, {0x370, 0x373}, {0x376, 0x377}, {0x37b, 0x37d}, {0x37f, 0x37f},
        {0x386, 0x386}, {0x388, 0x38a}, {0x38c, 0x38c}, {0x38e, 0x3a1}, {0x3a3, 0x3f5}, {0x3f7, 0x481},
        {0x48a, 0x52f}, {0x531, 0x556}, {0x10a0, 0x10c5}, {0x13a0, 0x13f5}, {0x13f8, 0x13fd}, {0x1c90, 0x1cba},
        {0x1cbd, 0x1cbf}, {0x1d00, 0x1d2b}, {0x1d6b, 0x1d77}, {0x1d79, 0x1d9a}, {0x1e00, 0x1f15}, {0x1f18, 0x1f1d},
        {0x1f20, 0x1f45}, {0x1f48, 0x1f4d}, {0x1f50, 0x1f57}, {0x1f59, 0x1f59}, {0x1f5b, 0x1f5b}, {0x1f5d, 0x1f5d},
        {0x1f5f, 0x1f7d}, {0x1f80, 0x1fb4}, {0x1fb6, 0x1fbc}, {0x1fbe, 0x1fbe}, {0x1fc2, 0x1fc4}, {0x1fc6, 0x1fcc},
        {0x1fd0, 0x1fd3}, {0x1fd6, 0x1fdb}, {0x1fe0, 0x1fec}, {0x1ff2, 0x1ff4}, {0x1ff6, 0x1ffc}, {0x2102, 0x2102},
        {0x2107, 0x2107}, {0x210a, 0x2113}, {0x2115, 0x2115}, {0x2119, 0x211d}, {0x2124, 0x2124}, {0x2126, 0x2126},
        {0x2128, 0x2128}, {0x212a, 0x212d}, {0x212f, 0x2134}, {0x2139, 0x2139}, {0x213c, 0x213f}, {0x2145, 0x2149},
        {0x214e, 0x214e}, {0x2183, 0x2184}, {0x2c00, 0x2c7b}, {0x2c7e, 0x2ce4}, {0x2ceb, 0x2cee}, {0x2cf2, 0x2cf3},
        {0xa640, 0xa66d}, {0xa680, 0xa69b}, {0xa722, 0xa76f}, {0xa771, 0xa787}, {0xa78b, 0xa78e}, {0xab70, 0xabbf},
        {0xfb00, 0xfb06}, {0xfb13, 0xfb17}, {0xff21, 0xff3a}, {0xff41, 0xff5a}, {0x10400, 0x1044f}, {0x104b0, 0x104d3},
        {0x104d8, 0x104fb}, {0x10c80, 0x10cb2}, {0x10cc0, 0x10cf2}, {0x118a0, 0x118df}, {0x1e900, 0x1e943},
    };
    size_t low = 0, high = ARRAY_LENGTH(listed);

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (code < listed[middle][0])
            high = middle;
        else if (code > listed[middle][1])
            low = middle + 1;
        else
            return true;
    }
    return false;
}

/* [!-/:-~！-／：-～‘-‟　-。], which holds the Latin letters as well */
static bool is_listed_mark(uint32_t code)
{
    return (code >= 0x21 && code <= 0x2f) || (code >= 0x3a && code <= 0x7e) || (code >= 0xff01 && code <= 0xff0f) ||
           (code >= 0xff1a && code <= 0xff5e) || (code >= 0x2018 && code <= 0x201f) ||
           (code >= 0x3000 && code <= 0x3002);
}

enum kind { GAP = 0, LETTER = 1, MARK = 2, LETTER_AND_MARK = 3 };

struct listed {                 /* a character with what deepseek-llm's second and third rule make of it */
    struct character c;
    enum kind kind;
    bool blank;
};

static struct listed listed_at(const uint8_t *text, size_t size, size_t position)
{
    struct listed l = {.c = at(text, size, position)};

    l.blank = is_blank(&l.c);
    l.kind = (enum kind)((is_listed_letter(l.c.code) ? LETTER : 0) | (is_listed_mark(l.c.code) ? MARK : 0));
    if (l.blank && l.kind == MARK) {    /* U+3000: the second rule comes first and gives it to letters behind it */
        struct character second = at(text, size, l.c.end);

        if (is_listed_letter(second.code))
            l.kind = GAP;
    }
    return l;
}

/* Is the character of no letters or marks, and does it stay so instead of going with its successor? */
static bool in_gap(const struct listed *l, const struct listed *second)
{
    return l->c.code != END && !is_newline(&l->c) && l->kind == GAP && !(l->blank && second->kind != GAP);
}

/* \s+$ within a fragment of @kind (GAP or MARK): does the white space at @position fill it to its end? */
static bool is_trailing(const uint8_t *text, size_t size, size_t position, enum kind kind)
{
    struct listed l = listed_at(text, size, position), second = listed_at(text, size, l.c.end);

    while (l.blank && (kind == GAP ? in_gap(&l, &second) : l.kind == kind)) {
        l = second;
        second = listed_at(text, size, l.c.end);
    }
    return kind == GAP ? !in_gap(&l, &second) : l.kind != kind;
}

/*
 * deepseek-llm, one after another, each within the fragments of those before:
 * [\r\n]   \s?[listed letters]+   \s?[!-/:-~！-／：-～‘-‟　-。]+   \s+$   [一-龥ࠀ-一가-퟿]+   \p{N}+
 *
 * White space is looked through to its end only where a piece comes to it from something else; a piece that begins
 * with it ends at the same place, whether it is the end of its fragment or not.
 */
static size_t deepseek_llm_next(const uint8_t *text, size_t size, size_t position)
{
    struct listed l = listed_at(text, size, position), second = listed_at(text, size, l.c.end);
    bool eastern = is_eastern(l.c.code), number = is_number(&l.c), blank = l.blank;
    enum kind kind = l.kind;
    size_t end = l.c.end;

    if (is_newline(&l.c) || (kind == GAP && is_listed_mark(l.c.code)))
        return end;             /* U+3000 before letters: the third rule parts them again */
    if (kind == GAP && !in_gap(&l, &second))
        kind = second.kind;
    for (l = second; l.c.code != END; l = second) {
        second = listed_at(text, size, l.c.end);
        if (kind == GAP ? !in_gap(&l, &second) : l.kind != kind)
            break;
        if (is_eastern(l.c.code) != eastern || is_number(&l.c) != number)
            break;
        if (!blank && l.blank && is_trailing(text, size, end, kind))
            break;
        blank = l.blank;
        end = l.c.end;
    }
    return end;
}

/* Names of one rule differ in nothing but the flags: as llama.cpp's converter and loader use them. */
static const struct split splits[] = {
    {"codeshell", digits_next, 0},
    {"command-r", digits_next, 0},
    {"dbrx", llama3_next, 0},
    {"deepseek-coder", deepseek_coder_next, 0},
    {"deepseek-llm", deepseek_llm_next, 0},
    {"deepseek-r1-qwen", qwen2_next, 0},
    {"default", default_next, 0},
    {"exaone", digits_next, 0},
    {"falcon", falcon_next, 0},
    {"falcon-h1", llama3_next, SPLIT_IGNORE_MERGES | SPLIT_ADD_BOS},
    {"falcon3", llama3_next, SPLIT_IGNORE_MERGES | SPLIT_ADD_BOS},
    {"gpt-2", gpt2_next, 0},
    {"lfm2", llama3_next, SPLIT_IGNORE_MERGES | SPLIT_ADD_BOS},
    {"llama-bpe", llama3_next, SPLIT_IGNORE_MERGES | SPLIT_ADD_BOS},
    {"llama-v3", llama3_next, SPLIT_IGNORE_MERGES | SPLIT_ADD_BOS},
    {"llama3", llama3_next, SPLIT_IGNORE_MERGES | SPLIT_ADD_BOS},
    {"megrez", qwen2_next, 0},
    {"minerva-7b", digits_next, 0},
    {"mpt", gpt2_next, 0},
    {"olmo", gpt2_next, 0},
    {"phi-2", gpt2_next, 0},
    {"pixtral", llama3_next, SPLIT_IGNORE_MERGES | SPLIT_ADD_BOS},
    {"qwen2", qwen2_next, 0},
    {"refact", digits_next, 0},
    {"smaug-bpe", llama3_next, 0},
    {"smollm", digits_next, 0},
    {"stablelm2", qwen2_next, 0},
    {"starcoder", digits_next, 0},
};

const struct split *split_find(const void *name, size_t size)
{
    for (size_t i = 0; i < ARRAY_LENGTH(splits); i++) {
        if (strlen(splits[i].name) == size && memcmp(splits[i].name, name, size) == 0)
            return &splits[i];
    }
    return NULL;
}

const struct split *split_table(size_t *ret_count)
{
    *ret_count = ARRAY_LENGTH(splits);
    return splits;
}
