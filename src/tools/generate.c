/* SPDX-License-Identifier: Apache-2.0 */
#include "src/tools/generate.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"

#define PARALLEL_MAX 32u

/* A float of the sampling, checked on its own, so that it is refused by its name before a model is loaded. */
static bool set_float(const char *verb, const char *name, const char *text, size_t offset, struct sampling *sampling,
                      int *ret_exit)
{
    struct sampling alone = SAMPLING_DEFAULT;
    struct error error = ERROR_NULL;
    float value;

    if (!tool_f32(text, &value)) {
        *ret_exit = tool_usage(verb, "--%s takes a number, not \"%.32s\"", name, text);
        return true;
    }
    memcpy((char *)&alone + offset, &value, sizeof(value));
    memcpy((char *)sampling + offset, &value, sizeof(value));
    if (sampling_check(&alone, &error) < 0)
        *ret_exit = tool_usage(verb, "--%s: %s", name, error.text);
    return true;
}

static bool set_count(const char *verb, const char *name, const char *text, uint32_t *ret, int *ret_exit)
{
    if (!tool_u32(text, 0, 1u << 24, ret))
        *ret_exit = tool_usage(verb, "%s takes 0 to 16777216, not \"%.32s\"", name, text);
    return true;
}

static bool set_stop(struct generate_options *o, const char *verb, const char *text, int *ret_exit)
{
    size_t n = strlen(text);

    if (o->stop_count == ENGINE_STOPS_MAX || n == 0 || n > ENGINE_STOP_BYTES_MAX)
        *ret_exit = tool_usage(verb, "--stop takes up to %d texts of 1 to %d bytes", ENGINE_STOPS_MAX,
                               ENGINE_STOP_BYTES_MAX);
    else
        o->stops[o->stop_count++] = text;
    return true;
}

#define SET_FLOAT(name, field) set_float(verb, name, a, offsetof(struct sampling, field), &o->sampling, ret_exit)

bool generate_option(struct generate_options *o, const char *verb, int option, const char *a, int *ret_exit)
{
    *ret_exit = EXIT_OK;
    switch (option) {
    case 'n': return set_count(verb, "-n", a, &o->max_tokens, ret_exit);
    case GENERATE_TEMP: return SET_FLOAT("temp", temperature);
    case GENERATE_TOP_K: return set_count(verb, "--top-k", a, &o->sampling.top_k, ret_exit);
    case GENERATE_TOP_P: return SET_FLOAT("top-p", top_p);
    case GENERATE_MIN_P: return SET_FLOAT("min-p", min_p);
    case GENERATE_TYPICAL: return SET_FLOAT("typical-p", typical_p);
    case GENERATE_REPEAT: return SET_FLOAT("repeat-penalty", repeat_penalty);
    case GENERATE_REPEAT_LAST: return set_count(verb, "--repeat-last-n", a, &o->sampling.repeat_last_n, ret_exit);
    case GENERATE_PRESENCE: return SET_FLOAT("presence-penalty", presence_penalty);
    case GENERATE_FREQUENCY: return SET_FLOAT("frequency-penalty", frequency_penalty);
    case GENERATE_SEED:
        o->sampling.seed_given = true;
        if (!tool_u64(a, &o->sampling.seed))
            *ret_exit = tool_usage(verb, "--seed takes a whole number, not \"%.32s\"", a);
        return true;
    case GENERATE_STOP: return set_stop(o, verb, a, ret_exit);
    case GENERATE_IGNORE_EOS: o->ignore_eos = true; return true;
    default: return false;
    }
}

/* What the events write into: answer 0 goes to the terminal, the others are held against it. */
struct local {
    const struct generate_options *options;
    struct buffer answers[PARALLEL_MAX];
    struct engine_done done[PARALLEL_MAX];
    uint32_t left;
    uint64_t seed;
    bool write_failed;
};

static void put_text(struct local *l, uint64_t key, const uint8_t *text, uint32_t size)
{
    buffer_put(&l->answers[key], text, size);
    if (key == 0 && size && (fwrite(text, 1, size, stdout) != size || fflush(stdout) != 0))
        l->write_failed = true;
}

static void on_started(void *arg, uint64_t key, const struct engine_started *s)
{
    struct local *l = arg;

    if (key == 0)
        l->seed = s->seed;
}

