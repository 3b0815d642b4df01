/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Weights fetched into the second cache while those before them are computed with.  A core has some sixteen buffers for
 * lines on their way: a whole record at once fills them, and its arithmetic waits.  So a record is fetched in shares,
 * a few lines between one stretch of arithmetic and the next.
 */

#include <stddef.h>
#include <stdint.h>

#define FETCH_PARTS 4u                  /* of a record; the last one may be smaller */
#define FETCH_LINE 64u
#define FETCH_AHEAD 8192u               /* bytes behind what is computed with */
#define FETCH_ALL UINT32_MAX

/*
 * Which records of a segment (at most 32) a tile fetches, a bit for each: where @tiles of them meet the same weights
 * they take turns, so that memory is as busy in the last one as in the first.
 */
static inline uint32_t fetch_turns(uint32_t tile, uint32_t tiles)
{
    uint32_t ret = 0;
    for (uint32_t r = tile; r < 32; r += tiles)
        ret |= 1u << r;
    return ret;
}

/* What to fetch during record @r of a segment; NULL: nothing. */
static inline const uint8_t *fetched(const uint8_t *record, uint32_t records, uint32_t r)
{
    return records >> r & 1 ? record + FETCH_AHEAD : NULL;
}

/*
 * Share @share of @shares of part @part of the @bytes from @next on.  A prefetch does not fault, so the end of the
 * weights needs no care.
 */
static inline __attribute__((always_inline)) void fetch_share(const uint8_t *next, const uint32_t bytes, uint32_t part,
                                                              const uint32_t share, const uint32_t shares)
{
    const uint32_t lines = (bytes / FETCH_LINE + FETCH_PARTS - 1) / FETCH_PARTS;
    if (!next)
        return;
#pragma GCC unroll 8
    for (uint32_t i = share * lines / shares; i < (share + 1) * lines / shares; i++)
        __builtin_prefetch(next + (part * lines + i) * FETCH_LINE, 0, 2);
}

/* The lines that begin within @bytes from @next on, or the one that it is in; NULL: none. */
static inline __attribute__((always_inline)) void fetch_lines(const void *next, const size_t bytes)
{
    if (!next)
        return;
#pragma GCC unroll 8
    for (size_t i = 0; i < bytes; i += FETCH_LINE)
        __builtin_prefetch((const uint8_t *)next + i, 0, 2);
}

/*
 * The same where arithmetic meets its weights several times: what comes next is one run of lines, or two that are as
 * long, and each stretch of arithmetic fetches some of it.
 */
struct fetching {
    const uint8_t *at, *second;         /* NULL: no second run, or under way */
    size_t left, each;                  /* lines */
    uint32_t at_once;
};

/* @bytes from @first and, unless NULL, from @second, in @stretches. */
static inline struct fetching fetching_of(const uint8_t *first, const uint8_t *second, size_t bytes, uint32_t stretches)
{
    const size_t each = bytes / FETCH_LINE, lines = second ? 2 * each : each;
    return (struct fetching){ first, second, each, each, (uint32_t)((lines + stretches - 1) / stretches) };
}

static inline __attribute__((always_inline)) void fetch_some(struct fetching *f)
{
    for (uint32_t i = 0; i < f->at_once; i++, f->at += FETCH_LINE, f->left--) {
        if (!f->left) {
            if (!f->second)
                return;
            f->at = f->second;
            f->second = NULL;
            f->left = f->each;
        }
        __builtin_prefetch(f->at, 0, 2);
    }
}
