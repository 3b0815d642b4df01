/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/io/fake_source.h"

int make_file(uint64_t size)
{
    const char *dir = getenv("TENON_TEST_DIR");
    static uint8_t block[1u << 16];
    int fd = open(dir ? dir : ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    check(fd >= 0);
    for (uint64_t at = 0; at < size;) {
        size_t n = (size_t)min_u64(sizeof(block), size - at);

        for (size_t i = 0; i < n; i++)
            block[i] = fake_byte(at + i);
        check(write(fd, block, n) == (ssize_t)n);
        at += n;
    }
    return fd;
}

bool piece_is_right(const struct loader_piece *piece)
{
    for (uint32_t i = 0; i < piece->span.bytes; i++)
        if (piece->data[i] != fake_byte(piece->span.offset + i))
            return false;
    return true;
}

static uint32_t count_entries(const char *path)
{
    DIR *dir = opendir(path);
    uint32_t n = 0;

    check(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

uint32_t count_fds(void) { return count_entries("/proc/self/fd"); }
uint32_t count_threads(void) { return count_entries("/proc/self/task"); }
