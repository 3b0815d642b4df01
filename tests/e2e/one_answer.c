/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One answer: computes the same prompts under many settings and prints a hash of all that came out under each.
 *
 *   one_answer [--tokens N] [--generate N] [--activations A] [--mutate] MODEL SETTING...
 *   SETTING = level,threads,topology,io,chunk,batch     "avx2,3,numa:2 core:2 pu:1,uring,64,8"; topology - is the host
 *
 * A line per setting: the hash, then what was really used (level, threads, nodes, io).  The hash covers the logits of
 * every position of a prompt, and of 8 requests (half of them sampled) every token, its log-probability, three
 * alternatives and the text.  With batch 1 the requests run one after the other, with batch 8 all at once.
 * --mutate changes the last bit of one output of one kernel of every level but ref, to prove that this is seen.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/hash.h"
#include "src/engine/engine.h"
#include "src/engine/score.h"

#define REQUESTS 8u
#define TOKENS_MAX 4096u
#define ALTERNATIVES 3u

struct options {
    const char *model;
    const char *activations;
    uint32_t tokens, generate;
};

struct setting {
    char level[16], topology[128], io[16];
    uint32_t threads, chunk, batch;
};

struct answers {
    uint64_t hash[REQUESTS];
    uint32_t done, failed;
};

static bool mutating;
static kernel_matmul_fn *unmutated;

enum kernel_level __real_kernel_ops_init(struct kernel_ops *ops, enum kernel_level highest);
enum kernel_level __wrap_kernel_ops_init(struct kernel_ops *ops, enum kernel_level highest);

/* The kernel of Q8_0 with the last bit of its first output flipped. */
static void mutated_matmul(const uint8_t *packed, uint32_t groups, const struct kernel_act *x, uint32_t token_first,
                           uint32_t tokens, float *y, size_t y_stride)
{
    uint32_t bits;

    unmutated(packed, groups, x, token_first, tokens, y, y_stride);
    memcpy(&bits, y, sizeof(bits));
    bits ^= 1;
    memcpy(y, &bits, sizeof(bits));
}

/* The linker sends every call of kernel_ops_init() here (--wrap). */
enum kernel_level __wrap_kernel_ops_init(struct kernel_ops *ops, enum kernel_level highest)
{
    enum kernel_level level = __real_kernel_ops_init(ops, highest);

    if (mutating && level != KERNEL_REF) {
        unmutated = ops->matmul[TENSOR_Q8_0];
        ops->matmul[TENSOR_Q8_0] = mutated_matmul;
    }
    return level;
}

static _Noreturn void fail(const char *what, const struct error *error)
{
    fprintf(stderr, "one_answer: %s: %s\n", what, error ? error->text : "not understood");
    exit(1);
}

static void answer_token(void *arg, uint64_t key, const struct engine_token *token)
{
    struct answers *answers = arg;
    uint64_t h = answers->hash[key];

    h = hash64(&token->id, sizeof(token->id), h);
    h = hash64(&token->logprob, sizeof(token->logprob), h);
    for (uint32_t i = 0; i < token->alternative_count; i++) {
        h = hash64(&token->alternatives[i].id, sizeof(uint32_t), h);
        h = hash64(&token->alternatives[i].logprob, sizeof(float), h);
    }
    answers->hash[key] = hash64(token->text, token->text_size, h);
}

static void answer_done(void *arg, uint64_t key, const struct engine_done *done)
{
    struct answers *answers = arg;

    answers->hash[key] = hash64(done->text, done->text_size, answers->hash[key] + done->generated_tokens);
    answers->done++;
    answers->failed += done->reason != ENGINE_LENGTH;
}

static void answer_started(void *arg, uint64_t key, const struct engine_started *started)
{
    (void)arg, (void)key, (void)started;
}

static int hash_logits(void *arg, uint32_t position, const float *logits, uint32_t n_vocab)
{
    uint64_t *hash = arg;

    *hash = hash64(logits, n_vocab * sizeof(*logits), *hash + position);
    return 0;
}

/* Ids that any vocabulary of a few hundred tokens has; each request has its own, of its own length. */
static uint32_t invent_prompt(uint32_t request, uint32_t tokens, uint32_t n_vocab, uint32_t *ids)
{
    uint32_t count = tokens - request * tokens / (2 * REQUESTS), x = 12345 + request;

    for (uint32_t i = 0; i < count; i++) {
        x = x * 1664525u + 1013904223u;
        ids[i] = 3 + (x >> 8) % (n_vocab - 3);
    }
    return count;
}

static void prepare(struct engine_request *r, uint32_t key, struct instance *instance, const struct options *o)
{
    static uint32_t ids[REQUESTS][TOKENS_MAX];

    *r = (struct engine_request){
        .key = key,
        .instance = instance,
        .prompt = ids[key],
        .max_tokens = o->generate,
        .sampling = SAMPLING_DEFAULT,
        .logprobs = ALTERNATIVES,
        .want_logprob = true,
        .ignore_eos = true,
    };
    r->prompt_count = invent_prompt(key, o->tokens, instance_info(instance)->vocab_size, ids[key]);
    if (key % 2) {
        r->sampling.temperature = 0.75f;
        r->sampling.top_k = 40;
        r->sampling.top_p = 0.875f;
        r->sampling.repeat_penalty = 1.25f;
        r->sampling.seed = 1000 + key;
        r->sampling.seed_given = true;
    }
}

