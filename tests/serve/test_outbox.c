/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "src/serve/outbox.h"
#include "src/serve/user.h"

/* Takes up to @most bytes out and checks that they continue the count. */
static void take(struct outbox *o, struct chunks *pool, size_t most, uint8_t *expected)
{
    struct iovec parts[3];
    uint32_t n = outbox_parts(o, parts, 3);
    size_t taken = 0;

    for (uint32_t i = 0; i < n; i++)
        for (size_t k = 0; k < parts[i].iov_len && taken < most; k++, taken++)
            assert_int_equal(((uint8_t *)parts[i].iov_base)[k], (*expected)++);
    outbox_sent(o, pool, taken);
}

/* Pieces of any size in, pieces of any other size out: the same bytes in the same order. */
static void bytes_in_order(void **state)
{
    struct chunks pool = CHUNKS_NULL;
    struct outbox o = OUTBOX_NULL;
    uint8_t next = 0, expected = 0, piece[70000];
    uint64_t in = 0;
    uint32_t random = 12345;

    (void)state;
    for (int round = 0; round < 300; round++) {
        size_t size;

        random = random * 1664525 + 1013904223;
        size = random >> 8 & 1 ? (random >> 16) % 200 : (random >> 12) % sizeof(piece);
        for (size_t i = 0; i < size; i++)
            piece[i] = next++;
        assert_int_equal(outbox_put(&o, &pool, piece, size), 0);
        in += size;
        take(&o, &pool, random % 90000, &expected);
    }
    assert_true(in > 1000000);
    while (o.bytes)
        take(&o, &pool, SIZE_MAX, &expected);
    assert_int_equal(next, expected);
    assert_null(o.first);
    assert_int_equal(pool.live, 0);
    assert_true(pool.free_count <= CHUNKS_KEEP);
    chunks_deinit(&pool);
}

/* Bytes that a send points to stay where they are while more is appended. */
static void bytes_do_not_move(void **state)
{
    struct chunks pool = CHUNKS_NULL;
    struct outbox o = OUTBOX_NULL;
    struct iovec before, after;
    uint8_t piece[1000];

    (void)state;
    memset(piece, 'a', sizeof(piece));
    assert_int_equal(outbox_put(&o, &pool, piece, 10), 0);
    assert_int_equal(outbox_parts(&o, &before, 1), 1);
    for (int i = 0; i < 100; i++)
        assert_int_equal(outbox_put(&o, &pool, piece, sizeof(piece)), 0);
    assert_int_equal(outbox_parts(&o, &after, 1), 1);
    assert_ptr_equal(before.iov_base, after.iov_base);
    assert_true(after.iov_len > before.iov_len);
    outbox_deinit(&o, &pool);
    assert_int_equal(pool.live, 0);
    chunks_deinit(&pool);
}

static void accounts(void **state)
{
    struct limits limits = LIMITS_DEFAULT;
    struct users users = USERS_NULL;
    struct user *a, *b, *again;

    (void)state;
    limits.bytes_uid = 100;
    assert_int_equal(users_ref(&users, 1, &a), 0);
    assert_int_equal(users_ref(&users, 2, &b), 0);
    assert_int_equal(users_ref(&users, 1, &again), 0);
    assert_ptr_equal(a, again);
    assert_ptr_not_equal(a, b);
    assert_int_equal(user_charge_bytes(a, 60, &limits), 0);
    assert_int_equal(user_charge_bytes(a, 41, &limits), 1);
    assert_int_equal(user_charge_bytes(a, UINT64_MAX, &limits), 1);
    assert_int_equal(user_charge_bytes(b, 100, &limits), 0);
    assert_int_equal(user_charge_bytes(a, 40, &limits), 0);
    user_discharge_bytes(a, 100);
    user_discharge_bytes(b, 100);
    users_unref(&users, again);
    users_unref(&users, a);
    assert_ptr_equal(users.first, b);
    users_unref(&users, b);
    assert_null(users.first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_in_order), cmocka_unit_test(bytes_do_not_move), cmocka_unit_test(accounts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
