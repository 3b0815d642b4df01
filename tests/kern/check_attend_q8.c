/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/kern/inputs.h"

/* Keys and values in 8 bits: one range, all its positions. */

#define POSITIONS KERNEL_KV_RANGE
#define BLOCKS (POSITIONS / KERNEL_KV_BLOCK)

struct cache {
    uint32_t hd;
    float *k, *v;                       /* [POSITIONS][hd] */
    uint8_t *blocks[BLOCKS];
};

static struct cache new_cache(struct harness *h, const struct kernel_ops *ops, uint32_t hd, float *k, float *v)
{
    struct cache c = { .hd = hd, .k = k, .v = v };
    const size_t bytes = kernel_kv_bytes(KV_Q8, hd);
    for (uint32_t b = 0; b < BLOCKS; b++)
        c.blocks[b] = memset(guarded(h, bytes), 0, bytes);
    for (uint32_t p = 0; p < POSITIONS; p++)
        expect(h, ops->kv_store_q8(c.blocks[p / 64], hd, p % 64, k + p * hd, v + p * hd) == 0, "kv_store_q8 refuses");
    return c;
}

/* What is stored, after the table of kv.h. */
static double key(const struct cache *c, uint32_t p, uint32_t d, float *ret_scale)
{
    const uint8_t *block = c->blocks[p / 64];
    const uint32_t j = p % 64;
    memcpy(ret_scale, block + 128 * (size_t)c->hd + 4 * j, 4);
    return (double)*ret_scale * (int8_t)block[((j / 16) * (c->hd / 4) + d / 4) * 64 + 4 * (j % 16) + d % 4];
}

static double value(const struct cache *c, uint32_t p, uint32_t d, float *ret_scale)
{
    const uint8_t *block = c->blocks[p / 64];
    const uint32_t j = p % 64;
    memcpy(ret_scale, block + 128 * (size_t)c->hd + 256 + 4 * j, 4);
    return (double)*ret_scale * (int8_t)block[64 * c->hd + ((d / 16) * 16 + j / 4) * 64 + 4 * (d % 16) + j % 4];
}

/* Every value within half a step of what was given; levels alike. */
static void check_store(struct harness *h, const struct cache *ref, const struct cache *got, const char *level)
{
    for (uint32_t b = 0; b < BLOCKS; b++)
        expect_same(h, ref->blocks[b], got->blocks[b], kernel_kv_bytes(KV_Q8, ref->hd), "kv_store_q8 at %s, block %u",
                    level, b);
    for (uint32_t p = 0; p < POSITIONS; p += 13)
        for (uint32_t d = 0; d < ref->hd; d++) {
            float scale;
            double k = ref->k[p * ref->hd + d], v = ref->v[p * ref->hd + d];
            expect(h, fabs(key(got, p, d, &scale) - k) <= 0.5001 * (double)scale + 0x1p-99, "K %g is stored badly", k);
            expect(h, fabs(value(got, p, d, &scale) - v) <= 0.5001 * (double)scale + 0x1p-99, "V %g is stored badly",
                   v);
        }
}

static void check_store_refuses(struct harness *h, const struct kernel_ops *ops)
{
    enum { HD = 48 };
    uint8_t *block = guarded(h, kernel_kv_bytes(KV_Q8, HD));
    for (uint32_t d = 0; d < 2 * HD; d++) {
        float kv[2 * HD] = { 0 };
        kv[d] = d % 3 == 0 ? NAN : d % 3 == 1 ? -INFINITY : 0x1p50f;
        expect(h, ops->kv_store_q8(block, HD, d % 64, kv, kv + HD) < 0, "kv_store_q8 takes %g", (double)kv[d]);
        kv[d] = -0x1.fffffep49f;
        expect(h, ops->kv_store_q8(block, HD, d % 64, kv, kv + HD) == 0, "kv_store_q8 refuses a large value");
    }
    guards_check(h);
}

/* Attention over what is stored, in f64 and with q and p as they are. */
static double attend_error(const struct cache *c, const struct kernel_query *q, float softcap)
{
    static double s[POSITIONS];
    double m = -1e300, sum = 0, worst = 0;
    float scale;
    for (uint32_t j = q->lo; j <= q->hi; j++) {
        s[j] = 0;
        for (uint32_t d = 0; d < c->hd; d++)
            s[j] += (double)q->q[d] * key(c, j, d, &scale);
        s[j] = softcap > 0 ? softcap * tanh(s[j] / softcap) : s[j];
        m = fmax(m, s[j]);
    }
    for (uint32_t j = q->lo; j <= q->hi; j++)
        sum += s[j] = exp(s[j] - m);
    for (uint32_t d = 0; d < c->hd; d++) {
        double o = 0;
        for (uint32_t j = q->lo; j <= q->hi; j++)
            o += s[j] * value(c, j, d, &scale);
        worst = fmax(worst, fabs(q->o[d] / (double)q->l - o / sum));
    }
    return worst;
}

/* Queries in company: heads of a token, tokens of a prompt, windows, or anything. */
static void fill_company(struct harness *h, struct kernel_query *queries, uint32_t n, uint32_t kind)
{
    const uint32_t at = random_u32(h) % POSITIONS;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t hi = kind == 0 ? at : at + i / 3 < POSITIONS ? at + i / 3 : POSITIONS - 1, lo = 0;
        if (kind == 2)
            lo = hi > 70 ? hi - 70 : 0;
        if (kind == 3) {
            hi = random_u32(h) % POSITIONS;
            lo = random_u32(h) % (hi + 1);
        }
        queries[i].lo = lo;
        queries[i].hi = hi;
    }
}

