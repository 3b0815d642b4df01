/* SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/seats.h"

static void sit(struct instance *in, struct sequence *s)
{
    check(!s->seated && !s->parked && in->seated < in->info.sequences);
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

bool seats_evict_one(struct instance *in)
{
    struct sequence *found = NULL;

    for (struct sequence *s = in->first; s; s = s->next)
        if (s->parked && !s->evicted)
            found = s;
    if (found)
        sequence_evict(found, &in->pool);
    return found;
}

void seats_give(struct instance *in)
{
    for (struct sequence *s = in->first; s; s = s->next) {
        if (s->seated || s->parked)
            continue;
        if (in->seated == in->info.sequences)
            return;
        while (s->evicted && sequence_restore(s, &in->pool) > 0)
            if (!seats_evict_one(in))
                return;
        sit(in, s);
    }
}

bool seats_wanted(const struct instance *in)
{
    for (const struct sequence *s = in->first; s; s = s->next)
        if (!s->seated && !s->parked)
            return true;
    return false;
}
