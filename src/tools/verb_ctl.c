/* SPDX-License-Identifier: Apache-2.0 */
/* tenon ctl: what a daemon says of itself. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "src/base/utf8.h"
#include "src/tools/remote.h"

static int help(void)
{
    printf("usage: tenon ctl ping|status|metrics [--socket PATH]\n\n"
           "  ping       round trip; exit 69 when nobody answers\n"
           "  status     the models: state, level, nodes, threads, memory\n"
           "  metrics    counters as Prometheus reads them\n"
           "      --socket PATH   default $TENON_SOCKET, /run/tenon/tenon.sock, $XDG_RUNTIME_DIR/tenon.sock\n");
    return EXIT_OK;
}

/* Prints and frees. */
static int put(struct buffer *out)
{
    int code = tool_put(out);

    buffer_deinit(out);
    return code;
}

static int ping(struct tenon *tenon)
{
    struct buffer out = BUFFER_NULL;
    struct tenon_error error;
    uint64_t ns;

    if (tenon_ping(tenon, &ns, &error) != TENON_OK)
        return remote_fail(&error);
    buffer_printf(&out, "%s answers in %.1f us\n", SHOWN(tenon_server(tenon)->name), (double)ns * 1e-3);
    return put(&out);
}

static const char *state_name(uint32_t state)
{
    static const char *const names[] = { "unknown", "loading", "ready", "draining", "gone", "failed" };

    return names[state < ARRAY_LENGTH(names) ? state : 0];
}

static void print_loading(const struct tenon_model_info *i, struct buffer *out)
{
    double seconds = (double)i->load_ns * 1e-9;

    buffer_printf(out, "%s: %s, %.0f %% (%.2f/%.2f GB, %.2f GB/s)\n", SHOWN(i->id), state_name(i->state),
                  i->load_bytes_total ? 100.0 * (double)i->load_bytes_done / (double)i->load_bytes_total : 0.0,
                  (double)i->load_bytes_done * 1e-9, (double)i->load_bytes_total * 1e-9,
                  seconds > 0 ? (double)i->load_bytes_done / seconds * 1e-9 : 0.0);
}

static void print_memory(const struct tenon_model_info *i, struct buffer *out)
{
    buffer_printf(out, "  memory      weights %.1f MB, KV %.1f MB, scratch %.1f MB\n", (double)i->weight_bytes * 1e-6,
                  (double)i->kv_bytes * 1e-6, (double)i->scratch_bytes * 1e-6);
    for (size_t p = 0; p < i->page_count; p++)
        buffer_printf(out, "  pages       %.1f MB in pages of %llu KiB\n", (double)i->pages[p].bytes * 1e-6,
                      (unsigned long long)i->pages[p].page_size >> 10);
}

static void print_model(const struct tenon_model_info *i, struct buffer *out)
{
    double seconds = (double)i->load_ns * 1e-9;

    if (i->state == TENON_LOADING) {
        print_loading(i, out);
        return;
    }
    buffer_printf(out, "%s: %s, %s (%s)\n", SHOWN(i->id), state_name(i->state), SHOWN(i->architecture),
                  SHOWN(i->name));
    buffer_printf(out, "  tensors     %s\n", SHOWN(i->file_types));
    buffer_printf(out, "  level       %s, activations %s\n", SHOWN(i->level), SHOWN(i->activations));
    if (i->kernels && i->kernels[0])
        buffer_printf(out, "  kernels     %s\n", SHOWN(i->kernels));
    buffer_printf(out, "  placement   %u node%s, %u thread%s%s\n", i->nodes, i->nodes == 1 ? "" : "s", i->threads,
                  i->threads == 1 ? "" : "s",
                  i->oversubscribed ? " sharing cores" : i->pinned ? ", pinned" : ", not pinned");
    print_memory(i, out);
    buffer_printf(out, "  context     %u positions x %u sequence%s (trained for %u)\n", i->context, i->sequences,
                  i->sequences == 1 ? "" : "s", i->context_trained);
    buffer_printf(out, "  load        %.2f GB in %.2f s (%.2f GB/s), checksum %016llx\n",
                  (double)i->load_bytes_total * 1e-9, seconds,
                  seconds > 0 ? (double)i->load_bytes_total / seconds * 1e-9 : 0.0, (unsigned long long)i->checksum);
    if (i->note && i->note[0])
        buffer_printf(out, "  note        %s\n", SHOWN(i->note));
}

static int status(struct tenon *tenon)
{
    struct buffer out = BUFFER_NULL;
    struct tenon_models *models;
    struct tenon_error error;
    int code = EXIT_OK, put_code;

    if (tenon_models(tenon, &models, &error) != TENON_OK)
        return remote_fail(&error);
    for (size_t i = 0; i < models->count && code == EXIT_OK; i++) {
        struct tenon_model_info *info;

        if (tenon_model_info(tenon, models->items[i].id, &info, &error) != TENON_OK) {
            code = remote_fail(&error);
            continue;
        }
        print_model(info, &out);
        tenon_model_info_free(info);
    }
    tenon_models_free(models);
    put_code = put(&out);               /* also what came before a failure */
    return code == EXIT_OK ? put_code : code;
}

/* Line by line: nothing else in the text may be a control. */
static int metrics(struct tenon *tenon)
{
    struct buffer out = BUFFER_NULL;
    struct tenon_error error;
    struct tenon_text *text;

    if (tenon_metrics(tenon, &text, &error) != TENON_OK)
        return remote_fail(&error);
    buffer_put(&out, text->data, text->size);
    tenon_text_free(text);
    for (size_t at = 0; at < out.size;) {
        const uint8_t *end = memchr(out.data + at, '\n', out.size - at);
        size_t n = end ? (size_t)(end - out.data) - at : out.size - at;

        utf8_clean(out.data + at, n);
        at += n + 1;
    }
    return put(&out);
}

int verb_ctl(int argc, char **argv)
{
    static const struct { const char *name; int (*run)(struct tenon *tenon); } commands[] = {
        { "ping", ping }, { "status", status }, { "metrics", metrics },
    };
    static const struct option longs[] = {
        {"socket", required_argument, NULL, 's'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    const char *socket = NULL;
    struct tenon *tenon;
    int c, code;

    while ((c = getopt_long(argc, argv, "h", longs, NULL)) >= 0) {
        if (c == 'h')
            return help();
        if (c != 's')
            return tool_usage("ctl", "an option was not understood");
        socket = optarg;
    }
    if (optind + 1 != argc)
        return tool_usage("ctl", "say one of ping, status, metrics");
    for (size_t i = 0; i < ARRAY_LENGTH(commands); i++) {
        if (strcmp(argv[optind], commands[i].name) != 0)
            continue;
        code = remote_open(socket, "ctl", &tenon);
        if (code == EXIT_OK) {
            code = commands[i].run(tenon);
            tenon_close(tenon);
        }
        return code;
    }
    return tool_usage("ctl", "\"%.32s\" is not known; ping, status, metrics", argv[optind]);
}
