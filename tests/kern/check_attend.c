/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kern/inputs.h"

#define POSITIONS 1100u
#define BLOCKS ((POSITIONS + 63) / 64)
#define RANGES ((POSITIONS + 511) / 512)

/* One sequence's cache: what was stored, and the blocks that hold it. */
struct cache {
    uint32_t hd;
    float *k, *v;                       /* [POSITIONS][hd] */
    uint16_t *blocks[(BLOCKS + 7) / 8 * 8];
};

struct part {
    float m, l, o[KERNEL_HEAD_DIM_MAX];
};

/* Stores with @ops; blocks are zeroed first, as the engine does. */
static struct cache new_cache(struct harness *h, const struct kernel_ops *ops, uint32_t hd, float *k, float *v)
{
    struct cache c = { .hd = hd, .k = k, .v = v };
    for (uint32_t b = 0; b < BLOCKS; b++) {
        c.blocks[b] = guarded(h, kernel_kv_bytes(KV_F16, hd));
        memset(c.blocks[b], 0, kernel_kv_bytes(KV_F16, hd));
    }
    for (uint32_t p = 0; p < POSITIONS; p++)
        expect(h, ops->kv_store(c.blocks[p / 64], hd, p % 64, k + p * hd, v + p * hd) == 0, "kv_store refuses");
    return c;
}

static float f16_value(uint16_t bits)
{
    uint8_t bytes[2] = { (uint8_t)bits, (uint8_t)(bits >> 8) };
    return table_value(TENSOR_F16, bytes, 0);
}

/* kv_store: the nearest f16 at its place, the levels alike, and what is not finite refused. */
static void check_store(struct harness *h, const struct cache *ref, const struct cache *got, const char *level)
{
    uint32_t hd = ref->hd;
    for (uint32_t b = 0; b < BLOCKS; b++)
        expect_same(h, ref->blocks[b], got->blocks[b], kernel_kv_bytes(KV_F16, hd), "kv_store at %s, block %u", level,
                    b);
    for (uint32_t p = 0; p < POSITIONS; p += 13) {
        for (uint32_t d = 0; d < hd; d++) {
            uint16_t kb = got->blocks[p / 64][((p % 64 / 16) * hd + d) * 16 + p % 16];
            uint16_t vb = got->blocks[p / 64][64 * hd + p % 64 * hd + d];
            float k = fmaxf(fminf(ref->k[p * hd + d], 65504.0f), -65504.0f);
            double step = fmax(fabsf(k) * 0x1p-11, 0x1p-25);
            expect(h, fabs(f16_value(kb) - (double)k) <= step, "K %g was stored as %g", k, f16_value(kb));
            float v = ref->v[p * hd + d];
            expect(h, fabs(f16_value(vb) - (double)v) <= fmax(fabsf(v) * 0x1p-11, 0x1p-25), "V %g was stored as %g", v,
                   f16_value(vb));
        }
    }
}

static void check_store_refuses(struct harness *h, const struct kernel_ops *ops)
{
    enum { HD = 48 };
    uint16_t *block = guarded(h, kernel_kv_bytes(KV_F16, HD));
    for (uint32_t d = 0; d < 2 * HD; d++) {
        float kv[2 * HD] = { 0 };
        kv[d] = d % 2 ? NAN : -INFINITY;
        expect(h, ops->kv_store(block, HD, d % 64, kv, kv + HD) < 0, "kv_store takes what is not finite");
    }
    guards_check(h);
}

/* Every f16 there is, and the values half way between two of them. */
static void check_rounding(struct harness *h, const struct kernel_ops *ops)
{
    enum { HD = 256 };
    uint16_t *block = guarded(h, kernel_kv_bytes(KV_F16, HD));
    for (uint32_t first = 0; first < 0x7c00; first += HD) {
        float k[HD], v[HD];
        for (uint32_t i = 0; i < HD; i++) {
            k[i] = f16_value((uint16_t)(first + i));
            v[i] = first + i == 0x7bff ? -1e30f : -(k[i] + f16_value((uint16_t)(first + i + 1))) / 2;
        }
        expect(h, ops->kv_store(block, HD, 17, k, v) == 0, "kv_store refuses");
        for (uint32_t i = 0; i < HD; i++) {
            uint32_t even = first + i == 0x7bff ? 0x7bff : (first + i + 1) & ~1u;
            expect(h, block[(HD + i) * 16 + 1] == first + i, "f16 %#x is not kept", first + i);
            expect(h, block[64 * HD + 17 * HD + i] == (0x8000 | even), "a tie above f16 %#x is not rounded to even",
                   first + i);
        }
    }
    guards_check(h);
}

