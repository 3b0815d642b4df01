/* SPDX-License-Identifier: Apache-2.0 */
/* Context from the memory that is left (case I3), and the pool of KV blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "src/engine/kv_pool.h"
#include "src/engine/memory.h"

static const struct hparams small = { .n_layer = 2, .n_kv_head = 2, .head_dim = 64, .context_trained = 1u << 20 };

static uint64_t block_bytes(void)
{
    return kv_bytes_per_block(&small, KV_F16);
}

/* The same memory holds nearly twice as many positions in 8 bits: per position and head 2 * 64 + 8 bytes, not 256. */
static void q8_takes_half(void **state)
{
    struct memory_request q = { .hparams = &small, .sequences = 1, .kv = KV_Q8, .context = 64 * 100 };
    struct memory_choice c;
    struct error e = ERROR_NULL;
    const uint64_t room = 100 * UINT64_C(2) * 2 * 64 * (2 * 64 + 8);

    (void)state;
    assert_int_equal(memory_decide(&q, room, &c, &e), 0);
    assert_int_equal(c.blocks, 100);
    assert_int_equal(memory_decide(&q, room - 1, &c, &e), -ENOMEM);
    q.kv = KV_F16;
    assert_int_equal(memory_decide(&q, room, &c, &e), -ENOMEM);
}

static void default_is_never_the_trained_length(void **s)
{
    struct memory_request q = { .hparams = &small, .sequences = 8 };
    struct memory_choice c;

    (void)s;
    assert_int_equal(memory_decide(&q, UINT64_MAX / 2, &c, NULL), 0);
    assert_int_equal(c.context, MEMORY_CONTEXT_DEFAULT);
    assert_int_equal(c.blocks, 8 * MEMORY_CONTEXT_DEFAULT / 64);
}

static void less_room_gives_less_context(void **s)
{
    struct memory_request q = { .hparams = &small, .sequences = 4 };
    struct memory_choice c;

    (void)s;
    assert_int_equal(memory_decide(&q, 4 * 10 * block_bytes() + 5, &c, NULL), 0);
    assert_int_equal(c.context, 640);
    assert_non_null(strstr(c.note, "640"));
    assert_true(c.blocks * block_bytes() <= 4 * 10 * block_bytes());
}

static void too_little_is_refused_with_numbers(void **s)
{
    struct memory_request q = { .hparams = &small, .sequences = 4 };
    struct memory_choice c;
    struct error e = ERROR_NULL;

    (void)s;
    assert_int_equal(memory_decide(&q, block_bytes(), &c, &e), -ENOMEM);
    assert_non_null(strstr(e.text, "128 positions"));
    q.context = 4096;
    assert_int_equal(memory_decide(&q, 100 * block_bytes(), &c, &e), -ENOMEM);
    assert_non_null(strstr(e.text, "4096"));
    q.context = 1600;
    assert_int_equal(memory_decide(&q, 100 * block_bytes(), &c, &e), 0);
    q.kv_bytes = 99 * block_bytes();
    assert_int_equal(memory_decide(&q, 100 * block_bytes(), &c, &e), -ENOMEM);
}

static void beyond_training_is_told(void **s)
{
    struct hparams h = small;
    struct memory_request q = { .hparams = &h, .sequences = 1, .context = 4096 };
    struct memory_choice c;

    (void)s;
    h.context_trained = 2048;
    assert_int_equal(memory_decide(&q, UINT64_MAX / 2, &c, NULL), 0);
    assert_non_null(strstr(c.note, "2048"));
}

#define MB(n) ((uint64_t)(n) << 20)

