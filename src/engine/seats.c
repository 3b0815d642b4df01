/* SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/seats.h"

static void sit(struct instance *in, struct sequence *s)
{
    check(!s->seated && !s->parked && !s->evicted && seats_free(in));
    s->seated = true;
    in->seated++;
}

void seats_join(struct instance *in, struct sequence *s)
{
    struct sequence **at = &in->first;

    while (*at)
        at = &(*at)->next;
    *at = s;
    sit(in, s);
}

void seats_leave(struct instance *in, struct sequence *s)
{
    in->seated -= s->seated;
    s->seated = false;
}

void seats_part(struct instance *in, struct sequence *s)
{
    struct sequence **at = &in->first;

    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    seats_leave(in, s);
}

struct sequence *seats_next(const struct instance *in, bool holders)
{
    struct sequence *first = NULL;

    for (struct sequence *s = in->first; s; s = s->next)
        if (!s->seated && !s->parked && !(holders && s->evicted) && (!first || s->ticket < first->ticket))
            first = s;
    return first;
}

int seats_take(struct instance *in, struct sequence *s)
{
    if (s->evicted && (seats_make_room(in, s->block_capacity, s->ticket) || sequence_restore(s, &in->pool)))
        return 1;
    sit(in, s);
    return 0;
}

/* --- blocks --- */

static bool may_evict(const struct sequence *s, uint64_t ticket)
{
    return !s->seated && !s->evicted && (s->parked || s->ticket > ticket);
}

/* Parked before waiting, then the last in line: it has the least to lose. */
static bool gives_sooner(const struct sequence *a, const struct sequence *b)
{
    return a->parked != b->parked ? a->parked : a->ticket > b->ticket;
}

static struct sequence *victim(const struct instance *in, uint64_t ticket)
{
    struct sequence *found = NULL;

    for (struct sequence *s = in->first; s; s = s->next)
        if (may_evict(s, ticket) && (!found || gives_sooner(s, found)))
            found = s;
    return found;
}

int seats_make_room(struct instance *in, uint32_t blocks, uint64_t ticket)
{
    uint64_t possible = kv_pool_left(&in->pool);

    for (const struct sequence *s = in->first; s; s = s->next)
        possible += may_evict(s, ticket) ? s->block_capacity : 0;
    if (possible < blocks)
        return 1;
    while (kv_pool_left(&in->pool) < blocks)
        sequence_evict(victim(in, ticket), &in->pool);
    return 0;
}
