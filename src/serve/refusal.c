/* SPDX-License-Identifier: Apache-2.0 */
#include "src/serve/refusal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Names that a peer sent come back in messages: no control characters, nothing that is not UTF-8. */
static void clean(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || (unsigned char)*text >= 0x7f)
            *text = '?';
}

int refuse(struct refusal *refusal, uint32_t code, uint32_t detail, const char *format, ...)
{
    va_list args;

    *refusal = (struct refusal){ .code = code, .detail = detail };
    va_start(args, format);
    vsnprintf(refusal->text, sizeof(refusal->text), format, args);
    va_end(args);
    clean(refusal->text);
    return (int)code;
}

int refuse_fault(struct refusal *refusal, const struct wire_fault *fault)
{
    *refusal = (struct refusal){ .code = fault->code, .detail = fault->detail };
    wire_fault_text(fault, refusal->text, sizeof(refusal->text));
    return (int)fault->code;
}

int refuse_error(struct refusal *refusal, int error, const char *what)
{
    if (error == -ENOMEM)
        return refuse(refusal, WIRE_E_NO_MEMORY, 0, "no memory for %s", what);
    return refuse(refusal, WIRE_E_INTERNAL, (uint32_t)-error, "%s: %s", what, strerror(-error));
}
