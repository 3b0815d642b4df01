/* SPDX-License-Identifier: Apache-2.0 */
#include "src/tools/streams.h"

typedef uint64_t lanes __attribute__((vector_size(16)));

#define STREAMS 4u
#define STREAM_BYTES 4096u              /* of each stream, side by side */
#define AHEAD_BYTES 16384u

_Static_assert(STREAMS * STREAM_BYTES == STREAM_UNIT, "whole turns");

/* A prefetch past the end does not fault. */
static inline __attribute__((always_inline)) uint64_t read_streams(const uint8_t *from, uint64_t bytes,
                                                                   uint32_t streams, uint32_t ahead)
{
    lanes s[STREAMS] = { 0 };

    for (uint64_t at = 0; at < bytes; at += streams * STREAM_BYTES)
        for (uint32_t i = 0; i < STREAM_BYTES; i += 64)
            for (uint32_t k = 0; k < streams; k++) {
                const uint8_t *line = from + at + k * STREAM_BYTES + i;
                const lanes *p = (const lanes *)(const void *)line;

                if (ahead)
                    __builtin_prefetch(line + ahead, 0, 2);
                s[k] ^= (p[0] ^ p[1]) ^ (p[2] ^ p[3]);
            }
    for (uint32_t k = 1; k < streams; k++)
        s[0] ^= s[k];
    return s[0][0] ^ s[0][1];
}

uint64_t stream_read(uint32_t order, const uint8_t *from, uint64_t bytes)
{
    switch (order) {
    case 0: return read_streams(from, bytes, 1, 0);
    case 1: return read_streams(from, bytes, 1, AHEAD_BYTES);
    default: return read_streams(from, bytes, STREAMS, AHEAD_BYTES);
    }
}
