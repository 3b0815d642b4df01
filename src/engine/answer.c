/* SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/answer.h"

#include <string.h>

#include "src/base/utf8.h"

void answer_init(struct answer *a, const struct engine_request *request)
{
    *a = (struct answer){ .request = request, .held = BUFFER_NULL };
}

void answer_deinit(struct answer *a)
{
    buffer_deinit(&a->held);
    *a = (struct answer)ANSWER_NULL;
}

struct buffer *answer_input(struct answer *a)
{
    if (a->released) {
        memmove(a->held.data, a->held.data + a->released, a->held.size - a->released);
        a->held.size -= a->released;
        a->released = 0;
    }
    return &a->held;
}

/* Position of the first stop string that is complete, or the size. */
static size_t first_stop(const struct answer *a)
{
    size_t first = a->held.size;

    for (uint32_t i = 0; i < a->request->stop_count; i++) {
        const struct engine_stop *s = &a->request->stops[i];
        const uint8_t *at = memmem(a->held.data, a->held.size, s->text, s->size);

        if (at && (size_t)(at - a->held.data) < first)
            first = (size_t)(at - a->held.data);
    }
    return first;
}

/* Longest end of the held bytes that begins some stop string. */
static size_t stop_tail(const struct answer *a)
{
    size_t longest = 0;

    for (uint32_t i = 0; i < a->request->stop_count; i++) {
        const struct engine_stop *s = &a->request->stops[i];
        size_t most = s->size ? min_u64(s->size - 1, a->held.size) : 0;

        for (size_t n = most; n > longest; n--)
            if (memcmp(a->held.data + a->held.size - n, s->text, n) == 0) {
                longest = n;
                break;
            }
    }
    return longest;
}

static struct span release(struct answer *a, size_t size, uint32_t *ret_offset)
{
    a->released = size;
    *ret_offset = a->offset;
    a->offset += (uint32_t)size;
    return (struct span){ .data = a->held.data, .size = size };
}

struct span answer_release(struct answer *a, uint32_t *ret_offset)
{
    size_t stop = first_stop(a), n;

    if (stop < a->held.size) {
        struct span s = release(a, stop, ret_offset);

        a->stopped = true;
        a->held.size = stop;            /* the stop string and what follows are not part of the answer */
        return s;
    }
    n = a->held.size - stop_tail(a);
    n -= utf8_incomplete_tail(a->held.data, n);
    return release(a, n, ret_offset);
}

struct span answer_flush(struct answer *a, uint32_t *ret_offset)
{
    answer_input(a);
    return release(a, a->held.size, ret_offset);
}
