/* SPDX-License-Identifier: Apache-2.0 */
#include "src/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/base/utf8.h"

/* Foreign names end up in messages. */
static void clean(char *text) { utf8_clean(text, strlen(text)); }

int error_set(struct error *error, int code, const char *format, ...)
{
    va_list args;

    if (!error)
        return code;
    error->code = code;
    va_start(args, format);
    vsnprintf(error->text, sizeof(error->text), format, args);
    va_end(args);
    clean(error->text);
    return code;
}

void error_prefix(struct error *error, const char *format, ...)
{
    char old[ERROR_TEXT_MAX];
    va_list args;
    size_t used;

    if (!error)
        return;
    memcpy(old, error->text, sizeof(old));
    va_start(args, format);
    vsnprintf(error->text, sizeof(error->text), format, args);
    va_end(args);
    used = strlen(error->text);
    snprintf(error->text + used, sizeof(error->text) - used, ": %.*s",
             (int)(sizeof(error->text) - used > 3 ? sizeof(error->text) - used - 3 : 0), old);
    clean(error->text);
}
