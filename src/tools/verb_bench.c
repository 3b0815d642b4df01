/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon bench: prefill and decode through the engine, and the read bandwidth around them, in one run.
 * The share of the bandwidth is (packed weights + KV read) per decode step, over the best read of the same run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/tools/bench.h"

static int help(void)
{
    printf("usage: tenon bench -m FILE [options]\n\n" MODEL_OPTIONS_HELP
           "  -p N                     prompt tokens (default 512)\n"
           "  -n N                     generated tokens (default 64)\n"
           "      --repeat N           rounds, the best counts (default 3)\n"
           "      --batch N            sequences decoded at once (default 1)\n"
           "      --prefill N,N,...    prompts of these lengths besides\n"
           "      --batches N,N,...    so many sequences besides, each after a prompt of %u tokens\n"
           "      --contexts N,N,...   decoding besides where so many positions are filled; -n tokens, one round\n"
           "      --no-pin             workers go where the kernel puts them, to compare\n"
           "      --json               one JSON object\n\n"
           "The share of the read bandwidth is that of memory: of weights that fit into the last-level cache it is\n"
           "above 100 %% by nature.  Keys and values are held for the most sequences times the longest context: ask\n"
           "for --batches and --contexts in two runs where that is much.\n", BENCH_BATCH_PROMPT);
    return EXIT_OK;
}

static int bench(struct session *s, const struct bench_options *o)
{
    struct error error = ERROR_NULL;
    struct bench_result result;
    int code;

    if (bench_measure(s, o, &result, &error) < 0)
        return tool_fail(&error);
    code = bench_tell(s->instance, o, &result);
    bench_result_deinit(&result);
    return code;
}

static int set_count(const char *name, uint32_t maximum, uint32_t *ret)
{
    if (tool_u32(optarg, 1, maximum, ret))
        return EXIT_OK;
    return tool_usage("bench", "%s takes 1 to %u, not \"%.32s\"", name, maximum, optarg);
}

/* "1,16,64": a word that is no number, or one too many, refuses the whole list. */
static int set_list(const char *name, uint32_t minimum, uint32_t maximum, struct bench_list *ret)
{
    struct bench_list list = { .count = 0 };
    const char *at = optarg;

    for (;; at++) {
        char text[16];
        size_t n = strcspn(at, ",");

        snprintf(text, sizeof(text), "%.*s", (int)(n < sizeof(text) ? n : sizeof(text)), at);
        if (list.count == BENCH_POINTS_MAX || n >= sizeof(text) ||
            !tool_u32(text, minimum, maximum, &list.values[list.count++]))
            return tool_usage("bench", "%s takes up to %u numbers from %u to %u with commas between, not \"%.64s\"",
                              name, BENCH_POINTS_MAX, minimum, maximum, optarg);
        at += n;
        if (!*at)
            break;
    }
    *ret = list;
    return EXIT_OK;
}

enum { REPEAT = OPTION_VERB, BATCH, PREFILL, BATCHES, CONTEXTS, NO_PIN, JSON };

static const struct option longs[] = {
    MODEL_LONG_OPTIONS, { "repeat", required_argument, NULL, REPEAT }, { "batch", required_argument, NULL, BATCH },
    { "prefill", required_argument, NULL, PREFILL }, { "batches", required_argument, NULL, BATCHES },
    { "contexts", required_argument, NULL, CONTEXTS }, { "no-pin", no_argument, NULL, NO_PIN },
    { "json", no_argument, NULL, JSON }, { NULL, 0, NULL, 0 },
};

static int take(int option, struct model_options *o, struct bench_options *b)
{
    int code = EXIT_OK;

    switch (option) {
    case 'p': return set_count("-p", 1u << 20, &b->prompt);
    case 'n': return set_count("-n", 1u << 20, &b->generate);
    case REPEAT: return set_count("--repeat", 1000, &b->repeat);
    case BATCH: return set_count("--batch", 256, &b->batch);
    case PREFILL: return set_list("--prefill", 1, 1u << 20, &b->prefill);
    case BATCHES: return set_list("--batches", 1, 256, &b->batches);
    case CONTEXTS: return set_list("--contexts", 0, 1u << 20, &b->contexts);
    case NO_PIN: o->unpinned = true; return EXIT_OK;
    case JSON: b->as_json = true; return EXIT_OK;
    default:
        if (!model_option(o, "bench", option, optarg, &code))
            return tool_usage("bench", "an option was not understood");
        return code;
    }
}

int verb_bench(int argc, char **argv)
{
    struct model_options o = MODEL_OPTIONS_DEFAULT;
    struct bench_options b = { .prompt = 512, .generate = 64, .repeat = 3, .batch = 1 };
    struct session s = SESSION_NULL;
    int c, code;

    while ((c = getopt_long(argc, argv, MODEL_SHORT_OPTIONS "p:n:", longs, NULL)) >= 0) {
        if (c == 'h')
            return help();
        code = take(c, &o, &b);
        if (code)
            return code;
    }
    if (optind < argc)
        return tool_usage("bench", "\"%.32s\" is one word too many", argv[optind]);
    if (!o.model)
        return tool_usage("bench", "-m FILE is missing");
    o.sequences = bench_sequences(&b);
    b.quiet = o.quiet;
    if (!o.context)
        o.context = bench_context(&b);
    code = session_open(&s, &o);
    if (code == EXIT_OK)
        code = bench(&s, &b);
    session_close(&s);
    return code;
}
