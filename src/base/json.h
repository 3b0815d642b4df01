/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * JSON out of a program (RFC 8259), never into one: tool reports, `tenon raw`.  Writes into a buffer;
 * commas are its business.  Strings may hold any bytes: those that are not UTF-8 become U+FFFD, and what
 * could move a terminal's cursor is written as \u….
 */

#include "src/base/bytes.h"

#define JSON_DEPTH_MAX 32

struct json {
    struct buffer *out;
    uint32_t depth;
    bool first[JSON_DEPTH_MAX];
    bool after_key;
};

struct json json_to(struct buffer *out);
void json_object(struct json *j);
void json_array(struct json *j);
void json_end(struct json *j, char closing);    /* '}' or ']' */
void json_key(struct json *j, const char *key);
void json_string(struct json *j, const void *text, size_t size);
void json_text(struct json *j, const char *text);
void json_u64(struct json *j, uint64_t v);
void json_i64(struct json *j, int64_t v);
void json_f64(struct json *j, double v);        /* non-finite becomes null */
void json_bool(struct json *j, bool v);
/* A key and its value. */
void json_pair_text(struct json *j, const char *key, const char *text);
void json_pair_u64(struct json *j, const char *key, uint64_t v);
void json_pair_f64(struct json *j, const char *key, double v);
