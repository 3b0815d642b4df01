/* SPDX-License-Identifier: Apache-2.0 */
#include "src/serve/metrics.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/serve/models.h"

enum metric {
#define METRIC(symbol, name, type, help) METRIC_##symbol,
#include "src/serve/metrics.def"
#undef METRIC
};

static const struct { const char *name, *type, *help; } families[] = {
#define METRIC(symbol, name, type, help) { name, type, help },
#include "src/serve/metrics.def"
#undef METRIC
};

static const double bounds[HISTOGRAM_BUCKETS] = {
    0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.2, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
};

static const char *const reason_names[] = {
    [ENGINE_STOP] = "stop", [ENGINE_LENGTH] = "length", [ENGINE_EOS] = "eos", [ENGINE_CANCELLED] = "cancelled",
    [ENGINE_DEADLINE] = "deadline", [ENGINE_FAILED] = "failed",
};

void histogram_add(struct histogram *h, uint64_t ns)
{
    double seconds = (double)ns / (double)NS_PER_S;
    uint32_t i = 0;

    while (i < HISTOGRAM_BUCKETS && seconds > bounds[i])
        i++;
    h->counts[i]++;
    h->sum_ns += ns;
}

static double seconds_of(uint64_t ns) { return (double)ns / (double)NS_PER_S; }

static void family(struct buffer *out, enum metric m)
{
    buffer_printf(out, "# HELP %s %s\n# TYPE %s %s\n", families[m].name, families[m].help, families[m].name,
                  families[m].type);
}

static void whole(struct buffer *out, enum metric m, uint64_t v)
{
    family(out, m);
    buffer_printf(out, "%s %llu\n", families[m].name, (unsigned long long)v);
}

static void real(struct buffer *out, enum metric m, double v)
{
    family(out, m);
    buffer_printf(out, "%s %.9g\n", families[m].name, v);
}

/* A label's value: names come from the configuration and may hold anything. */
static void label(struct buffer *out, const char *name, const char *value)
{
    buffer_printf(out, "%s=\"", name);
    for (const char *c = value; *c; c++) {
        if (*c == '\\' || *c == '"')
            buffer_put_u8(out, '\\');
        buffer_put_u8(out, (uint8_t)*c);
    }
    buffer_put_u8(out, '"');
}

static void begin_sample(struct buffer *out, enum metric m, const char *suffix, const struct model *model)
{
    buffer_printf(out, "%s%s{", families[m].name, suffix);
    label(out, "model", model->id);
}

static void model_whole(struct buffer *out, enum metric m, const struct model *model, uint64_t v)
{
    begin_sample(out, m, "", model);
    buffer_printf(out, "} %llu\n", (unsigned long long)v);
}

static void write_requests(const struct models *models, struct buffer *out)
{
    family(out, METRIC_REQUESTS);
    for (uint32_t i = 0; i < models->count; i++) {
        const struct model *model = &models->items[i];

        for (uint32_t r = 0; r < ARRAY_LENGTH(reason_names); r++) {
            begin_sample(out, METRIC_REQUESTS, "", model);
            buffer_printf(out, ",reason=\"%s\",code=\"\"} %llu\n", reason_names[r],
                          (unsigned long long)model->metrics.ended[r]);
        }
        for (uint32_t c = 1; c < METRICS_CODES; c++)
            if (model->metrics.refused[c]) {
                begin_sample(out, METRIC_REQUESTS, "", model);
                buffer_printf(out, ",reason=\"refused\",code=\"%s\"} %llu\n", wire_code_name(c),
                              (unsigned long long)model->metrics.refused[c]);
            }
    }
}

static void write_counter(const struct models *models, enum metric m, size_t member, struct buffer *out)
{
    family(out, m);
    for (uint32_t i = 0; i < models->count; i++) {
        const struct model *model = &models->items[i];

        model_whole(out, m, model, load_u64((const uint8_t *)&model->metrics + member));
    }
}