static uint32_t max_u32(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* Positions lo..p, ranges computed in the order given, merged ascending. */
static void attend_all(const struct kernel_ops *ops, const struct cache *c, const float *q, uint32_t lo, uint32_t p,
                       float softcap, int backwards, float *out)
{
    static struct part parts[RANGES];
    uint32_t first = lo / 512, count = p / 512 - first + 1;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t r = backwards ? count - 1 - i : i, base = 512 * (first + r);
        const uint16_t *blocks[8];
        for (uint32_t b = 0; b < 8; b++) {
            uint32_t at = base / 64 + b;
            blocks[b] = at >= lo / 64 && at <= p / 64 ? c->blocks[at] : NULL;
        }
        struct kernel_query one = { .q = q, .o = parts[r].o, .lo = max_u32(lo, base),
                                    .hi = p < base + 511 ? p : base + 511 };
        ops->attend(&one, 1, blocks, c->hd, softcap);
        parts[r].m = one.m;
        parts[r].l = one.l;
    }
    for (uint32_t r = 1; r < count; r++)
        ops->attend_merge(&parts[0].m, &parts[0].l, parts[0].o, parts[r].m, parts[r].l, parts[r].o, c->hd);
    memcpy(out, parts[0].o, c->hd * sizeof *out);
    ops->attend_finish(out, parts[0].l, c->hd);
}

static double attend_error(const struct cache *c, const float *q, uint32_t lo, uint32_t p, float softcap,
                           const float *out)
{
    static double s[POSITIONS];
    double m = -1e300, sum = 0, worst = 0;
    uint32_t hd = c->hd;
    for (uint32_t j = lo; j <= p; j++) {
        s[j] = 0;
        for (uint32_t d = 0; d < hd; d++)
            s[j] += (double)q[d] * f16_value(c->blocks[j / 64][((j % 64 / 16) * hd + d) * 16 + j % 16]);
        s[j] = softcap > 0 ? softcap * tanh(s[j] / softcap) : s[j];
        m = fmax(m, s[j]);
    }
    for (uint32_t j = lo; j <= p; j++)
        sum += s[j] = exp(s[j] - m);
    for (uint32_t d = 0; d < hd; d++) {
        double o = 0;
        for (uint32_t j = lo; j <= p; j++)
            o += s[j] * f16_value(c->blocks[j / 64][64 * hd + j % 64 * hd + d]);
        worst = fmax(worst, fabs(out[d] - o / sum));
    }
    return worst;
}

static void check_query(struct harness *h, const struct cache *c, uint32_t p, uint32_t window, float size,
                        float softcap)
{
    uint32_t lo = window && p + 1 > window ? p + 1 - window : 0, hd = c->hd;
    float *q = guarded(h, hd * sizeof *q), *ref = guarded(h, hd * sizeof *ref), *got = guarded(h, hd * sizeof *got);
    unsigned kept = h->guard_count;
    for (uint32_t d = 0; d < hd; d++)
        q[d] = random_normal(h) / sqrtf((float)hd) * size;
    attend_all(&h->ref, c, q, lo, p, softcap, 0, ref);
    double error = attend_error(c, q, lo, p, softcap, ref);
    expect(h, error < (size > 1 ? 2e-4 : 1e-5), "hd %u lo %u p %u: off by %g", hd, lo, p, error);
    for (unsigned l = 0; l < h->level_count; l++) {
        attend_all(&h->levels[l], c, q, lo, p, softcap, 1, got);
        expect_same(h, ref, got, hd * sizeof *got, "attend at %s, hd %u, positions %u..%u, softcap %g",
                    kernel_level_name(h->levels[l].level), hd, lo, p, softcap);
    }
    guards_release(h, kept - 3);
}

/* Queries of a range in company: heads of a token, tokens of a prompt, windows, or anything. */
static void fill_company(struct harness *h, struct kernel_query *queries, uint32_t n, uint32_t base, uint32_t kind)
{
    uint32_t last = base + 511 < POSITIONS ? 511 : POSITIONS - 1 - base, at = random_u32(h) % (last + 1);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t hi = kind == 0 ? at : at + i / 3 < last ? at + i / 3 : last, lo = 0;
        if (kind == 2)
            lo = hi > 70 ? hi - 70 : 0;
        if (kind == 3) {
            hi = random_u32(h) % (last + 1);
            lo = random_u32(h) % (hi + 1);
        }
        queries[i].lo = base + lo;
        queries[i].hi = base + hi;
    }
}

