/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where the loader's bytes come from: the seam behind which io_uring, a few threads of pread, and the fakes of
 * tests stand.  One thread (the loader's) submits and waits; any thread may wake it.
 *
 * A read completes once, in any order, with what read(2) would have returned: bytes (fewer than asked for is
 * allowed), 0 at the file's end, or a negative errno.  A source tries nothing again and judges nothing.
 */

#include "src/base/error.h"

struct source_read {
    int fd;
    uint64_t offset;
    uint32_t bytes;
    uint8_t *data;                  /* inside the staging memory given at open */
    uint64_t cookie;                /* the caller's, not SOURCE_COOKIE_OWN */
};

#define SOURCE_COOKIE_OWN UINT64_MAX

struct source_done {
    uint64_t cookie;
    int32_t result;
};

struct source_config {
    void *staging;                  /* registered with the kernel if it allows that */
    size_t staging_bytes;
    uint32_t depth;                 /* reads in flight that the caller would use */
    void *arg;                      /* loader_config.source_arg */
};

struct source_state {
    uint32_t depth;                 /* reads in flight that make sense, 1 .. config.depth; the caller keeps to it */
    bool uring, registered;
    char note[128];                 /* a step down that was taken, "" if none */
};

struct source_ops {
    const char *name;
    /* 0, or a negative errno with @error filled; then nothing is left open. */
    int (*open)(const struct source_config *config, void **ret_source, struct source_state *ret_state,
                struct error *error);
    /* Never more than depth in flight, so there is always room.  A read may start only at the next wait. */
    void (*submit)(void *source, const struct source_read *read);
    /*
     * Blocks until a read completed or somebody called wake; returns how many completions it wrote (0 after a
     * wake or a signal), or a negative errno when the source is broken.
     */
    int (*wait)(void *source, struct source_done *ret_done, uint32_t capacity);
    void (*wake)(void *source);
    /* After the last completion, or when wait failed.  Unregisters; when it returns nothing writes into staging. */
    void (*close)(void *source);
};

extern const struct source_ops source_uring;
extern const struct source_ops source_preadv;