static void write_histogram(const struct models *models, enum metric m, size_t member, struct buffer *out)
{
    family(out, m);
    for (uint32_t i = 0; i < models->count; i++) {
        const struct model *model = &models->items[i];
        const struct histogram *h = (const struct histogram *)(const void *)((const uint8_t *)&model->metrics + member);
        uint64_t sum = 0;

        for (uint32_t b = 0; b <= HISTOGRAM_BUCKETS; b++) {
            sum += h->counts[b];
            begin_sample(out, m, "_bucket", model);
            if (b < HISTOGRAM_BUCKETS)
                buffer_printf(out, ",le=\"%g\"} %llu\n", bounds[b], (unsigned long long)sum);
            else
                buffer_printf(out, ",le=\"+Inf\"} %llu\n", (unsigned long long)sum);
        }
        begin_sample(out, m, "_sum", model);
        buffer_printf(out, "} %.9g\n", seconds_of(h->sum_ns));
        begin_sample(out, m, "_count", model);
        buffer_printf(out, "} %llu\n", (unsigned long long)sum);
    }
}

#define MEMBER(name) offsetof(struct model_metrics, name)

static void write_models(const struct models *models, struct buffer *out)
{
    write_requests(models, out);
    write_counter(models, METRIC_PREFIX_QUERIES, MEMBER(prompt_tokens), out);
    write_counter(models, METRIC_PREFIX_HITS, MEMBER(cached_tokens), out);
    write_counter(models, METRIC_PROMPT_TOKENS, MEMBER(prompt_tokens), out);
    write_counter(models, METRIC_GENERATION_TOKENS, MEMBER(generated_tokens), out);
    write_histogram(models, METRIC_FIRST_TOKEN, MEMBER(first_token), out);
    write_histogram(models, METRIC_INTER_TOKEN, MEMBER(inter_token), out);
    write_histogram(models, METRIC_DURATION, MEMBER(duration), out);
    write_histogram(models, METRIC_QUEUE, MEMBER(queue), out);
    write_histogram(models, METRIC_PREFILL, MEMBER(prefill), out);
    write_histogram(models, METRIC_DECODE, MEMBER(decode), out);
}

static void write_model_facts(const struct models *models, struct buffer *out)
{
    static const char *const page_names[PAGE_SIZE_COUNT] = { "4Ki", "2Mi", "1Gi" };

    family(out, METRIC_MODEL_STATE);
    for (uint32_t i = 0; i < models->count; i++) {
        begin_sample(out, METRIC_MODEL_STATE, "", &models->items[i]);
        buffer_printf(out, ",state=\"%s\"} 1\n", model_state_name(models->items[i].state));
    }
    family(out, METRIC_HUGEPAGES);
    for (uint32_t i = 0; i < models->count; i++)
        for (uint32_t s = 0; s < PAGE_SIZE_COUNT && models->items[i].instance; s++) {
            begin_sample(out, METRIC_HUGEPAGES, "", &models->items[i]);
            buffer_printf(out, ",size=\"%s\"} %llu\n", page_names[s],
                          (unsigned long long)instance_info(models->items[i].instance)->bytes_by_size[s]);
        }
    family(out, METRIC_LOAD_SECONDS);
    for (uint32_t i = 0; i < models->count; i++) {
        const struct loader_report *l = &models->items[i].report;

        begin_sample(out, METRIC_LOAD_SECONDS, "", &models->items[i]);
        buffer_printf(out, "} %.9g\n", l->now_ns > l->started_ns ? seconds_of(l->now_ns - l->started_ns) : 0);
    }
    family(out, METRIC_LOAD_BYTES);
    for (uint32_t i = 0; i < models->count; i++)
        model_whole(out, METRIC_LOAD_BYTES, &models->items[i], models->items[i].report.bytes_read);
    family(out, METRIC_ISA);
    for (uint32_t i = 0; i < models->count; i++)
        if (models->items[i].instance) {
            begin_sample(out, METRIC_ISA, "", &models->items[i]);
            buffer_put_u8(out, ',');
            label(out, "level", instance_info(models->items[i].instance)->level);
            buffer_printf(out, "} 1\n");
        }
}

/* Of types that have two kernels. */
static void write_crossovers(const struct models *models, struct buffer *out)
{
    family(out, METRIC_MANY_COLUMNS);
    for (uint32_t i = 0; i < models->count; i++)
        for (uint32_t k = 0; models->items[i].instance; k++) {
            const struct instance_info *info = instance_info(models->items[i].instance);

            if (k == info->kernel_count)
                break;
            if (!info->kernels[k].many_name)
                continue;
            begin_sample(out, METRIC_MANY_COLUMNS, "", &models->items[i]);
            buffer_printf(out, ",type=\"%s\",kernel=\"%s\"} ", info->kernels[k].type, info->kernels[k].many_name);
            if (info->kernels[k].many_columns == UINT32_MAX)
                buffer_printf(out, "+Inf\n");
            else
                buffer_printf(out, "%u\n", info->kernels[k].many_columns);
        }
}

