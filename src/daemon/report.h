/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the daemon tells people of loading and of what it really uses: log lines, the terminal, the service manager. */

#include "src/daemon/notify.h"
#include "src/engine/instance.h"

struct report {
    const struct notify *notify;
    bool terminal;                      /* stderr is one: a line of progress that is written over */
    bool line_open;                     /* such a line stands there unfinished */
    uint64_t told_ns;                   /* when the service manager heard last */
};

void report_loading(struct report *report, const char *id, const struct loader_report *l);
void report_ready(struct report *report, const struct instance_info *info);
/* Ends an unfinished line of progress, before something else is written. */
void report_break(struct report *report);
