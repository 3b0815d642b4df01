/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon bench: prefill and decode through the engine, and the read bandwidth around them, in one run.
 * The share of the bandwidth is (packed weights + KV read) per decode step, over the best read of the same run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/base/json.h"
#include "src/engine/instance_internal.h"
#include "src/tools/bandwidth.h"
#include "src/tools/options.h"
#include "src/tools/progress.h"

#define BANDWIDTH_BYTES (UINT64_C(1) << 30)
#define BANDWIDTH_ROUNDS (2 * STREAM_ORDERS)

struct bench_options {
    uint32_t prompt, generate, repeat, batch;
    bool as_json, quiet;
};

struct result {
    double prefill_tokens_per_s, decode_tokens_per_s, step_bytes, bandwidth;
    double load_bytes_per_s;
};

struct watch {
    uint64_t prefill_ns, decode_ns;
    uint32_t left, generated;
    bool failed;
    uint64_t *done;                     /* tokens of all rounds so far */
    struct progress *progress;
};

static int help(void)
{
    printf("usage: tenon bench -m FILE [options]\n\n" MODEL_OPTIONS_HELP
           "  -p N                     prompt tokens (default 512)\n"
           "  -n N                     generated tokens (default 64)\n"
           "      --repeat N           rounds, the best counts (default 3)\n"
           "      --batch N            sequences decoded at once (default 1)\n"
           "      --json               one JSON object\n\n"
           "The share of the read bandwidth is that of memory: of weights that fit into the last-level cache it is\n"
           "above 100 %% by nature.\n");
    return EXIT_OK;
}

static void on_started(void *arg, uint64_t key, const struct engine_started *s) { (void)arg; (void)key; (void)s; }

static void count(struct watch *w, uint32_t tokens)
{
    *w->done += tokens;
    progress_tell(w->progress, *w->done, "");
}

static void on_token(void *arg, uint64_t key, const struct engine_token *t)
{
    (void)key;
    (void)t;
    count(arg, 1);
}

static void on_done(void *arg, uint64_t key, const struct engine_done *d)
{
    struct watch *w = arg;

    (void)key;
    w->failed |= d->reason == ENGINE_FAILED;
    w->prefill_ns = max_u64(w->prefill_ns, d->prefill_ns);
    w->decode_ns = max_u64(w->decode_ns, d->decode_ns);
    w->generated += d->generated_tokens - 1;
    count(w, d->prompt_tokens);
    w->left--;
}

static int round_of(struct session *s, struct engine_request *q, uint32_t batch, struct watch *w, struct error *error)
{
    struct engine_events events = { .arg = w, .started = on_started, .token = on_token, .done = on_done };
    struct engine *engine;
    int r = engine_new(s->workers, &events, &engine, error);

    if (r < 0)
        return r;
    for (uint32_t i = 0; r == 0 && i < batch; i++) {
        q[i] = q[0];
        q[i].key = i;
        q[i].submitted_ns = clock_now_ns();
        r = engine_submit(engine, &q[i], error);
    }
    while (r == 0 && w->left && engine_step(engine))
        ;
    if (r == 0 && (w->failed || w->left))
        r = error_set(error, -EDOM, "a request of the bench failed");
    engine_free(engine);
    return r;
}

/* Weights that a decode step reads: every matrix, or for tied embeddings each once; an embedding row is nothing. */
static double decode_bytes(const struct instance *in, const struct bench_options *o)
{
    const struct model *m = in->model;
    double bytes = 0, kv = (double)kv_bytes_per_block(&m->hparams) / KERNEL_KV_BLOCK;

    for (uint32_t i = 0; i < m->matrix_count; i++)
        if (i != m->embed || m->embed == m->head)
            bytes += (double)m->matrices[i].groups * (double)m->matrices[i].group_bytes;
    return bytes + kv * (o->prompt + o->generate / 2.0) * o->batch;
}

