/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/numa/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void tree_init(struct tree *tree)
{
    strcpy(tree->root, "/tmp/tenon-tree-XXXXXX");
    assert_non_null(mkdtemp(tree->root));
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

void tree_deinit(struct tree *tree)
{
    assert_int_equal(nftw(tree->root, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

void tree_file(struct tree *tree, const char *path, const char *format, ...)
{
    char whole[PATH_MAX];
    va_list args;

    snprintf(whole, sizeof whole, "%s%s", tree->root, path);
    for (char *p = whole + strlen(tree->root) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        mkdir(whole, 0700);
        *p = '/';
    }
    FILE *f = fopen(whole, "w");
    assert_non_null(f);
    va_start(args, format);
    vfprintf(f, format, args);
    va_end(args);
    assert_int_equal(fclose(f), 0);
}
