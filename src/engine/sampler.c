/* SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MASS_ONE 0x1p40f
#define MASS_FLOOR -28.0f               /* below this exp times 2^40 is less than one: no mass */
#define LN2_40 0x1.bb9d3beb8c86bp+4     /* 40 ln 2 */

typedef unsigned __int128 u128;

static bool in_range(float v, float low, float high)
{
    return v >= low && v <= high;       /* false for NaN */
}

int sampling_check(const struct sampling *p, struct error *error)
{
    if (!(p->temperature == 0 || in_range(p->temperature, 0x1p-10f, 0x1p10f)))
        return error_set(error, -EINVAL, "temperature is %g; it must be 0 or 0.0009765625 to 1024",
                         (double)p->temperature);
    if (!in_range(p->top_p, 0x1p-32f, 1))
        return error_set(error, -EINVAL, "top_p is %g; it must be above 0 and at most 1", (double)p->top_p);
    if (!in_range(p->typical_p, 0x1p-32f, 1))
        return error_set(error, -EINVAL, "typical_p is %g; it must be above 0 and at most 1", (double)p->typical_p);
    if (!in_range(p->min_p, 0, 1))
        return error_set(error, -EINVAL, "min_p is %g; it must be 0 to 1", (double)p->min_p);
    if (!in_range(p->repeat_penalty, 0.01f, 100))
        return error_set(error, -EINVAL, "repeat_penalty is %g; it must be 0.01 to 100", (double)p->repeat_penalty);
    if (!in_range(p->presence_penalty, -100, 100) || !in_range(p->frequency_penalty, -100, 100))
        return error_set(error, -EINVAL, "presence and frequency penalties are %g and %g; they must be -100 to 100",
                         (double)p->presence_penalty, (double)p->frequency_penalty);
    return 0;
}

int sampler_init(struct sampler *s, const struct kernel_ops *ops, uint32_t n_vocab)
{
    *s = (struct sampler){ .ops = ops, .n_vocab = n_vocab };
    s->z = calloc(n_vocab, sizeof(*s->z));
    s->w = calloc(n_vocab, sizeof(*s->w));
    s->entries = calloc(n_vocab, sizeof(*s->entries));
    if (s->z && s->w && s->entries)
        return 0;
    sampler_deinit(s);
    return -ENOMEM;
}

void sampler_deinit(struct sampler *s)
{
    free(s->z);
    free(s->w);
    free(s->entries);
    *s = (struct sampler)SAMPLER_NULL;
}

/* Greatest logit, lowest id on ties; -0 and +0 tie. */
static uint32_t argmax(const float *z, uint32_t n)
{
    uint32_t best = 0;

    for (uint32_t i = 1; i < n; i++)
        if (z[i] > z[best])
            best = i;
    return best;
}

/* --- penalties --- */

static bool wants_penalties(const struct sampling *p)
{
    return p->repeat_last_n && (p->repeat_penalty != 1 || p->presence_penalty != 0 || p->frequency_penalty != 0);
}

/* Each token of the window once, with its count.  @counts [n_vocab] is scratch. */
static void penalise(const struct sampling *p, float *z, float *counts, uint32_t n_vocab, const uint32_t *window,
                     uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (window[i] < n_vocab)
            counts[window[i]] = 0;
    for (uint32_t i = 0; i < n; i++)
        if (window[i] < n_vocab)
            counts[window[i]] += 1;         /* exact: a context is shorter than 2^24 */
    for (uint32_t i = 0; i < n; i++) {
        uint32_t id = window[i];

        if (id >= n_vocab || counts[id] == 0)
            continue;                       /* of another's, or done */
        z[id] = z[id] > 0 ? z[id] / p->repeat_penalty : z[id] * p->repeat_penalty;
        z[id] = z[id] - fmaf(counts[id], p->frequency_penalty, p->presence_penalty);
        counts[id] = 0;
    }
}

/* --- masses --- */

static uint64_t mass_of(float w)
{
    return (uint64_t)(w * MASS_ONE);
}

/* w[i] = exp(z[i] * 1 or / T - max), where it can have mass; returns the maximum of u. */
static float fill_weights(struct sampler *s, const float *z, uint32_t n, float temperature)
{
    float most;

    for (uint32_t i = 0; i < n; i++)
        s->w[i] = z[i] / temperature;
    most = s->w[argmax(s->w, n)];
    return most;
}