/* Case K3: a node that would run out half way is told before, with what it needs and has. */
static void a_node_that_is_short_is_named(void **s)
{
    struct memory_node nodes[] = {
        { .os_node = 0, .weights = MB(100), .kv = MB(50), .scratch = MB(6), .huge_free = MB(150),
          .plain_free = MB(20) },
        { .os_node = 3, .weights = MB(100), .kv = MB(50), .huge_free = MB(60), .plain_free = MB(80) },
    };
    struct error e = ERROR_NULL;

    (void)s;
    assert_int_equal(memory_judge(nodes, 2, ARENA_LADDER, &e), -ENOMEM);
    assert_non_null(strstr(e.text, "1 of 2 nodes"));
    assert_non_null(strstr(e.text, "node 3 needs 150 MB (weights 100, KV 50, scratch 0), free are 60 MB in huge"));
    assert_null(strstr(e.text, "node 0"));
    nodes[1].plain_free = MB(90);
    assert_int_equal(memory_judge(nodes, 2, ARENA_LADDER, &e), 0);
    assert_int_equal(memory_judge(nodes, 2, ARENA_FROM_2M, &e), 0);
    assert_int_equal(memory_judge(nodes, 2, ARENA_FROM_THP, &e), -ENOMEM);     /* as if there were no huge pages */
    assert_int_equal(memory_judge(nodes, 2, ARENA_FROM_4K, &e), -ENOMEM);
    assert_int_equal(memory_judge(nodes, 2, ARENA_REQUIRE_HUGE, &e), -ENOMEM);
    nodes[0].huge_free = MB(156);
    nodes[1].huge_free = MB(149);
    assert_int_equal(memory_judge(nodes, 2, ARENA_REQUIRE_HUGE, &e), -ENOMEM);
    nodes[1].huge_free = MB(150);
    assert_int_equal(memory_judge(nodes, 2, ARENA_REQUIRE_HUGE, &e), 0);
}

/* However many are short and however long the numbers: one line that still says what to do. */
static void a_long_table_is_cut(void **s)
{
    struct memory_node nodes[TOPOLOGY_NODES_MAX];
    struct error e = ERROR_NULL;

    (void)s;
    for (uint32_t i = 0; i < TOPOLOGY_NODES_MAX; i++)
        nodes[i] = (struct memory_node){ .os_node = UINT32_MAX, .weights = UINT64_MAX / 3, .kv = UINT64_MAX / 3 };
    assert_int_equal(memory_judge(nodes, TOPOLOGY_NODES_MAX, ARENA_LADDER, &e), -ENOMEM);
    assert_non_null(strstr(e.text, "and more"));
    assert_non_null(strstr(e.text, "smaller model"));
}

static void pool_promises_only_what_it_has(void **s)
{
    uint32_t nodes[] = { 0, 0 }, firsts[] = { 0, 2 };
    static uint8_t memory[8 * 2 * 2 * 64 * 64 * 4];
    struct arena arena = { .base = memory, .bytes = sizeof(memory) };
    struct arena *arenas[] = { &arena };
    struct kv kv = { .n_layer = 2, .n_kv_head = 2, .head_dim = 64, .blocks = 8, .piece_bytes = 64 * 64 * 4,
                     .node_count = 1, .arenas = arenas, .head_first = firsts, .head_node = nodes };
    struct kv_pool pool = KV_POOL_NULL;
    uint32_t taken[8];

    (void)s;
    memset(memory, 0xaa, sizeof(memory));
    assert_int_equal(kv_pool_init(&pool, &kv), 0);
    assert_int_equal(kv_pool_reserve(&pool, 9), 1);
    assert_int_equal(kv_pool_reserve(&pool, 5), 0);
    assert_int_equal(kv_pool_reserve(&pool, 4), 1);
    assert_int_equal(kv_pool_reserve(&pool, 3), 0);
    for (uint32_t i = 0; i < 8; i++) {
        const uint8_t *piece;

        taken[i] = kv_pool_take(&pool);
        piece = (const uint8_t *)kv_piece(&kv, taken[i], 1, 1);
        assert_true(piece >= memory && piece + kv.piece_bytes <= memory + sizeof(memory));
        for (uint32_t k = 0; k < kv.piece_bytes; k++)
            assert_int_equal(piece[k], 0);      /* nothing of the last owner */
        for (uint32_t j = 0; j < i; j++)
            assert_int_not_equal(taken[i], taken[j]);
    }
    assert_int_equal(kv_pool_used(&pool), 8);
    kv_pool_give(&pool, taken, 8, 0);
    assert_int_equal(kv_pool_used(&pool), 0);
    kv_pool_deinit(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(q8_takes_half),
        cmocka_unit_test(default_is_never_the_trained_length), cmocka_unit_test(less_room_gives_less_context),
        cmocka_unit_test(too_little_is_refused_with_numbers), cmocka_unit_test(beyond_training_is_told),
        cmocka_unit_test(a_node_that_is_short_is_named), cmocka_unit_test(a_long_table_is_cut),
        cmocka_unit_test(pool_promises_only_what_it_has),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
