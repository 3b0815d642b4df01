/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The parts of tenon bench: what is asked for, measuring it with a loaded model, telling it. */

#include "src/graph/graph.h"
#include "src/tools/options.h"
#include "src/tools/spread.h"

#define BENCH_POINTS_MAX 32u
#define BENCH_BATCH_PROMPT 16u          /* tokens of each prompt of --batches */

/* Points of a sweep: tokens of a prompt, sequences, positions that are filled. */
struct bench_list { uint32_t count, values[BENCH_POINTS_MAX]; };

struct bench_options {
    uint32_t prompt, generate, repeat, batch;
    struct bench_list prefill, batches, contexts;
    bool as_json, quiet;
};

struct bench_point {
    double tokens_per_s;                /* of the best */
    struct spread seconds;              /* of a prompt, or of the steps in which every sequence gets a token */
};

struct bench_link {
    uint32_t reading_node, memory_node; /* as `tenon plan` numbers them */
    double bytes_per_s;
};

struct bench_result {
    double prefill_tokens_per_s, decode_tokens_per_s, step_bytes, bandwidth, load_bytes_per_s, load_s;
    struct spread step;                 /* seconds in which each of --batch sequences gets a token */
    struct graph_times times[2];        /* of all rounds of prefill and decode: steps of few tokens, of many */
    struct bench_point prefill[BENCH_POINTS_MAX], batches[BENCH_POINTS_MAX], contexts[BENCH_POINTS_MAX];
    struct bench_link *links;           /* [nodes * nodes] */
    uint32_t link_count;
};

/* Positions that a sequence needs, and sequences at once, for all that is asked. */
uint32_t bench_context(const struct bench_options *options);
uint32_t bench_sequences(const struct bench_options *options);

must_check int bench_measure(struct session *session, const struct bench_options *options,
                             struct bench_result *ret_result, struct error *error);
void bench_result_deinit(struct bench_result *result);

/* Keys and values of one position, over all layers. */
double bench_kv_bytes(const struct instance *instance);
/* Writes the result to standard output; EXIT_OK or EXIT_RUN_TIME. */
int bench_tell(const struct instance *instance, const struct bench_options *options,
               const struct bench_result *result);
