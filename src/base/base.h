/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What every room may use: attributes, checked arithmetic, invariants.
 *
 * Errors: a function that can fail returns 0, a positive verdict that its direct caller handles, or
 * a negative errno, which is fatal to the operation and is passed on.  Where the cause is a file, a
 * peer or the host, it also fills a `struct error` with what, where and what to do.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define must_check __attribute__((warn_unused_result))
#define printf_like(text, first) __attribute__((format(printf, text, first)))

/* Checked arithmetic: true means that the result does not fit and *ret is not to be used. */
#define ckd_add(ret, a, b) __builtin_add_overflow((a), (b), (ret))
#define ckd_sub(ret, a, b) __builtin_sub_overflow((a), (b), (ret))
#define ckd_mul(ret, a, b) __builtin_mul_overflow((a), (b), (ret))

#define ARRAY_LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* check(): what cannot be false unless the program is wrong.  Kept in release builds. */
#define check(condition) \
    ((condition) ? (void)0 : check_failed(#condition, __FILE__, __LINE__, __func__))

_Noreturn void check_failed(const char *condition, const char *file, int line, const char *func);

static inline uint64_t align_up(uint64_t value, uint64_t power_of_two)
{
    return (value + power_of_two - 1) & ~(power_of_two - 1);
}

static inline uint64_t align_down(uint64_t value, uint64_t power_of_two)
{
    return value & ~(power_of_two - 1);
}

static inline uint64_t min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t max_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }
