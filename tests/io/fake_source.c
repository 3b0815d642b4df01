/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/fake_source.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

uint8_t fake_byte(uint64_t offset)
{
    return (uint8_t)((offset * UINT64_C(0x9e3779b97f4a7c15)) >> 56 ^ (offset >> 12));
}

static int fake_open(const struct source_config *config, void **ret_source, struct source_state *ret_state,
                     struct error *error)
{
    struct fake_source *f = config->arg;

    if (f->open_code)
        return error_set(error, f->open_code, "the fake does not open");
    f->opened++;
    *ret_state = (struct source_state){ .depth = f->depth ? f->depth : FAKE_DEPTH };
    snprintf(ret_state->note, sizeof(ret_state->note), "fake");
    *ret_source = f;
    return 0;
}

static void fake_submit(void *source, const struct source_read *read)
{
    struct fake_source *f = source;

    pthread_mutex_lock(&f->lock);
    check(f->queued < FAKE_DEPTH);
    f->queue[f->queued++] = *read;
    f->in_flight_max = f->queued > f->in_flight_max ? f->queued : f->in_flight_max;
    pthread_mutex_unlock(&f->lock);
}

static bool fails_now(const struct fake_source *f)
{
    uint32_t count = f->fail_count ? f->fail_count : 1;

    return f->fail_at && f->reads >= f->fail_at && f->reads < f->fail_at + count;
}

static int32_t serve(struct fake_source *f, const struct source_read *r)
{
    uint64_t left = f->file_size > r->offset ? f->file_size - r->offset : 0;
    uint32_t n = r->bytes, cut;

    bool direct = fcntl(r->fd, F_GETFL) & O_DIRECT;

    f->reads++;
    if (direct && (f->direct_refused || (r->offset | r->bytes | (uintptr_t)r->data) % FAKE_BLOCK))
        return -EINVAL;
    if (fails_now(f))
        return f->fail_code;
    if (f->short_every && f->reads % f->short_every == 0 && n > 1) {
        cut = f->short_by ? f->short_by : n / 2;
        n -= cut < n ? cut : n - 1;
    }
    if (!f->file_size) {
        ssize_t got = pread(r->fd, r->data, r->bytes, (off_t)r->offset);

        return got < 0 ? -errno : (int32_t)min_u64((uint64_t)got, n);
    }
    n = (uint32_t)min_u64(n, left);
    for (uint32_t i = 0; i < n; i++)
        r->data[i] = fake_byte(r->offset + i);
    return (int32_t)n;
}

static int fake_wait(void *source, struct source_done *ret_done, uint32_t capacity)
{
    struct fake_source *f = source;
    uint32_t count = 0;

    if (f->delay_us)
        usleep(f->delay_us);
    if (f->wait_code)
        return f->wait_code;
    pthread_mutex_lock(&f->lock);
    while (!f->queued && !f->woken)
        pthread_cond_wait(&f->changed, &f->lock);
    f->woken = false;
    /* With `hold`, one at a time, so that many stay in flight. */
    while (f->queued && count < capacity && !(f->hold && count)) {
        uint32_t at = f->reverse ? f->queued - 1 : 0;
        struct source_read r = f->queue[at];

        for (uint32_t i = at; i + 1 < f->queued; i++)
            f->queue[i] = f->queue[i + 1];
        f->queued--;
        ret_done[count++] = (struct source_done){ .cookie = r.cookie, .result = serve(f, &r) };
    }
    pthread_mutex_unlock(&f->lock);
    return (int)count;
}

static void fake_wake(void *source)
{
    struct fake_source *f = source;

    pthread_mutex_lock(&f->lock);
    f->woken = true;
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

static void fake_close(void *source)
{
    struct fake_source *f = source;

    f->closed++;
}

const struct source_ops fake_source_ops = {
    .name = "fake",
    .open = fake_open,
    .submit = fake_submit,
    .wait = fake_wait,
    .wake = fake_wake,
    .close = fake_close,
};
