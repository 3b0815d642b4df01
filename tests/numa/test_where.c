/* SPDX-License-Identifier: Apache-2.0 */
#include "numa/where.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "numa/pages.h"
#include "tests/numa/tree.h"

static void test_numa_maps(void **state)
{
    (void)state;
    struct tree tree;
    uint64_t bytes[3] = { 5, 0, 0 };
    void *begin = (void *)0x7f0000000000;
    char endless[20000];

    memset(endless, 'N', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    tree_init(&tree);
    tree_file(&tree, "/proc/self/numa_maps",
              "7effffe00000 default anon=1 dirty=1 N0=1 kernelpagesize_kB=4\n"
              "7f0000000000 bind:1 file=/memfd:x\\040N1=9 huge dirty=3 N0=1 N2=2 kernelpagesize_kB=2048\n"
              "7f0000600000 default anon=7 N0=7 N9=3 N1=99999999999999999999999 N1= Nx=1 N=3 kernelpagesize_kB=4\n"
              "7f0000700000 %s\n"
              "7f0000800000 N1=4\n"
              "7f0000900000 N1=1 kernelpagesize_kB=99999999999\n"
              "7f0000a00000 default N0=1 kernelpagesize_kB=4\n"
              "zzz N0=1\n\n 7f0000000000 N0=1\n7f00000000000000000 N0=1\n7f0000000000 N2=18446744073709551615",
              endless);
    assert_int_equal(where_numa_maps(tree.root, begin, 0xa00000, bytes, 3), 0);
    assert_int_equal(bytes[0], 5 + PAGE_2M_BYTES + 7 * 4096);
    assert_int_equal(bytes[1], 4 * 4096);
    assert_int_equal(bytes[2], 2 * PAGE_2M_BYTES);
    tree_deinit(&tree);
    assert_int_equal(where_numa_maps("/nowhere", begin, 1, bytes, 3), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_numa_maps) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