/* Survivors with mass, in id order; returns their number.  s->w holds u on entry. */
static uint32_t collect(struct sampler *s, uint32_t n, float most)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < n; i++) {
        float d = s->w[i] - most, w;
        uint64_t mass;

        if (d < MASS_FLOOR)
            continue;
        s->ops->exp(&d, &w, 1);
        mass = mass_of(w);
        if (mass)
            s->entries[count++] = (struct sampler_entry){ .u = s->w[i], .id = i, .mass = mass };
    }
    return count;
}

static uint64_t total(const struct sampler_entry *e, uint32_t n)
{
    uint64_t z = 0;

    for (uint32_t i = 0; i < n; i++)
        z += e[i].mass;
    return z;
}

/* (value descending, id ascending) */
static int by_value(const void *a, const void *b)
{
    const struct sampler_entry *x = a, *y = b;

    if (x->u != y->u)
        return x->u > y->u ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static int by_id(const void *a, const void *b)
{
    const struct sampler_entry *x = a, *y = b;

    return x->id < y->id ? -1 : x->id > y->id;
}

static void swap(struct sampler_entry *a, struct sampler_entry *b)
{
    struct sampler_entry t = *a;

    *a = *b;
    *b = t;
}

/* Splits e[low..high] around its middle element by by_value; returns where that element is now. */
static uint32_t partition(struct sampler_entry *e, uint32_t low, uint32_t high)
{
    uint32_t at = low;

    swap(&e[low + (high - low) / 2], &e[high]);
    for (uint32_t i = low; i < high; i++)
        if (by_value(&e[i], &e[high]) < 0)
            swap(&e[i], &e[at++]);
    swap(&e[at], &e[high]);
    return at;
}

/* Brings the @m first of the order to the front, sorted; a vocabulary is large and what is kept is short. */
static void order_first(struct sampler_entry *e, uint32_t n, uint32_t m)
{
    uint32_t low = 0, high = n - 1;

    while (m < n && low < high) {
        uint32_t at = partition(e, low, high);

        if (at == m)
            break;
        if (at < m)
            low = at + 1;
        else
            high = at - 1;
    }
    qsort(e, m, sizeof(*e), by_value);
}

/* The share @p of a mass, rounded up. */
static u128 share_of(uint64_t z, float p)
{
    return ((u128)z * (uint64_t)rint((double)p * 0x1p32) + 0xffffffffu) >> 32;
}

/* How many entries from the front it takes to reach @need; 0 where the first @n do not. */
static uint32_t reach(const struct sampler_entry *e, uint32_t n, u128 need)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < n; i++) {
        sum += e[i].mass;
        if (sum >= need)
            return i + 1;
    }
    return 0;
}

/* Shortest prefix of the order by value whose mass reaches the share @p. */
static uint32_t keep_top_p(struct sampler_entry *e, uint32_t n, float p)
{
    u128 need = share_of(total(e, n), p);

    for (uint32_t m = 256; m < n; m *= 4) {
        uint32_t kept;

        order_first(e, n, m);
        kept = reach(e, m, need);
        if (kept)
            return kept;
    }
    order_first(e, n, n);
    return reach(e, n, need);
}

static uint32_t keep_min_p(struct sampler_entry *e, uint32_t n, float min_p)
{
    uint64_t least = (uint64_t)rint((double)min_p * 0x1p40);
    uint32_t kept = 0;

    for (uint32_t i = 0; i < n; i++)
        if (e[i].mass >= least)
            e[kept++] = e[i];
    return kept ? kept : n;
}

static uint64_t surprise(float most, float u)
{
    return (uint64_t)rint(((double)most - (double)u) * 0x1p20);
}

/* What the order by typicality depends on besides the entries. */
struct typical { float most; uint64_t z; u128 mean; };

/* Distance of surprise from the mean, times Z: |D*Z - sum(W*D)|, exact in 128 bits. */
static u128 distance(const struct typical *t, const struct sampler_entry *e)
{
    u128 d = (u128)surprise(t->most, e->u) * t->z;

    return d > t->mean ? d - t->mean : t->mean - d;
}