static void on_token(void *arg, uint64_t key, const struct engine_token *t)
{
    put_text(arg, key, t->text, t->text_size);
}

static void on_done(void *arg, uint64_t key, const struct engine_done *d)
{
    struct local *l = arg;

    put_text(l, key, d->text, d->text_size);
    l->done[key] = *d;
    l->left--;
}

static int submit_all(struct engine *engine, struct local *l, struct engine_request *requests, struct error *error)
{
    for (uint32_t i = 0; i < l->options->parallel; i++) {
        int r;

        requests[i] = requests[0];
        requests[i].key = i;
        requests[i].sampling.seed = i ? l->seed : requests[0].sampling.seed;
        r = engine_submit(engine, &requests[i], error);
        if (r)
            return r < 0 ? r : error_set(error, -EBUSY, "the engine's queue is full");
        l->left++;
    }
    return 0;
}

void generate_tell(const struct generate_options *o, const struct generate_took *t)
{
    double seconds = (double)t->decode_ns * 1e-9;

    if (o->quiet)
        return;
    fprintf(stderr, "%s%u prompt tokens in %.1f ms, %u tokens in %.1f ms (%.1f tokens/s), seed %llu\n",
            isatty(STDERR_FILENO) ? "\n" : "", t->prompt_tokens, (double)t->prefill_ns * 1e-6, t->generated_tokens,
            seconds * 1e3, seconds > 0 && t->generated_tokens > 1 ? (t->generated_tokens - 1) / seconds : 0.0,
            (unsigned long long)t->seed);
}

static int judge(const struct local *l, struct error *error)
{
    const struct engine_done *d = &l->done[0];

    if (d->reason == ENGINE_FAILED)
        return error_set(error, -EDOM, "%s", d->failure);
    if (l->write_failed)
        return error_set(error, -EIO, "standard output was closed");
    for (uint32_t i = 1; i < l->options->parallel; i++)
        if (l->answers[i].size != l->answers[0].size ||
            memcmp(l->answers[i].data, l->answers[0].data, l->answers[0].size) != 0)
            return error_set(error, -EBADMSG, "answer %u of the batch differs from the first: one answer is broken", i);
    generate_tell(l->options, &(struct generate_took){ d->prompt_tokens, d->generated_tokens, d->prefill_ns,
                                                       d->decode_ns, l->seed });
    return 0;
}

static int drive(struct session *s, struct local *l, struct engine_request *requests, struct error *error)
{
    struct engine_events events = { .arg = l, .started = on_started, .token = on_token, .done = on_done };
    struct engine *engine;
    int r = engine_new(s->workers, &events, &engine, error);

    if (r < 0)
        return r;
    r = submit_all(engine, l, requests, error);
    while (r == 0 && l->left && !l->write_failed)
        if (!engine_step(engine) && l->left)
            r = error_set(error, -EBUSY, "the requests do not fit the KV memory at once; raise -c or lower --parallel");
    engine_free(engine);
    return r;
}

int generate_local(struct session *s, const struct generate_options *o, const uint32_t *prompt, uint32_t count,
                   struct buffer *answer)
{
    struct local l = { .options = o };
    struct engine_request requests[PARALLEL_MAX] = { 0 };
    struct engine_request *q = &requests[0];
    struct error error = ERROR_NULL;
    int r;

    *q = (struct engine_request){ .instance = s->instance, .prompt = prompt, .prompt_count = count,
                                  .max_tokens = o->max_tokens, .sampling = o->sampling, .ignore_eos = o->ignore_eos,
                                  .stop_count = o->stop_count, .submitted_ns = clock_now_ns() };
    for (uint32_t i = 0; i < o->stop_count; i++)
        q->stops[i] = (struct engine_stop){.text = (const uint8_t *)o->stops[i], .size = (uint32_t)strlen(o->stops[i])};
    if (o->parallel > 1 && !q->sampling.seed_given)
        q->sampling.seed_given = true;  /* copies that differ in their draws could not be compared */
    l.seed = q->sampling.seed;
    r = drive(s, &l, requests, &error);
    if (r == 0)
        r = judge(&l, &error);
    if (r == 0 && answer)
        buffer_put(answer, l.answers[0].data, l.answers[0].size);
    for (uint32_t i = 0; i < PARALLEL_MAX; i++)
        buffer_deinit(&l.answers[i]);
    return r < 0 ? tool_fail(&error) : EXIT_OK;
}
