/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One line to stderr with the priority prefix that journald reads (sd-daemon(3), "<N>"), or with a
 * word when stderr is a terminal.  Only the daemon and the tools log; the rooms below return errors.
 * Any thread; a line is one write(2).  Never pass a prompt or an answer.
 */

#include "src/base/base.h"

enum log_level {
    LOG_LEVEL_ERROR = 3, LOG_LEVEL_WARNING = 4, LOG_LEVEL_NOTICE = 5, LOG_LEVEL_INFO = 6, LOG_LEVEL_DEBUG = 7,
};

void log_set_level(enum log_level most_verbose);
void log_line(enum log_level level, const char *format, ...) printf_like(2, 3);
