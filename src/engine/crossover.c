/* SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/crossover.h"

#include <stdlib.h>

#include "kernels/invented.h"
#include "src/base/clock.h"

#define K KERNEL_SEGMENT
#define GROUPS 4u                       /* of a matrix: they stay in the second-level cache */
#define ROUNDS 16u                      /* the best of them counts */
#define ROUNDS_NEEDED 3u

/* Columns are multiplied by tiles of 16, two at most: whole ones, halves, and few. */
static const uint32_t counts[] = { 1, 2, 4, 8, 12, 16, 24, 32 };
#define COUNTS ARRAY_LENGTH(counts)
#define TOKENS 32u                      /* the most of them */

/* A product with one column a token: the int16 profile has two, and as many columns cost it about the same. */
struct work {
    uint8_t packed[GROUPS * KERNEL_GROUP_ROWS * K * sizeof(float)], rows[KERNEL_GROUP_ROWS * K * sizeof(float)];
    float x[TOKENS * K], y[TOKENS * GROUPS * KERNEL_GROUP_ROWS];
    int8_t q[TOKENS * K];
    float d[TOKENS * K / 32];
    int16_t s32[TOKENS * K / 32], s16[TOKENS * K / 16];
} __attribute__((aligned(64)));

struct race {
    const struct crossover_clock *clock;
    uint64_t deadline_ns;
    struct work *work;
    struct kernel_act x;
    kernel_matmul_fn *way[2];           /* for few columns, for many */
    uint64_t best_ns[COUNTS][2];
};

static uint64_t monotonic(void *arg)
{
    (void)arg;
    return clock_now_ns();
}

const struct crossover_clock crossover_monotonic = { .now_ns = monotonic };

static uint64_t now(const struct race *r) { return r->clock->now_ns(r->clock->arg); }

static void prepare(struct race *r, const struct kernel_ops *ops, enum tensor_type type)
{
    struct work *w = r->work;
    const enum act_format format = tensor_types[type].act;
    uint32_t seed = 1;

    r->way[0] = ops->matmul[type];
    r->way[1] = ops->matmul_many[type];
    r->x = (struct kernel_act){ .format = format, .k = K, .columns = 1, .q = w->q, .d = w->d, .s32 = w->s32 };
    r->x.s16 = format == ACT_256 ? w->s16 : NULL;
    if (format == ACT_F32)
        r->x = (struct kernel_act){ .format = format, .k = K, .columns = 1, .f = w->x };
    kernel_invent_groups(&seed, type, K, GROUPS, w->rows, w->packed);
    kernel_invent_floats(&seed, w->x, TOKENS * K);
    if (format != ACT_F32)
        kernel_invent_act(ops, w->x, TOKENS, &r->x);
    for (uint32_t c = 0; c < COUNTS; c++)
        r->best_ns[c][0] = r->best_ns[c][1] = UINT64_MAX;
}

/* One call on the clock.  False where there is no time left, or the clock did not move. */
static bool run(const struct race *r, uint32_t count, uint32_t way, uint64_t *ret_ns)
{
    const uint64_t begun = now(r);
    uint64_t ended;

    r->way[way](r->work->packed, GROUPS, &r->x, 0, count, r->work->y, GROUPS * KERNEL_GROUP_ROWS);
    ended = now(r);
    *ret_ns = ended - begun;
    return ended > begun && ended < r->deadline_ns;
}

/* Both ways turn by turn, so that what else the machine does hits each of them.  False where it came to nothing. */
static bool measure(struct race *r)
{
    uint64_t ns;

    /* Nobody's first call counts: the system gives a thread its tiles then. */
    if (!run(r, TOKENS, 0, &ns) || !run(r, TOKENS, 1, &ns))
        return false;
    for (uint32_t round = 0; round < ROUNDS; round++)
        for (uint32_t i = 0; i < 2 * COUNTS; i++) {
            uint64_t *best = &r->best_ns[i / 2][i % 2];

            if (!run(r, counts[i / 2], i % 2, &ns))
                return round >= ROUNDS_NEEDED;
            *best = min_u64(*best, ns);
        }
    return true;
}

static uint32_t crossing(const struct race *r)
{
    uint32_t from = UINT32_MAX;

    for (uint32_t c = COUNTS; c-- > 0 && r->best_ns[c][1] <= r->best_ns[c][0];)
        from = counts[c];
    return from;
}

void crossover_measure(struct kernel_ops *ops, uint32_t types, const struct crossover_clock *clock)
{
    struct race r = { .clock = clock };
    uint32_t left = 0;

    for (unsigned t = 0; t < TENSOR_TYPE_COUNT; t++)
        left += types >> t & 1 && ops->matmul_many[t];
    if (!left)
        return;
    r.work = aligned_alloc(64, sizeof(*r.work));
    if (!r.work)
        return;
    const uint64_t end = now(&r) + CROSSOVER_BUDGET_NS;
    for (unsigned t = 0; t < TENSOR_TYPE_COUNT; t++)
        if (types >> t & 1 && ops->matmul_many[t]) {
            const uint64_t begun = now(&r);

            if (begun >= end)
                break;
            r.deadline_ns = begun + (end - begun) / left--;     /* what the ones before left over is shared */
            prepare(&r, ops, (enum tensor_type)t);
            if (measure(&r))
                ops->many_columns[t] = crossing(&r);
        }
    free(r.work);
}
