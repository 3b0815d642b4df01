/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Options of every verb that computes in its own process, and the session they open. */

#include <getopt.h>

#include "src/engine/engine.h"
#include "src/tools/tool.h"

struct model_options {
    const char *model;                  /* -m */
    const char *topology;               /* --topology; NULL = this host */
    enum plan_policy policy;            /* --placement */
    enum kernel_level level;            /* --isa */
    bool level_required;
    uint32_t threads;                   /* -t; 0 = as the plan says */
    uint32_t wide_mask;                 /* --activations */
    uint32_t prefill_chunk;             /* --prefill-chunk */
    uint32_t context;                   /* -c; 0 = decide */
    uint32_t sequences;
    enum io_kind io;                    /* --io */
    enum arena_policy memory;           /* --memory */
    bool unpinned;                      /* --no-pin of bench */
    enum kv_format kv;                  /* --kv */
    bool quiet;                         /* -q: no notes on stderr */
    const char *placing;                /* an option that only a process with the model can follow; NULL = none given */
};

#define MODEL_OPTIONS_DEFAULT { .level = KERNEL_LEVEL_COUNT - 1, .sequences = 1 }

enum {
    OPTION_TOPOLOGY = 1000,
    OPTION_ISA,
    OPTION_ACTIVATIONS,
    OPTION_CHUNK,
    OPTION_IO,
    OPTION_MEMORY,
    OPTION_KV,
    OPTION_PLACEMENT,
    OPTION_MLOCK,
    OPTION_MMAP,
    OPTION_MEMORY_F32,
    OPTION_HELP,
    OPTION_VERB
}; /* verbs number theirs from OPTION_VERB */

#define MODEL_SHORT_OPTIONS "m:t:c:b:qh"
#define MODEL_LONG_OPTIONS \
    { "model", required_argument, NULL, 'm' }, { "threads", required_argument, NULL, 't' }, \
    { "context", required_argument, NULL, 'c' }, { "ctx-size", required_argument, NULL, 'c' }, \
    { "topology", required_argument, NULL, OPTION_TOPOLOGY }, { "isa", required_argument, NULL, OPTION_ISA }, \
    { "activations", required_argument, NULL, OPTION_ACTIVATIONS }, \
    { "prefill-chunk", required_argument, NULL, OPTION_CHUNK }, { "batch-size", required_argument, NULL, 'b' }, \
    { "io", required_argument, NULL, OPTION_IO }, { "memory", required_argument, NULL, OPTION_MEMORY }, \
    { "kv", required_argument, NULL, OPTION_KV }, \
    { "placement", required_argument, NULL, OPTION_PLACEMENT }, { "mlock", no_argument, NULL, OPTION_MLOCK }, \
    { "mmap", no_argument, NULL, OPTION_MMAP }, { "no-mmap", no_argument, NULL, OPTION_MLOCK }, \
    { "memory-f32", no_argument, NULL, OPTION_MEMORY_F32 }, { "quiet", no_argument, NULL, 'q' }, \
    { "help", no_argument, NULL, 'h' }

#define MODEL_OPTIONS_HELP \
    "  -m, --model FILE         the GGUF file\n" \
    "  -t, --threads N          workers; default one per core that we may use\n" \
    "  -c, --context, --ctx-size N\n" \
    "                           positions per sequence; default from the memory that is left, at most 4096\n" \
    "      --topology TEXT      place for an invented host (hwloc: \"numa:2 core:4 pu:1\"), computed on this one\n" \
    "      --placement WORD     shard (default), local, mirror\n" \
    "      --isa LEVEL          ref, avx2, avxvnni, avx512, amx: exactly this level; default the best\n" \
    "      --activations P      int8 (default), int16, or int16:qkv,attn_output,gate_up,ffn_down,output\n" \
    "      --kv WORD            keys and values in f16 (default) or q8: half the memory, less exact\n" \
    "      --prefill-chunk N    prompt tokens in a forward pass; -b, --batch-size N are the same\n" \
    "      --io KIND            auto (default), uring, preadv\n" \
    "      --memory WORD        ladder (default), require-huge; 2m, thp, 4k: the ladder from there down, to compare\n" \
    "      --mlock, --no-mmap   taken: memory is held and files are not mapped anyway\n" \
    "      --mmap, --memory-f32 refused, with the reason\n" \
    "  -q, --quiet              no progress and no notes\n"

/*
 * Takes one option that getopt_long returned.  true when it was one of ours; *ret_exit is then EXIT_OK to go on, or the
 * exit code of a refusal that was already printed.
 */
bool model_option(struct model_options *options, const char *verb, int option, const char *argument, int *ret_exit);

/*
 * For verbs that may ask a daemon: EXIT_OK, or a refusal that was printed where an option was given that is the
 * daemon's own decision.
 */
int model_options_for_daemon(const struct model_options *options, const char *verb);

struct session {
    struct topology *host, *topology;
    struct workers *workers;
    struct instance *instance;
};

#define SESSION_NULL { .host = NULL }

/* Loads the model, with progress on a terminal and a line about what was really used.  EXIT_OK or printed. */
int session_open(struct session *session, const struct model_options *options);
void session_close(struct session *session);
