/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* xxHash3 (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md), 64 bits: checksums, tables. */

#include "src/base/base.h"

uint64_t hash64(const void *data, size_t size, uint64_t seed);