static void write_kernels(const struct models *models, struct buffer *out)
{
    family(out, METRIC_KERNEL);
    for (uint32_t i = 0; i < models->count; i++)
        for (uint32_t k = 0; models->items[i].instance; k++) {
            const struct instance_info *info = instance_info(models->items[i].instance);

            if (k == info->kernel_count)
                break;
            begin_sample(out, METRIC_KERNEL, "", &models->items[i]);
            buffer_printf(out, ",type=\"%s\",kernel=\"%s\"} 1\n", info->kernels[k].type, info->kernels[k].name);
        }
    write_crossovers(models, out);
    family(out, METRIC_SELFTEST);
    for (uint32_t i = 0; i < models->count; i++)
        if (models->items[i].instance)
            model_whole(out, METRIC_SELFTEST, &models->items[i],
                        instance_info(models->items[i].instance)->levels_failed);
}

static uint64_t count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    uint64_t n = 0;

    if (!dir)
        return 0;
    while (readdir(dir))
        n++;
    closedir(dir);
    return n > 3 ? n - 3 : 0;           /* . and .. and the one of this look */
}

static uint64_t resident_bytes(void)
{
    char text[128] = "";
    unsigned long long total, resident = 0;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return 0;
    if (read(fd, text, sizeof(text) - 1) <= 0 || sscanf(text, "%llu %llu", &total, &resident) != 2)
        resident = 0;
    close(fd);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void write_process(struct buffer *out)
{
    struct rusage usage = { .ru_maxrss = 0 };
    struct rlimit limit = { .rlim_cur = 0 };

    getrusage(RUSAGE_SELF, &usage);
    getrlimit(RLIMIT_NOFILE, &limit);
    real(out, METRIC_PROCESS_CPU, (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                                      (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6);
    whole(out, METRIC_PROCESS_MEMORY, resident_bytes());
    whole(out, METRIC_PROCESS_FDS, count_fds());
    whole(out, METRIC_PROCESS_FDS_MAX, limit.rlim_cur);
}

void metrics_write(const struct metrics *metrics, const struct models *models, struct bridge *bridge, uint64_t now_ns,
                   struct buffer *out)
{
    uint64_t used = bridge_gauge(bridge, BRIDGE_KV_USED), total = bridge_gauge(bridge, BRIDGE_KV_TOTAL);

    whole(out, METRIC_REQUESTS_RUNNING, bridge_gauge(bridge, BRIDGE_RUNNING));
    whole(out, METRIC_REQUESTS_WAITING, bridge_gauge(bridge, BRIDGE_WAITING));
    whole(out, METRIC_REQUESTS_PARKED, bridge_gauge(bridge, BRIDGE_PARKED));
    real(out, METRIC_KV_USAGE, total ? (double)used / (double)total : 0);
    write_models(models, out);
    whole(out, METRIC_STEPS, bridge_gauge(bridge, BRIDGE_STEPS));
    real(out, METRIC_STEP_SECONDS, seconds_of(bridge_gauge(bridge, BRIDGE_STEP_NS)));
    whole(out, METRIC_WORKERS, bridge_gauge(bridge, BRIDGE_WORKERS));
    real(out, METRIC_WORKER_BUSY, seconds_of(bridge_gauge(bridge, BRIDGE_BUSY_NS)));
    whole(out, METRIC_CONNECTIONS, metrics->connections);
    whole(out, METRIC_CONNECTIONS_TOTAL, metrics->connections_total);
    whole(out, METRIC_ERRORS, metrics->errors_total);
    whole(out, METRIC_BUSY, metrics->busy_total);
    whole(out, METRIC_FRAMING_ERRORS, metrics->framing_errors_total);
    whole(out, METRIC_RECEIVED, metrics->received_bytes);
    whole(out, METRIC_SENT, metrics->sent_bytes);
    write_model_facts(models, out);
    write_kernels(models, out);
    family(out, METRIC_BUILD);
    buffer_printf(out, "%s{version=\"%s\"} 1\n", families[METRIC_BUILD].name, TENON_VERSION);
    real(out, METRIC_UPTIME, seconds_of(now_ns - metrics->started_ns));
    write_process(out);
}
