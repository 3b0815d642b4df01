/* SPDX-License-Identifier: Apache-2.0 */
#include "io/source.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define THREADS 8u

/* Two rings of records under one lock; each as long as the caller's depth, so neither can overflow. */
struct preadv_source {
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    struct source_read *reads;
    struct source_done *dones;
    uint32_t capacity;
    uint32_t read_head, read_count, done_head, done_count;
    bool stopping, woken;
    uint32_t thread_count;
    pthread_t threads[THREADS];
};

static int32_t read_once(const struct source_read *r)
{
    struct iovec iov = { .iov_base = r->data, .iov_len = r->bytes };
    ssize_t n = preadv(r->fd, &iov, 1, (off_t)r->offset);

    return n < 0 ? -errno : (int32_t)n;
}

static void *reader(void *arg)
{
    struct preadv_source *s = arg;

    pthread_mutex_lock(&s->lock);
    for (;;) {
        struct source_done done;
        struct source_read read;

        while (!s->read_count && !s->stopping)
            pthread_cond_wait(&s->work, &s->lock);
        if (!s->read_count)
            break;
        read = s->reads[s->read_head];
        s->read_head = (s->read_head + 1) % s->capacity;
        s->read_count--;
        pthread_mutex_unlock(&s->lock);
        done = (struct source_done){ .cookie = read.cookie, .result = read_once(&read) };
        pthread_mutex_lock(&s->lock);
        check(s->done_count < s->capacity);
        s->dones[(s->done_head + s->done_count++) % s->capacity] = done;
        pthread_cond_signal(&s->done);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static void preadv_close(void *source)
{
    struct preadv_source *s = source;

    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    pthread_cond_broadcast(&s->work);
    pthread_mutex_unlock(&s->lock);
    for (uint32_t i = 0; i < s->thread_count; i++)
        pthread_join(s->threads[i], NULL);
    pthread_cond_destroy(&s->work);
    pthread_cond_destroy(&s->done);
    pthread_mutex_destroy(&s->lock);
    free(s->reads);
    free(s->dones);
    free(s);
}

/* Signals are for the threads that expect them. */
static int start_thread(struct preadv_source *s)
{
    sigset_t all, before;
    int r;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_create(&s->threads[s->thread_count], NULL, reader, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r)
        return -r;
    pthread_setname_np(s->threads[s->thread_count++], "tenon-read");
    return 0;
}

static int preadv_open(const struct source_config *config, void **ret_source, struct source_state *ret_state,
                       struct error *error)
{
    struct preadv_source *s = calloc(1, sizeof(*s));
    int r = 0;

    if (!s)
        return error_set(error, -ENOMEM, "no memory for the loader's threads");
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->work, NULL);
    pthread_cond_init(&s->done, NULL);
    s->capacity = config->depth;
    s->reads = calloc(s->capacity, sizeof(*s->reads));
    s->dones = calloc(s->capacity, sizeof(*s->dones));
    if (!s->reads || !s->dones)
        r = -ENOMEM;
    while (!r && s->thread_count < THREADS)
        r = start_thread(s);
    /* Fewer threads than hoped for read more slowly; none do not read. */
    if (s->thread_count == 0) {
        preadv_close(s);
        return error_set(error, r, "no thread to read with: %s (LimitNPROC= or TasksMax=?)", strerror(-r));
    }
    *ret_state = (struct source_state){ .depth = (uint32_t)min_u64(config->depth, s->thread_count) };
    *ret_source = s;
    return 0;
}

static void preadv_submit(void *source, const struct source_read *read)
{
    struct preadv_source *s = source;

    pthread_mutex_lock(&s->lock);
    check(s->read_count < s->capacity);
    s->reads[(s->read_head + s->read_count++) % s->capacity] = *read;
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
}

static int preadv_wait(void *source, struct source_done *ret_done, uint32_t capacity)
{
    struct preadv_source *s = source;
    uint32_t count = 0;

    pthread_mutex_lock(&s->lock);
    while (!s->done_count && !s->woken)
        pthread_cond_wait(&s->done, &s->lock);
    s->woken = false;
    while (count < capacity && s->done_count) {
        ret_done[count++] = s->dones[s->done_head];
        s->done_head = (s->done_head + 1) % s->capacity;
        s->done_count--;
    }
    pthread_mutex_unlock(&s->lock);
    return (int)count;
}

static void preadv_wake(void *source)
{
    struct preadv_source *s = source;

    pthread_mutex_lock(&s->lock);
    s->woken = true;
    pthread_cond_signal(&s->done);
    pthread_mutex_unlock(&s->lock);
}

const struct source_ops source_preadv = {
    .name = "preadv",
    .open = preadv_open,
    .submit = preadv_submit,
    .wait = preadv_wait,
    .wake = preadv_wake,
    .close = preadv_close,
};
