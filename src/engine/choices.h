/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The words by which an instance is configured, one set for the tools' options and the daemon's settings. */

#include "src/base/words.h"
#include "src/engine/instance.h"

extern const struct words placement_words;  /* enum plan_policy */
extern const struct words io_words;         /* enum io_kind */
extern const struct words memory_words;     /* enum arena_policy */
extern const struct words kv_words;         /* enum kv_format */

/* A level by its name; -EINVAL with the names that are known. */
must_check int level_parse(const char *text, enum kernel_level *ret_level, struct error *error);
/* "int8", "int16", "int16:ffn_down,output" -> mask of wide inputs; -EINVAL with what is known. */
must_check int activations_parse(const char *text, uint32_t *ret_wide_mask, struct error *error);
/* The way back. */
void activations_describe(uint32_t wide_mask, char *text, size_t size);
