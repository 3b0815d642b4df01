/* SPDX-License-Identifier: Apache-2.0 */
/* tenon: one command with verbs. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/tools/tool.h"

static const struct verb verbs[] = {
    { "run", "generate text from a prompt, in this process or through a daemon", verb_run },
    { "chat", "talk with a model, in this process or through a daemon", verb_chat },
    { "tokenize", "show the token ids of a text", verb_tokenize },
    { "logits", "write the logits of given tokens as .npy", verb_logits },
    { "eval", "measure a model: perplexity", verb_eval },
    { "inspect", "show what a model file holds", verb_inspect },
    { "plan", "show where a model would lie on this host or an invented one", verb_plan },
    { "bench", "measure prefill, decode and memory bandwidth in one run", verb_bench },
    { "ctl", "ask a daemon: ping, status, metrics", verb_ctl },
    { "raw", "send frames to a daemon, show what comes back as JSON", verb_raw },
};

static void help(FILE *to)
{
    fprintf(to, "usage: tenon VERB [options]\n\n");
    for (size_t i = 0; i < ARRAY_LENGTH(verbs); i++)
        fprintf(to, "  %-10s %s\n", verbs[i].name, verbs[i].summary);
    fprintf(to,
            "\ntenon VERB --help tells the options of a verb.  Exit codes: 0 done, 1 failed while running, 2 usage,\n"
            "69 daemon unavailable, 71 memory or pages, 77 permission, 78 configuration.\n");
}

/* A file that is opened must not become a standard one that the caller closed; writing to these fails. */
static void hold_standard_files(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    hold_standard_files();
    if (argc < 2) {
        help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        help(stdout);
        return tool_finish(EXIT_OK);
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("tenon %s\n", TENON_VERSION);
        return tool_finish(EXIT_OK);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(verbs); i++)
        if (strcmp(argv[1], verbs[i].name) == 0)
            return tool_finish(verbs[i].run(argc - 1, argv + 1));
    fprintf(stderr, "tenon: there is no verb \"%.64s\"\n\n", argv[1]);
    help(stderr);
    return EXIT_USAGE;
}
