/* SPDX-License-Identifier: Apache-2.0 */
#include "src/tools/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "src/base/clock.h"

#define TELL_NS (100 * NS_PER_MS)

void progress_load(void *arg, const struct loader_report *r)
{
    char text[128];

    (void)arg;
    loader_report_print(r, text, sizeof(text));
    fprintf(stderr, "\r\033[Kloading: %s", text);
    if (r->bytes_done == r->bytes_total)
        fprintf(stderr, "\n");
}

struct progress progress_begin(const char *what, uint64_t total, bool quiet)
{
    return (struct progress){ .what = what, .total = max_u64(total, 1), .begun_ns = clock_now_ns(),
                              .on = !quiet && isatty(STDERR_FILENO) };
}

void progress_tell(struct progress *p, uint64_t done, const char *more)
{
    uint64_t now = p->on ? clock_now_ns() : 0;
    double left;

    if (!p->on || (done < p->total && now - p->told_ns < TELL_NS))
        return;
    done = min_u64(done, p->total);
    left = done ? (double)(now - p->begun_ns) * 1e-9 * (double)(p->total - done) / (double)done : 0;
    /* ESC [ K: what a longer line left behind goes. */
    fprintf(stderr, "\r%s: %3.0f %% (%llu/%llu tokens, %.0f s left)%s%s\x1b[K", p->what,
            100.0 * (double)done / (double)p->total, (unsigned long long)done, (unsigned long long)p->total, left,
            more[0] ? " " : "", more);
    p->told_ns = now;
}

void progress_end(struct progress *p)
{
    if (p->told_ns)
        fprintf(stderr, "\n");
    p->told_ns = 0;
}
