/* SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/level.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "kernels/cpu.h"
#include "kernels/selftest.h"
#include "src/engine/crossover.h"
#include "src/engine/trial.h"

#define SELFTEST_LIMIT_MS 10000         /* a thousand times what it takes: no load makes it as slow */

/* A self-test and what it found, in memory that a child shares. */
struct selftest {
    uint8_t work[KERNEL_SELFTEST_BYTES];
    const struct kernel_ops *ops;
    uint32_t types;
    char now[KERNEL_SELFTEST_NAME];     /* what runs */
    char wrong[KERNEL_SELFTEST_NAME];   /* what differs from ref, or "" */
};

/* The words of what was found wrong gather in the note, from the highest level down. */
static void note_failure(struct level_choice *c, const char *name, const char *does)
{
    size_t n = strlen(c->note);

    c->failed++;
    if (n < sizeof(c->note) - 3)
        snprintf(c->note + n, sizeof(c->note) - n, "%slevel %s is disabled: its %.*s %s on this CPU", n ? "; " : "",
                 kernel_level_name(c->ops.level), (int)KERNEL_SELFTEST_NAME - 1, name, does);
}

static void run_selftest(void *arg)
{
    struct selftest *t = arg;
    const char *wrong = kernel_selftest(t->ops, t->types, t->work, t->now);

    snprintf(t->wrong, sizeof(t->wrong), "%s", wrong ? wrong : "");
}

/* Whether the level of c->ops is right; what is wrong is noted. */
static bool passes(struct selftest *t, struct level_choice *c)
{
    char does[48];
    int r;

    t->ops = &c->ops;
    t->now[0] = t->wrong[0] = '\0';
    r = trial_run(run_selftest, t, SELFTEST_LIMIT_MS);
    if (r < 0)                          /* no child to be had: without one a level that is right does no harm */
        run_selftest(t);
    if (r <= 0 && !t->wrong[0])
        return true;
    if (r <= 0) {
        note_failure(c, t->wrong, "computes wrong bits");
        return false;
    }
    trial_describe(r, does, sizeof(does));
    note_failure(c, t->now, does);
    return false;
}

/* AMX's registers are the system's to give, to a process, before its threads compute.  Without them AVX-512 goes on. */
static void ask_for_tiles(const struct level_request *q, struct level_choice *c)
{
    int r = q->highest >= KERNEL_AMX ? kernel_amx_permission() : 0;

    if (r < 0)
        snprintf(c->note, sizeof(c->note), "level %s is not taken: the system refuses its tiles (%s)",
                 kernel_level_name(KERNEL_AMX), strerror(-r));
}

static int choose(const struct level_request *q, struct selftest *t, struct level_choice *c, struct error *error)
{
    enum kernel_level asked = q->highest, reached;

    ask_for_tiles(q, c);
    reached = kernel_ops_init(&c->ops, asked);
    if (q->required && reached != asked && c->note[0])
        return error_set(error, -ENOTSUP, "%s", c->note);
    if (q->required && reached != asked)
        return error_set(error, -ENOTSUP, "this CPU cannot run level %s; it reaches %s", kernel_level_name(asked),
                         kernel_level_name(reached));
    while (reached > KERNEL_REF) {      /* ref is what the others are compared with */
        if (passes(t, c))
            return 0;
        if (q->required)
            return error_set(error, -ENOTSUP, "%s", c->note);
        reached = kernel_ops_init(&c->ops, (enum kernel_level)(reached - 1));
    }
    return 0;
}

int level_choose(const struct level_request *request, struct level_choice *ret_choice, struct error *error)
{
    struct selftest *t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct level_choice c = { .failed = 0 };
    int r;

    if (t == MAP_FAILED)
        return error_set(error, -ENOMEM, "no memory for the self-test of the kernels");
    t->types = request->types;
    r = choose(request, t, &c, error);
    munmap(t, sizeof(*t));
    if (r < 0)
        return r;
    crossover_measure(&c.ops, request->types, &crossover_monotonic);
    *ret_choice = c;
    return 0;
}
