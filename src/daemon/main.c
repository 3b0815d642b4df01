/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/log.h"
#include "src/daemon/daemon.h"
#include "src/daemon/listen.h"

#define OPTION_SETTING 1000             /* + its place in the table */

enum { OPTION_MODEL = 500, OPTION_CONFIG, OPTION_CHECK, OPTION_VERSION, OPTION_NOTHING, OPTION_MMAP, OPTION_F32 };

struct arguments {
    const char *config;                 /* --config */
    bool check;
};

static const struct option own_options[] = {
    { "model", required_argument, NULL, OPTION_MODEL },
    { "config", required_argument, NULL, OPTION_CONFIG },
    { "check-config", no_argument, NULL, OPTION_CHECK },
    { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, OPTION_VERSION },
    { "ctx-size", required_argument, NULL, 'c' },
    { "batch-size", required_argument, NULL, 'b' },
    { "mlock", no_argument, NULL, OPTION_NOTHING },
    { "no-mmap", no_argument, NULL, OPTION_NOTHING },
    { "mmap", no_argument, NULL, OPTION_MMAP },
    { "memory-f32", no_argument, NULL, OPTION_F32 },
};

static int usage(const char *format, ...) printf_like(1, 2);
static int usage(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fprintf(stderr, "tenond: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\nTry tenond --help\n");
    va_end(args);
    return EXIT_USAGE;
}

static void help(void)
{
    printf("usage: tenond --model ID=FILE [--model ID=FILE]... [--socket PATH] [OPTIONS]\n"
           "       tenond --config FILE [OPTIONS]\n"
           "\n"
           "Serves GGUF language models on a Unix socket.\n"
           "\n"
           "  -m, --model ID=FILE              a model and its name for clients; may be repeated\n"
           "      --config FILE                read settings; default %s if it is there\n"
           "      --check-config               read and check everything, load nothing: exit 0 or 78\n"
           "  -h, --help, --version            this text; the version\n"
           "\n"
           "Settings: in the file `key = value` under [server], [compute], [model ID]; here --key VALUE.  The command\n"
           "line wins.  Short forms: -t threads, -c context (--ctx-size), -b prefill-chunk (--batch-size).\n"
           "\n", CONFIG_PATH);
    config_print_settings();
    printf("\n"
           "Habits from llama.cpp: --mlock and --no-mmap hold anyway (pages are huge or locked, and never the page\n"
           "cache's); --mmap and --memory-f32 are refused.\n"
           "\n"
           "Signals: SIGTERM, SIGINT end it after the requests in flight (drain-timeout); a second one at once.\n"
           "Exit codes: 0; 1 failed while running; 2 usage; 69 another daemon serves this socket; 71 memory or huge\n"
           "pages are short; 77 a permission is missing; 78 configuration.\n");
}

/* The options of getopt_long(): ours, then one for each setting. */
static struct option *make_options(void)
{
    size_t n = ARRAY_LENGTH(own_options), count = config_setting_count();
    struct option *options = calloc(n + count + 1, sizeof(*options));

    if (!options)
        return NULL;
    memcpy(options, own_options, sizeof(own_options));
    for (size_t i = 0; i < count; i++)
        if (config_setting_name(i))
            options[n++] = (struct option){ config_setting_name(i), required_argument, NULL, OPTION_SETTING + (int)i };
    return options;
}

static int by_name(struct config *config, const char *name, const char *value, struct error *error)
{
    for (size_t i = 0; i < config_setting_count(); i++)
        if (config_setting_name(i) && strcmp(config_setting_name(i), name) == 0)
            return config_take_option(config, i, value, error);
    check(false);                       /* a name of the table was asked for */
    return 0;
}

