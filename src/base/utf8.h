/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* UTF-8 as RFC 3629 has it: no surrogates, no overlong forms, at most U+10FFFF. */

#include "src/base/base.h"

/* Bytes of the character at @s (1..4) with its code point, or 0 where the bytes are none. */
size_t utf8_decode(const uint8_t *s, size_t size, uint32_t *ret_code);

/* Writes 1..4 bytes for a code point up to U+10FFFF and returns their number. */
size_t utf8_encode(uint32_t code, uint8_t ret[4]);

/*
 * How many bytes at the end of @s begin a character that is not whole yet (0..3).  Streams hold
 * these back; bytes that can never become a character are not held.
 */
size_t utf8_incomplete_tail(const uint8_t *s, size_t size);

/*
 * Whether a character may reach a terminal or a log line: no control (C0, DEL, C1), none of the invisible ones that
 * reorder or break a line of text.  Names out of files and frames could forge a terminal's output by these.
 */
bool utf8_is_printable(uint32_t code);

/* Puts '?' for every byte that is no part of a printable character, line feeds included; the length stays. */
void utf8_clean(void *text, size_t size);
