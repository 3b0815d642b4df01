/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

bool direct_works(int fd)
{
    void *block = aligned_alloc(4096, 4096);
    char path[64];
    int direct;
    bool works;

    check(block);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    direct = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
    works = direct >= 0 && pread(direct, block, 4096, 0) > 0;
    if (direct >= 0)
        close(direct);
    free(block);
    return works;
}

bool locking_works(uint64_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool works;

    check(memory != MAP_FAILED);
    works = mlock(memory, bytes) == 0;
    munmap(memory, bytes);
    return works;
}

bool piece_is_right(const struct loader_piece *piece)
{
    for (uint32_t i = 0; i < piece->span.bytes; i++)
        if (piece->data[i] != fake_byte(piece->span.offset + i))
            return false;
    return true;
}

uint32_t count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    uint32_t n = 0;

    check(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static bool is_ours(const char *task)
{
    char path[64], name[32] = "";
    FILE *f;

    snprintf(path, sizeof(path), "/proc/self/task/%.16s/comm", task);
    f = fopen(path, "re");
    if (!f)
        return false;
    if (!fgets(name, sizeof(name), f))
        name[0] = 0;
    fclose(f);
    return strncmp(name, "tenon-", 6) == 0;
}

/* pthread_join() returns a moment before the thread leaves /proc; sanitizers have threads of their own. */
uint32_t threads_left(void)
{
    uint32_t n = 1;

    for (int i = 0; i < 1000 && n; i++) {
        DIR *dir = opendir("/proc/self/task");
        struct dirent *e;

        check(dir);
        for (n = 0; (e = readdir(dir));)
            n += e->d_name[0] != '.' && is_ours(e->d_name);
        closedir(dir);
        if (n)
            usleep(1000);
    }
    return n;
}
