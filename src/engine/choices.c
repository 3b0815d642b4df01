/* SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/choices.h"

#include <stdio.h>
#include <string.h>

#include "src/graph/graph.h"

static const char *const placements[] = { [PLAN_SHARD] = "shard", [PLAN_LOCAL] = "local", [PLAN_MIRROR] = "mirror" };
static const char *const kinds[] = { [IO_AUTO] = "auto", [IO_URING] = "uring", [IO_PREADV] = "preadv" };
static const char *const memories[] = { [ARENA_LADDER] = "ladder", [ARENA_REQUIRE_HUGE] = "require-huge",
                                       [ARENA_FROM_2M] = "2m", [ARENA_FROM_THP] = "thp", [ARENA_FROM_4K] = "4k" };
static const char *const formats[] = { [KV_F16] = "f16", [KV_Q8] = "q8" };

const struct words placement_words = WORDS(placements), io_words = WORDS(kinds), memory_words = WORDS(memories);
const struct words kv_words = WORDS(formats);

int level_parse(const char *text, enum kernel_level *ret_level, struct error *error)
{
    const char *names[KERNEL_LEVEL_COUNT];
    uint32_t level;
    int r;

    for (unsigned l = 0; l < KERNEL_LEVEL_COUNT; l++)
        names[l] = kernel_level_name((enum kernel_level)l);
    r = words_parse(&(struct words)WORDS(names), text, &level, error);
    if (r == 0)
        *ret_level = (enum kernel_level)level;
    return r;
}

static const char *const input_names[ACT_INPUT_COUNT] = {
    [ACT_QKV] = "qkv", [ACT_ATTN_OUTPUT] = "attn_output", [ACT_GATE_UP] = "gate_up", [ACT_FFN_DOWN] = "ffn_down",
    [ACT_OUTPUT] = "output",
};

static int input_bit(const char *name, size_t size, uint32_t *mask)
{
    for (uint32_t i = 0; i < ACT_INPUT_COUNT; i++)
        if (strlen(input_names[i]) == size && memcmp(input_names[i], name, size) == 0) {
            *mask |= 1u << i;
            return 0;
        }
    return -EINVAL;
}

int activations_parse(const char *text, uint32_t *ret_wide_mask, struct error *error)
{
    uint32_t mask = 0;

    if (strcmp(text, "int8") == 0)
        return *ret_wide_mask = 0, 0;
    if (strcmp(text, "int16") == 0)
        return *ret_wide_mask = ACT_ALL_WIDE, 0;
    if (strncmp(text, "int16:", 6) != 0)
        return error_set(error, -EINVAL,
                         "activations \"%.64s\" are not known; int8, int16, or int16: with a list of qkv, "
                         "attn_output, gate_up, ffn_down, output",
                         text);
    for (const char *at = text + 5; *at;) {     /* each name has a ':' or a ',' before it: an empty one is found */
        size_t n = strcspn(++at, ",");

        if (input_bit(at, n, &mask) < 0)
            return error_set(error, -EINVAL, "activations \"%.64s\": \"%.*s\" is no input; known are qkv, attn_output, "
                             "gate_up, ffn_down, output", text, (int)min_u64(n, 32), at);
        at += n;
    }
    *ret_wide_mask = mask;
    return 0;
}

void activations_describe(uint32_t mask, char *text, size_t size)
{
    size_t n;

    if (mask == 0 || mask == ACT_ALL_WIDE) {
        snprintf(text, size, "%s", mask ? "int16" : "int8");
        return;
    }
    n = (size_t)snprintf(text, size, "int16:");
    for (uint32_t i = 0; i < ACT_INPUT_COUNT && n < size; i++)
        if (mask & 1u << i)
            n += (size_t)snprintf(text + n, size - n, "%s%s", text[n - 1] == ':' ? "" : ",", input_names[i]);
}