static void measure_bandwidth(struct bandwidth *bw, struct result *r)
{
    for (uint32_t b = 0; b < BANDWIDTH_ROUNDS; b++) {
        double bytes_per_s = bandwidth_round(bw);

        r->bandwidth = bytes_per_s > r->bandwidth ? bytes_per_s : r->bandwidth;
    }
}

static void keep_best(double *best, double tokens, uint64_t ns)
{
    double rate = ns ? tokens / ((double)ns * 1e-9) : 0;

    *best = rate > *best ? rate : *best;
}

static int measure_rounds(struct session *s, const struct bench_options *o, struct bandwidth *bw,
                          struct engine_request *q, struct result *r, struct error *error)
{
    uint64_t done = 0, each = ((uint64_t)o->prompt + o->generate + 1) * o->batch;
    struct progress progress = progress_begin("bench", each * o->repeat, o->quiet);
    int code = 0;

    for (uint32_t i = 0; code == 0 && i < o->repeat; i++) {
        struct watch w = { .left = o->batch, .done = &done, .progress = &progress };

        measure_bandwidth(bw, r);
        code = round_of(s, q, o->batch, &w, error);
        if (code < 0)
            break;
        keep_best(&r->prefill_tokens_per_s, (double)o->prompt * o->batch, w.prefill_ns);
        keep_best(&r->decode_tokens_per_s, w.generated, w.decode_ns);
    }
    progress_end(&progress);
    return code;
}

static int measure(struct session *s, const struct bench_options *o, struct bandwidth *bw, struct result *r,
                   struct error *error)
{
    uint32_t *prompt = calloc(o->prompt, sizeof(*prompt)), vocab = instance_info(s->instance)->vocab_size;
    struct engine_request *q = calloc(o->batch, sizeof(*q));
    int code = prompt && q ? 0 : error_set(error, -ENOMEM, "no memory for the bench");

    for (uint32_t i = 0; code == 0 && i < o->prompt; i++)
        prompt[i] = (uint32_t)((i * UINT64_C(2654435761) >> 7) % (vocab - 1));
    if (code == 0) {
        q[0] = (struct engine_request){ .instance = s->instance, .prompt = prompt, .prompt_count = o->prompt,
                                        .max_tokens = o->generate + 1, .sampling = SAMPLING_DEFAULT,
                                        .ignore_eos = true };
        code = measure_rounds(s, o, bw, q, r, error);
    }
    r->step_bytes = decode_bytes(s->instance, o);
    free(prompt);
    free(q);
    return code;
}

static void json_pair(struct json *j, const char *key, double value)
{
    json_key(j, key);
    json_f64(j, value);
}

static void put_json(const struct instance_info *i, const struct bench_options *o, const struct result *r,
                     double fraction, struct buffer *out)
{
    struct json j = json_to(out);

    json_object(&j);
    json_key(&j, "prefill");
    json_object(&j);
    json_pair(&j, "tokens", o->prompt);
    json_pair(&j, "tokens_per_s", r->prefill_tokens_per_s);
    json_end(&j, '}');
    json_key(&j, "decode");
    json_object(&j);
    json_pair(&j, "tokens", o->generate);
    json_pair(&j, "batch", o->batch);
    json_pair(&j, "tokens_per_s", r->decode_tokens_per_s);
    json_pair(&j, "bytes_per_step", r->step_bytes);
    json_pair(&j, "bytes_per_s", r->decode_tokens_per_s / o->batch * r->step_bytes);
    json_pair(&j, "bandwidth_fraction", fraction);
    json_end(&j, '}');
    json_pair(&j, "read_bandwidth_bytes_per_s", r->bandwidth);
    json_pair(&j, "load_bytes_per_s", r->load_bytes_per_s);
    json_key(&j, "level");
    json_text(&j, i->level);
    json_key(&j, "activations");
    json_text(&j, i->activations);
    json_key(&j, "threads");
    json_u64(&j, i->threads);
    json_key(&j, "nodes");
    json_u64(&j, i->nodes);
    json_end(&j, '}');
    buffer_put_u8(out, '\n');
}

