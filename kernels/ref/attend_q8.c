/* SPDX-License-Identifier: Apache-2.0 */

/* NUMERICS.md section 7, KV in 8 bits.  The layout of a block is that of kv.h. */

#include <string.h>

#include "kernels/ref/ref.h"
#include "kernels/scalar.h"

struct block {                  /* one KV block, taken apart */
    const int8_t *k, *v;
    const float *dk, *dv;
};

static size_t k_at(uint32_t hd, uint32_t position, uint32_t d)
{
    return ((size_t)(position / 16) * (hd / 4) + d / 4) * 64 + 4 * (position % 16) + d % 4;
}

static size_t v_at(uint32_t position, uint32_t d)
{
    return ((size_t)(d / 16) * 16 + position / 4) * 64 + 4 * (d % 16) + position % 4;
}

/* One block of @n values (section 2); bits of @limit and above are refused. */
static int quantise(const float *x, uint32_t n, float top, uint32_t limit, int16_t *q, float *ret_d)
{
    uint32_t largest = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t u = float_bits(x[i]) & FLOAT_MAGNITUDE;
        largest = u > largest ? u : largest;
    }
    if (largest >= limit)
        return -1;
    float a = bits_float(largest);
    int zero = a < ACT_TINY;
    float inv = zero ? 0.0f : top / a;
    for (uint32_t i = 0; i < n; i++)
        q[i] = (int16_t)(zero ? 0.0f : round_even(x[i] * inv));
    *ret_d = zero ? 0.0f : a / top;
    return 0;
}

static int kv_store_q8(uint8_t *block, uint32_t hd, uint32_t position, const float *k, const float *v)
{
    int8_t *keys = (int8_t *)block, *values = keys + (size_t)KERNEL_KV_BLOCK * hd;
    int16_t q[2][KERNEL_HEAD_DIM_MAX];
    float d[2];
    if (quantise(k, hd, ACT_TOP_INT8, KV_Q8_LIMIT, q[0], &d[0]) < 0 ||
        quantise(v, hd, ACT_TOP_INT8, KV_Q8_LIMIT, q[1], &d[1]) < 0)
        return -1;
    for (uint32_t i = 0; i < hd; i++) {
        keys[k_at(hd, position, i)] = (int8_t)q[0][i];
        values[v_at(position, i)] = (int8_t)q[1][i];
    }
    float *scales = (float *)(void *)(block + (size_t)KERNEL_KV_BLOCK * hd * 2);
    scales[position] = d[0];
    scales[KERNEL_KV_BLOCK + position] = d[1];
    return 0;
}

struct online {                 /* the online softmax of one range */
    float m, l[16], *o;
    uint32_t hd;
    int16_t q[KERNEL_HEAD_DIM_MAX];
    float dq, top;
};

/* Scores of positions first..last (0..63); returns the largest. */
static float scores(const struct online *r, const struct block *b, uint32_t first, uint32_t last, float softcap,
                    float s[KERNEL_KV_BLOCK])
{
    for (uint32_t j = first; j <= last; j++) {
        int32_t sum = 0;
        for (uint32_t d = 0; d < r->hd; d++)
            sum += r->q[d] * b->k[k_at(r->hd, j, d)];
        s[j] = (r->dq * b->dk[j]) * (float)sum;
        if (softcap > 0.0f)
            s[j] = kernel_softcap(s[j], softcap);
    }
    float m = s[first];
    for (uint32_t j = first + 1; j <= last; j++)
        m = max_f32(m, s[j]);
    return m + 0.0f;                    /* -0 counts as +0 */
}

/* o = o * a and the values, weighted with @p: +0 where they are not touched. */
static void add_values(struct online *r, const struct block *b, const float p[KERNEL_KV_BLOCK], float a)
{
    float t[KERNEL_KV_BLOCK], largest = 0.0f;
    int32_t u[KERNEL_KV_BLOCK];
    for (uint32_t j = 0; j < KERNEL_KV_BLOCK; j++) {
        t[j] = p[j] * b->dv[j];
        largest = max_f32(largest, t[j]);
    }
    int zero = largest < ACT_TINY;
    float inv = zero ? 0.0f : r->top / largest, unit = zero ? 0.0f : largest / r->top;
    for (uint32_t j = 0; j < KERNEL_KV_BLOCK; j++)
        u[j] = (int32_t)round_even(t[j] * inv);
    for (uint32_t d = 0; d < r->hd; d++) {
        int32_t sum = 0;
        for (uint32_t j = 0; j < KERNEL_KV_BLOCK; j++)
            sum += u[j] * b->v[v_at(j, d)];
        r->o[d] = fmaf(unit, (float)sum, r->o[d] * a);
    }
}

static void add_block(struct online *r, const struct block *b, uint32_t first, uint32_t last, float softcap,
                      int is_first)
{
    float s[KERNEL_KV_BLOCK], p[KERNEL_KV_BLOCK] = { 0 };
    float bm = scores(r, b, first, last, softcap, s), m = is_first ? bm : max_f32(r->m, bm);
    float a = is_first ? 1.0f : kernel_exp(r->m - m);
    r->m = m;
    for (uint32_t j = first; j <= last; j++)
        p[j] = kernel_exp(s[j] - m);
    for (uint32_t i = 0; i < 16; i++)
        r->l[i] = r->l[i] * a + (((p[i] + p[i + 16]) + p[i + 32]) + p[i + 48]);
    add_values(r, b, p, a);
}

static void attend_one(struct kernel_query *q, const uint8_t *const blocks[8], uint32_t hd, float softcap,
                       uint32_t columns)
{
    struct online r = { .o = q->o, .hd = hd, .top = columns == 2 ? ACT_TOP_INT16 : ACT_TOP_INT8 };
    memset(q->o, 0, hd * sizeof *q->o);
    (void)quantise(q->q, hd, r.top, UINT32_MAX, r.q, &r.dq);            /* below 2^50: the caller has looked */
    for (uint32_t i = q->lo / KERNEL_KV_BLOCK; i <= q->hi / KERNEL_KV_BLOCK; i++) {
        uint32_t base = i * KERNEL_KV_BLOCK;
        uint32_t first = q->lo > base ? q->lo - base : 0;
        uint32_t last = q->hi - base < KERNEL_KV_BLOCK ? q->hi - base : KERNEL_KV_BLOCK - 1;
        struct block b = { .k = (const int8_t *)blocks[i % 8] };
        b.v = b.k + (size_t)KERNEL_KV_BLOCK * hd;
        b.dk = (const float *)(const void *)(b.v + (size_t)KERNEL_KV_BLOCK * hd);
        b.dv = b.dk + KERNEL_KV_BLOCK;
        add_block(&r, &b, first, last, softcap, i == q->lo / KERNEL_KV_BLOCK);
    }
    q->m = r.m;
    q->l = tree16(r.l);
}

static void attend_q8(struct kernel_query *queries, uint32_t n, const uint8_t *const blocks[8], uint32_t hd,
                      float softcap, uint32_t columns)
{
    for (uint32_t i = 0; i < n; i++)
        attend_one(&queries[i], blocks, hd, softcap, columns);
}

void kernel_ref_init_attend_q8(struct kernel_ops *ops)
{
    ops->kv_store_q8 = kv_store_q8;
    ops->attend_q8 = attend_q8;
}
