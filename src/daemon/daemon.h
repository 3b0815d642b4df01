/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* From a configuration to a daemon that serves, and to the end of it. */

#include "src/daemon/config.h"

enum {                                  /* sysexits(3), as service managers know them */
    EXIT_OK = 0, EXIT_RUNTIME = 1, EXIT_USAGE = 2, EXIT_UNAVAILABLE = 69, EXIT_OSERR = 71, EXIT_NOPERM = 77,
    EXIT_CONFIG = 78,
};

/* The exit code that tells what kind of failure an error is. */
int daemon_exit_code(int error);
/* Serves until it is told to end; returns the exit code.  What went wrong is in the log. */
int daemon_run(const struct config *config);
