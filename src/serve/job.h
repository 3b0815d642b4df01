/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One GENERATE on its way through the engine.  The door builds it and gives it away with BRIDGE_SUBMIT; the engine's
 * thread owns it until it comes back with BRIDGE_RETURN; then the door frees it.
 */

#include "src/engine/engine.h"

struct job {
    uint64_t key;                       /* the request's */
    uint32_t model;                     /* index */
    struct engine_request request;      /* points into the job */
    struct tokens prompt;
    uint8_t stops[ENGINE_STOPS_MAX][ENGINE_STOP_BYTES_MAX];

    /* While the engine's thread has it, its own: */
    bool limited;                       /* by credits */
    uint64_t credits;                   /* tokens that may still be made */
    uint32_t park_reasons;              /* bits of host.c; parked while not 0 */
    bool running;                       /* the engine knows it: one done event is to come */
    struct job *next, *next_starved;    /* in the lists of those to return, and to park */
};

/* NULL when there is no memory. */
struct job *job_new(void);
struct job *job_free(struct job *job);  /* NULL-safe; returns NULL */
