/* SPDX-License-Identifier: Apache-2.0 */
/* The fused graph over workers against the plain forward pass: every architecture, both profiles, over range borders.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/engine/choices.h"
#include "src/engine/score.h"
#include "tests/graph/plain.h"
#include "tests/harness/random_model.h"

struct against { struct plain *plain; const uint32_t *ids; };

static int same_bits(void *arg, uint32_t position, const float *logits, uint32_t n_vocab)
{
    struct against *a = arg;
    const float *want = plain_token(a->plain, a->ids[position]);

    for (uint32_t i = 0; i < n_vocab; i++)
        if (memcmp(&want[i], &logits[i], sizeof(float)) != 0) {
            print_error("position %u, logit %u: %a, plain %a\n", position, i, (double)logits[i], (double)want[i]);
            return -EBADMSG;
        }
    return 0;
}

static void compare_kv(enum kv_format kv, const char *architecture, const char *setting, const char *activations,
                       uint32_t tokens, uint32_t chunk)
{
    struct random_model_spec spec;
    struct instance_config c = { .id = "t", .threads = 2, .level = KERNEL_LEVEL_COUNT - 1, .context = tokens,
                                 .sequences = 1, .prefill_chunk = chunk, .kv = kv };
    char path[64];
    struct topology *host;
    struct workers *workers = NULL;
    struct instance *in;
    struct error error = ERROR_NULL;
    struct against a;
    uint32_t *ids = calloc(tokens, sizeof(*ids));

    snprintf(path, sizeof(path), "plain_%d.gguf", (int)getpid());
    assert_int_equal(random_model_spec_init(&spec, architecture, 5), 0);
    if (setting)
        assert_int_equal(random_model_set(&spec, setting, &error), 0);
    if (strcmp(setting ? setting : "", "head_dim=48") == 0)     /* 192 inputs: no K-quants */
        assert_int_equal(random_model_set(&spec, "type=Q5_1", &error), 0);
    assert_int_equal(random_model_write(&spec, path, &error), 0);
    assert_int_equal(topology_load("numa:2 core:1 pu:1", &host, &error), 0);
    c.path = path;
    c.topology = host;
    assert_int_equal(topology_load(NULL, (struct topology **)&c.host, &error), 0);
    assert_int_equal(activations_parse(activations, &c.wide_mask, &error), 0);
    if (instance_load(&c, &workers, &in, &error) < 0)
        fail_msg("%s", error.text);
    unlink(path);
    assert_int_equal(plain_new(in, c.wide_mask, tokens, &a.plain), 0);
    for (uint32_t i = 0; i < tokens; i++)
        ids[i] = (i * 7919 + 3) % in->info.vocab_size;
    a.ids = ids;
    if (instance_score(in, ids, tokens, 0, chunk, same_bits, &a, &error) != 0)
        fail_msg("%s %s %s: not the same bits %s", architecture, setting ? setting : "", activations, error.text);
    plain_free(a.plain);
    instance_free(in);
    workers_free(workers);
    topology_free(host);
    topology_free((struct topology *)(uintptr_t)c.host);
    free(ids);
}

static void compare(const char *architecture, const char *setting, const char *activations, uint32_t tokens,
                    uint32_t chunk)
{
    compare_kv(KV_F16, architecture, setting, activations, tokens, chunk);
}

static void llama(void **s) { (void)s; compare("llama", NULL, "int8", 90, 40); }
static void llama_wide(void **s) { (void)s; compare("llama", NULL, "int16", 40, 30); }
static void llama_mixed(void **s) { (void)s; compare("llama", NULL, "int16:ffn_down,output", 40, 7); }
static void llama_factors(void **s) { (void)s; compare("llama", "rope_factors=1", "int8", 40, 40); }
static void llama_linear(void **s) { (void)s; compare("llama", "rope_linear=4", "int8", 40, 40); }
static void qwen2(void **s) { (void)s; compare("qwen2", NULL, "int8", 40, 40); }
static void qwen3(void **s) { (void)s; compare("qwen3", NULL, "int16", 40, 11); }
static void gemma3(void **s) { (void)s; compare("gemma3", NULL, "int8", 150, 64); }
/* head_dim that does not divide 256: the unit of attention is a whole token */
static void odd_heads(void **s) { (void)s; compare("llama", "head_dim=48", "int8", 40, 30); }

/* More than 512 positions: ranges merge, by parts where there are few tokens and in one task where there are many. */
static void long_context(void **s)
{
    (void)s;
    compare("qwen3", "type=Q8_0", "int8", 1100, 64);
}

/* So many tokens at once that a wide task takes 96 of them; in the other cases workers would have too few tasks. */
static void long_chunk(void **s)
{
    (void)s;
    compare("llama", "type=Q8_0", "int8", 800, 800);
}

static void llama_q8(void **s) { (void)s; compare_kv(KV_Q8, "llama", NULL, "int8", 90, 40); }
static void gemma3_q8(void **s) { (void)s; compare_kv(KV_Q8, "gemma3", NULL, "int16", 150, 64); }
static void odd_heads_q8(void **s) { (void)s; compare_kv(KV_Q8, "llama", "head_dim=48", "int16", 40, 30); }
static void long_context_q8(void **s) { (void)s; compare_kv(KV_Q8, "qwen3", "type=Q8_0", "int8", 1100, 64); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(llama), cmocka_unit_test(llama_wide), cmocka_unit_test(llama_mixed),
        cmocka_unit_test(llama_factors), cmocka_unit_test(llama_linear), cmocka_unit_test(qwen2),
        cmocka_unit_test(qwen3), cmocka_unit_test(gemma3), cmocka_unit_test(odd_heads), cmocka_unit_test(long_context),
        cmocka_unit_test(long_chunk),
        cmocka_unit_test(llama_q8), cmocka_unit_test(gemma3_q8), cmocka_unit_test(odd_heads_q8),
        cmocka_unit_test(long_context_q8),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