/* ref's answers against f64 (@tolerance 0: not), the levels' against ref's; @size is that of q. */
static void check_queries(struct harness *h, const struct cache *c, struct kernel_query *queries, uint32_t n,
                          float size, float softcap, uint32_t columns, double tolerance)
{
    struct kernel_query own[KERNEL_QUERIES_MAX];
    const uint8_t *blocks[8] = { NULL };
    const uint32_t hd = c->hd;
    unsigned kept = h->guard_count;
    float *q = guarded(h, n * hd * sizeof *q);
    float *o[2] = { guarded(h, n * hd * sizeof *q), guarded(h, n * hd * sizeof *q) };
    for (uint32_t i = 0; i < n * hd; i++)
        q[i] = random_normal(h) / sqrtf((float)hd) * size;
    for (uint32_t i = 0; i < n; i++) {
        queries[i].q = q + i * hd;
        queries[i].o = o[0] + i * hd;
        for (uint32_t b = queries[i].lo / 64; b <= queries[i].hi / 64; b++)
            blocks[b] = c->blocks[b];
    }
    h->ref.attend_q8(queries, n, blocks, hd, softcap, columns);
    for (uint32_t i = 0; i < n && tolerance > 0; i++) {
        double error = attend_error(c, &queries[i], softcap);
        expect(h, error < tolerance, "hd %u, columns %u, %u..%u: off by %g", hd, columns, queries[i].lo, queries[i].hi,
               error);
    }
    for (unsigned l = 0; l < h->level_count; l++) {
        memcpy(own, queries, n * sizeof *own);
        for (uint32_t i = 0; i < n; i++)
            own[i].o = o[1] + i * hd;
        h->levels[l].attend_q8(own, n, blocks, hd, softcap, columns);
        for (uint32_t i = 0; i < n; i++) {
            expect_same(h, queries[i].o, own[i].o, hd * sizeof *q,
                        "attend_q8 at %s, query %u of %u, %u..%u, columns %u",
                        kernel_level_name(h->levels[l].level), i, n, own[i].lo, own[i].hi, columns);
            expect_same(h, &queries[i].m, &own[i].m, sizeof own[i].m, "its maximum");
            expect_same(h, &queries[i].l, &own[i].l, sizeof own[i].l, "its sum");
        }
    }
    guards_release(h, kept);
}

static void check_head_dim(struct harness *h, uint32_t hd)
{
    static const double tolerances[] = { 6e-2, 6e-4 };
    struct kernel_query queries[KERNEL_QUERIES_MAX];
    float *k = guarded(h, POSITIONS * hd * sizeof *k), *v = guarded(h, POSITIONS * hd * sizeof *v);
    fill_vector(h, VECTOR_ORDINARY, k, POSITIONS * hd);
    fill_vector(h, VECTOR_ORDINARY, v, POSITIONS * hd);
    struct cache c = new_cache(h, &h->ref, hd, k, v);
    for (unsigned l = 0; l <= h->level_count; l++) {
        const struct kernel_ops *ops = l ? &h->levels[l - 1] : &h->ref;
        unsigned kept = h->guard_count;
        struct cache got = new_cache(h, ops, hd, k, v);
        check_store(h, &c, &got, kernel_level_name(ops->level));
        guards_release(h, kept);
    }
    for (uint32_t n = 1; n <= 9; n++)
        for (uint32_t i = 0; i < 8; i++) {
            fill_company(h, queries, n, i / 2);
            check_queries(h, &c, queries, n, 1.0f, n % 3 ? 0.0f : 30.0f, i % 2 + 1, n % 4 ? 0 : tolerances[i % 2]);
        }
    fill_company(h, queries, KERNEL_QUERIES_MAX, 1);
    check_queries(h, &c, queries, KERNEL_QUERIES_MAX, 20.0f, 0.0f, 2, 0);
    guards_check(h);
}

/* No values at all, values of some positions only, an outlier, all but one probability vanish, integers at bounds. */
static void check_corners(struct harness *h)
{
    enum { HD = 256, CORNERS = 6 };
    struct kernel_query queries[5];
    float *k = guarded(h, POSITIONS * HD * sizeof *k), *v = guarded(h, POSITIONS * HD * sizeof *v);
    for (int corner = 0; corner < CORNERS; corner++) {
        unsigned kept = h->guard_count;
        for (uint32_t i = 0; i < POSITIONS * HD; i++) {
            const uint32_t p = i / HD;
            k[i] = corner == 3 ? (float)p * 4 : corner == 4 ? (i % 2 ? 1.0f : -1.0f) : random_normal(h);
            v[i] = corner == 0 || (corner == 1 && p % 64 < 40) ? 0.0f : corner == 4 ? -1.0f : random_normal(h);
            if (corner == 2 && i % 5000 == 77)
                k[i] = v[i] = 0x1p49f;
            if (corner == 5 && p / 64 % 2)
                v[i] *= 0x1p-120f;      /* blocks that add nothing */
        }
        struct cache c = new_cache(h, &h->ref, HD, k, v);
        for (uint32_t columns = 1; columns <= 2; columns++)
            for (uint32_t kind = 0; kind < 4; kind++) {
                fill_company(h, queries, 5, kind);
                check_queries(h, &c, queries, 5, kind % 2 ? 1.0f : 30.0f, 0.0f, columns, 0);
            }
        guards_release(h, kept);
    }
    guards_check(h);
}

void check_attend_q8(struct harness *h)
{
    static const uint32_t dims[] = { 16, 48, 64, 80, 128, 256 };
    for (unsigned i = 0; i < sizeof dims / sizeof *dims; i++)
        check_head_dim(h, dims[i]);
    check_corners(h);
    for (unsigned l = 0; l <= h->level_count; l++)
        check_store_refuses(h, l ? &h->levels[l - 1] : &h->ref);
}