static int report(const struct instance_info *i, const struct bench_options *o, const struct result *r)
{
    double per_step = r->decode_tokens_per_s / o->batch * r->step_bytes;
    double fraction = r->bandwidth > 0 ? per_step / r->bandwidth : 0;
    struct buffer out = BUFFER_NULL;
    int code;

    if (o->as_json)
        put_json(i, o, r, fraction, &out);
    else
        buffer_printf(
            &out,
            "prefill  %8.1f tokens/s (%u tokens)\ndecode   %8.1f tokens/s (%u tokens, batch %u), %.2f GB/s, "
            "%.0f %% of the read bandwidth\nread     %8.2f GB/s (best of %u rounds over 1 GiB)\nload     %8.2f GB/s\n",
            r->prefill_tokens_per_s, o->prompt, r->decode_tokens_per_s, o->generate, o->batch, per_step * 1e-9,
            100 * fraction, r->bandwidth * 1e-9, BANDWIDTH_ROUNDS * o->repeat, r->load_bytes_per_s * 1e-9);
    code = tool_put(&out);
    buffer_deinit(&out);
    return code;
}

static int bench(struct session *s, const struct bench_options *o)
{
    const struct instance_info *i = instance_info(s->instance);
    struct result result = { .load_bytes_per_s = 0 };
    struct bandwidth *bw = NULL;
    struct error error = ERROR_NULL;
    double load_s = (double)(i->load.now_ns - i->load.started_ns) * 1e-9;
    int r = bandwidth_new(s->instance->plan, s->workers, BANDWIDTH_BYTES, &bw, &error);

    result.load_bytes_per_s = load_s > 0 ? (double)i->load.bytes_done / load_s : 0;
    if (r == 0)
        r = measure(s, o, bw, &result, &error);
    bandwidth_free(bw);
    return r < 0 ? tool_fail(&error) : report(i, o, &result);
}

static int set_count(const char *name, uint32_t maximum, uint32_t *ret)
{
    if (tool_u32(optarg, 1, maximum, ret))
        return EXIT_OK;
    return tool_usage("bench", "%s takes 1 to %u, not \"%.32s\"", name, maximum, optarg);
}

int verb_bench(int argc, char **argv)
{
    enum { REPEAT = OPTION_VERB, BATCH, JSON };
    static const struct option longs[] = { MODEL_LONG_OPTIONS, { "repeat", required_argument, NULL, REPEAT },
                                           { "batch", required_argument, NULL, BATCH },
                                           { "json", no_argument, NULL, JSON }, { NULL, 0, NULL, 0 } };
    struct model_options o = MODEL_OPTIONS_DEFAULT;
    struct bench_options b = { .prompt = 512, .generate = 64, .repeat = 3, .batch = 1 };
    struct session s = SESSION_NULL;
    int c, code;

    while ((c = getopt_long(argc, argv, MODEL_SHORT_OPTIONS "p:n:", longs, NULL)) >= 0) {
        code = EXIT_OK;
        switch (c) {
        case 'h': return help();
        case 'p': code = set_count("-p", 1u << 20, &b.prompt); break;
        case 'n': code = set_count("-n", 1u << 20, &b.generate); break;
        case REPEAT: code = set_count("--repeat", 1000, &b.repeat); break;
        case BATCH: code = set_count("--batch", 256, &b.batch); break;
        case JSON: b.as_json = true; break;
        default:
            if (!model_option(&o, "bench", c, optarg, &code))
                return tool_usage("bench", "an option was not understood");
        }
        if (code)
            return code;
    }
    if (optind < argc)
        return tool_usage("bench", "\"%.32s\" is one word too many", argv[optind]);
    if (!o.model)
        return tool_usage("bench", "-m FILE is missing");
    o.sequences = b.batch;
    b.quiet = o.quiet;
    if (!o.context)
        o.context = b.prompt + b.generate + 2;
    code = session_open(&s, &o);
    if (code == EXIT_OK)
        code = bench(&s, &b);
    session_close(&s);
    return code;
}
