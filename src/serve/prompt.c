/* SPDX-License-Identifier: Apache-2.0 */
#include "src/serve/prompt.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEALS_ASKED (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* A memfd is taken only when nobody can change it any more, and read with pread: no mapping that could fault. */
static int memfd_size(const struct prompt *p, uint32_t index, uint64_t *ret_size, struct refusal *refusal)
{
    struct stat st;
    int seals;

    if (index >= p->fd_count)
        return refuse(refusal, WIRE_E_INVALID, index, "a segment names descriptor %u; the frame brought %u", index,
                      p->fd_count);
    seals = fcntl(p->fds[index], F_GET_SEALS);
    if (seals < 0 || fstat(p->fds[index], &st) < 0 || !S_ISREG(st.st_mode))
        return refuse(refusal, WIRE_E_INVALID, index, "descriptor %u is no memfd that can be sealed", index);
    if ((seals & SEALS_ASKED) != SEALS_ASKED)
        return refuse(refusal, WIRE_E_INVALID, index, "the memfd %u lacks a seal: SHRINK, GROW and WRITE are asked for",
                      index);
    if (st.st_size > WIRE_LIMIT_PROMPT_MEMFD)
        return refuse(refusal, WIRE_E_LIMIT, WIRE_LIMIT_PROMPT_MEMFD, "a prompt of %lld bytes in a memfd",
                      (long long)st.st_size);
    *ret_size = (uint64_t)st.st_size;
    return 0;
}

int prompt_measure(const struct prompt *p, uint64_t *ret_text_bytes, bool *ret_memfd, struct refusal *refusal)
{
    uint64_t bytes = 0;
    bool memfd = false;

    for (uint32_t i = 0; i < p->segments.count; i++) {
        struct wire_segment s = wire_segment_at(&p->segments, i);
        uint64_t size = s.data.size;
        int r = 0;

        if (s.kind == WIRE_SEGMENT_KIND_TEXT_MEMFD) {
            memfd = true;
            r = memfd_size(p, s.fd, &size, refusal);
        } else if (s.kind == WIRE_SEGMENT_KIND_TOKEN_IDS) {
            size = 0;
        }
        if (r)
            return r;
        bytes += size;
    }
    if (bytes > WIRE_LIMIT_PROMPT_MEMFD)
        return refuse(refusal, WIRE_E_LIMIT, WIRE_LIMIT_PROMPT_MEMFD, "prompts of %llu bytes together",
                      (unsigned long long)bytes);
    /* Byte-level BPE drops no byte, so a text that long cannot fit: no need to find out how long it takes. */
    if (p->context && p->longest_token && bytes / p->longest_token >= p->context)
        return refuse(refusal, WIRE_E_CONTEXT_TOO_LONG, p->context, "%llu bytes of text are more than %u tokens",
                      (unsigned long long)bytes, p->context);
    *ret_text_bytes = bytes;
    *ret_memfd = memfd;
    return 0;
}

static int add_text(const struct prompt *p, struct span text, unsigned flags, uint32_t base, struct tokens *tokens,
                    struct refusal *refusal)
{
    struct error error = ERROR_NULL;
    size_t first = tokens->count;
    int r = vocab_encode(p->vocab, text.data, text.size, flags, tokens, &error);

    if (r == -ENOMEM)
        return refuse(refusal, WIRE_E_NO_MEMORY, 0, "no memory for the tokens of %zu bytes", text.size);
    if (r < 0)
        return refuse(refusal, WIRE_E_INVALID, 0, "%s", error.text[0] ? error.text : strerror(-r));
    for (size_t i = first; i < tokens->count; i++)
        tokens->offsets[i] += base;
    return 0;
}

static int add_ids(const struct prompt *p, struct span ids, uint32_t base, struct tokens *tokens,
                   struct refusal *refusal)
{
    struct cursor c = cursor_of(ids.data, ids.size);
    uint32_t id;

    while (cursor_u32(&c, &id)) {
        if (id >= vocab_size(p->vocab))
            return refuse(refusal, WIRE_E_INVALID, id, "token id %u; the vocabulary has %u", id, vocab_size(p->vocab));
        if (tokens_push(tokens, id, base) < 0)
            return refuse(refusal, WIRE_E_NO_MEMORY, 0, "no memory for the token ids");
    }
    return 0;
}

static int add_memfd(const struct prompt *p, uint32_t index, uint32_t base, struct tokens *tokens, uint64_t *ret_size,
                     struct refusal *refusal)
{
    uint64_t size = 0, done = 0;
    uint8_t *text;
    int r = memfd_size(p, index, &size, refusal);

    if (r)
        return r;
    text = malloc(size ? size : 1);
    if (!text)
        return refuse(refusal, WIRE_E_NO_MEMORY, 0, "no memory for %llu bytes of a memfd", (unsigned long long)size);
    while (done < size) {
        ssize_t n = pread(p->fds[index], text + done, size - done, (off_t)done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (uint64_t)n;
    }
    r = done == size ? add_text(p, (struct span){ text, size }, 0, base, tokens, refusal)
                     : refuse(refusal, WIRE_E_IO, index, "memfd %u cannot be read to its end", index);
    free(text);
    *ret_size = size;
    return r;
}

int prompt_encode(const struct prompt *p, struct tokens *tokens, struct refusal *refusal)
{
    uint64_t base = 0;
    int r = 0;

    for (uint32_t i = 0; i < p->segments.count && r == 0; i++) {
        struct wire_segment s = wire_segment_at(&p->segments, i);
        uint64_t size = s.data.size;

        switch ((enum wire_segment_kind)s.kind) {
        case WIRE_SEGMENT_KIND_TRUSTED_TEXT:
            r = add_text(p, s.data, VOCAB_PARSE_SPECIAL, (uint32_t)base, tokens, refusal);
            break;
        case WIRE_SEGMENT_KIND_UNTRUSTED_TEXT:
            r = add_text(p, s.data, 0, (uint32_t)base, tokens, refusal);
            break;
        case WIRE_SEGMENT_KIND_TOKEN_IDS:
            r = add_ids(p, s.data, (uint32_t)base, tokens, refusal);
            size = 0;
            break;
        case WIRE_SEGMENT_KIND_TEXT_MEMFD:
            r = add_memfd(p, s.fd, (uint32_t)base, tokens, &size, refusal);
            break;
        }
        base += size;
    }
    if (r)
        return r;
    if (tokens->count == 0 && !p->may_be_empty)
        return refuse(refusal, WIRE_E_INVALID, 0, "the prompt is empty: a segment with text or a token id is needed");
    if (!p->no_bos && vocab_put_bos(p->vocab, 0, tokens) < 0)
        return refuse(refusal, WIRE_E_NO_MEMORY, 0, "no memory for the tokens");
    if (p->context && tokens->count >= p->context)
        return refuse(refusal, WIRE_E_CONTEXT_TOO_LONG, p->context,
                      "the prompt has %zu tokens; the context holds %u, one of them for the answer", tokens->count,
                      p->context);
    return 0;
}
