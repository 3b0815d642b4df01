/* SPDX-License-Identifier: Apache-2.0 */
/* tenon chat: a conversation, line by line; the whole of it goes to the model with every turn. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/tools/chat_prompt.h"
#include "src/tools/generate.h"
#include "src/tools/remote.h"

#define MESSAGES_MAX 1024u

struct chat {
    struct model_options model;
    struct generate_options generate;
    const char *socket, *system;
    bool remote;
    struct session session;             /* of one kind or the other */
    struct tenon *tenon;
    struct tenon_message messages[MESSAGES_MAX];
    size_t count;
};

static int help(void)
{
    printf("usage: tenon chat -m FILE [options]\n"
           "       tenon chat [--socket PATH] [-m MODEL-ID] [options]\n\n" MODEL_OPTIONS_HELP GENERATE_OPTIONS_HELP
           "      --system TEXT        the system message\n"
           "      --socket PATH        talk to this daemon; -m is then a model id.  Without it, a -m that is no\n"
           "                           file, or none, asks the daemon at the default socket (see tenon ctl --help)\n\n"
           "One line is one message; an empty line or end of file ends the conversation.\n");
    return EXIT_OK;
}

/* Takes over @content. */
static void add_message(struct chat *c, const char *role, char *content, size_t size)
{
    c->messages[c->count++] = (struct tenon_message){ role, content, size };
}

static int answer_local(struct chat *c, struct buffer *answer)
{
    struct tokens tokens = TOKENS_NULL;
    struct error error = ERROR_NULL;
    int r = prompt_encode_chat(c->session.instance, c->messages, c->count, false, &tokens, &error);
    int code = r < 0 ? tool_fail(&error)
                     : generate_local(&c->session, &c->generate, tokens.ids, (uint32_t)tokens.count, answer);

    tokens_deinit(&tokens);
    return code;
}

static int answer_remote(struct chat *c, struct buffer *answer)
{
    struct tenon_prompt *prompt = NULL;
    int code = remote_chat_prompt(c->tenon, c->model.model, c->messages, c->count, &prompt);

    if (code == EXIT_OK)
        code = remote_generate(c->tenon, c->model.model, prompt->segments, prompt->count, &c->generate, false, answer);
    tenon_prompt_free(prompt);
    return code;
}

static int turn(struct chat *c, const char *line, size_t size)
{
    struct buffer answer = BUFFER_NULL;
    char *copy = malloc(size + 1);
    int code;

    if (!copy || c->count + 2 > MESSAGES_MAX) {
        free(copy);
        fprintf(stderr, "tenon: the conversation is too long\n");
        return EXIT_RUN_TIME;
    }
    memcpy(copy, line, size);
    add_message(c, "user", copy, size);
    code = c->tenon ? answer_remote(c, &answer) : answer_local(c, &answer);
    printf("\n");
    if (code == EXIT_OK && buffer_ok(&answer))
        add_message(c, "assistant", (char *)answer.data, answer.size);
    else
        buffer_deinit(&answer);
    return code;
}

static int converse(struct chat *c)
{
    bool terminal = isatty(STDIN_FILENO);
    char *line = NULL;
    size_t room = 0;
    int code = EXIT_OK;

    for (;;) {
        ssize_t n;

        if (terminal)
            fprintf(stderr, "> ");
        n = getline(&line, &room, stdin);
        while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
            n--;
        if (n <= 0)
            break;
        code = turn(c, line, (size_t)n);
        if (code != EXIT_OK)
            break;
    }
    free(line);
    return code;
}

static int chat(struct chat *c)
{
    char *system = c->system ? strdup(c->system) : NULL;
    int code;

    if (system)
        add_message(c, "system", system, strlen(system));
    if (!c->remote)
        code = session_open(&c->session, &c->model);
    else
        code = remote_open(c->socket, "chat", &c->tenon);
    if (code == EXIT_OK)
        code = converse(c);
    tenon_close(c->tenon);
    session_close(&c->session);
    for (size_t i = 0; i < c->count; i++)
        free((char *)(uintptr_t)c->messages[i].content);
    return code;
}

int verb_chat(int argc, char **argv)
{
    enum { SYSTEM = GENERATE_VERB, SOCKET };
    static const struct option longs[] = { MODEL_LONG_OPTIONS, GENERATE_LONG_OPTIONS,
                                           { "system", required_argument, NULL, SYSTEM },
                                           { "socket", required_argument, NULL, SOCKET }, { NULL, 0, NULL, 0 } };
    static struct chat c = { .model = MODEL_OPTIONS_DEFAULT, .generate = GENERATE_OPTIONS_DEFAULT };
    int o, code;

    c.generate.max_tokens = 512;
    while ((o = getopt_long(argc, argv, MODEL_SHORT_OPTIONS "n:", longs, NULL)) >= 0) {
        code = EXIT_OK;
        if (o == 'h')
            return help();
        if (o == SYSTEM)
            c.system = optarg;
        else if (o == SOCKET)
            c.socket = optarg;
        else if (!model_option(&c.model, "chat", o, optarg, &code) &&
                 !generate_option(&c.generate, "chat", o, optarg, &code))
            return tool_usage("chat", "an option was not understood");
        if (code)
            return code;
    }
    if (optind < argc)
        return tool_usage("chat", "\"%.32s\" is one word too many", argv[optind]);
    c.remote = c.socket || tool_is_model_id(c.model.model);
    c.generate.quiet = c.model.quiet;
    code = c.remote ? model_options_for_daemon(&c.model, "chat") : EXIT_OK;
    return code == EXIT_OK ? chat(&c) : code;
}