static uint64_t generate(struct instance *instance, struct workers *workers, const struct options *o, uint32_t batch)
{
    struct answers answers = { .done = 0 };
    struct engine_events events = {
        .arg = &answers, .started = answer_started, .token = answer_token, .done = answer_done,
    };
    struct engine_request requests[REQUESTS];
    struct engine *engine;
    struct error error = ERROR_NULL;
    uint64_t hash = 0;

    if (engine_new(workers, &events, &engine, &error))
        fail("engine", &error);
    for (uint32_t i = 0; i < REQUESTS; i++) {
        prepare(&requests[i], i, instance, o);
        if (engine_submit(engine, &requests[i], &error))
            fail("submit", &error);
        while (((i + 1) % batch == 0 || i + 1 == REQUESTS) && engine_step(engine))
            continue;
    }
    if (answers.done != REQUESTS || answers.failed)
        fail("generate", &(struct error){ .text = "a request did not end as it should" });
    for (uint32_t i = 0; i < REQUESTS; i++)
        hash = hash64(&answers.hash[i], sizeof(answers.hash[i]), hash);
    engine_free(engine);
    return hash;
}

static enum io_kind io_kind_of(const char *name)
{
    return strcmp(name, "uring") == 0 ? IO_URING : strcmp(name, "preadv") == 0 ? IO_PREADV : IO_AUTO;
}

static void load(const struct options *o, const struct setting *s, const struct topology *host,
                 const struct topology *topology, struct workers **workers, struct instance **ret_instance)
{
    struct instance_config config = {
        .id = "model",
        .path = o->model,
        .topology = topology,
        .host = host,
        .threads = s->threads,
        .io = io_kind_of(s->io),
        .context = o->tokens + o->generate + 8,
        .sequences = REQUESTS,
        .prefill_chunk = s->chunk,
    };
    struct error error = ERROR_NULL;

    if (kernel_level_from_name(s->level, &config.level))
        fail(s->level, NULL);
    if (activations_parse(o->activations, &config.wide_mask, &error) ||
        instance_load(&config, workers, ret_instance, &error))
        fail(o->model, &error);
}

static void compute(const struct options *o, const struct setting *s)
{
    static uint32_t ids[TOKENS_MAX];
    struct topology *host, *invented = NULL;
    struct workers *workers = NULL;
    struct instance *instance;
    const struct instance_info *info;
    struct error error = ERROR_NULL;
    uint64_t hash = 0, more;
    uint32_t count;

    if (topology_load(NULL, &host, &error) ||
        (strcmp(s->topology, "-") != 0 && topology_load(s->topology, &invented, &error)))
        fail(s->topology, &error);
    load(o, s, host, invented ? invented : host, &workers, &instance);
    info = instance_info(instance);
    count = invent_prompt(0, o->tokens, info->vocab_size, ids);
    if (instance_score(instance, ids, count, s->chunk, hash_logits, &hash, &error))
        fail("score", &error);
    more = generate(instance, workers, o, s->batch);
    printf("%016" PRIx64 "%016" PRIx64 "%016" PRIx64 " %s %" PRIu32 " %" PRIu32 " %s\n", info->checksum, hash, more,
           info->level, info->threads, info->nodes, info->load.uring ? "uring" : "preadv");
    fflush(stdout);
    instance_free(instance);
    workers_free(workers);
    topology_free(invented);
    topology_free(host);
}

static uint32_t number(const char *text, uint32_t low, uint32_t high)
{
    char *end;
    unsigned long v = strtoul(text ? text : "", &end, 10);

    if (!text || end == text || *end || v < low || v > high)
        fail(text ? text : "missing number", NULL);
    return (uint32_t)v;
}

int main(int argc, char **argv)
{
    struct options o = { .activations = "int8", .tokens = 100, .generate = 8 };
    struct setting s;
    int at = 1;

    for (; at < argc && argv[at][0] == '-'; at++) {
        if (strcmp(argv[at], "--mutate") == 0)
            mutating = true;
        else if (strcmp(argv[at], "--tokens") == 0)
            o.tokens = number(argv[++at], 16, TOKENS_MAX);
        else if (strcmp(argv[at], "--generate") == 0)
            o.generate = number(argv[++at], 1, TOKENS_MAX);
        else if (strcmp(argv[at], "--activations") == 0 && at + 1 < argc)
            o.activations = argv[++at];
        else
            fail(argv[at], NULL);
    }
    if (at + 1 >= argc)
        fail("a model and settings are needed", NULL);
    o.model = argv[at++];
    for (; at < argc; at++) {
        if (sscanf(argv[at], "%15[^,],%" SCNu32 ",%127[^,],%15[^,],%" SCNu32 ",%" SCNu32, s.level, &s.threads,
                   s.topology, s.io, &s.chunk, &s.batch) != 6 || s.batch < 1)
            fail(argv[at], NULL);
        compute(&o, &s);
    }
    return 0;
}