/* One option; -1 to go on, else an exit code. */
static int take(struct config *config, struct arguments *a, int option, const char *value)
{
    struct error error = ERROR_NULL;
    int r = 0;

    switch (option) {
    case 'h':
        help();
        return EXIT_OK;
    case OPTION_VERSION:
        printf("tenond %s\n", TENON_VERSION);
        return EXIT_OK;
    case OPTION_CHECK:
        a->check = true;
        return -1;
    case OPTION_NOTHING:
        return -1;
    case OPTION_MMAP:
        return usage("--mmap is refused: weights are read past the page cache into huge pages on the right node");
    case OPTION_F32:
        return usage("--memory-f32 is refused: keys and values are kept as f16, which is part of the numeric contract");
    case 'm':
    case OPTION_MODEL:
        r = config_take_model(config, value, &error);
        break;
    case 't':
        r = by_name(config, "threads", value, &error);
        break;
    case 'c':
        r = by_name(config, "context", value, &error);
        break;
    case 'b':
        r = by_name(config, "prefill-chunk", value, &error);
        break;
    case '?':
    case ':':
        fprintf(stderr, "Try tenond --help\n");
        return EXIT_USAGE;
    default:
        r = config_take_option(config, (size_t)(option - OPTION_SETTING), value, &error);
        break;
    }
    return r < 0 ? usage("%s", error.text) : -1;
}

/* Walks over the command line; @take_one is asked for each option. */
static int walk(int argc, char **argv, const struct option *options, struct config *config, struct arguments *a,
                bool only_config)
{
    int option, r = -1;

    optind = 0;                         /* from the beginning again */
    opterr = !only_config;
    while (r < 0 && (option = getopt_long(argc, argv, "hm:t:c:b:", options, NULL)) != -1) {
        if (option == OPTION_CONFIG)
            a->config = optarg;
        else if (!only_config || option == 'h' || option == OPTION_VERSION)
            r = take(config, a, option, optarg);
    }
    if (r < 0 && optind < argc && !only_config)
        return usage("\"%s\" is no option", argv[optind]);
    return r;
}

static int read_config(struct config *config, const struct arguments *a)
{
    struct error error = ERROR_NULL;
    int r = 0;

    if (a->config)
        r = config_read(config, a->config, &error);
    else if (access(CONFIG_PATH, F_OK) == 0)
        r = config_read(config, CONFIG_PATH, &error);
    if (r == 0)
        return -1;
    log_line(LOG_LEVEL_ERROR, "%s", error.text);
    return r == -EACCES ? EXIT_NOPERM : EXIT_CONFIG;
}

/* All that can be known without loading, listening or placing. */
static int check_more(const struct config *config, struct error *error)
{
    struct topology *topology = NULL;
    int r = listen_check(config, error);

    if (r == 0 && config->topology)
        r = topology_load(config->topology, &topology, error);
    topology_free(topology);
    return r < 0 ? r : config_check_models(config, error);
}

static int check_and_run(const struct config *config, bool only_check)
{
    struct error error = ERROR_NULL;
    int r = config_check(config, &error);

    if (r == 0 && only_check)
        r = check_more(config, &error);
    if (r < 0) {
        log_line(LOG_LEVEL_ERROR, "%s", error.text);
        return r == -EACCES && !only_check ? EXIT_NOPERM : EXIT_CONFIG;
    }
    if (only_check) {
        printf("the configuration is in order: %u model%s\n", config->model_count, config->model_count == 1 ? "" : "s");
        return EXIT_OK;
    }
    log_set_level((enum log_level)config->log_level);
    return daemon_run(config);
}

int main(int argc, char **argv)
{
    struct option *options = make_options();
    struct arguments a = { .config = NULL };
    struct config config;
    int r;

    if (!options)
        return EXIT_OSERR;
    config_init(&config);
    r = walk(argc, argv, options, &config, &a, true);   /* the file first, so that what stands here wins */
    if (r < 0)
        r = read_config(&config, &a);
    if (r < 0)
        r = walk(argc, argv, options, &config, &a, false);
    if (r < 0)
        r = check_and_run(&config, a.check);
    free(options);
    config_deinit(&config);
    return r;
}
