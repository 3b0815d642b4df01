/* SPDX-License-Identifier: Apache-2.0 */
#include "src/tools/tool.h"

#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/utf8.h"

int tool_fail(const struct error *error)
{
    fprintf(stderr, "tenon: %s\n", error->text[0] ? error->text : strerror(-error->code));
    switch (-error->code) {
    case EACCES:
    case EPERM: return EXIT_PERMISSION;
    case ENOMEM: return EXIT_OS;
    case ECONNREFUSED:
    case ENOTCONN:
    case EBUSY: return EXIT_UNAVAILABLE;
    default: return EXIT_RUN_TIME;
    }
}

int tool_usage(const char *verb, const char *format, ...)
{
    va_list args;

    fprintf(stderr, "tenon %s: ", verb);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "; see tenon %s --help\n", verb);
    return EXIT_USAGE;
}

bool tool_u64(const char *text, uint64_t *ret)
{
    char *end;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *ret = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0';
}

bool tool_u32(const char *text, uint32_t minimum, uint32_t maximum, uint32_t *ret)
{
    uint64_t v;

    if (!tool_u64(text, &v) || v < minimum || v > maximum)
        return false;
    *ret = (uint32_t)v;
    return true;
}

bool tool_f32(const char *text, float *ret)
{
    char *end;

    errno = 0;
    *ret = strtof(text, &end);
    return end != text && *end == '\0' && isfinite(*ret);
}

bool tool_is_model_id(const char *model)
{
    size_t n = model ? strlen(model) : 0;

    if (!model)
        return true;
    return !strchr(model, '/') && !(n > 5 && strcmp(model + n - 5, ".gguf") == 0) && access(model, F_OK) != 0;
}

static int read_all(int fd, size_t limit, struct buffer *content)
{
    uint8_t chunk[65536];
    ssize_t n;

    while ((n = read(fd, chunk, sizeof(chunk))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (content->size + (size_t)n > limit)
            return -EFBIG;
        buffer_put(content, chunk, (size_t)n);
        if (!buffer_ok(content))
            return -ENOMEM;
    }
    return 0;
}

int tool_read_file(const char *path, size_t limit, struct buffer *ret_content, struct error *error)
{
    struct buffer content = BUFFER_NULL;
    int fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC), r;

    if (fd < 0)
        return error_set(error, -errno, "cannot open %s: %s", path, strerror(errno));
    r = read_all(fd, limit, &content);
    if (fd != STDIN_FILENO)
        close(fd);
    if (r < 0) {
        buffer_deinit(&content);
        return error_set(error, r, "cannot read %s (at most %zu bytes): %s", path, limit, strerror(-r));
    }
    *ret_content = content;
    return 0;
}

static int cannot_write(const char *why)
{
    fprintf(stderr, "tenon: cannot write the output: %s\n", why);
    clearerr(stdout);                   /* said once */
    return EXIT_RUN_TIME;
}

int tool_put(const struct buffer *content)
{
    if (!buffer_ok(content))
        return cannot_write("no memory");
    if (fwrite(content->data, 1, content->size, stdout) != content->size || fflush(stdout) != 0)
        return cannot_write(strerror(errno));
    return EXIT_OK;
}

int tool_finish(int code)
{
    bool failed = ferror(stdout);       /* errno of that time is gone */

    if (fflush(stdout) != 0)
        failed = true;
    else
        errno = EIO;
    return failed && code == EXIT_OK ? cannot_write(strerror(errno)) : code;
}

const char *tool_shown(char room[TOOL_SHOWN_MAX], const char *text)
{
    snprintf(room, TOOL_SHOWN_MAX, "%s", text ? text : "");
    utf8_clean(room, strlen(room));
    return room;
}
