/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/harness/guard.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct guard guard_copy(const void *data, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t body = (size_t)align_up(size, page);
    struct guard g = { .size = size, .map_size = body + page };
    uint8_t *at;

    g.map = mmap(NULL, g.map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(g.map != MAP_FAILED);
    at = (uint8_t *)g.map + body - size;
    if (size)
        memcpy(at, data, size);
    if (body)
        check(!mprotect(g.map, body, PROT_READ));
    check(!mprotect((uint8_t *)g.map + body, page, PROT_NONE));
    g.data = at;
    return g;
}

void guard_free(struct guard *guard)
{
    if (guard->map)
        munmap(guard->map, guard->map_size);
    *guard = (struct guard){ .data = NULL };
}
