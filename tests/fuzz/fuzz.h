/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A fuzz target: called with any bytes, returns 0, and ends the program (check(), a fault, a sanitizer) where the
 * code under test broke a promise.  It must free all that it takes and keep nothing between calls.  The name is
 * libFuzzer's (https://llvm.org/docs/LibFuzzer.html); driver.c calls the same function over a corpus.
 */

#include "src/base/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
