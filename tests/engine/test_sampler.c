/* SPDX-License-Identifier: Apache-2.0 */
/* The chain of NUMERICS.md section 8 against a slow statement of it, and what others got wrong (cases E). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/engine/sampler.h"

#define N 500u

typedef unsigned __int128 u128;

static struct kernel_ops ops;
static struct sampler sampler;
static float z[N];
static uint64_t state = 7;

static uint32_t random_u32(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 32);
}

static void random_logits(float spread)
{
    for (uint32_t i = 0; i < N; i++)
        z[i] = ((float)(random_u32() % 4096) / 2048.0f - 1.0f) * spread;    /* coarse: there are ties */
}

/* --- the slow statement: candidates in the order, one stage after another, straight from the text --- */

struct slow { float u; uint32_t id; uint64_t w; };

static int order(const void *a, const void *b)
{
    const struct slow *x = a, *y = b;

    if (x->u != y->u)
        return x->u > y->u ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

static int ids_ascending(const void *a, const void *b)
{
    return ((const struct slow *)a)->id < ((const struct slow *)b)->id ? -1 : 1;
}

static uint64_t slow_total(const struct slow *s, uint32_t n)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += s[i].w;
    return sum;
}

static uint32_t slow_draw(const struct sampling *p, uint32_t accepted)
{
    static struct slow s[N];
    uint32_t n = N, kept = 0, counter[4] = { accepted, 0, 0, 0 }, out[4];
    uint32_t key[2] = { (uint32_t)p->seed, (uint32_t)(p->seed >> 32) };
    uint64_t total, target, sum = 0;
    u128 need;

    for (uint32_t i = 0; i < N; i++)
        s[i] = (struct slow){ .u = z[i] / p->temperature, .id = i };
    qsort(s, N, sizeof(*s), order);
    for (uint32_t i = 0; i < N; i++)
        s[i].w = (uint64_t)(kernel_exp(s[i].u - s[0].u) * 0x1p40f);
    if (p->top_k && p->top_k < n)
        n = p->top_k;
    if (p->top_p < 1) {
        total = slow_total(s, n);
        need = ((u128)total * (uint64_t)rint((double)p->top_p * 0x1p32) + 0xffffffffu) >> 32;
        for (kept = 0; kept < n && sum < need; kept++)
            sum += s[kept].w;
        n = kept;
    }
    if (p->min_p > 0) {
        for (kept = 0; kept < n && s[kept].w >= (uint64_t)rint((double)p->min_p * 0x1p40); kept++)
            ;
        n = kept;
    }
    kernel_philox(counter, key, out);
    target = (uint64_t)(((u128)(out[0] | (uint64_t)out[1] << 32) * slow_total(s, n)) >> 64);
    qsort(s, n, sizeof(*s), ids_ascending);
    sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += s[i].w;
        if (sum > target)
            return s[i].id;
    }
    fail_msg("the draw found nothing");
    return 0;
}

static void agrees_with_the_text(void **s)
{
    static const uint32_t top_ks[] = { 0, 1, 5, 40, N, N + 1 };
    static const float top_ps[] = {1, 0.95f, 0.5f, 0.01f}, min_ps[] = {0, 0.05f, 1}, temps[] = {0.01f, 0.8f, 4, 1000};

    (void)s;
    for (uint32_t round = 0; round < 4000; round++) {
        struct sampling p = SAMPLING_DEFAULT;

        random_logits(round % 3 == 0 ? 30 : 3);
        p.temperature = temps[random_u32() % 4];
        p.top_k = top_ks[random_u32() % 6];
        p.top_p = top_ps[random_u32() % 4];
        p.min_p = min_ps[random_u32() % 3];
        p.seed = random_u32() | (uint64_t)random_u32() << 32;
        assert_int_equal(sampler_draw(&sampler, &p, z, N, NULL, 0, round), slow_draw(&p, round));
    }
}

static void zero_temperature_is_argmax_lowest_id(void **s)
{
    struct sampling p = SAMPLING_DEFAULT;

    (void)s;
    random_logits(1);
    z[77] = z[200] = z[499] = 9;
    assert_int_equal(sampler_draw(&sampler, &p, z, N, NULL, 0, 0), 77);
    for (uint32_t i = 0; i < N; i++)
        z[i] = i == 3 ? -0.0f : 0.0f;   /* the two zeros tie */
    assert_int_equal(sampler_draw(&sampler, &p, z, N, NULL, 0, 0), 0);
}

static void replay_is_equal_and_seeds_differ(void **s)
{
    struct sampling p = SAMPLING_DEFAULT;
    uint32_t differ = 0;

    (void)s;
    random_logits(2);
    p.temperature = 1;
    for (uint32_t i = 0; i < 200; i++) {
        uint32_t first;

        p.seed = 1;
        first = sampler_draw(&sampler, &p, z, N, NULL, 0, i);
        assert_int_equal(first, sampler_draw(&sampler, &p, z, N, NULL, 0, i));
        p.seed = 2;
        differ += first != sampler_draw(&sampler, &p, z, N, NULL, 0, i);
    }
    assert_true(differ > 150);
}

