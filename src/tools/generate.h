/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Generation in this process: the same engine that the daemon runs, driven by one thread. */

#include "src/tools/options.h"

struct generate_options {
    struct sampling sampling;
    uint32_t max_tokens;                /* 0 = up to the context */
    uint32_t parallel;                  /* copies in one batch; all must answer the same */
    bool ignore_eos, quiet;
    const char *stops[ENGINE_STOPS_MAX];
    uint32_t stop_count;
};

#define GENERATE_OPTIONS_DEFAULT { .sampling = SAMPLING_DEFAULT, .max_tokens = 128, .parallel = 1 }

enum { GENERATE_TEMP = OPTION_VERB, GENERATE_TOP_K, GENERATE_TOP_P, GENERATE_MIN_P, GENERATE_TYPICAL, GENERATE_REPEAT,
       GENERATE_REPEAT_LAST, GENERATE_PRESENCE, GENERATE_FREQUENCY, GENERATE_SEED, GENERATE_STOP, GENERATE_IGNORE_EOS,
       GENERATE_VERB };                 /* verbs number theirs from GENERATE_VERB */

#define GENERATE_LONG_OPTIONS \
    { "n-predict", required_argument, NULL, 'n' }, { "temp", required_argument, NULL, GENERATE_TEMP }, \
    { "top-k", required_argument, NULL, GENERATE_TOP_K }, { "top-p", required_argument, NULL, GENERATE_TOP_P }, \
    { "min-p", required_argument, NULL, GENERATE_MIN_P }, { "typical-p", required_argument, NULL, GENERATE_TYPICAL }, \
    { "repeat-penalty", required_argument, NULL, GENERATE_REPEAT }, \
    { "repeat-last-n", required_argument, NULL, GENERATE_REPEAT_LAST }, \
    { "presence-penalty", required_argument, NULL, GENERATE_PRESENCE }, \
    { "frequency-penalty", required_argument, NULL, GENERATE_FREQUENCY }, \
    { "seed", required_argument, NULL, GENERATE_SEED }, { "stop", required_argument, NULL, GENERATE_STOP }, \
    { "ignore-eos", no_argument, NULL, GENERATE_IGNORE_EOS }

#define GENERATE_OPTIONS_HELP \
    "  -n, --n-predict N        tokens to generate at most; 0 = up to the context\n" \
    "      --temp T             0 (default) takes the best token; else 0.001 to 1024\n" \
    "      --top-k N            0 (default) = all\n" \
    "      --top-p P --typical-p P   above 0 and at most 1 (default: off)\n" \
    "      --min-p P            0 (default: off) to 1\n" \
    "      --repeat-penalty R   0.01 to 100; 1 (default) = off; of the last --repeat-last-n N (64) tokens\n" \
    "      --presence-penalty P --frequency-penalty P   -100 to 100; 0 (default) = off\n" \
    "      --seed N             of the draws; one is chosen where none is given; told on stderr unless -q\n" \
    "      --stop TEXT          ends the answer; up to 16 times, 1 to 256 bytes\n" \
    "      --ignore-eos         go on after an end-of-text token\n"

bool generate_option(struct generate_options *options, const char *verb, int option, const char *argument,
                     int *ret_exit);

/* What an answer took, on stderr, unless the options want quiet: the same line in this process and from a daemon. */
struct generate_took { uint32_t prompt_tokens, generated_tokens; uint64_t prefill_ns, decode_ns, seed; };
void generate_tell(const struct generate_options *options, const struct generate_took *took);

/* Generates from token ids; text goes to standard output as it comes.  The bytes are also kept in @answer unless NULL.
 */
int generate_local(struct session *session, const struct generate_options *options, const uint32_t *prompt,
                   uint32_t count, struct buffer *answer);
