/* SPDX-License-Identifier: Apache-2.0 */
#include "src/base/utf8.h"

#include <string.h>

/* Length that a lead byte promises, 0 for a byte that cannot lead. */
static size_t lead_length(uint8_t c)
{
    if (c < 0x80)
        return 1;
    if (c >= 0xc2 && c <= 0xdf)
        return 2;
    if (c >= 0xe0 && c <= 0xef)
        return 3;
    return c >= 0xf0 && c <= 0xf4 ? 4 : 0;
}

/* The second byte has a narrower range after four of the lead bytes (RFC 3629, section 4). */
static bool second_ok(uint8_t lead, uint8_t c)
{
    if (lead == 0xe0)
        return c >= 0xa0 && c <= 0xbf;
    if (lead == 0xed)
        return c >= 0x80 && c <= 0x9f;
    if (lead == 0xf0)
        return c >= 0x90 && c <= 0xbf;
    if (lead == 0xf4)
        return c >= 0x80 && c <= 0x8f;
    return (c & 0xc0) == 0x80;
}

size_t utf8_decode(const uint8_t *s, size_t size, uint32_t *ret_code)
{
    size_t n = size ? lead_length(s[0]) : 0;

    if (n == 0 || n > size)
        return 0;
    if (n == 1)
        return *ret_code = s[0], 1;
    if (!second_ok(s[0], s[1]))
        return 0;
    *ret_code = s[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        *ret_code = *ret_code << 6 | (s[i] & 0x3f);
    }
    return n;
}

size_t utf8_encode(uint32_t code, uint8_t ret[4])
{
    if (code < 0x80)
        return ret[0] = (uint8_t)code, 1;
    if (code < 0x800) {
        ret[0] = (uint8_t)(0xc0 | code >> 6);
        ret[1] = (uint8_t)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        ret[0] = (uint8_t)(0xe0 | code >> 12);
        ret[1] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
        ret[2] = (uint8_t)(0x80 | (code & 0x3f));
        return 3;
    }
    ret[0] = (uint8_t)(0xf0 | code >> 18);
    ret[1] = (uint8_t)(0x80 | (code >> 12 & 0x3f));
    ret[2] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
    ret[3] = (uint8_t)(0x80 | (code & 0x3f));
    return 4;
}

size_t utf8_incomplete_tail(const uint8_t *s, size_t size)
{
    for (size_t back = 1; back <= 3 && back <= size; back++) {
        const uint8_t *p = s + size - back;
        size_t n = lead_length(*p);

        if ((*p & 0xc0) == 0x80)
            continue;
        if (n <= back)
            return 0;
        if (back >= 2 && !second_ok(p[0], p[1]))
            return 0;
        return back;
    }
    return 0;
}

bool utf8_is_printable(uint32_t c)
{
    return !(c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
             (c >= 0x2060 && c <= 0x206f) || c == 0xfeff);
}

void utf8_clean(void *text, size_t size)
{
    uint8_t *s = text;

    for (size_t i = 0; i < size;) {
        uint32_t code;
        size_t n = utf8_decode(s + i, size - i, &code);

        if (n == 0 || !utf8_is_printable(code))
            memset(s + i, '?', n ? n : 1);
        i += n ? n : 1;
    }
}
