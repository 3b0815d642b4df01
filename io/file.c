/* SPDX-License-Identifier: Apache-2.0 */
#include "io/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/extent.h"

#define ALIGN_DEFAULT 4096u

/* 0 where the kernel says that this file cannot be read directly; ALIGN_DEFAULT where it cannot say. */
static uint32_t direct_align(int fd)
{
#ifdef STATX_DIOALIGN
    struct statx x = { 0 };
    uint32_t align;

    if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &x) || !(x.stx_mask & STATX_DIOALIGN))
        return ALIGN_DEFAULT;
    align = x.stx_dio_mem_align > x.stx_dio_offset_align ? x.stx_dio_mem_align : x.stx_dio_offset_align;
    if (!x.stx_dio_offset_align)
        return 0;
    return align < ALIGN_DEFAULT ? ALIGN_DEFAULT : align;
#else
    (void)fd;
    return ALIGN_DEFAULT;
#endif
}

static bool same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Any reason not to get one leads to buffered reads: no /proc, a descriptor passed by somebody with more rights. */
static int open_direct(const struct load_file *f, char *note, size_t note_size)
{
    struct stat st;
    char path[64];
    int fd;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", f->fd);
    fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        snprintf(note, note_size, "buffered reads: no direct I/O here (%s)", strerror(errno));
        return -1;
    }
    if (fstat(fd, &st) || !same_inode(&st, &f->before)) {
        snprintf(note, note_size, "buffered reads: the file could not be reopened");
        close(fd);
        return -1;
    }
    return fd;
}

int load_file_open(int fd, struct load_file *ret_file, struct error *error)
{
    struct load_file f = { .fd = fd, .direct_fd = -1 };
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fstat(fd, &f.before))
        return error_set(error, -errno, "the model file cannot be looked at: %s", strerror(errno));
    if (!S_ISREG(f.before.st_mode))
        return error_set(error, -EINVAL, "the model is not a regular file");
    if ((flags & O_ACCMODE) == O_WRONLY || (flags & O_PATH))
        return error_set(error, -EBADF, "the model file is not open for reading");
    f.size = (uint64_t)f.before.st_size;
    f.align = direct_align(fd);
    if (f.align == 0 || f.align > EXTENT_ALIGN_MAX || (f.align & (f.align - 1))) {
        snprintf(f.note, sizeof(f.note), "buffered reads: this file system has no direct I/O for the file");
        f.align = ALIGN_DEFAULT;
    } else {
        f.direct_fd = open_direct(&f, f.note, sizeof(f.note));
    }
    *ret_file = f;
    return 0;
}

void load_file_close(struct load_file *file)
{
    if (file->direct_fd >= 0)
        close(file->direct_fd);
    *file = (struct load_file)LOAD_FILE_NULL;
}

static bool same_time(struct timespec a, struct timespec b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

int load_file_same(const struct load_file *file, struct error *error)
{
    const struct stat *a = &file->before;
    struct stat b;

    if (fstat(file->fd, &b))
        return error_set(error, -errno, "the model file cannot be looked at any more: %s", strerror(errno));
    if (same_inode(a, &b) && a->st_size == b.st_size && same_time(a->st_mtim, b.st_mtim) &&
        same_time(a->st_ctim, b.st_ctim))
        return 0;
    return error_set(error, -ESTALE,
                     "the file changed while loading (%lld bytes at the start, %lld now): load it again once "
                     "nobody writes to it",
                     (long long)a->st_size, (long long)b.st_size);
}

bool load_file_shrank(const struct load_file *file)
{
    struct stat now;

    return fstat(file->fd, &now) == 0 && now.st_size < file->before.st_size;
}

void load_file_forget(const struct load_file *file, uint64_t offset, uint64_t bytes)
{
    (void)posix_fadvise(file->fd, (off_t)offset, (off_t)bytes, POSIX_FADV_DONTNEED);
}
