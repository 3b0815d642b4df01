/* SPDX-License-Identifier: Apache-2.0 */
#include "numa/text.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int text_open(const char *root, const char *path, int flags)
{
    char whole[PATH_MAX];
    int n = snprintf(whole, sizeof whole, "%s%s", root, path);

    if (n < 0 || (size_t)n >= sizeof whole)
        return -ENAMETOOLONG;
    /* O_NONBLOCK: a FIFO in the place of a file must not hang us. */
    int fd = open(whole, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd < 0 ? -errno : fd;
}

int text_read(const char *root, const char *path, char *text, size_t capacity, size_t *ret_size)
{
    check(capacity > 0);

    int fd = text_open(root, path, O_RDONLY);
    if (fd < 0)
        return fd;
    size_t size = 0;
    int r = 0;
    /* One byte more than fits tells "exactly full" from "too long"; procfs hands its text out in pieces. */
    for (;;) {
        char extra;
        bool full = size == capacity - 1;
        ssize_t n = read(fd, full ? &extra : text + size, full ? 1 : capacity - 1 - size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            r = -errno;
        else if (n > 0 && full)
            r = -EFBIG;
        if (n <= 0 || full)
            break;
        size += (size_t)n;
    }
    close(fd);
    if (r)
        return r;
    if (memchr(text, '\0', size))
        return -EILSEQ;
    text[size] = '\0';
    *ret_size = size;
    return 0;
}

bool text_u64(const char **text, uint64_t *ret)
{
    const char *p = *text;
    uint64_t value = 0;

    while (*p == ' ' || *p == '\t')
        p++;
    if (*p < '0' || *p > '9')
        return false;
    for (; *p >= '0' && *p <= '9'; p++) {
        if (ckd_mul(&value, value, UINT64_C(10)) || ckd_add(&value, value, (uint64_t)(*p - '0')))
            return false;
    }
    *text = p;
    *ret = value;
    return true;
}

int text_read_u64(const char *root, const char *path, uint64_t *ret)
{
    char text[64];
    const char *p = text;
    size_t size;
    uint64_t value;
    int r = text_read(root, path, text, sizeof text, &size);

    if (r)
        return r == -EFBIG || r == -EILSEQ ? -EINVAL : r;
    if (!text_u64(&p, &value) || (*p != '\0' && strcmp(p, "\n") != 0))
        return -EINVAL;
    *ret = value;
    return 0;
}

int text_write_u64(const char *root, const char *path, uint64_t value)
{
    char text[32];
    int size = snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    int fd = text_open(root, path, O_WRONLY | O_TRUNC);

    if (fd < 0)
        return fd;
    ssize_t n = write(fd, text, (size_t)size);
    int r = n < 0 ? -errno : n == size ? 0 : -EIO;
    close(fd);
    return r;
}

char *text_next(char **text, char separator)
{
    char *begin = *text;

    if (!begin)
        return NULL;
    char *end = strchr(begin, separator);
    if (end) {
        *end = '\0';
        *text = end + 1;
        return begin;
    }
    *text = NULL;
    return *begin ? begin : NULL;
}
