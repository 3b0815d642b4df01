/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Frames as JSON, for people and `tenon raw`; the Python client's raw.py reads the same form back.
 *
 *   {"type":"PING","request":1,"flags":[],"fds":0,"payload":{"opaque":7}}
 *
 * Enums and flags are names where they have one, else numbers; bytes that are not UTF-8 are {"hex":"…"}.  An error
 * has "of", the type number of its frame.  What cannot be decoded has "payload_hex" instead of "payload", and
 * "fault" where its type is known.
 */

#include "src/base/json.h"
#include "src/wire/codec.h"

/* Writes one object.  @payload: header->length bytes. */
void wire_to_json(const struct frame_header *header, struct span payload, struct json *json);
