/* SPDX-License-Identifier: Apache-2.0 */
#include "src/daemon/report.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/log.h"

#define GB 1e-9
#define TELL_NS (500 * NS_PER_MS)

void report_break(struct report *r)
{
    if (r->line_open && write(STDERR_FILENO, "\n", 1) == 1)
        r->line_open = false;
}

void report_loading(struct report *r, const char *id, const struct loader_report *l)
{
    char text[128], line[320];
    uint64_t now = clock_now_ns();
    int n;

    loader_report_print(l, text, sizeof(text));
    if (now - r->told_ns >= TELL_NS) {          /* as long as bytes come in, loading may take its time */
        notify_send(r->notify, "STATUS=Loading %s: %s\nEXTEND_TIMEOUT_USEC=30000000", id, text);
        r->told_ns = now;
    }
    if (!r->terminal)
        return;
    n = snprintf(line, sizeof(line), "\r\033[Kloading %.64s: %s", id, text);
    r->line_open = write(STDERR_FILENO, line, (size_t)n) == n;
}

static void pages_text(const struct instance_info *i, char *text, size_t size)
{
    static const char *const names[PAGE_SIZE_COUNT] = { "ordinary", "2 MiB", "1 GiB" };
    size_t n = 0;

    text[0] = '\0';
    for (uint32_t s = PAGE_SIZE_COUNT; s-- > 0 && n < size;)
        if (i->bytes_by_size[s])
            n += (size_t)snprintf(text + n, size - n, "%s%.1f MB in %s pages", n ? ", " : "",
                                  (double)i->bytes_by_size[s] * 1e-6, names[s]);
}

void report_ready(struct report *r, const struct instance_info *i)
{
    const struct loader_report *l = &i->load;
    double seconds = l->now_ns > l->started_ns ? (double)(l->now_ns - l->started_ns) / (double)NS_PER_S : 0;
    char pages[160];

    report_break(r);
    pages_text(i, pages, sizeof(pages));
    log_line(LOG_LEVEL_NOTICE, "model %s: %s \"%s\" (%s)", i->id, i->architecture, i->name, i->file_types);
    log_line(LOG_LEVEL_NOTICE, "model %s: level %s, %u node%s, %u thread%s%s, activations %s, KV %s, context %u, "
             "%u sequences", i->id, i->level, i->nodes, i->nodes == 1 ? "" : "s", i->threads,
             i->threads == 1 ? "" : "s",
             i->oversubscribed ? " that share cores" : i->pinned ? " pinned" : " not pinned", i->activations,
             i->kv_format, i->context, i->sequences);
    log_line(LOG_LEVEL_NOTICE, "model %s: weights %.1f MB, KV %.1f MB, scratch %.1f MB; %s; %s", i->id,
             (double)i->weight_bytes * 1e-6, (double)i->kv_bytes * 1e-6, (double)i->scratch_bytes * 1e-6, pages,
             i->misplaced_bytes ? "NOT all on their nodes" :
             i->placed_bytes ? "each on its node" : "nodes not known");
    log_line(LOG_LEVEL_NOTICE, "model %s: %.2f GB in %.2f s (%.2f GB/s; %s, %s%s, depth %u), checksum %016llx", i->id,
             (double)l->bytes_done * GB, seconds, seconds > 0 ? (double)l->bytes_done * GB / seconds : 0,
             l->uring ? "io_uring" : "preadv", l->direct ? "O_DIRECT" : "buffered",
             l->registered ? ", registered buffers" : "", l->depth, (unsigned long long)i->checksum);
    if (i->note[0])
        log_line(i->oversubscribed || i->misplaced_bytes || i->levels_failed ? LOG_LEVEL_WARNING : LOG_LEVEL_NOTICE,
                 "model %s: %s", i->id, i->note);
}
