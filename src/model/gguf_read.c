/* SPDX-License-Identifier: Apache-2.0 */
/* The header of an open file, read with growing windows. */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/model/gguf.h"
#include "src/model/gguf_internal.h"

#define WINDOW_FIRST (UINT64_C(1) << 20)

/*
 * The window is a mapping, so that growing moves no bytes and the part behind the header can be given back.  Its size
 * and the places read from are multiples of 1 MiB, so a descriptor opened with O_DIRECT works too.
 */
struct window {
    uint8_t *data;
    size_t capacity, size;
};

static int window_grow(struct window *w, struct error *error)
{
    size_t capacity = w->capacity ? 2 * w->capacity : WINDOW_FIRST;
    void *data = w->capacity
                     ? mremap(w->data, w->capacity, capacity, MREMAP_MAYMOVE)
                     : mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (data == MAP_FAILED)
        return error_set(error, -ENOMEM, "no memory for a window of %zu bytes on the file's header", capacity);
    w->data = data;
    w->capacity = capacity;
    return 0;
}

/* Fills the window, or as much of it as the file has. */
static int window_fill(struct window *w, int fd, uint64_t file_size, struct error *error)
{
    size_t wanted = (size_t)min_u64(w->capacity, file_size);

    while (w->size < wanted) {
        ssize_t n = pread(fd, w->data + w->size, w->capacity - w->size, (off_t)w->size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set(error, -errno, "cannot read the header at byte %zu: %s", w->size, strerror(errno));
        if (!n)
            return error_set(error, -EIO, "the file ended at byte %zu, but had %" PRIu64 " bytes when it was opened: "
                             "it is being changed", w->size, file_size);
        w->size += (size_t)n;
    }
    if (w->size > wanted)           /* it grew meanwhile: only what fstat() saw counts */
        w->size = wanted;
    return 0;
}

static int file_size_of(int fd, uint64_t *ret_size, struct error *error)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return error_set(error, -errno, "cannot examine the file: %s", strerror(errno));
    if (S_ISDIR(st.st_mode))
        return error_set(error, -EISDIR, "it is a directory; name the .gguf file in it");
    if (!S_ISREG(st.st_mode))
        return error_set(error, -EINVAL, "it is not a regular file (a pipe, socket or device); copy it to a disk");
    if (st.st_size <= 0)
        return error_set(error, -EINVAL, "the file is empty; copy or download it again");
    *ret_size = (uint64_t)st.st_size;
    return 0;
}

/* Gives back the pages behind the header; what the directory points to stays where it is. */
static void window_trim(struct window *w, const struct gguf *gguf)
{
    size_t keep = (size_t)align_up(gguf->header_bytes, (uint64_t)sysconf(_SC_PAGESIZE));

    if (keep < w->capacity && !munmap(w->data + keep, w->capacity - keep))
        w->capacity = keep;
    /* Nobody may write into what was checked once. */
    (void)mprotect(w->data, w->capacity, PROT_READ);
}

int gguf_read(int fd, struct gguf **ret_gguf, struct error *error)
{
    struct window w = { .data = NULL };
    struct gguf *gguf = NULL;
    uint64_t file_size = 0;
    int r = file_size_of(fd, &file_size, error);

    if (r)
        return r;
    do {
        r = window_grow(&w, error);
        if (!r)
            r = window_fill(&w, fd, file_size, error);
        if (!r)
            r = gguf_parse(w.data, w.size, file_size, &gguf, error);
    } while (r == GGUF_E_MORE && w.capacity < GGUF_HEADER_MAX);
    check(r != GGUF_E_MORE);        /* the parser says so only while the window is short of the limit */
    if (r) {
        if (w.capacity)
            munmap(w.data, w.capacity);
        return r;
    }
    window_trim(&w, gguf);
    gguf->owned_bytes = w.capacity;
    *ret_gguf = gguf;
    return 0;
}

int gguf_open(const char *path, int *ret_fd, uint64_t *ret_bytes, struct error *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);     /* a pipe is refused, not waited for */
    int r;

    if (fd < 0)
        return error_set(error, -errno, "cannot open %s: %s", path, strerror(errno));
    r = file_size_of(fd, ret_bytes, error);
    if (r) {
        error_prefix(error, "%s", path);
        close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

int gguf_read_file(const char *path, struct gguf **ret_gguf, struct error *error)
{
    uint64_t bytes;
    int fd, r = gguf_open(path, &fd, &bytes, error);

    if (r)
        return r;
    r = gguf_read(fd, ret_gguf, error);
    if (r)
        error_prefix(error, "%s", path);
    close(fd);
    return r;
}
