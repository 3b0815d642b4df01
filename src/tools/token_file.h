/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Token ids in a text file: decimal numbers separated by white space or commas. */

#include "src/tools/tool.h"

struct token_list { uint32_t *ids; uint32_t count; };
#define TOKEN_LIST_NULL { .ids = NULL }

must_check int token_list_read(const char *path, struct token_list *ret_list, struct error *error);
void token_list_deinit(struct token_list *list);
