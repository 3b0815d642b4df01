/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What tokenizers ask of Unicode: general categories, white space, lowercase, canonical decomposition.
 * Tables: src/model/unicode_tables.c, generated.  Pure functions of a code point; any thread.
 */

#include "src/base/base.h"

/* Bits of unicode_class(): one for the general category, in the order of the generator, and one for White_Space. */
enum unicode_bits {
    UNICODE_CN = 1 << 0,
    UNICODE_LETTER = 0x1f << 1,         /* \p{L}: Lu Ll Lt Lm Lo */
    UNICODE_MARK = 0x7 << 6,            /* \p{M}: Mn Mc Me */
    UNICODE_MN = 1 << 6,
    UNICODE_NUMBER = 0x7 << 9,          /* \p{N}: Nd Nl No */
    UNICODE_ND = 1 << 9,
    UNICODE_PUNCTUATION = 0x7f << 12,   /* \p{P}: Pc Pd Ps Pe Pi Pf Po */
    UNICODE_SYMBOL = 0xf << 19,         /* \p{S}: Sm Sc Sk So */
    UNICODE_SEPARATOR = 0x7 << 23,      /* \p{Z}: Zs Zl Zp */
    UNICODE_CONTROL = 0xf << 26,        /* Cc Cf Cs Co; not the unassigned */
    UNICODE_SPACE = 1 << 30,            /* \s: the property White_Space */
};

#define UNICODE_DECOMPOSED_MAX 4

/* Codes above U+10FFFF are unassigned. */
uint32_t unicode_class(uint32_t code);

/* The simple lowercase mapping, one code to one. */
uint32_t unicode_lower(uint32_t code);

/*
 * Full canonical decomposition (NFD of one code, Hangul included) in its given order; marks of several characters
 * are not reordered.  Returns 1..UNICODE_DECOMPOSED_MAX codes.
 */
size_t unicode_decompose(uint32_t code, uint32_t ret[UNICODE_DECOMPOSED_MAX]);

/* Ideographs that BERT's tokenizer sets apart (the blocks that its published code lists). */
bool unicode_is_ideograph(uint32_t code);
