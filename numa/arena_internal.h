/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* arena_new() with another root before the files of /sys and /proc that it reads.  Internal to numa/ and its tests. */

#include "numa/arena.h"

must_check int arena_new_at(const char *root, const struct arena_spec *spec, struct arena **ret_arena,
                            struct error *error);
