/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the verbs of `tenon` share: exit codes, usage, numbers from arguments, whole files. */

#include "src/base/bytes.h"
#include "src/base/error.h"

enum exit_code {                        /* sysexits(3) where they fit; in tenon(1) */
    EXIT_OK = 0,
    EXIT_RUN_TIME = 1,
    EXIT_USAGE = 2,
    EXIT_UNAVAILABLE = 69,              /* the daemon cannot be reached, or a model is loading */
    EXIT_OS = 71,                       /* huge pages, memory, threads */
    EXIT_PERMISSION = 77,
    EXIT_CONFIG = 78,
};

typedef int verb_fn(int argc, char **argv);     /* returns an exit code */

struct verb {
    const char *name, *summary;
    verb_fn *run;
};

int verb_run(int argc, char **argv);
int verb_chat(int argc, char **argv);
int verb_tokenize(int argc, char **argv);
int verb_logits(int argc, char **argv);
int verb_eval(int argc, char **argv);
int verb_inspect(int argc, char **argv);
int verb_plan(int argc, char **argv);
int verb_bench(int argc, char **argv);
int verb_ctl(int argc, char **argv);
int verb_raw(int argc, char **argv);

/* "tenon: " and the error's text to stderr; returns the exit code that fits its errno. */
int tool_fail(const struct error *error);
/* "tenon VERB: text" and where to find help; returns EXIT_USAGE. */
int tool_usage(const char *verb, const char *format, ...) printf_like(2, 3);

/* Whole strings only; false where the text is no such number or out of range. */
bool tool_u32(const char *text, uint32_t minimum, uint32_t maximum, uint32_t *ret);
bool tool_u64(const char *text, uint64_t *ret);
bool tool_f32(const char *text, float *ret);

/*
 * Whether -m means a daemon's model rather than a file: nothing given, or a word that is neither a path nor a file
 * that exists.  A mistyped path is still a path.
 */
bool tool_is_model_id(const char *model);

/* For printf: what comes from a file or the wire, as far as it may reach a terminal (utf8_clean). */
#define TOOL_SHOWN_MAX 1024
#define SHOWN(text) tool_shown((char[TOOL_SHOWN_MAX]){ 0 }, (text))
const char *tool_shown(char room[TOOL_SHOWN_MAX], const char *text);

/* Reads a file, or standard input for "-", up to @limit bytes. */
must_check int tool_read_file(const char *path, size_t limit, struct buffer *ret_content, struct error *error);
/* Writes a buffer to standard output; EXIT_OK or EXIT_RUN_TIME. */
int tool_put(const struct buffer *content);
/* At the end of a verb: what printf left is written; EXIT_RUN_TIME where EXIT_OK cannot stand. */
int tool_finish(int code);
