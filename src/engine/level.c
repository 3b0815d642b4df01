/* SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/level.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu.h"
#include "kernels/selftest.h"

/* The words of what was found wrong gather in the note, from the highest level down. */
static void note_failure(struct level_choice *c, const char *wrong)
{
    size_t n = strlen(c->note);

    c->failed++;
    if (n < sizeof(c->note) - 3)
        snprintf(c->note + n, sizeof(c->note) - n, "%slevel %s is disabled: its %s computes wrong bits on this CPU",
                 n ? "; " : "", kernel_level_name(c->ops.level), wrong);
}

/* AMX's registers are the system's to give, to a process, before its threads compute.  Without them AVX-512 goes on. */
static void ask_for_tiles(const struct level_request *q, struct level_choice *c)
{
    int r = q->highest >= KERNEL_AMX ? kernel_amx_permission() : 0;

    if (r < 0)
        snprintf(c->note, sizeof(c->note), "level %s is not taken: the system refuses its tiles (%s)",
                 kernel_level_name(KERNEL_AMX), strerror(-r));
}

static int choose(const struct level_request *q, void *work, struct level_choice *c, struct error *error)
{
    enum kernel_level asked = q->highest, reached;
    const char *wrong;

    ask_for_tiles(q, c);
    reached = kernel_ops_init(&c->ops, asked);
    if (q->required && reached != asked && c->note[0])
        return error_set(error, -ENOTSUP, "%s", c->note);
    if (q->required && reached != asked)
        return error_set(error, -ENOTSUP, "this CPU cannot run level %s; it reaches %s", kernel_level_name(asked),
                         kernel_level_name(reached));
    while (reached > KERNEL_REF) {      /* ref is what the others are compared with */
        wrong = kernel_selftest(&c->ops, q->types, work);
        if (!wrong)
            return 0;
        note_failure(c, wrong);
        if (q->required)
            return error_set(error, -ENOTSUP, "%s", c->note);
        reached = kernel_ops_init(&c->ops, (enum kernel_level)(reached - 1));
    }
    return 0;
}

int level_choose(const struct level_request *request, struct level_choice *ret_choice, struct error *error)
{
    void *work = aligned_alloc(64, KERNEL_SELFTEST_BYTES);
    struct level_choice c = { .failed = 0 };
    int r;

    if (!work)
        return error_set(error, -ENOMEM, "no memory for the self-test of the kernels");
    r = choose(request, work, &c, error);
    free(work);
    if (r == 0)
        *ret_choice = c;
    return r;
}
