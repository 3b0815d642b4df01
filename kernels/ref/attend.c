/* SPDX-License-Identifier: Apache-2.0 */

/* NUMERICS.md section 7, KV in f16.  A KV block is K as [4][hd][16] and, behind it, V as [64][hd]. */

#include <string.h>

#include "kernels/ref/ref.h"
#include "kernels/scalar.h"

static uint16_t kv_f16(float f)
{
    float clamped = f > F16_MAX ? F16_MAX : f;
    return f32_to_f16(clamped < -F16_MAX ? -F16_MAX : clamped);
}

static int kv_store(uint16_t *block, uint32_t hd, uint32_t position, const float *k, const float *v)
{
    uint16_t *keys = block + (size_t)(position / 16) * hd * 16 + position % 16;
    uint16_t *values = block + (size_t)KERNEL_KV_BLOCK * hd + (size_t)position * hd;
    for (uint32_t d = 0; d < hd; d++)
        if (!float_is_finite(k[d]) || !float_is_finite(v[d]))
            return -1;
    for (uint32_t d = 0; d < hd; d++) {
        keys[16 * d] = kv_f16(k[d]);
        values[d] = kv_f16(v[d]);
    }
    return 0;
}

/* Scores of positions first..last (0..63) of a block, each a chain over d; 16 positions are computed at once. */
static void scores(const float *q, const uint16_t *block, uint32_t hd, uint32_t first, uint32_t last, float softcap,
                   float s[KERNEL_KV_BLOCK])
{
    for (uint32_t j0 = first & ~15u; j0 <= last; j0 += 16) {
        const uint16_t *keys = block + (size_t)j0 * hd;
        for (uint32_t i = 0; i < 16; i++)
            s[j0 + i] = 0.0f;
        for (uint32_t d = 0; d < hd; d++)
            for (uint32_t i = 0; i < 16; i++)
                s[j0 + i] = fmaf(q[d], f16_to_f32(keys[16 * d + i]), s[j0 + i]);
    }
    for (uint32_t j = first; j <= last && softcap > 0.0f; j++)
        s[j] = kernel_softcap(s[j], softcap);
}

static float maximum(const float *s, uint32_t first, uint32_t last)
{
    float m = s[first];
    for (uint32_t j = first + 1; j <= last; j++)
        m = max_f32(m, s[j]);
    return m + 0.0f;                    /* -0 counts as +0 */
}

struct online {                 /* the online softmax of one range */
    float m, l[16], *o;
    uint32_t hd;
};

static void add_block(struct online *r, const float *q, const uint16_t *block, uint32_t first, uint32_t last,
                      float softcap, int is_first)
{
    const uint16_t *values = block + (size_t)KERNEL_KV_BLOCK * r->hd;
    float s[KERNEL_KV_BLOCK], p[KERNEL_KV_BLOCK] = { 0 };
    scores(q, block, r->hd, first, last, softcap, s);
    float bm = maximum(s, first, last), m = is_first ? bm : max_f32(r->m, bm);
    float a = is_first ? 1.0f : kernel_exp(r->m - m);
    r->m = m;
    for (uint32_t i = 0; i < 16; i++)
        r->l[i] = r->l[i] * a;
    for (uint32_t d = 0; d < r->hd; d++)
        r->o[d] = r->o[d] * a;
    for (uint32_t j = first; j <= last; j++)
        p[j] = kernel_exp(s[j] - m);
    for (uint32_t i = 0; i < 16; i++)
        r->l[i] = r->l[i] + (((p[i] + p[i + 16]) + p[i + 32]) + p[i + 48]);
    for (uint32_t j = first; j <= last; j++)
        for (uint32_t d = 0; d < r->hd; d++)
            r->o[d] = fmaf(p[j], f16_to_f32(values[(size_t)j * r->hd + d]), r->o[d]);
}

static void attend_one(struct kernel_query *q, const uint16_t *const blocks[8], uint32_t hd, float softcap)
{
    struct online r = { .o = q->o, .hd = hd };
    memset(q->o, 0, hd * sizeof *q->o);
    for (uint32_t b = q->lo / KERNEL_KV_BLOCK; b <= q->hi / KERNEL_KV_BLOCK; b++) {
        uint32_t base = b * KERNEL_KV_BLOCK;
        uint32_t first = q->lo > base ? q->lo - base : 0;
        uint32_t last = q->hi - base < KERNEL_KV_BLOCK ? q->hi - base : KERNEL_KV_BLOCK - 1;
        add_block(&r, q->q, blocks[b % 8], first, last, softcap, b == q->lo / KERNEL_KV_BLOCK);
    }
    q->m = r.m;
    q->l = tree16(r.l);
}

static void attend(struct kernel_query *queries, uint32_t n, const uint16_t *const blocks[8], uint32_t hd,
                   float softcap)
{
    for (uint32_t i = 0; i < n; i++)
        attend_one(&queries[i], blocks, hd, softcap);
}

static void attend_merge(float *m, float *l, float *o, float m_r, float l_r, const float *o_r, uint32_t hd)
{
    float larger = max_f32(*m, m_r), a = kernel_exp(*m - larger), b = kernel_exp(m_r - larger);
    *l = fmaf(*l, a, l_r * b);
    for (uint32_t d = 0; d < hd; d++)
        o[d] = fmaf(o[d], a, o_r[d] * b);
    *m = larger;
}

static void attend_finish(float *o, float l, uint32_t hd)
{
    float inv = 1.0f / l;
    for (uint32_t d = 0; d < hd; d++)
        o[d] = o[d] * inv;
}

void kernel_ref_init_attend(struct kernel_ops *ops)
{
    ops->kv_store = kv_store;
    ops->attend = attend;
    ops->attend_merge = attend_merge;
    ops->attend_finish = attend_finish;
}
