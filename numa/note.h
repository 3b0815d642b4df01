/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Sentences for a person, one after the other in a fixed buffer: "a; b; c".  Internal to numa/. */

#include "src/base/base.h"

#define NOTE_MAX 256

/* What does not fit is cut. */
void note_add(char note[NOTE_MAX], const char *format, ...) printf_like(2, 3);