static void draws_follow_the_masses(void **s)
{
    struct sampling p = SAMPLING_DEFAULT;
    uint32_t counts[3] = { 0 };

    (void)s;
    for (uint32_t i = 0; i < N; i++)
        z[i] = -100;
    z[10] = logf(1);
    z[20] = logf(2);
    z[30] = logf(5);
    p.temperature = 1;
    p.seed = 5;
    for (uint32_t i = 0; i < 80000; i++) {
        uint32_t id = sampler_draw(&sampler, &p, z, N, NULL, 0, i);

        assert_true(id == 10 || id == 20 || id == 30);
        counts[id / 10 - 1]++;
    }
    assert_in_range(counts[0], 9600, 10400);
    assert_in_range(counts[1], 19500, 20500);
    assert_in_range(counts[2], 49400, 50600);
}

static void penalties_are_as_written(void **s)
{
    struct sampling p = SAMPLING_DEFAULT;
    const uint32_t history[] = { 4, 5, 5, 6 };

    (void)s;
    memset(z, 0, sizeof(z));
    z[5] = 3;
    z[9] = 2;
    p.repeat_penalty = 2;               /* 3 / 2 < 2 */
    assert_int_equal(sampler_draw(&sampler, &p, z, N, history, 4, 0), 9);
    p.repeat_last_n = 1;                /* 5 is out of the window */
    assert_int_equal(sampler_draw(&sampler, &p, z, N, history, 4, 0), 5);
    p.repeat_last_n = 0;                /* no window, no penalty, no crash */
    assert_int_equal(sampler_draw(&sampler, &p, z, N, history, 4, 0), 5);
    p = (struct sampling)SAMPLING_DEFAULT;
    p.frequency_penalty = 0.6f;         /* 3 - 2 * 0.6 = 1.8 < 2 */
    assert_int_equal(sampler_draw(&sampler, &p, z, N, history, 4, 0), 9);
    p.frequency_penalty = 0;
    p.presence_penalty = 0.9f;          /* 3 - 0.9 = 2.1 > 2 */
    assert_int_equal(sampler_draw(&sampler, &p, z, N, history, 4, 0), 5);
}

static void typical_keeps_the_middle(void **s)
{
    struct sampling p = SAMPLING_DEFAULT;

    (void)s;
    for (uint32_t i = 0; i < N; i++)
        z[i] = -100;
    for (uint32_t i = 0; i < 8; i++)
        z[i] = 0;                       /* eight equals carry the mass and the mean surprise */
    z[100] = 1.5f;                      /* a peak that is less surprising than the mean */
    p.temperature = 1;
    p.typical_p = 0.3f;
    for (uint32_t i = 0; i < 500; i++)
        assert_true(sampler_draw(&sampler, &p, z, N, NULL, 0, i) < 8);
}

static void logprobs_are_of_the_raw_logits(void **s)
{
    struct engine_alternative best[5];
    double sum = 0;
    float own;

    (void)s;
    random_logits(4);
    z[3] = z[450] = 5;
    own = sampler_logprob(&sampler, z, N, 17, best, 5);
    for (uint32_t i = 0; i < N; i++)
        sum += exp((double)z[i]);
    assert_true(fabs((double)own - ((double)z[17] - log(sum))) < 1e-6);
    assert_int_equal(best[0].id, 3);
    assert_int_equal(best[1].id, 450);
    for (uint32_t i = 1; i < 5; i++)
        assert_true(best[i].logprob <= best[i - 1].logprob);
    assert_true(fabs((double)best[0].logprob - (5 - log(sum))) < 1e-6);
}

static void bad_values_are_refused(void **s)
{
    const float bad[] = { NAN, INFINITY, -INFINITY, -1 };

    (void)s;
    for (uint32_t i = 0; i < 4; i++) {
        struct sampling p = SAMPLING_DEFAULT;
        struct error e = ERROR_NULL;

        p.temperature = bad[i];
        assert_int_equal(sampling_check(&p, &e), -EINVAL);
        assert_non_null(strstr(e.text, "temperature"));
        p = (struct sampling)SAMPLING_DEFAULT;
        p.top_p = bad[i];
        assert_int_equal(sampling_check(&p, &e), -EINVAL);
        p = (struct sampling)SAMPLING_DEFAULT;
        p.min_p = bad[i];
        assert_int_equal(sampling_check(&p, &e), -EINVAL);
        p = (struct sampling)SAMPLING_DEFAULT;
        p.repeat_penalty = bad[i];
        assert_int_equal(sampling_check(&p, &e), -EINVAL);
    }
}

static int start(void **s)
{
    (void)s;
    kernel_ops_init(&ops, KERNEL_LEVEL_COUNT - 1);
    return sampler_init(&sampler, &ops, N);
}

static int end(void **s)
{
    (void)s;
    sampler_deinit(&sampler);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_text), cmocka_unit_test(zero_temperature_is_argmax_lowest_id),
        cmocka_unit_test(replay_is_equal_and_seeds_differ), cmocka_unit_test(draws_follow_the_masses),
        cmocka_unit_test(penalties_are_as_written), cmocka_unit_test(typical_keeps_the_middle),
        cmocka_unit_test(logprobs_are_of_the_raw_logits), cmocka_unit_test(bad_values_are_refused),
    };

    return cmocka_run_group_tests(tests, start, end);
}
