/* SPDX-License-Identifier: Apache-2.0 */
#include "src/daemon/ini.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct ini ini_of(const char *name, const void *text, size_t size)
{
    return (struct ini){ .name = name, .cursor = cursor_of(text, size) };
}

static bool is_blank(uint8_t c) { return c == ' ' || c == '\t' || c == '\r'; }

static struct span trim(struct span s)
{
    while (s.size && is_blank(s.data[0])) {
        s.data++;
        s.size--;
    }
    while (s.size && is_blank(s.data[s.size - 1]))
        s.size--;
    return s;
}

/* The next line without its end; false at the end of the text. */
static bool take_line(struct ini *ini, struct span *ret_line)
{
    size_t left = cursor_left(&ini->cursor), n;
    const uint8_t *at = ini->cursor.data + ini->cursor.position, *end;

    if (!left)
        return false;
    end = memchr(at, '\n', left);
    n = end ? (size_t)(end - at) : left;
    cursor_take(&ini->cursor, n, ret_line);
    cursor_skip(&ini->cursor, end ? 1 : 0);
    ini->line++;
    *ret_line = trim(*ret_line);
    return true;
}

static bool copy(struct span s, char *to, size_t size)
{
    if (s.size >= size)
        return false;
    if (s.size)
        memcpy(to, s.data, s.size);
    to[s.size] = '\0';
    return true;
}

static struct span part(struct span s, size_t from, size_t to)
{
    return trim((struct span){ s.data + from, to - from });
}

static int take_section(struct ini *ini, struct span line, struct error *error)
{
    struct span name;
    size_t blank = 0;

    if (line.data[line.size - 1] != ']')
        return error_set(error, -EINVAL, "%s:%u: a section begins with [ and ends with ]", ini->name, ini->line);
    name = part(line, 1, line.size - 1);
    while (blank < name.size && !is_blank(name.data[blank]))
        blank++;
    if (!name.size || !copy((struct span){ name.data, blank }, ini->section, sizeof(ini->section)) ||
        !copy(part(name, blank, name.size), ini->argument, sizeof(ini->argument)))
        return error_set(error, -EINVAL, "%s:%u: a section has a name of at most %u bytes", ini->name, ini->line,
                         INI_WORD_MAX - 1);
    return 0;
}

static int take_key(struct ini *ini, struct span line, struct error *error)
{
    const uint8_t *equals = memchr(line.data, '=', line.size);
    size_t at;

    if (!equals)
        return error_set(error, -EINVAL, "%s:%u: neither [section] nor key = value nor # comment", ini->name,
                         ini->line);
    if (!ini->section[0])
        return error_set(error, -EINVAL, "%s:%u: a key before the first [section]", ini->name, ini->line);
    at = (size_t)(equals - line.data);
    if (!at || !copy(part(line, 0, at), ini->key, sizeof(ini->key)) || !ini->key[0])
        return error_set(error, -EINVAL, "%s:%u: a key has 1 to %u bytes", ini->name, ini->line, INI_WORD_MAX - 1);
    if (!copy(part(line, at + 1, line.size), ini->value, sizeof(ini->value)))
        return error_set(error, -EINVAL, "%s:%u: a value has at most %u bytes", ini->name, ini->line, INI_LINE_MAX - 1);
    return 0;
}

int ini_next(struct ini *ini, struct error *error)
{
    struct span line;

    while (take_line(ini, &line)) {
        int r;

        if (!line.size || line.data[0] == '#' || line.data[0] == ';')
            continue;
        if (memchr(line.data, '\0', line.size))
            return error_set(error, -EINVAL, "%s:%u: a zero byte", ini->name, ini->line);
        if (line.data[0] != '[')
            return take_key(ini, line, error);
        r = take_section(ini, line, error);
        if (r < 0)
            return r;
    }
    return INI_END;
}

static int read_all(int fd, const char *path, char **ret_text, size_t *ret_size, struct error *error)
{
    char *text = malloc(INI_FILE_MAX + 1);
    size_t size = 0;
    ssize_t n = 1;

    if (!text)
        return error_set(error, -ENOMEM, "%s: no memory", path);
    while (size <= INI_FILE_MAX && n > 0) {
        n = read(fd, text + size, INI_FILE_MAX + 1 - size);
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n > 0)
            size += (size_t)n;
    }
    if (n < 0 || size > INI_FILE_MAX) {
        int r = n < 0 ? -errno : -EFBIG;

        free(text);
        return r == -EFBIG ? error_set(error, r, "%s: more than %u bytes", path, INI_FILE_MAX)
                           : error_set(error, r, "%s: %s", path, strerror(-r));
    }
    *ret_text = text;
    *ret_size = size;
    return 0;
}

int ini_read_file(const char *path, char **ret_text, size_t *ret_size, struct error *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), r;
    struct stat st;

    if (fd < 0)
        return error_set(error, -errno, "%s: %s", path, strerror(errno));
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        r = error_set(error, -EINVAL, "%s: not an ordinary file", path);
    else
        r = read_all(fd, path, ret_text, ret_size, error);
    close(fd);
    return r;
}
