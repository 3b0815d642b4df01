/* SPDX-License-Identifier: Apache-2.0 */
#include "src/base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "src/base/utf8.h"

static _Atomic int most_verbose_level = LOG_LEVEL_INFO;

void log_set_level(enum log_level most_verbose)
{
    atomic_store_explicit(&most_verbose_level, (int)most_verbose, memory_order_relaxed);
}

static const char *level_word(enum log_level level)
{
    switch (level) {
    case LOG_LEVEL_ERROR: return "error: ";
    case LOG_LEVEL_WARNING: return "warning: ";
    case LOG_LEVEL_NOTICE:
    case LOG_LEVEL_INFO:
    case LOG_LEVEL_DEBUG: return "";
    }
    return "";
}

void log_line(enum log_level level, const char *format, ...)
{
    char line[1024];
    va_list args;
    int n;

    if ((int)level > atomic_load_explicit(&most_verbose_level, memory_order_relaxed))
        return;
    if (isatty(STDERR_FILENO))
        n = snprintf(line, sizeof(line), "%s", level_word(level));
    else
        n = snprintf(line, sizeof(line), "<%d>", (int)level);
    va_start(args, format);
    n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, args);
    va_end(args);
    if (n > (int)sizeof(line) - 2)
        n = (int)sizeof(line) - 2;
    utf8_clean(line, (size_t)n);
    line[n++] = '\n';
    if (write(STDERR_FILENO, line, (size_t)n) < 0)
        return;                 /* nowhere left to complain */
}
