/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One answer: the hash of logits and text over levels x threads x nodes x company x prefill chunk x reader, for each
 * format of keys and values.
 *
 *   one_answer MODEL [full|pairwise] ; without a word: full where TENON_TEST_LONG is set
 *     exit 0: one hash; 1: they differ, or something else than asked for was used;
 * 77: skipped
 *
 * At the end one kernel is broken on purpose (its first output's last bit): the hash must notice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/hash.h"
#include "src/engine/choices.h"
#include "src/engine/engine.h"
#include "src/engine/instance_internal.h"
#include "src/engine/score.h"

#define PROMPT 70u                      /* more than a chunk of 64, not a multiple of 7 */
#define COMPANY 8u
#define ANSWER 12u

enum { LEVEL, THREADS, NODES, BATCH, CHUNK, READER, FACTORS };

static uint32_t sizes[FACTORS] = { 0, 3, 2, 2, 4, 2 };
static enum kernel_level levels[KERNEL_LEVEL_COUNT];        /* those that this CPU has: sizes[LEVEL] of them */
static const uint32_t chunks[] = { 1, 7, 64, 512 };
static const uint32_t companies[] = { 1, COMPANY };
static const enum io_kind readers[] = { IO_URING, IO_PREADV };

struct combination { uint32_t at[FACTORS]; };

struct answers {
    uint64_t hash[COMPANY];             /* of the generated ids and the text, by prompt */
    uint32_t left;
    bool failed;
};

struct host { struct topology *real, *nodes[2]; };

/* --- what is hashed --- */

static int hash_logits(void *arg, uint32_t position, const float *logits, uint32_t n_vocab)
{
    uint64_t *hash = arg;

    *hash = hash64(logits, n_vocab * sizeof(*logits), *hash + position);
    return 0;
}

static void on_started(void *arg, uint64_t key, const struct engine_started *s) { (void)arg; (void)key; (void)s; }

static void on_token(void *arg, uint64_t key, const struct engine_token *t)
{
    struct answers *a = arg;

    a->hash[key] = hash64(&t->id, sizeof(t->id), a->hash[key]);
    a->hash[key] = hash64(&t->logprob, sizeof(t->logprob), a->hash[key]);
    a->hash[key] = hash64(t->text, t->text_size, a->hash[key]);
}

static void on_done(void *arg, uint64_t key, const struct engine_done *d)
{
    struct answers *a = arg;

    a->hash[key] = hash64(d->text, d->text_size, a->hash[key]);
    a->failed |= d->reason == ENGINE_FAILED;
    a->left--;
}

/* Prompt @which: its own length and ids; the first is the one that is always there. */
static uint32_t fill_prompt(uint32_t which, uint32_t n_vocab, uint32_t *ids)
{
    uint32_t n = which == 0 ? PROMPT : 3 + which * 11;

    for (uint32_t i = 0; i < n; i++)
        ids[i] = (uint32_t)((((uint64_t)i * 7919 + which * 104729 + 13) * UINT64_C(2654435761) >> 9) % n_vocab);
    return n;
}

static int generate(struct instance *in, struct workers *workers, uint32_t company, uint64_t *ret_hash)
{
    static uint32_t prompts[COMPANY][128];
    struct engine_request requests[COMPANY] = { 0 };
    struct answers a = { .left = company };
    struct engine_events events = { .arg = &a, .started = on_started, .token = on_token, .done = on_done };
    struct error error = ERROR_NULL;
    struct engine *engine;
    int r = engine_new(workers, &events, &engine, &error);

    for (uint32_t i = 0; r == 0 && i < company; i++) {
        requests[i] = (struct engine_request){ .key = i, .instance = in, .prompt = prompts[i], .max_tokens = ANSWER,
                                               .ignore_eos = true, .want_logprob = true, .sampling = SAMPLING_DEFAULT };
        requests[i].prompt_count = fill_prompt(i, in->info.vocab_size, prompts[i]);
        requests[i].sampling.temperature = 0.8f;
        requests[i].sampling.top_p = 0.95f;
        requests[i].sampling.seed = 42 + i;
        requests[i].sampling.seed_given = true;
        r = engine_submit(engine, &requests[i], &error);
    }
    while (r == 0 && a.left && engine_step(engine))
        ;
    engine_free(engine);
    if (r || a.left || a.failed) {
        fprintf(stderr, "generation failed: %s\n", error.text);
        return -1;
    }
    *ret_hash = a.hash[0];
    return 0;
}

static int logits(struct instance *in, uint32_t chunk, uint64_t *ret_hash)
{
    uint32_t ids[PROMPT];
    struct error error = ERROR_NULL;

    *ret_hash = 0;
    fill_prompt(0, in->info.vocab_size, ids);
    if (instance_score(in, ids, PROMPT, 0, chunk, hash_logits, ret_hash, &error) == 0)
        return 0;
    fprintf(stderr, "scoring failed: %s\n", error.text);
    return -1;
}

/* --- the kernel that is broken on purpose --- */

static kernel_matmul_fn *whole_matmul;

static void broken_matmul(const uint8_t *packed, uint32_t groups, const struct kernel_act *x, uint32_t token_first,
                          uint32_t tokens, float *y, size_t y_stride)
{
    uint32_t bits;

    whole_matmul(packed, groups, x, token_first, tokens, y, y_stride);
    memcpy(&bits, y, sizeof(bits));
    bits ^= 1;
    memcpy(y, &bits, sizeof(bits));
}

static void break_kernel(struct instance *in)
{
    enum tensor_type type = in->model->matrices[in->model->layers[0].down].type;

    whole_matmul = in->ops.matmul[type];
    in->ops.matmul[type] = broken_matmul;
    in->ops.many_columns[type] = UINT32_MAX;
}

/* --- one combination --- */

static bool as_asked(const struct instance *in, const struct combination *c)
{
    const struct instance_info *i = &in->info;
    bool uring = i->load.uring, good = true;

    good &= strcmp(i->level, kernel_level_name(levels[c->at[LEVEL]])) == 0;
    good &= i->threads == c->at[THREADS] + 1;
    /* one worker cannot be on two nodes */
    good &= i->nodes == (c->at[THREADS] == 0 ? 1 : c->at[NODES] + 1);
    good &= readers[c->at[READER]] == IO_URING ? uring : !uring;
    good &= in->chunk == chunks[c->at[CHUNK]];
    if (!good)
        fprintf(stderr, "asked for level %s, %u threads, %u nodes, reader %u; used %s, %u, %u, %s\n",
                kernel_level_name(levels[c->at[LEVEL]]), c->at[THREADS] + 1, c->at[NODES] + 1, c->at[READER], i->level,
                i->threads, i->nodes, uring ? "uring" : "preadv");
    return good;
}

static int run(const char *path, const struct host *host, enum kv_format kv, const struct combination *c, bool broken,
               uint64_t *ret_hash)
{
    struct instance_config config = { .id = "test", .path = path, .host = host->real,
                                      .topology = host->nodes[c->at[NODES]], .threads = c->at[THREADS] + 1,
                                      .level = levels[c->at[LEVEL]], .level_required = true,
                                      .io = readers[c->at[READER]], .context = 128, .sequences = COMPANY,
                                      .prefill_chunk = chunks[c->at[CHUNK]], .kv = kv };
    struct workers *workers = NULL;
    struct instance *in = NULL;
    struct error error = ERROR_NULL;
    uint64_t a, b;
    int r = instance_load(&config, &workers, &in, &error);

    if (r < 0)
        fprintf(stderr, "load failed: %s\n", error.text);
    if (r == 0 && !as_asked(in, c))
        r = -1;
    if (r == 0 && broken)
        break_kernel(in);
    if (r == 0)
        r = logits(in, chunks[c->at[CHUNK]], &a);
    if (r == 0)
        r = generate(in, workers, companies[c->at[BATCH]], &b);
    if (r == 0)
        *ret_hash = hash64((uint64_t[]){ a, b, in->info.checksum }, 24, 0);
    instance_free(in);
    workers_free(workers);
    return r;
}

/* --- which combinations --- */

static uint32_t all_combinations(void)
{
    uint32_t n = 1;

    for (uint32_t f = 0; f < FACTORS; f++)
        n *= sizes[f];
    return n;
}

static struct combination combination_at(uint32_t index)
{
    struct combination c;

    for (uint32_t f = 0; f < FACTORS; f++) {
        c.at[f] = index % sizes[f];
        index /= sizes[f];
    }
    return c;
}

static uint32_t new_pairs(const struct combination *c, bool seen[FACTORS][FACTORS][4][4], bool mark)
{
    uint32_t n = 0;

    for (uint32_t f = 0; f < FACTORS; f++)
        for (uint32_t g = f + 1; g < FACTORS; g++) {
            n += !seen[f][g][c->at[f]][c->at[g]];
            if (mark)
                seen[f][g][c->at[f]][c->at[g]] = true;
        }
    return n;
}

/* Greedy cover of all pairs of values of two factors; 0 when all are covered. */
static uint32_t next_pairwise(bool seen[FACTORS][FACTORS][4][4], struct combination *ret)
{
    uint32_t best = 0;

    for (uint32_t i = 0; i < all_combinations(); i++) {
        struct combination c = combination_at(i);
        uint32_t n = new_pairs(&c, seen, false);

        if (n > best) {
            best = n;
            *ret = c;
        }
    }
    if (best)
        new_pairs(ret, seen, true);
    return best;
}

static int compare(const char *path, const struct host *host, enum kv_format kv, const struct combination *c,
                   uint64_t *hash, uint32_t *count)
{
    uint64_t h;

    if (run(path, host, kv, c, false, &h) < 0)
        return -1;
    if (*count == 0)
        *hash = h;
    ++*count;
    if (h == *hash)
        return 0;
    fprintf(stderr,
            "different bits: KV %s, %s, %u threads, %u nodes, %u in the batch, chunk %u, reader %u: %016llx, "
            "not %016llx\n",
            kv_words.names[kv], kernel_level_name(levels[c->at[LEVEL]]), c->at[THREADS] + 1, c->at[NODES] + 1,
            companies[c->at[BATCH]], chunks[c->at[CHUNK]], c->at[READER], (unsigned long long)h,
            (unsigned long long)*hash);
    return -1;
}

static int run_all(const char *path, const struct host *host, enum kv_format kv, bool full, uint64_t *hash,
                   uint32_t *count)
{
    bool seen[FACTORS][FACTORS][4][4] = { 0 };
    struct combination c;
    int r = 0;

    for (uint32_t i = 0; full && r == 0 && i < all_combinations(); i++) {
        c = combination_at(i);
        r = compare(path, host, kv, &c, hash, count);
    }
    while (!full && r == 0 && next_pairwise(seen, &c))
        r = compare(path, host, kv, &c, hash, count);
    return r;
}

/* One hash for each format of keys and values, and not the same.  The second goes through pairs: half the time. */
static int prove(const char *path, const struct host *host, bool full)
{
    struct combination plain = { .at = { sizes[LEVEL] - 1, 0, 0, 0, 3, 0 } };
    uint64_t hash[KV_FORMAT_COUNT] = { 0 }, broken = 0;

    for (unsigned kv = 0; kv < KV_FORMAT_COUNT; kv++) {
        uint32_t count = 0;

        if (run_all(path, host, (enum kv_format)kv, full && kv == KV_F16, &hash[kv], &count) < 0)
            return 1;
        if (run(path, host, (enum kv_format)kv, &plain, true, &broken) < 0 || broken == hash[kv]) {
            fprintf(stderr, "a broken kernel was not noticed\n");
            return 1;
        }
        printf("one answer, KV %s: %u combinations, one hash %016llx; a broken kernel gives %016llx\n",
               kv_words.names[kv], count, (unsigned long long)hash[kv], (unsigned long long)broken);
    }
    if (hash[KV_F16] == hash[KV_Q8]) {
        fprintf(stderr, "KV in f16 and in q8 give the same bits\n");
        return 1;
    }
    return 0;
}

static bool wants_full(int argc, char **argv)
{
    return argc == 3 ? strcmp(argv[2], "full") == 0 : getenv("TENON_TEST_LONG") != NULL;
}

static void find_levels(void)
{
    struct kernel_ops ops;

    for (unsigned l = 0; l < KERNEL_LEVEL_COUNT; l++) {
        enum kernel_level level = (enum kernel_level)l;

        if (kernel_ops_init(&ops, level) == level)
            levels[sizes[LEVEL]++] = level;
        else
            printf("skipped: level %s, which this CPU lacks\n", kernel_level_name(level));
    }
}

int main(int argc, char **argv)
{
    struct host host = { .real = NULL };
    struct error error = ERROR_NULL;
    int code;

    if (argc < 2 || argc > 3 || (argc == 3 && strcmp(argv[2], "full") != 0 && strcmp(argv[2], "pairwise") != 0)) {
        fprintf(stderr, "usage: one_answer MODEL [full|pairwise]\n");
        return 2;
    }
    find_levels();
    if (sizes[LEVEL] == 1)
        return 77;
    if (topology_load(NULL, &host.real, &error) < 0 ||
        topology_load("numa:1 core:4 pu:1", &host.nodes[0], &error) < 0 ||
        topology_load("numa:2 core:4 pu:1", &host.nodes[1], &error) < 0) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    code = prove(argv[1], &host, wants_full(argc, argv));
    topology_free(host.real);
    topology_free(host.nodes[0]);
    topology_free(host.nodes[1]);
    return code;
}
