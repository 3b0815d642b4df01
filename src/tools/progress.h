/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Long work on a terminal: one line on stderr that is written over.  Nothing where stderr is no terminal or the user
 * wants quiet.
 */

#include "io/loader.h"

struct progress {
    const char *what;                   /* "logits" */
    uint64_t total, begun_ns, told_ns;  /* tokens; monotonic */
    bool on;
};

/* "loading: 61 % (4.1/6.7 GB, 5.8 GB/s, 1 s left)" */
void progress_load(void *arg, const struct loader_report *report);

/* @what is borrowed. */
struct progress progress_begin(const char *what, uint64_t total_tokens, bool quiet);
/* "logits: 61 % (312/512 tokens, 3 s left)", at most ten times a second; @more, where not "", comes behind it. */
void progress_tell(struct progress *progress, uint64_t tokens_done, const char *more);
/* Ends the line, where there is one. */
void progress_end(struct progress *progress);
