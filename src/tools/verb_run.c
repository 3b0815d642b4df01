/* SPDX-License-Identifier: Apache-2.0 */
/* tenon run: one prompt, one answer; standard output carries the generated text alone. */
#include <stdio.h>
#include <string.h>

#include "src/tools/chat_prompt.h"
#include "src/tools/generate.h"
#include "src/tools/remote.h"

#define PROMPT_MAX (64u << 20)

struct run_options {
    struct model_options model;
    struct generate_options generate;
    const char *prompt, *file, *socket, *system;
    bool chat, no_bos, remote;
};

static int help(void)
{
    printf(
        "usage: tenon run -m FILE -p TEXT [options]\n"
        "       tenon run [--socket PATH] [-m MODEL-ID] -p TEXT [options]\n\n" MODEL_OPTIONS_HELP GENERATE_OPTIONS_HELP
        "  -p, --prompt TEXT        the prompt; its special tokens are understood\n"
        "  -f, --file FILE          the prompt from a file, - for standard input\n"
        "      --chat               the prompt is a user's message in the model's chat format, never special tokens\n"
        "      --system TEXT        with --chat: the system message\n"
        "      --no-bos             no BOS, even where the model asks for one\n"
        "      --parallel N         the same prompt N times in one batch; fails unless all answers are equal;\n"
        "                           in this process only\n"
        "      --socket PATH        ask this daemon; -m is then a model id.  Without it, a -m that is no\n"
           "                           file, or none, asks the daemon at the default socket (see tenon ctl --help)\n");
    return EXIT_OK;
}

/* The messages of --chat: the system's, where there is one, and the user's. */
static size_t messages_of(const struct run_options *o, const struct buffer *prompt, struct tenon_message messages[2])
{
    size_t n = 0;

    if (o->system)
        messages[n++] = (struct tenon_message){ "system", o->system, strlen(o->system) };
    messages[n++] = (struct tenon_message){ "user", (const char *)prompt->data, prompt->size };
    return n;
}

static int run_local(struct run_options *o, const struct buffer *prompt)
{
    struct session s = SESSION_NULL;
    struct tokens tokens = TOKENS_NULL;
    struct error error = ERROR_NULL;
    struct tenon_message messages[2];
    int code, r;

    o->model.sequences = o->generate.parallel;
    code = session_open(&s, &o->model);
    if (code != EXIT_OK)
        return code;
    if (o->chat)
        r = prompt_encode_chat(s.instance, messages, messages_of(o, prompt, messages), o->no_bos, &tokens,
                               &error);
    else
        r = prompt_encode_text(s.instance, prompt->data, prompt->size, o->no_bos, &tokens, &error);
    code = r < 0 ? tool_fail(&error) : generate_local(&s, &o->generate, tokens.ids, (uint32_t)tokens.count, NULL);
    tokens_deinit(&tokens);
    session_close(&s);
    return code;
}

static int ask(const struct run_options *o, struct tenon *tenon, const struct buffer *prompt)
{
    struct tenon_segment text = { TENON_TRUSTED_TEXT, prompt->data, prompt->size };
    struct tenon_message messages[2];
    struct tenon_prompt *chat = NULL;
    int code;

    if (!o->chat)
        return remote_generate(tenon, o->model.model, &text, 1, &o->generate, o->no_bos, NULL);
    code = remote_chat_prompt(tenon, o->model.model, messages, messages_of(o, prompt, messages), &chat);
    if (code == EXIT_OK)
        code = remote_generate(tenon, o->model.model, chat->segments, chat->count, &o->generate, o->no_bos, NULL);
    tenon_prompt_free(chat);
    return code;
}

static int run_remote(const struct run_options *o, const struct buffer *prompt)
{
    struct tenon *tenon;
    int code = remote_open(o->socket, "run", &tenon);

    if (code != EXIT_OK)
        return code;
    code = ask(o, tenon, prompt);
    tenon_close(tenon);
    return code;
}

static int run(struct run_options *o)
{
    struct buffer prompt = BUFFER_NULL;
    struct error error = ERROR_NULL;
    int code;

    if (o->file && tool_read_file(o->file, PROMPT_MAX, &prompt, &error) < 0)
        return tool_fail(&error);
    if (!o->file)
        buffer_put(&prompt, o->prompt, strlen(o->prompt));
    code = o->remote ? run_remote(o, &prompt) : run_local(o, &prompt);
    buffer_deinit(&prompt);
    return code;
}

/* What does not go together; decided before anything is read or loaded. */
static int judge(struct run_options *o)
{
    if (!o->prompt == !o->file)
        return tool_usage("run", "give -p TEXT or -f FILE, and nothing else");
    if (o->system && !o->chat)
        return tool_usage("run", "--system goes with --chat");
    o->remote = o->socket || tool_is_model_id(o->model.model);
    o->generate.quiet = o->model.quiet;
    if (o->remote && o->generate.parallel > 1)
        return tool_usage("run", "--parallel computes in this process: give -m FILE and no --socket");
    return o->remote ? model_options_for_daemon(&o->model, "run") : EXIT_OK;
}

int verb_run(int argc, char **argv)
{
    enum { CHAT = GENERATE_VERB, SYSTEM, PARALLEL, SOCKET, NO_BOS };
    static const struct option longs[] = {
        MODEL_LONG_OPTIONS, GENERATE_LONG_OPTIONS, { "prompt", required_argument, NULL, 'p' },
        { "file", required_argument, NULL, 'f' }, { "chat", no_argument, NULL, CHAT },
        { "system", required_argument, NULL, SYSTEM }, { "parallel", required_argument, NULL, PARALLEL },
        { "socket", required_argument, NULL, SOCKET }, { "no-bos", no_argument, NULL, NO_BOS }, { NULL, 0, NULL, 0 },
    };
    struct run_options o = { .model = MODEL_OPTIONS_DEFAULT, .generate = GENERATE_OPTIONS_DEFAULT };
    int c, code;

    while ((c = getopt_long(argc, argv, MODEL_SHORT_OPTIONS "p:f:n:", longs, NULL)) >= 0) {
        code = EXIT_OK;
        switch (c) {
        case 'h': return help();
        case 'p': o.prompt = optarg; break;
        case 'f': o.file = optarg; break;
        case CHAT: o.chat = true; break;
        case SYSTEM: o.system = optarg; break;
        case SOCKET: o.socket = optarg; break;
        case NO_BOS: o.no_bos = true; break;
        case PARALLEL:
            if (!tool_u32(optarg, 1, 32, &o.generate.parallel))
                return tool_usage("run", "--parallel takes 1 to 32, not \"%.32s\"", optarg);
            break;
        default:
            if (!model_option(&o.model, "run", c, optarg, &code) &&
                !generate_option(&o.generate, "run", c, optarg, &code))
                return tool_usage("run", "an option was not understood");
        }
        if (code)
            return code;
    }
    if (optind < argc)
        return tool_usage("run", "\"%.32s\" is one word too many", argv[optind]);
    code = judge(&o);
    return code == EXIT_OK ? run(&o) : code;
}
