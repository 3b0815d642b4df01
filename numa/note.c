/* SPDX-License-Identifier: Apache-2.0 */
#include "numa/note.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void note_add(char note[NOTE_MAX], const char *format, ...)
{
    size_t used = strnlen(note, NOTE_MAX - 1);
    va_list args;

    if (used > 0)
        used += (size_t)snprintf(note + used, NOTE_MAX - used, "; ");
    if (used >= NOTE_MAX)
        return;
    va_start(args, format);
    vsnprintf(note + used, NOTE_MAX - used, format, args);
    va_end(args);
}
