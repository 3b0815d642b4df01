/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where the sources of a level find their intrinsics: in the compiler, or, for a test that computes a level on a CPU
 * without it (-DKERNEL_EMULATE), in the header that the command line includes before everything else.
 */

#ifndef KERNEL_EMULATE
#include <immintrin.h>
#endif
