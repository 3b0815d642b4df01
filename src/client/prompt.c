/* SPDX-License-Identifier: Apache-2.0 */
#include "src/client/prompt.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert(TENON_TRUSTED_TEXT == (int)WIRE_SEGMENT_KIND_TRUSTED_TEXT, "kinds are the wire's");
_Static_assert(TENON_UNTRUSTED_TEXT == (int)WIRE_SEGMENT_KIND_UNTRUSTED_TEXT, "kinds are the wire's");
_Static_assert(TENON_TOKEN_IDS == (int)WIRE_SEGMENT_KIND_TOKEN_IDS, "kinds are the wire's");

/* A sealed memfd with @text, or -errno. */
static int memfd_of(struct span text)
{
    int fd = memfd_create("tenon-prompt", MFD_CLOEXEC | MFD_ALLOW_SEALING), e;
    size_t done = 0;

    if (fd < 0)
        return -errno;
    while (done < text.size) {
        ssize_t n = write(fd, text.data + done, text.size - done);

        if (n < 0 && errno != EINTR)
            goto failed;
        done += n > 0 ? (size_t)n : 0;
    }
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) == 0)
        return fd;
failed:
    e = errno;
    close(fd);
    return -e;
}

static struct wire_segment *longest_text(struct prompt *prompt)
{
    struct wire_segment *best = NULL;

    for (uint32_t i = 0; i < prompt->list.count; i++) {
        struct wire_segment *s = &prompt->items[i];

        if (s->kind == WIRE_SEGMENT_KIND_UNTRUSTED_TEXT && (!best || s->data.size > best->data.size))
            best = s;
    }
    return best;
}

/* Moves the longest untrusted texts into memfds until the rest fits into a frame. */
static int move_out(struct prompt *prompt, const struct tenon *tenon, uint64_t total, struct tenon_error *error)
{
    uint32_t limit = tenon->server.max_prompt_bytes;

    while (total > limit) {
        struct wire_segment *s = longest_text(prompt);
        int fd;

        if (!(tenon->server.capabilities & WIRE_CAP_PROMPT_MEMFD) || prompt->fd_count == WIRE_LIMIT_FDS || !s ||
            s->data.size > WIRE_LIMIT_PROMPT_MEMFD)
            return tenon_error_set(error, TENON_E_LIMIT, "prompt of %llu bytes; the server takes %u in one request",
                                   (unsigned long long)total, limit);
        fd = memfd_of(s->data);
        if (fd < 0)
            return tenon_error_set(error, TENON_E_SYSTEM, "memfd for the prompt: %s", strerror(-fd));
        total -= s->data.size;
        s->kind = WIRE_SEGMENT_KIND_TEXT_MEMFD;
        s->fd = (uint32_t)prompt->fd_count;
        s->data = span_of(NULL, 0);
        prompt->fds[prompt->fd_count++] = fd;
    }
    return 0;
}

int prompt_init(struct prompt *prompt, const struct tenon *tenon, const struct tenon_segment *segments, size_t count,
                struct tenon_error *error)
{
    uint64_t total = 0;

    *prompt = (struct prompt)PROMPT_NULL;
    if (count > WIRE_LIMIT_SEGMENTS)
        return tenon_error_set(error, TENON_E_LIMIT, "%zu segments, at most %u", count, WIRE_LIMIT_SEGMENTS);
    prompt->items = calloc(count ? count : 1, sizeof(prompt->items[0]));
    if (!prompt->items)
        return tenon_error_set(error, TENON_E_SYSTEM, "no memory for %zu segments", count);
    for (size_t i = 0; i < count; i++) {
        const struct tenon_segment *s = &segments[i];

        if (s->kind < TENON_TRUSTED_TEXT || s->kind > TENON_TOKEN_IDS || (s->size && !s->data))
            return tenon_error_set(error, TENON_E_ARGUMENT, "segment %zu: kind %d, size %zu", i, (int)s->kind, s->size);
        if (s->kind == TENON_TOKEN_IDS && s->size % 4)
            return tenon_error_set(error, TENON_E_ARGUMENT, "segment %zu: %zu bytes are no uint32_t ids", i, s->size);
        prompt->items[i] = (struct wire_segment){ .kind = s->kind, .data = span_of(s->data, s->size) };
        if (ckd_add(&total, total, s->size))
            return tenon_error_set(error, TENON_E_ARGUMENT, "segment %zu: size %zu", i, s->size);
    }
    prompt->list = (struct wire_list){ .count = (uint32_t)count, .items = prompt->items };
    return move_out(prompt, tenon, total, error);
}

void prompt_deinit(struct prompt *prompt)
{
    for (size_t i = 0; i < prompt->fd_count; i++)
        close(prompt->fds[i]);
    free(prompt->items);
    *prompt = (struct prompt)PROMPT_NULL;
}
