/* SPDX-License-Identifier: Apache-2.0 */
#include "src/tools/out_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static mode_t usual_mode(void)
{
    mode_t mask = umask(0);

    umask(mask);
    return 0666 & ~mask;
}

/* Beside the file that a link points to, not beside the link. */
static int open_beside(const char *path, mode_t mode, struct out_file *out)
{
    int fd;

    out->path = realpath(path, NULL);
    if (!out->path)
        out->path = strdup(path);
    if (!out->path || asprintf(&out->temporary, "%s.XXXXXX", out->path) < 0) {
        out->temporary = NULL;
        return -ENOMEM;
    }
    fd = mkstemp(out->temporary);
    if (fd < 0) {
        fd = -errno;
        free(out->temporary);
        out->temporary = NULL;
        return fd;
    }
    out->file = fdopen(fd, "wb");
    if (!out->file) {
        close(fd);
        return -ENOMEM;
    }
    return fchmod(fd, mode) < 0 ? -errno : 0;
}

int out_file_open(const char *path, struct out_file *ret_out, struct error *error)
{
    struct out_file out = OUT_FILE_NULL;
    struct stat st;
    bool there = stat(path, &st) == 0;
    int r;

    if (there && !S_ISREG(st.st_mode)) {
        out.file = fopen(path, "wb");
        r = out.file ? 0 : -errno;
    } else if (there && access(path, W_OK) < 0) {
        r = -errno;                     /* a rename would not ask */
    } else {
        r = open_beside(path, there ? st.st_mode & 0777 : usual_mode(), &out);
    }
    if (r < 0) {
        out_file_deinit(&out);
        return error_set(error, r, "cannot create %s: %s", path, strerror(-r));
    }
    *ret_out = out;
    return 0;
}

int out_file_commit(struct out_file *out, struct error *error)
{
    int r = fclose(out->file) != 0 ? -errno : 0;

    out->file = NULL;
    if (r == 0 && out->temporary && rename(out->temporary, out->path) < 0)
        r = -errno;
    if (r < 0)
        return error_set(error, r, "cannot write %s: %s", out->path ? out->path : "the output", strerror(-r));
    free(out->temporary);
    out->temporary = NULL;
    return 0;
}

void out_file_deinit(struct out_file *out)
{
    if (out->file)
        fclose(out->file);
    if (out->temporary)
        unlink(out->temporary);
    free(out->temporary);
    free(out->path);
    *out = (struct out_file)OUT_FILE_NULL;
}
