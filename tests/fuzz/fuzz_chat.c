/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chat: a template and messages of any bytes.  The input is a byte of options, roles as letters, the template and the
 * contents, with a NUL between each.  Whatever they are, no byte of a content gets into a trusted segment.
 */
#include <string.h>

#include "src/client/chat.h"
#include "tests/fuzz/fuzz.h"

#define MESSAGES 8u

static struct span next_part(struct cursor *c)
{
    const uint8_t *at = c->data + c->position;
    size_t left = cursor_left(c);
    const uint8_t *nul = left ? memchr(at, 0, left) : NULL;
    size_t size = nul ? (size_t)(nul - at) : left;

    cursor_skip(c, nul ? size + 1 : size);
    return (struct span){ at, size };
}

static const char *role_of(uint8_t letter)
{
    return letter == 's' ? "system" : letter == 'u' ? "user" : letter == 'a' ? "assistant" : "x";
}

static bool inside(const void *data, size_t size, struct span part)
{
    return (const uint8_t *)data >= part.data && (const uint8_t *)data + size <= part.data + part.size;
}

static void look_at(const struct tenon_prompt *prompt, struct span contents)
{
    bool trusted = false;

    check(prompt->count > 0);
    for (size_t i = 0; i < prompt->count; i++) {
        const struct tenon_segment *s = &prompt->segments[i];

        check(s->size > 0 && s->data);
        check(s->kind == TENON_TRUSTED_TEXT || s->kind == TENON_UNTRUSTED_TEXT);
        check(!(trusted && s->kind == TENON_TRUSTED_TEXT));     /* joined where they touch */
        trusted = s->kind == TENON_TRUSTED_TEXT;
        check(trusted != inside(s->data, s->size, contents));
    }
    check(trusted);                     /* it ends by asking for the assistant's turn */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tenon_message messages[MESSAGES] = { { .role = NULL } };
    struct cursor c = cursor_of(data, size);
    struct tenon_prompt *prompt;
    struct tenon_error error = { .code = 0 };
    struct span roles, template, contents;
    uint8_t options;
    size_t count;
    int r;

    if (!cursor_u8(&c, &options))
        return 0;
    roles = next_part(&c);
    template = next_part(&c);
    contents = (struct span){ c.data + c.position, cursor_left(&c) };
    count = min_u64(roles.size, MESSAGES);
    for (size_t i = 0; i < count; i++) {
        struct span part = next_part(&c);

        messages[i] = (struct tenon_message){
            .role = role_of(roles.data[i]), .content = (const char *)part.data, .content_size = part.size,
        };
    }
    r = chat_prompt(template, options & 1, messages, count, &prompt, &error);
    if (r) {
        check(r == error.code && error.message[0]);
        return 0;
    }
    look_at(prompt, contents);
    tenon_prompt_free(prompt);
    return 0;
}
