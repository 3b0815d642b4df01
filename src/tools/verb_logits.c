/* SPDX-License-Identifier: Apache-2.0 */
/* tenon logits: f32 logits of given tokens, shape (n_tokens, n_vocab), as NumPy's format 1.0 (numpy.lib.format). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/engine/score.h"
#include "src/tools/options.h"
#include "src/tools/token_file.h"

static int help(void)
{
    printf("usage: tenon logits -m FILE --tokens-file IDS --out X.npy [options]\n\n" MODEL_OPTIONS_HELP
           "      --tokens-file F      token ids separated by white space or commas; - for standard input\n"
           "      --out X.npy          float32, shape (n_tokens, n_vocab)\n");
    return EXIT_OK;
}

static int write_row(void *arg, uint32_t position, const float *logits, uint32_t n_vocab)
{
    (void)position;
    return fwrite(logits, sizeof(float), n_vocab, arg) == n_vocab ? 0 : -EIO;
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

static int score(struct session *s, const struct model_options *o, const uint32_t *ids, uint32_t count,
                 const char *path)
{
    struct error error = ERROR_NULL;
    FILE *out = fopen(path, "wb");
    int r;

    if (!out) {
        error_set(&error, -errno, "cannot create %s: %s", path, strerror(errno));
        return tool_fail(&error);
    }
    write_header(out, count, instance_info(s->instance)->vocab_size);
    r = instance_score(s->instance, ids, count, 0, o->prefill_chunk, write_row, out, &error);
    if (r == -EIO)
        error_set(&error, r, "cannot write %s: the disk may be full", path);
    if (fclose(out) != 0 && r == 0)
        r = error_set(&error, -EIO, "cannot write %s: %s", path, strerror(errno));
    return r < 0 ? tool_fail(&error) : EXIT_OK;
}

int verb_logits(int argc, char **argv)
{
    enum { TOKENS = OPTION_VERB, OUT };
    static const struct option longs[] = { MODEL_LONG_OPTIONS, { "tokens-file", required_argument, NULL, TOKENS },
                                           { "out", required_argument, NULL, OUT }, { NULL, 0, NULL, 0 } };
    struct model_options o = MODEL_OPTIONS_DEFAULT;
    struct session s = SESSION_NULL;
    struct token_list ids = TOKEN_LIST_NULL;
    struct error error = ERROR_NULL;
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
    if (token_list_read(tokens, &ids, &error) < 0)
        return tool_fail(&error);
    if (!o.context)
        o.context = ids.count;
    code = session_open(&s, &o);
    if (code == EXIT_OK)
        code = score(&s, &o, ids.ids, ids.count, out);
    session_close(&s);
    token_list_deinit(&ids);
    return code;
}
