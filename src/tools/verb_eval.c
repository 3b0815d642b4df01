/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon eval perplexity: the text is tokenised once; chunk i is tokens [c i, c i + c), its first token replaced by BOS
 * where the model asks for one; positions c/2 .. c-2 predict c/2+1 .. c-1.  The same counting as llama.cpp's perplexity
 * tool.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/json.h"
#include "src/engine/score.h"
#include "src/tools/options.h"
#include "src/tools/progress.h"

#define TEXT_MAX (1u << 30)

struct perplexity {
    struct session *session;
    const uint32_t *ids;                /* of the chunk at hand */
    uint32_t count;
    double nll, nll_squares;
    uint64_t scored, before;            /* tokens of the chunks before this one */
    struct progress progress;
};

static int help(void)
{
    printf("usage: tenon eval perplexity -m FILE -f TEXT [options]\n\n" MODEL_OPTIONS_HELP
           "  -f, --file F             the text; - for standard input\n"
           "      --chunks N           chunks of -c tokens (default 512) to score; default all\n"
           "      --json               a JSON object instead of a line\n");
    return EXIT_OK;
}

static int score_position(void *arg, uint32_t position, const float *logits, uint32_t n_vocab)
{
    struct perplexity *p = arg;
    double nll;
    char sofar[48] = "";

    (void)n_vocab;
    if (p->scored)
        snprintf(sofar, sizeof(sofar), "perplexity %.4f", exp(p->nll / (double)p->scored));
    progress_tell(&p->progress, p->before + position + 1, sofar);
    if (position < p->count / 2 || position + 1 >= p->count)
        return 0;
    nll = -(double)instance_logprob(p->session->instance, logits, p->ids[position + 1]);
    p->nll += nll;
    p->nll_squares += nll * nll;
    p->scored++;
    return 0;
}

static int score_chunks(struct perplexity *p, const struct model_options *o, struct tokens *tokens, uint32_t chunks,
                        struct error *error)
{
    const struct vocab *vocab = instance_vocab(p->session->instance);
    int r = 0;

    p->count = o->context;
    p->progress = progress_begin("perplexity", (uint64_t)chunks * o->context, o->quiet);
    for (uint32_t i = 0; r == 0 && i < chunks; i++) {
        uint32_t *ids = tokens->ids + (size_t)i * o->context;

        if (vocab_add_bos(vocab))
            ids[0] = vocab_bos(vocab);
        p->ids = ids;
        p->before = (uint64_t)i * o->context;
        r = instance_score(p->session->instance, ids, o->context, o->context / 2, o->prefill_chunk, score_position, p,
                           error);
    }
    progress_end(&p->progress);
    return r;
}

static int report(const struct perplexity *p, uint32_t chunks, bool as_json)
{
    double mean = p->nll / (double)p->scored, variance = p->nll_squares / (double)p->scored - mean * mean;
    double value = exp(mean), standard_error = value * sqrt(fmax(variance, 0) / (double)p->scored);
    struct buffer out = BUFFER_NULL;
    struct json j = json_to(&out);
    int code;

    if (as_json) {
        json_object(&j);
        json_key(&j, "perplexity");
        json_f64(&j, value);
        json_key(&j, "standard_error");
        json_f64(&j, standard_error);
        json_key(&j, "chunks");
        json_u64(&j, chunks);
        json_key(&j, "scored");
        json_u64(&j, p->scored);
        json_end(&j, '}');
        buffer_put_u8(&out, '\n');
    } else {
        buffer_printf(&out, "perplexity %.4f +/- %.4f (%u chunks, %llu tokens scored)\n", value, standard_error, chunks,
                      (unsigned long long)p->scored);
    }
    code = tool_put(&out);
    buffer_deinit(&out);
    return code;
}

struct eval_options {
    struct model_options model;
    const char *file;
    uint32_t chunks;
    bool as_json;
};

static int perplexity(struct session *s, const struct eval_options *e, const struct buffer *text)
{
    const struct model_options *o = &e->model;
    struct perplexity p = { .session = s };
    struct tokens tokens = TOKENS_NULL;
    struct error error = ERROR_NULL;
    int r = vocab_encode_prompt(instance_vocab(s->instance), text->data, text->size, 0, &tokens, &error), code;
    uint32_t chunks = (uint32_t)min_u64(tokens.count / o->context, UINT32_MAX);

    if (e->chunks && e->chunks < chunks)
        chunks = e->chunks;
    if (r == 0 && chunks == 0)
        r = error_set(&error, -EINVAL, "%s has %zu tokens; one chunk takes %u", e->file, tokens.count, o->context);
    if (r == 0)
        r = score_chunks(&p, o, &tokens, chunks, &error);
    code = r < 0 ? tool_fail(&error) : report(&p, chunks, e->as_json);
    tokens_deinit(&tokens);
    return code;
}

/* The text first: a wrong name is told before minutes of loading. */
static int eval(const struct eval_options *e)
{
    struct session s = SESSION_NULL;
    struct buffer text = BUFFER_NULL;
    struct error error = ERROR_NULL;
    int code;

    if (tool_read_file(e->file, TEXT_MAX, &text, &error) < 0)
        return tool_fail(&error);
    code = session_open(&s, &e->model);
    if (code == EXIT_OK)
        code = perplexity(&s, e, &text);
    session_close(&s);
    buffer_deinit(&text);
    return code;
}

int verb_eval(int argc, char **argv)
{
    enum { CHUNKS = OPTION_VERB, JSON };
    static const struct option longs[] = { MODEL_LONG_OPTIONS, { "file", required_argument, NULL, 'f' },
                                           { "chunks", required_argument, NULL, CHUNKS },
                                           { "json", no_argument, NULL, JSON }, { NULL, 0, NULL, 0 } };
    struct eval_options e = { .model = MODEL_OPTIONS_DEFAULT };
    int c, code;

    while ((c = getopt_long(argc, argv, MODEL_SHORT_OPTIONS "f:", longs, NULL)) >= 0) {
        if (c == 'h')
            return help();
        if (c == 'f')
            e.file = optarg;
        else if (c == JSON)
            e.as_json = true;
        else if (c == CHUNKS && !tool_u32(optarg, 1, 1u << 24, &e.chunks))
            return tool_usage("eval", "--chunks takes 1 to 16777216, not \"%.32s\"", optarg);
        else if (c != CHUNKS && !model_option(&e.model, "eval", c, optarg, &code))
            return tool_usage("eval", "an option was not understood");
        else if (c != CHUNKS && code)
            return code;
    }
    if (optind + 1 != argc || strcmp(argv[optind], "perplexity") != 0)
        return tool_usage("eval", "say what to measure: perplexity");
    if (!e.model.model || !e.file)
        return tool_usage("eval", "-m FILE and -f TEXT are needed");
    if (!e.model.context)
        e.model.context = 512;
    if (e.model.context < 4)
        return tool_usage("eval", "-c takes at least 4 here");
    return eval(&e);
}
