/* SPDX-License-Identifier: Apache-2.0 */
#include "numa/where.h"

#include <fcntl.h>
#include <limits.h>
#include <numaif.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "numa/text.h"

#define QUERY_PAGES 1024
#define LINE_CHARS_MAX 8192

int where_query(const void *begin, uint64_t bytes, uint64_t page_bytes, uint64_t *ret_bytes, uint32_t n)
{
    void *pages[QUERY_PAGES];
    int status[QUERY_PAGES];

    for (uint64_t offset = 0; offset < bytes;) {
        unsigned long count = 0;
        for (; count < QUERY_PAGES && offset < bytes; count++, offset += page_bytes)
            pages[count] = (uint8_t *)begin + offset;
        if (move_pages(0, count, pages, NULL, status, 0) < 0)
            return -errno;
        for (unsigned long i = 0; i < count; i++) {
            if (status[i] >= 0 && (uint32_t)status[i] < n)
                ret_bytes[status[i]] += page_bytes;
        }
    }
    return 0;
}

static bool hex_u64(const char *text, uint64_t *ret)
{
    uint64_t value = 0;
    size_t digits = 0;

    for (; text[digits] && text[digits] != ' '; digits++) {
        char c = text[digits];
        if (digits == 16 || !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
        value = value << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    *ret = value;
    return digits > 0;
}

/* "7f0000000000 bind:1 file=/memfd:x huge dirty=3 N0=1 N1=2 kernelpagesize_kB=2048": pages by node, page size last. */
static void parse_line(char *line, uint64_t begin, uint64_t end, uint64_t *bytes, uint32_t n)
{
    uint64_t address, page_kib = 4;
    char *rest = line;

    if (!hex_u64(line, &address) || address < begin || address >= end)
        return;
    const char *kernelpagesize = strstr(line, " kernelpagesize_kB=");
    if (kernelpagesize) {
        kernelpagesize += strlen(" kernelpagesize_kB=");
        if (!text_u64(&kernelpagesize, &page_kib) || page_kib > (UINT64_C(1) << 30))
            return;
    }
    for (char *word; (word = text_next(&rest, ' '));) {
        uint64_t node, pages, size;
        const char *p = word + 1;
        if (word[0] != 'N' || !text_u64(&p, &node) || *p++ != '=' || !text_u64(&p, &pages) || node >= n)
            continue;
        if (!ckd_mul(&size, pages, page_kib * 1024) && !ckd_add(&size, size, bytes[node]))
            bytes[node] = size;
    }
}

int where_numa_maps(const char *root, const void *begin, uint64_t bytes, uint64_t *ret_bytes, uint32_t n)
{
    char path[PATH_MAX], line[LINE_CHARS_MAX];
    int size = snprintf(path, sizeof path, "%s/proc/self/numa_maps", root);

    if (size < 0 || (size_t)size >= sizeof path)
        return -ENAMETOOLONG;
    FILE *f = fopen(path, "re");
    if (!f)
        return -errno;
    bool whole = true;
    while (fgets(line, sizeof line, f)) {
        char *newline = strchr(line, '\n');
        /* A line that does not fit is left out: its tail must not be taken for a line. */
        if (whole && newline) {
            *newline = '\0';
            parse_line(line, (uintptr_t)begin, (uintptr_t)begin + bytes, ret_bytes, n);
        }
        whole = newline != NULL;
    }
    int r = ferror(f) ? -EIO : 0;
    fclose(f);
    return r;
}