static int by_distance(const void *a, const void *b, void *typical)
{
    u128 x = distance(typical, a), y = distance(typical, b);

    if (x != y)
        return x < y ? -1 : 1;
    return by_id(a, b);
}

static uint32_t keep_typical(struct sampler_entry *e, uint32_t n, float most, float p)
{
    struct typical t = { .most = most, .z = total(e, n), .mean = 0 };

    for (uint32_t i = 0; i < n; i++)
        t.mean += (u128)e[i].mass * surprise(most, e[i].u);
    qsort_r(e, n, sizeof(*e), by_distance, &t);
    return reach(e, n, share_of(t.z, p));
}

static uint32_t draw(struct sampler_entry *e, uint32_t n, const struct sampling *p, uint32_t accepted)
{
    uint32_t counter[4] = { accepted, 0, 0, 0 }, key[2] = { (uint32_t)p->seed, (uint32_t)(p->seed >> 32) }, out[4];
    uint64_t r, t, sum = 0;

    kernel_philox(counter, key, out);
    r = out[0] | (uint64_t)out[1] << 32;
    t = (uint64_t)(((u128)r * total(e, n)) >> 64);
    qsort(e, n, sizeof(*e), by_id);
    for (uint32_t i = 0; i < n; i++) {
        sum += e[i].mass;
        if (sum > t)
            return e[i].id;
    }
    return e[n - 1].id;                 /* not reached: t is below the total */
}

uint32_t sampler_draw(struct sampler *s, const struct sampling *p, const float *logits, uint32_t n_vocab,
                      const uint32_t *history, uint32_t history_count, uint32_t accepted)
{
    const float *z = logits;
    uint32_t n, survivors;
    float most;

    check(n_vocab <= s->n_vocab);
    if (wants_penalties(p)) {
        uint32_t window = (uint32_t)min_u64(history_count, p->repeat_last_n);

        memcpy(s->z, logits, n_vocab * sizeof(*logits));
        penalise(p, s->z, s->w, n_vocab, history + (history_count - window), window);
        z = s->z;
    }
    if (p->temperature == 0)
        return argmax(z, n_vocab);
    most = fill_weights(s, z, n_vocab, p->temperature);
    survivors = n = collect(s, n_vocab, most);
    if (p->top_k && p->top_k < n) {
        n = p->top_k;
        order_first(s->entries, survivors, n);
    }
    if (p->top_p < 1)
        n = keep_top_p(s->entries, n, p->top_p);
    if (p->min_p > 0)
        n = keep_min_p(s->entries, n, p->min_p);
    if (p->typical_p < 1)
        n = keep_typical(s->entries, n, most, p->typical_p);
    return draw(s->entries, n, p, accepted);
}

/* The @count best by (value descending, id ascending), by insertion into a short list. */
static uint32_t best_of(const float *z, uint32_t n, struct engine_alternative *best, uint32_t count)
{
    uint32_t have = 0;

    for (uint32_t i = 0; i < n && count; i++) {
        uint32_t at = have;

        if (have == count && !(z[i] > best[have - 1].logprob))
            continue;
        if (have < count)
            have++;
        else
            at = have - 1;
        while (at > 0 && z[i] > best[at - 1].logprob) {
            best[at] = best[at - 1];
            at--;
        }
        best[at] = (struct engine_alternative){ .id = i, .logprob = z[i] };
    }
    return have;
}

float sampler_logprob(struct sampler *s, const float *logits, uint32_t n_vocab, uint32_t id,
                      struct engine_alternative *ret_best, uint32_t count)
{
    float most = logits[argmax(logits, n_vocab)];
    uint64_t z = 0;
    double log_z;

    for (uint32_t i = 0; i < n_vocab; i++)
        s->z[i] = logits[i] - most;
    s->ops->exp(s->z, s->w, n_vocab);
    for (uint32_t i = 0; i < n_vocab; i++)
        z += mass_of(s->w[i]);
    log_z = kernel_log64((double)z) - LN2_40;
    count = best_of(logits, n_vocab, ret_best, count);
    for (uint32_t i = 0; i < count; i++)
        ret_best[i].logprob = (float)(((double)ret_best[i].logprob - (double)most) - log_z);
    return (float)(((double)logits[id] - (double)most) - log_z);
}
