/* SPDX-License-Identifier: Apache-2.0 */

/* The self-test of a level: passes what is right, and finds one wrong bit wherever it is. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/selftest.h"
#include "tests/kern/harness.h"

#define ALL_TYPES ((1u << TENSOR_TYPE_COUNT) - 1)

static struct kernel_ops right;         /* what a broken kernel calls */
static enum tensor_type broken_type;

static void break_float(float *y)
{
    uint32_t u;
    memcpy(&u, y, sizeof u);
    u ^= 1;
    memcpy(y, &u, sizeof u);
}

/* Wrong in the last row of the last token: of many tokens, of one, of two columns only. */
#define BROKEN_MATMUL(name, when)                                                                                      \
    static void name(const uint8_t *packed, uint32_t groups, const struct kernel_act *x, uint32_t token_first,         \
                     uint32_t tokens, float *y, size_t y_stride)                                                       \
    {                                                                                                                  \
        right.matmul[broken_type](packed, groups, x, token_first, tokens, y, y_stride);                                \
        if (when)                                                                                                      \
            break_float(&y[(tokens - 1) * y_stride + 16 * groups - 1]);                                                \
    }

BROKEN_MATMUL(matmul_many, tokens > 1)
BROKEN_MATMUL(matmul_one, tokens == 1)
BROKEN_MATMUL(matmul_wide, x->columns == 2)

static int quantise(const float *x, const float *g, uint32_t n, const struct kernel_act *out, uint32_t token,
                    uint32_t k)
{
    int r = right.quantise(x, g, n, out, token, k);
    if (out->columns == 2)
        out->q[((size_t)token * 2 + 1) * out->k + k + n - 1] ^= 1;
    return r;
}

static float sumsq(const float *x, uint32_t n)
{
    float s = right.sumsq(x, n);
    break_float(&s);
    return s;
}

static void epilogue(float *y, uint32_t n, int use_r, float r, const float *bias)
{
    right.epilogue(y, n, use_r, r, bias);
    if (!bias)
        break_float(&y[n - 1]);
}

static void exp_wrong(const float *x, float *y, uint32_t n)
{
    right.exp(x, y, n);
    break_float(&y[n - 1]);
}

static int kv_store(uint16_t *block, uint32_t hd, uint32_t position, const float *k, const float *v)
{
    int r = right.kv_store(block, hd, position, k, v);
    if (position == 40)
        block[hd * 128 - 1] ^= 1;
    return r;
}

static void attend(struct kernel_query *queries, uint32_t n, const uint16_t *const blocks[8], uint32_t hd,
                   float softcap)
{
    right.attend(queries, n, blocks, hd, softcap);
    if (softcap > 0)
        break_float(&queries[n - 1].o[hd - 1]);
}

static int kv_store_q8(uint8_t *block, uint32_t hd, uint32_t position, const float *k, const float *v)
{
    int r = right.kv_store_q8(block, hd, position, k, v);
    if (position == 40)
        block[hd * 128 - 1] ^= 1;
    return r;
}

static void attend_q8(struct kernel_query *queries, uint32_t n, const uint8_t *const blocks[8], uint32_t hd,
                      float softcap, uint32_t columns)
{
    right.attend_q8(queries, n, blocks, hd, softcap, columns);
    if (columns == 2)
        break_float(&queries[n - 1].o[hd - 1]);
}

/* @ops is broken: found, and called so. */
static void expect_found(struct harness *h, const struct kernel_ops *ops, const char *name, void *work)
{
    char now[KERNEL_SELFTEST_NAME + 1] = "";
    now[KERNEL_SELFTEST_NAME] = '!';
    const char *found = kernel_selftest(ops, ALL_TYPES, work, now);
    expect(h, found && strcmp(found, name) == 0, "level %s: a broken %s was found as %s",
           kernel_level_name(ops->level), name, found ? found : "nothing");
    expect(h, strcmp(now, name) == 0, "level %s: %.64s ran when %s was found", kernel_level_name(ops->level), now,
           name);
    expect(h, now[KERNEL_SELFTEST_NAME] == '!', "a name is longer than its room");
}

static void check_broken_matmuls(struct harness *h, void *work)
{
    kernel_matmul_fn *const broken[] = { matmul_many, matmul_one, matmul_wide };
    for (unsigned t = 0; t < TENSOR_TYPE_COUNT; t++) {
        const int floats = tensor_types[t].act == ACT_F32;
        if (h->fast && t != TENSOR_Q4_0 && t != TENSOR_Q4_K && t != TENSOR_F16)
            continue;
        broken_type = (enum tensor_type)t;
        for (unsigned i = 0; i < (floats ? 2u : 3u); i++) {
            struct kernel_ops ops = right;
            ops.matmul[t] = broken[i];
            expect_found(h, &ops, ops.matmul_name[t], work);
            expect(h, kernel_selftest(&ops, ALL_TYPES & ~(1u << t), work, NULL) == NULL, "a type not asked for");
        }
        kernel_matmul_fn *const broken_ways[] = { matmul_many, matmul_one };
        for (unsigned i = 0; i < 2; i++) {
            struct kernel_ops ops = right;
            ops.matmul_many[t] = broken_ways[i];
            ops.many_name[t] = "the_other_way";
            expect_found(h, &ops, "the_other_way", work);
        }
    }
}

static void check_broken_entries(struct harness *h, void *work)
{
    struct kernel_ops ops = right;
    ops.quantise = quantise;
    expect_found(h, &ops, "quantise", work);
    ops = right;
    ops.sumsq = sumsq;
    expect_found(h, &ops, "sumsq", work);
    ops = right;
    ops.epilogue = epilogue;
    expect_found(h, &ops, "epilogue", work);
    ops = right;
    ops.exp = exp_wrong;
    expect_found(h, &ops, "exp", work);
    ops = right;
    ops.kv_store = kv_store;
    expect_found(h, &ops, "kv_store", work);
    ops = right;
    ops.attend = attend;
    expect_found(h, &ops, "attend", work);
    ops = right;
    ops.kv_store_q8 = kv_store_q8;
    expect_found(h, &ops, "kv_store_q8", work);
    ops = right;
    ops.attend_q8 = attend_q8;
    expect_found(h, &ops, "attend_q8", work);
}

void check_selftest(struct harness *h)
{
    void *work = aligned_alloc(64, KERNEL_SELFTEST_BYTES);
    if (!expect(h, work != NULL, "no memory"))
        return;
    for (unsigned l = 0; l <= h->level_count; l++) {
        if (l == 0 && h->level_count > 0)
            continue;                   /* ref is slow: broken only where there is no other */
        right = l ? h->levels[l - 1] : h->ref;
        const char *wrong = kernel_selftest(&right, ALL_TYPES, work, NULL);
        expect(h, wrong == NULL, "level %s: the self-test finds %s wrong", kernel_level_name(right.level),
               wrong ? wrong : "");
        if (h->fast && l < h->level_count)
            continue;
        check_broken_entries(h, work);
        check_broken_matmuls(h, work);
    }
    free(work);
}