/* What a query finds does not depend on its company: ref takes them one by one. */
static void check_company(struct harness *h, const struct cache *c, uint32_t n, uint32_t range, uint32_t kind)
{
    struct kernel_query queries[2][KERNEL_QUERIES_MAX];
    const uint32_t hd = c->hd, base = 512 * range;
    const float softcap = random_u32(h) % 4 ? 0.0f : 30.0f;
    const uint16_t *blocks[8] = { NULL };
    unsigned kept = h->guard_count;
    float *q = guarded(h, n * hd * sizeof *q);
    float *o[2] = { guarded(h, n * hd * sizeof *q), guarded(h, n * hd * sizeof *q) };
    fill_company(h, queries[0], n, base, kind);
    for (uint32_t i = 0; i < n * hd; i++)
        q[i] = random_normal(h) / sqrtf((float)hd);
    for (uint32_t i = 0; i < n; i++) {
        queries[0][i].q = q + i * hd;
        for (uint32_t b = queries[0][i].lo / 64; b <= queries[0][i].hi / 64; b++)
            blocks[b % 8] = c->blocks[b];
    }
    for (unsigned l = 0; l <= h->level_count; l++) {
        const struct kernel_ops *ops = l ? &h->levels[l - 1] : &h->ref;
        struct kernel_query *own = queries[l ? 1 : 0];
        memcpy(own, queries[0], sizeof queries[0]);
        for (uint32_t i = 0; i < n; i++)
            own[i].o = o[l ? 1 : 0] + i * hd;
        ops->attend(own, n, blocks, hd, softcap);
        for (uint32_t i = 0; l && i < n; i++) {
            const struct kernel_query *right = &queries[0][i];
            expect_same(h, right->o, own[i].o, hd * sizeof *q, "attend at %s, query %u of %u, %u..%u",
                        kernel_level_name(ops->level), i, n, right->lo, right->hi);
            expect_same(h, &right->m, &own[i].m, sizeof right->m, "its maximum");
            expect_same(h, &right->l, &own[i].l, sizeof right->l, "its sum");
        }
    }
    guards_release(h, kept);
}

static void check_head_dim(struct harness *h, uint32_t hd)
{
    static const uint32_t windows[] = { 0, 1, 63, 64, 512, 700 };
    float *k = guarded(h, POSITIONS * hd * sizeof *k), *v = guarded(h, POSITIONS * hd * sizeof *v);
    fill_vector(h, VECTOR_ORDINARY, k, POSITIONS * hd);
    fill_vector(h, VECTOR_ORDINARY, v, POSITIONS * hd);
    for (uint32_t i = 0; i < 64; i++)
        k[POSITIONS * hd - 1 - i] *= 1e5f;              /* beyond f16: clamped, and far from the others */
    struct cache c = new_cache(h, &h->ref, hd, k, v);
    check_store(h, &c, &c, "ref");
    for (unsigned l = 0; l < h->level_count; l++) {
        unsigned kept = h->guard_count;
        struct cache got = new_cache(h, &h->levels[l], hd, k, v);
        check_store(h, &c, &got, kernel_level_name(h->levels[l].level));
        guards_release(h, kept);
    }
    for (uint32_t i = 0; i < 60; i++) {
        uint32_t p = i < 40 ? i * 5 % 131 : random_u32(h) % (POSITIONS - 1);
        check_query(h, &c, p, windows[random_u32(h) % 6], i % 3 ? 1.0f : 20.0f, i % 4 == 1 ? 30.0f : 0.0f);
    }
    for (uint32_t n = 1; n <= 14; n++)
        for (uint32_t kind = 0; kind < 4; kind++)
            check_company(h, &c, n, random_u32(h) % RANGES, kind);
    check_company(h, &c, KERNEL_QUERIES_MAX, 0, 1);
    guards_check(h);
}

/* All probabilities but one vanish, all are equal, a later block rescales an earlier one to nothing. */
static void check_corners(struct harness *h)
{
    enum { HD = 64 };
    float *k = guarded(h, POSITIONS * HD * sizeof *k), *v = guarded(h, POSITIONS * HD * sizeof *v);
    for (int corner = 0; corner < 3; corner++) {
        unsigned kept = h->guard_count;
        for (uint32_t i = 0; i < POSITIONS * HD; i++) {
            k[i] = corner == 0 ? 0.0f : corner == 1 ? -(float)(i / HD % 97) : (float)(i / HD) * 0.25f;
            v[i] = i % 3 ? random_normal(h) : -0.0f;
        }
        struct cache c = new_cache(h, &h->ref, HD, k, v);
        check_query(h, &c, 130, 0, 1.0f, 0.0f);
        check_query(h, &c, 1000, 0, 20.0f, 0.0f);
        guards_release(h, kept);
    }
    guards_check(h);
}

void check_attend(struct harness *h)
{
    static const uint32_t dims[] = { 16, 48, 64, 80, 128, 256 };
    for (unsigned i = 0; i < sizeof dims / sizeof *dims; i++)
        check_head_dim(h, dims[i]);
    check_corners(h);
    for (unsigned l = 0; l <= h->level_count; l++) {
        check_store_refuses(h, l ? &h->levels[l - 1] : &h->ref);
        check_rounding(h, l ? &h->levels[l - 1] : &h->ref);
    }
}
