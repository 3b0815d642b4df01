/* SPDX-License-Identifier: Apache-2.0 */
/* tenon logits: f32 logits of given tokens, shape (n_tokens, n_vocab), as NumPy's format 1.0 (numpy.lib.format). */
#include <stdio.h>
#include <string.h>

#include "src/engine/score.h"
#include "src/model/model.h"
#include "src/tools/options.h"
#include "src/tools/out_file.h"
#include "src/tools/progress.h"
#include "src/tools/token_file.h"

static int help(void)
{
    printf("usage: tenon logits -m FILE --tokens-file IDS --out X.npy [options]\n\n" MODEL_OPTIONS_HELP
           "      --tokens-file F      token ids separated by white space or commas; - for standard input\n"
           "      --out X.npy          float32, shape (n_tokens, n_vocab)\n");
    return EXIT_OK;
}

struct writer {
    FILE *out;
    struct progress progress;
};

static int write_row(void *arg, uint32_t position, const float *logits, uint32_t n_vocab)
{
    struct writer *w = arg;

    progress_tell(&w->progress, position + UINT64_C(1), "");
    return fwrite(logits, sizeof(float), n_vocab, w->out) == n_vocab ? 0 : -EIO;
}

/* Magic, version, header length, a Python literal padded with blanks to a multiple of 64. */
static void write_header(FILE *out, uint32_t rows, uint32_t columns)
{
    char header[128];
    int n = snprintf(header, sizeof(header), "{'descr': '<f4', 'fortran_order': False, 'shape': (%u, %u), }", rows,
                     columns);

    memset(header + n, ' ', sizeof(header) - (size_t)n);
    header[117] = '\n';                 /* 10 bytes before, 118 of header: 128 in all */
    fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, out);
    fwrite(header, 1, 118, out);
}

static int score(struct session *s, const struct model_options *o, const struct token_list *ids, const char *path,
                 struct out_file *out)
{
    struct writer w = { .out = out->file, .progress = progress_begin("logits", ids->count, o->quiet) };
    struct error error = ERROR_NULL;
    int r;

    write_header(w.out, ids->count, instance_info(s->instance)->vocab_size);
    r = instance_score(s->instance, ids->ids, ids->count, 0, o->prefill_chunk, write_row, &w, &error);
    progress_end(&w.progress);
    if (r == -EIO)
        error_set(&error, r, "cannot write %s: the disk may be full", path);
    if (r == 0)
        r = out_file_commit(out, &error);
    return r < 0 ? tool_fail(&error) : EXIT_OK;
}

/* By the header of the file, which is read in no time: the load may take minutes. */
static int check_ids(const char *path, const struct token_list *ids, struct error *error)
{
    struct model *model;
    int r = model_open(path, &model, error);

    if (r < 0)
        return r;
    for (uint32_t i = 0; r == 0 && i < ids->count; i++)
        if (ids->ids[i] >= model->hparams.n_vocab)
            r = error_set(error, -EINVAL, "token id %u at position %u is not below the vocabulary's %u", ids->ids[i],
                          i, model->hparams.n_vocab);
    model_close(model);
    return r;
}

static int logits(struct model_options *o, const char *tokens, const char *path)
{
    struct session s = SESSION_NULL;
    struct token_list ids = TOKEN_LIST_NULL;
    struct out_file out = OUT_FILE_NULL;
    struct error error = ERROR_NULL;
    int code, r = token_list_read(tokens, &ids, &error);

    if (r == 0)
        r = check_ids(o->model, &ids, &error);
    if (r == 0)
        r = out_file_open(path, &out, &error);
    if (r == 0 && !o->context)
        o->context = ids.count;
    code = r < 0 ? tool_fail(&error) : session_open(&s, o);
    if (code == EXIT_OK)
        code = score(&s, o, &ids, path, &out);
    session_close(&s);
    out_file_deinit(&out);
    token_list_deinit(&ids);
    return code;
}

int verb_logits(int argc, char **argv)
{
    enum { TOKENS = OPTION_VERB, OUT };
    static const struct option longs[] = { MODEL_LONG_OPTIONS, { "tokens-file", required_argument, NULL, TOKENS },
                                           { "out", required_argument, NULL, OUT }, { NULL, 0, NULL, 0 } };
    struct model_options o = MODEL_OPTIONS_DEFAULT;
    const char *tokens = NULL, *out = NULL;
    int c, code;

    while ((c = getopt_long(argc, argv, MODEL_SHORT_OPTIONS, longs, NULL)) >= 0) {
        if (c == 'h')
            return help();
        if (c == TOKENS)
            tokens = optarg;
        else if (c == OUT)
            out = optarg;
        else if (!model_option(&o, "logits", c, optarg, &code))
            return tool_usage("logits", "an option was not understood");
        else if (code)
            return code;
    }
    if (!o.model || !tokens || !out || optind < argc)
        return tool_usage("logits", "-m FILE, --tokens-file F and --out X.npy are needed, and nothing else");
    return logits(&o, tokens, out);
}
