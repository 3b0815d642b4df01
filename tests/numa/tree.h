/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A directory that plays the root of a file system: /proc, /sys and cgroups as a test wants them. */

#include "src/base/base.h"

struct tree {
    char root[64];
};

/* Fails the running test where the file system does. */
void tree_init(struct tree *tree);
void tree_deinit(struct tree *tree);
/* Makes the directories above @path and writes the file. */
void tree_file(struct tree *tree, const char *path, const char *format, ...) printf_like(3, 4);
