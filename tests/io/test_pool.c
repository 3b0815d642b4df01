/* SPDX-License-Identifier: Apache-2.0 */
/* The staging pool: nobody gets another's chunks, and no lane can be starved of its home. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "io/pool.h"

#define CHUNKS 256u
#define LANES 5u

static uint64_t seed = 3;

static uint32_t draw(uint32_t below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33) % below;
}

struct held { uint32_t lane, first, count; };

static void forget(struct held *held, uint32_t *n, uint32_t at) { held[at] = held[--*n]; }

static void test_random(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        uint32_t needs[LANES], n = 0;
        uint8_t owner[CHUNKS];
        struct held held[CHUNKS];
        struct pool pool;

        memset(owner, 255, sizeof(owner));
        for (uint32_t l = 0; l < LANES; l++)
            needs[l] = 1 + draw(CHUNKS / LANES);
        assert_int_equal(pool_init(&pool, CHUNKS, LANES, needs), 0);
        assert_true(pool.homes);
        for (int step = 0; step < 500; step++) {
            uint32_t lane = draw(LANES), count = 1 + draw(needs[lane]), first;

            if (draw(3) == 0 && n) {
                uint32_t at = draw(n);

                pool_give(&pool, held[at].lane, held[at].first, held[at].count);
                memset(owner + held[at].first, 255, held[at].count);
                forget(held, &n, at);
                continue;
            }
            if (pool.lanes[lane].done || pool_take(&pool, lane, count, &first) != POOL_TAKEN)
                continue;
            for (uint32_t i = first; i < first + count; i++) {
                assert_int_equal(owner[i], 255);
                owner[i] = (uint8_t)lane;
            }
            held[n++] = (struct held){ lane, first, count };
            assert_true(pool.lanes[lane].held == count ||
                        pool.lanes[lane].held <= max_u64(needs[lane], CHUNKS / pool.active));
            if (draw(100) == 0)
                pool_lane_done(&pool, lane);
        }
        /* Whatever is held by others: a lane that gave all back can take its longest. */
        for (uint32_t l = 0; l < LANES; l++) {
            uint32_t first;

            if (pool.lanes[l].done)
                continue;
            for (uint32_t i = n; i > 0; i--)
                if (held[i - 1].lane == l) {
                    pool_give(&pool, l, held[i - 1].first, held[i - 1].count);
                    forget(held, &n, i - 1);
                }
            assert_int_equal(pool_take(&pool, l, needs[l], &first), POOL_TAKEN);
            pool_give(&pool, l, first, needs[l]);
        }
        pool_deinit(&pool);
    }
}

static void test_share(void **state)
{
    uint32_t needs[2] = { 10, 10 }, first, n = 0;
    struct pool pool;

    (void)state;
    assert_int_equal(pool_init(&pool, 100, 2, needs), 0);
    while (pool_take(&pool, 0, 10, &first) == POOL_TAKEN)
        n++;
    assert_int_equal(n, 5);                         /* half, as there are two */
    assert_int_equal(pool_take(&pool, 0, 10, &first), POOL_CAPPED);
    for (n = 0; pool_take(&pool, 1, 10, &first) == POOL_TAKEN; n++)
        ;
    assert_int_equal(n, 5);
    pool_lane_done(&pool, 1);
    for (uint32_t i = 0; i < 5; i++)
        pool_give(&pool, 1, first - i * 10, 10);    /* they were taken upwards */
    for (n = 0; pool_take(&pool, 0, 10, &first) == POOL_TAKEN; n++)
        ;
    assert_int_equal(n, 5);                         /* the rest, now that it is alone */
    pool_deinit(&pool);
}

static void test_no_homes(void **state)
{
    uint32_t needs[3] = { 50, 50, 0 }, a, b;
    struct pool pool;

    (void)state;
    assert_int_equal(pool_init(&pool, 80, 3, needs), 0);
    assert_false(pool.homes);
    assert_int_equal(pool.active, 2);
    assert_int_equal(pool_take(&pool, 0, 50, &a), POOL_TAKEN);
    assert_int_equal(pool_take(&pool, 1, 50, &b), POOL_NO_ROOM);
    pool_give(&pool, 0, a, 50);
    assert_int_equal(pool_take(&pool, 1, 50, &b), POOL_TAKEN);
    pool_deinit(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random), cmocka_unit_test(test_share), cmocka_unit_test(test_no_homes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
