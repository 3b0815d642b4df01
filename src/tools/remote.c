/* SPDX-License-Identifier: Apache-2.0 */
#include "src/tools/remote.h"

#include <stdio.h>
#include <string.h>

int remote_fail(const struct tenon_error *e)
{
    fprintf(stderr, "tenon: %s\n", SHOWN(e->message[0] ? e->message : tenon_code_name(e->code)));
    switch (e->code) {
    case TENON_E_CONNECT:
    case TENON_E_CLOSED:
    case TENON_E_TIMEOUT:
    case TENON_E_BUSY:
    case TENON_E_LOADING:
    case TENON_E_DRAINING: return EXIT_UNAVAILABLE;
    case TENON_E_PERMISSION: return EXIT_PERMISSION;
    case TENON_E_NO_MEMORY: return EXIT_OS;
    default: return EXIT_RUN_TIME;
    }
}

int remote_open(const char *socket, const char *verb, struct tenon **ret_tenon)
{
    char name[32];
    struct tenon_error error;
    size_t n;

    snprintf(name, sizeof(name), "tenon %s", verb);
    if (tenon_open(socket, &(struct tenon_options){ .name = name }, ret_tenon, &error) == TENON_OK)
        return EXIT_OK;
    n = strlen(error.message);
    if (!socket && error.code == TENON_E_CONNECT)
        snprintf(error.message + n, sizeof(error.message) - n, " (start it, or give --socket PATH)");
    return remote_fail(&error);
}

struct stream {
    struct buffer *answer;
    uint64_t seed;
    bool write_failed;
};

static bool on_event(void *arg, const struct tenon_event *e)
{
    struct stream *s = arg;

    if (e->kind == TENON_STARTED)
        s->seed = e->seed;
    if (e->text_size == 0)
        return true;
    if (s->answer)
        buffer_put(s->answer, e->text, e->text_size);
    if (fwrite(e->text, 1, e->text_size, stdout) != e->text_size || fflush(stdout) != 0)
        s->write_failed = true;
    return !s->write_failed;
}

static struct tenon_request request_of(const char *model, const struct tenon_segment *segments, size_t count,
                                       const struct generate_options *o, bool no_bos)
{
    const struct sampling *p = &o->sampling;

    return (struct tenon_request){
        .model = model, .segments = segments, .segment_count = count, .max_tokens = o->max_tokens,
        .temperature = p->temperature, .top_p = p->top_p, .min_p = p->min_p, .typical_p = p->typical_p,
        .repeat_penalty = p->repeat_penalty, .presence_penalty = p->presence_penalty,
        .frequency_penalty = p->frequency_penalty, .repeat_last_n = p->repeat_last_n, .top_k = p->top_k,
        .seed_given = p->seed_given, .seed = p->seed, .ignore_eos = o->ignore_eos, .no_bos = no_bos,
        .stops = o->stops, .stop_count = o->stop_count,
    };
}

int remote_generate(struct tenon *tenon, const char *model, const struct tenon_segment *segments, size_t count,
                    const struct generate_options *o, bool no_bos, struct buffer *answer)
{
    struct tenon_request q = request_of(model, segments, count, o, no_bos);
    struct stream s = { .answer = answer };
    struct tenon_error error;
    struct tenon_event done;
    int code = tenon_generate(tenon, &q, on_event, &s, &done, &error);

    if (code != TENON_OK)
        return remote_fail(&error);
    if (s.write_failed) {
        fprintf(stderr, "tenon: standard output was closed\n");
        return EXIT_RUN_TIME;
    }
    generate_tell(o, &(struct generate_took){ done.prompt_tokens, done.generated_tokens, done.prefill_ns,
                                              done.decode_ns, s.seed });
    return EXIT_OK;
}

int remote_chat_prompt(struct tenon *tenon, const char *model, const struct tenon_message *messages, size_t count,
                       struct tenon_prompt **ret_prompt)
{
    struct tenon_model_info *info = NULL;
    struct tenon_error error;
    int code = tenon_model_info(tenon, model, &info, &error);

    if (code == TENON_OK)
        code = tenon_chat(info, messages, count, ret_prompt, &error);
    tenon_model_info_free(info);
    return code == TENON_OK ? EXIT_OK : remote_fail(&error);
}
