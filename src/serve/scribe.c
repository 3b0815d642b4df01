/* SPDX-License-Identifier: Apache-2.0 */
#include "src/serve/scribe.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "numa/mailbox.h"

#define SCRIBE_MAILBOX_BYTES (16u * LIMIT_REQUESTS * 2)     /* a pointer and its record header, twice what can be */

struct scribe {
    struct mailbox *work, *done;
    struct doze doze;
    _Atomic bool stop;
    void (*wake)(void *arg);
    void *wake_arg;
    pthread_t thread;
    bool started;
};

struct scribe_work *scribe_work_new(enum scribe_kind kind, struct span payload, int *fds, uint32_t fd_count)
{
    struct scribe_work *w = calloc(1, sizeof(*w));

    check(fd_count <= WIRE_LIMIT_FDS);
    if (!w)
        return NULL;
    w->kind = kind;
    memset(w->fds, -1, sizeof(w->fds));
    w->payload = malloc(payload.size ? payload.size : 1);
    if (!w->payload)
        return scribe_work_free(w);
    if (payload.size)
        memcpy(w->payload, payload.data, payload.size);
    for (uint32_t i = 0; i < fd_count; i++) {
        w->fds[i] = fds[i];
        fds[i] = -1;
    }
    w->prompt.fds = w->fds;
    w->prompt.fd_count = fd_count;
    return w;
}

struct scribe_work *scribe_work_free(struct scribe_work *w)
{
    if (!w)
        return NULL;
    for (uint32_t i = 0; i < WIRE_LIMIT_FDS; i++)
        if (w->fds[i] >= 0)
            close(w->fds[i]);
    tokens_deinit(&w->tokens);
    buffer_deinit(&w->text);
    free(w->payload);
    free(w);
    return NULL;
}

static void decode(struct scribe_work *w)
{
    const struct vocab *vocab = w->prompt.vocab;

    w->text.limit = WIRE_LIMIT_PROMPT_MEMFD;
    for (uint32_t i = 0; i < w->ids.count && buffer_ok(&w->text); i++) {
        uint32_t id = wire_u32_at(&w->ids, i);

        if (id >= vocab_size(vocab)) {
            refuse(&w->refusal, WIRE_E_INVALID, id, "token id %u; the vocabulary has %u", id, vocab_size(vocab));
            return;
        }
        vocab_decode(vocab, id, w->with_control, &w->text);
    }
    if (!buffer_ok(&w->text))
        refuse(&w->refusal, WIRE_E_LIMIT, WIRE_LIMIT_PROMPT_MEMFD, "the text is longer than %d bytes",
               WIRE_LIMIT_PROMPT_MEMFD);
}

void scribe_work_do(struct scribe_work *w)
{
    w->refusal.code = 0;
    if (w->kind == SCRIBE_DECODE)
        decode(w);
    else if (prompt_encode(&w->prompt, &w->tokens, &w->refusal) == 0)
        w->refusal.code = 0;
}

static struct scribe_work *next(struct mailbox *mailbox)
{
    struct scribe_work *w;
    struct span s;

    if (!mailbox_peek(mailbox, &s))
        return NULL;
    check(s.size == sizeof(w));
    memcpy(&w, s.data, sizeof(w));
    mailbox_drop(mailbox);
    return w;
}

static void *thread_main(void *arg)
{
    struct scribe *s = arg;

    while (!atomic_load_explicit(&s->stop, memory_order_acquire)) {
        uint32_t begun = doze_begin(&s->doze);
        struct scribe_work *w = next(s->work);

        if (!w) {
            if (!atomic_load_explicit(&s->stop, memory_order_acquire))
                doze_sleep(&s->doze, begun, UINT64_MAX);
            continue;
        }
        scribe_work_do(w);
        check(mailbox_put(s->done, &w, sizeof(w)) == 0);
        s->wake(s->wake_arg);
    }
    return NULL;
}

int scribe_new(void (*wake)(void *arg), void *wake_arg, struct scribe **ret_scribe, struct error *error)
{
    struct scribe *s = calloc(1, sizeof(*s));
    int r;

    if (!s)
        return error_set(error, -ENOMEM, "no memory for the scribe");
    s->wake = wake;
    s->wake_arg = wake_arg;
    r = mailbox_new(SCRIBE_MAILBOX_BYTES, &s->work);
    if (r == 0)
        r = mailbox_new(SCRIBE_MAILBOX_BYTES, &s->done);
    if (r == 0)
        r = -pthread_create(&s->thread, NULL, thread_main, s);
    if (r) {
        scribe_free(s);
        return error_set(error, r, "cannot start the scribe: %s", strerror(-r));
    }
    s->started = true;
    *ret_scribe = s;
    return 0;
}

struct scribe *scribe_free(struct scribe *s)
{
    struct scribe_work *w;

    if (!s)
        return NULL;
    atomic_store_explicit(&s->stop, true, memory_order_release);
    doze_wake(&s->doze);
    if (s->started)
        pthread_join(s->thread, NULL);
    while (s->work && (w = next(s->work)))
        scribe_work_free(w);
    while (s->done && (w = next(s->done)))
        scribe_work_free(w);
    mailbox_free(s->work);
    mailbox_free(s->done);
    free(s);
    return NULL;
}

void scribe_give(struct scribe *s, struct scribe_work *work)
{
    check(mailbox_put(s->work, &work, sizeof(work)) == 0);
    doze_wake(&s->doze);
}

struct scribe_work *scribe_take(struct scribe *s)
{
    return next(s->done);
}
