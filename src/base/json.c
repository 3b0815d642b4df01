/* SPDX-License-Identifier: Apache-2.0 */
#include "src/base/json.h"

#include <math.h>
#include <string.h>

#include "src/base/utf8.h"

struct json json_to(struct buffer *out)
{
    return (struct json){ .out = out, .first = { true } };
}

static void separate(struct json *j)
{
    if (j->after_key)
        j->after_key = false;
    else if (!j->first[j->depth])
        buffer_put_u8(j->out, ',');
    j->first[j->depth] = false;
}

static void open_scope(struct json *j, uint8_t c)
{
    separate(j);
    check(j->depth + 1 < JSON_DEPTH_MAX);
    j->first[++j->depth] = true;
    buffer_put_u8(j->out, c);
}

void json_object(struct json *j) { open_scope(j, '{'); }
void json_array(struct json *j) { open_scope(j, '['); }

void json_end(struct json *j, char closing)
{
    check(j->depth > 0);
    j->depth--;
    buffer_put_u8(j->out, (uint8_t)closing);
}

static void put_byte(struct buffer *out, uint8_t c)
{
    if (c == '"' || c == '\\')
        buffer_printf(out, "\\%c", c);
    else if (c == '\n')
        buffer_put(out, "\\n", 2);
    else if (c < 0x20 || c == 0x7f)
        buffer_printf(out, "\\u%04x", c);
    else
        buffer_put_u8(out, c);
}

static void put_string(struct json *j, const uint8_t *s, size_t size)
{
    buffer_put_u8(j->out, '"');
    for (size_t i = 0; i < size;) {
        uint32_t code;
        size_t n = utf8_decode(s + i, size - i, &code);

        if (n == 0) {           /* not UTF-8: one byte becomes one replacement character */
            buffer_put(j->out, "\\ufffd", 6);
            i++;
        } else if (n == 1) {
            put_byte(j->out, s[i++]);
        } else if (!utf8_is_printable(code)) {
            buffer_printf(j->out, "\\u%04x", code);    /* those are all below U+10000 */
            i += n;
        } else {
            buffer_put(j->out, s + i, n);
            i += n;
        }
    }
    buffer_put_u8(j->out, '"');
}

void json_string(struct json *j, const void *text, size_t size)
{
    separate(j);
    put_string(j, text, size);
}

void json_text(struct json *j, const char *text)
{
    json_string(j, text, strlen(text));
}

void json_key(struct json *j, const char *key)
{
    json_text(j, key);
    buffer_put_u8(j->out, ':');
    j->after_key = true;
}

void json_u64(struct json *j, uint64_t v)
{
    separate(j);
    buffer_printf(j->out, "%llu", (unsigned long long)v);
}

void json_i64(struct json *j, int64_t v)
{
    separate(j);
    buffer_printf(j->out, "%lld", (long long)v);
}

void json_f64(struct json *j, double v)
{
    separate(j);
    if (isfinite(v))
        buffer_printf(j->out, "%.9g", v);
    else
        buffer_put(j->out, "null", 4);
}

void json_bool(struct json *j, bool v)
{
    separate(j);
    buffer_printf(j->out, "%s", v ? "true" : "false");
}

void json_pair_text(struct json *j, const char *key, const char *text)
{
    json_key(j, key);
    json_text(j, text);
}

void json_pair_u64(struct json *j, const char *key, uint64_t v)
{
    json_key(j, key);
    json_u64(j, v);
}

void json_pair_f64(struct json *j, const char *key, double v)
{
    json_key(j, key);
    json_f64(j, v);
}
