/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon eval perplexity: the text is tokenised once; chunk i is tokens [c i, c i + c), its first token replaced by BOS
 * where the model asks for one; positions c/2 .. c-2 predict c/2+1 .. c-1.  The same counting as llama.cpp's perplexity
 * tool.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/base/json.h"
#include "src/engine/score.h"
#include "src/tools/options.h"

#define TEXT_MAX (1u << 30)

struct perplexity {
    struct session *session;
    const uint32_t *ids;                /* of the chunk at hand */
    uint32_t count;
    double nll, nll_squares;
    uint64_t scored;
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

    (void)n_vocab;
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
    for (uint32_t i = 0; r == 0 && i < chunks; i++) {
        uint32_t *ids = tokens->ids + (size_t)i * o->context;

        if (vocab_add_bos(vocab))
            ids[0] = vocab_bos(vocab);
        p->ids = ids;
        r = instance_score(p->session->instance, ids, o->context, o->context / 2, o->prefill_chunk, score_position, p,
                           error);
        if (r == 0 && !o->quiet && isatty(STDERR_FILENO))
            fprintf(stderr, "\rchunk %u of %u: perplexity %.4f ", i + 1, chunks, exp(p->nll / (double)p->scored));
    }
    if (!o->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "\n");
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

static int perplexity(struct session *s, const struct model_options *o, const char *path, uint32_t chunks, bool as_json)
{
    struct perplexity p = { .session = s };
    struct buffer text = BUFFER_NULL;
    struct tokens tokens = TOKENS_NULL;
    struct error error = ERROR_NULL;
    int r = tool_read_file(path, TEXT_MAX, &text, &error), code;

    if (r == 0)
        r = vocab_encode_prompt(instance_vocab(s->instance), text.data, text.size, 0, &tokens, &error);
    if (r == 0 && tokens.count < o->context)
        r = error_set(&error, -EINVAL, "%s has %zu tokens; one chunk takes %u", path, tokens.count, o->context);
    if (r == 0) {
        uint32_t have = (uint32_t)min_u64(tokens.count / o->context, UINT32_MAX);

        chunks = chunks && chunks < have ? chunks : have;
        r = score_chunks(&p, o, &tokens, chunks, &error);
    }
    code = r < 0 ? tool_fail(&error) : report(&p, chunks, as_json);
    buffer_deinit(&text);
    tokens_deinit(&tokens);
    return code;
}

int verb_eval(int argc, char **argv)
{
    enum { CHUNKS = OPTION_VERB, JSON };
    static const struct option longs[] = { MODEL_LONG_OPTIONS, { "file", required_argument, NULL, 'f' },
                                           { "chunks", required_argument, NULL, CHUNKS },
                                           { "json", no_argument, NULL, JSON }, { NULL, 0, NULL, 0 } };
    struct model_options o = MODEL_OPTIONS_DEFAULT;
    struct session s = SESSION_NULL;
    const char *file = NULL;
    uint32_t chunks = 0;
    bool as_json = false;
    int c, code;

    while ((c = getopt_long(argc, argv, MODEL_SHORT_OPTIONS "f:", longs, NULL)) >= 0) {
        if (c == 'h')
            return help();
        if (c == 'f')
            file = optarg;
        else if (c == JSON)
            as_json = true;
        else if (c == CHUNKS && !tool_u32(optarg, 1, 1u << 24, &chunks))
            return tool_usage("eval", "--chunks takes 1 to 16777216, not \"%.32s\"", optarg);
        else if (c != CHUNKS && !model_option(&o, "eval", c, optarg, &code))
            return tool_usage("eval", "an option was not understood");
        else if (c != CHUNKS && code)
            return code;
    }
    if (optind + 1 != argc || strcmp(argv[optind], "perplexity") != 0)
        return tool_usage("eval", "say what to measure: perplexity");
    if (!o.model || !file)
        return tool_usage("eval", "-m FILE and -f TEXT are needed");
    if (!o.context)
        o.context = 512;
    if (o.context < 4)
        return tool_usage("eval", "-c takes at least 4 here");
    code = session_open(&s, &o);
    if (code == EXIT_OK)
        code = perplexity(&s, &o, file, chunks, as_json);
    session_close(&s);
    return code;
}
