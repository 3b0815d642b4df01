/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Which level of the kernels a model is computed with: what the CPU can, and what was seen to compute right. */

#include "kernels/ops.h"
#include "src/base/error.h"

struct level_request {
    enum kernel_level highest;
    bool required;              /* no lower one will do */
    uint32_t types;             /* bit t: the model has tensors of type t */
};

struct level_choice {
    struct kernel_ops ops;
    uint32_t failed;            /* levels whose self-test found a difference from ref, or did not survive */
    char note[256];             /* which and where, or empty */
};

/*
 * The highest level up to request->highest that this CPU has and whose kernels pass their self-test, in a child process
 * that they may end; it takes some milliseconds.  -ENOTSUP where a required one is not to be had, -ENOMEM.  On the
 * thread that will compute, after kernel_thread_init().
 */
must_check int level_choose(const struct level_request *request, struct level_choice *ret_choice, struct error *error);
