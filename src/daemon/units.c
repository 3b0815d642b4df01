/* SPDX-License-Identifier: Apache-2.0 */
#include "src/daemon/units.h"

#include <string.h>

#define WORD_MAX 64u

/* Digits at @text; *ret_rest is what follows them. */
static bool digits(const char *text, unsigned base, uint64_t *ret, const char **ret_rest)
{
    uint64_t v = 0;
    const char *at = text;

    for (; *at >= '0' && *at < (char)('0' + base); at++)
        if (ckd_mul(&v, v, (uint64_t)base) || ckd_add(&v, v, (uint64_t)(*at - '0')))
            return false;
    if (at == text)
        return false;
    while (*at == ' ')
        at++;
    *ret = v;
    *ret_rest = at;
    return true;
}

bool units_number(const char *text, uint64_t *ret)
{
    const char *rest;

    return digits(text, 10, ret, &rest) && !*rest;
}

bool units_octal(const char *text, uint64_t *ret)
{
    const char *rest;

    return digits(text, 8, ret, &rest) && !*rest;
}

struct unit { const char *name; uint64_t factor; };

static bool with_unit(const char *text, const struct unit *units, size_t count, uint64_t *ret)
{
    const char *rest;
    uint64_t v;

    if (!digits(text, 10, &v, &rest))
        return false;
    for (size_t i = 0; i < count; i++)
        if (strcmp(rest, units[i].name) == 0)
            return !ckd_mul(ret, v, units[i].factor);
    return false;
}

bool units_bytes(const char *text, uint64_t *ret)
{
    static const struct unit units[] = {
        { "", 1 }, { "K", UINT64_C(1) << 10 }, { "M", UINT64_C(1) << 20 }, { "G", UINT64_C(1) << 30 },
        { "T", UINT64_C(1) << 40 }, { "KiB", UINT64_C(1) << 10 }, { "MiB", UINT64_C(1) << 20 },
        { "GiB", UINT64_C(1) << 30 }, { "TiB", UINT64_C(1) << 40 },
    };

    return with_unit(text, units, ARRAY_LENGTH(units), ret);
}

bool units_ms(const char *text, uint64_t *ret)
{
    static const struct unit units[] = { { "", 1000 }, { "ms", 1 }, { "s", 1000 }, { "min", 60000 }, { "h", 3600000 } };

    return with_unit(text, units, ARRAY_LENGTH(units), ret);
}

/* Letters to insert, delete or replace (Wagner and Fischer, 1974), on one row. */
static size_t distance(const char *a, const char *b)
{
    size_t row[WORD_MAX + 1], la = strlen(a), lb = strlen(b);

    if (la > WORD_MAX || lb > WORD_MAX)
        return SIZE_MAX;
    for (size_t j = 0; j <= lb; j++)
        row[j] = j;
    for (size_t i = 1; i <= la; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= lb; j++) {
            size_t replace = diagonal + (a[i - 1] != b[j - 1]);
            size_t best = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;

            diagonal = row[j];
            row[j] = replace < best ? replace : best;
        }
    }
    return row[lb];
}

size_t units_nearest(const char *word, const char *const *names, size_t count)
{
    size_t best = count, best_distance = strlen(word) / 3 + 1;

    for (size_t i = 0; i < count; i++) {
        size_t d = distance(word, names[i]);

        if (d < best_distance || (d == best_distance && best == count)) {
            best = i;
            best_distance = d;
        }
    }
    return best;
}
