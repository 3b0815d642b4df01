/* SPDX-License-Identifier: Apache-2.0 */
/* tenon tokenize: needs the tokenizer.* keys only; a file without tensors, of any architecture, is enough. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "src/base/json.h"
#include "src/model/vocab.h"
#include "src/tools/tool.h"

#define TEXT_MAX (64u << 20)

struct tokenize_options {
    const char *model, *file, *text;
    bool no_special, no_bos, pieces;
};

static int help(void)
{
    printf("usage: tenon tokenize -m FILE [options] TEXT | -f FILE\n\n"
           "  -m, --model FILE    a GGUF file with a tokenizer\n"
           "  -f, --file FILE     the text, - for standard input\n"
           "      --ids           a JSON list of token ids (this is the default)\n"
           "      --pieces        a JSON list of {id, text, offset}\n"
           "      --no-special    special tokens in the text are ordinary text\n"
           "      --no-bos        no BOS, even where the model asks for one\n");
    return EXIT_OK;
}

static void print_piece(struct json *j, const struct vocab *vocab, uint32_t id, uint32_t offset)
{
    struct buffer text = BUFFER_NULL;

    vocab_decode(vocab, id, true, &text);
    json_object(j);
    json_key(j, "id");
    json_u64(j, id);
    json_key(j, "text");
    json_string(j, text.data, text.size);
    json_key(j, "offset");
    json_u64(j, offset);
    json_end(j, '}');
    buffer_deinit(&text);
}

static int print_tokens(const struct vocab *vocab, const struct tokens *tokens, bool pieces)
{
    struct buffer out = BUFFER_NULL;
    struct json j = json_to(&out);
    int code;

    json_array(&j);
    for (size_t i = 0; i < tokens->count; i++)
        if (pieces)
            print_piece(&j, vocab, tokens->ids[i], tokens->offsets[i]);
        else
            json_u64(&j, tokens->ids[i]);
    json_end(&j, ']');
    buffer_put_u8(&out, '\n');
    code = tool_put(&out);
    buffer_deinit(&out);
    return code;
}

static int encode(const struct tokenize_options *o, const struct vocab *vocab, const void *text, size_t size)
{
    struct tokens tokens = TOKENS_NULL;
    struct error error = ERROR_NULL;
    unsigned flags = (o->no_special ? 0 : VOCAB_PARSE_SPECIAL) | (o->no_bos ? VOCAB_NO_BOS : 0);
    int r = vocab_encode_prompt(vocab, text, size, flags, &tokens, &error);
    int code = r < 0 ? tool_fail(&error) : print_tokens(vocab, &tokens, o->pieces);
    tokens_deinit(&tokens);
    return code;
}

static int load(const char *path, struct gguf **ret_gguf, struct vocab **ret_vocab, struct error *error)
{
    int r = gguf_read_file(path, ret_gguf, error);

    if (r < 0)
        return r;
    r = vocab_load(*ret_gguf, ret_vocab, error);
    if (r < 0)
        error_prefix(error, "%s", path);
    return r;
}

static int tokenize(const struct tokenize_options *o)
{
    struct gguf *gguf = NULL;
    struct vocab *vocab = NULL;
    struct buffer content = BUFFER_NULL;
    struct error error = ERROR_NULL;
    int r = load(o->model, &gguf, &vocab, &error), code;

    if (r == 0 && o->file)
        r = tool_read_file(o->file, TEXT_MAX, &content, &error);
    if (r < 0)
        code = tool_fail(&error);
    else if (o->file)
        code = encode(o, vocab, content.data, content.size);
    else
        code = encode(o, vocab, o->text, strlen(o->text));
    buffer_deinit(&content);
    vocab_free(vocab);
    gguf_free(gguf);
    return code;
}

int verb_tokenize(int argc, char **argv)
{
    static const struct option longs[] = {
        { "model", required_argument, NULL, 'm' }, { "file", required_argument, NULL, 'f' },
        { "ids", no_argument, NULL, 'i' },         { "pieces", no_argument, NULL, 'p' },
        { "no-special", no_argument, NULL, 's' },  { "no-bos", no_argument, NULL, 'b' },
        { "help", no_argument, NULL, 'h' },        { NULL, 0, NULL, 0 },
    };
    struct tokenize_options o = { .model = NULL };
    int c;

    while ((c = getopt_long(argc, argv, "m:f:h", longs, NULL)) >= 0)
        switch (c) {
        case 'm': o.model = optarg; break;
        case 'f': o.file = optarg; break;
        case 'i': o.pieces = false; break;
        case 'p': o.pieces = true; break;
        case 's': o.no_special = true; break;
        case 'b': o.no_bos = true; break;
        case 'h': return help();
        default: return tool_usage("tokenize", "an option was not understood");
        }
    if (optind < argc)
        o.text = argv[optind++];
    if (!o.model)
        return tool_usage("tokenize", "-m FILE is missing");
    if (optind < argc || !o.text == !o.file)
        return tool_usage("tokenize", "give one TEXT or -f FILE");
    return tokenize(&o);
}
