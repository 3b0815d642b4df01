/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/matmul.h"
#include "tests/kern/inputs.h"

#define GROUPS 5u

/* One product: packed weights, activations and what ref makes of them. */
struct product {
    enum tensor_type type;
    struct input_kinds kinds;
    uint32_t k, columns, tokens;
    size_t group_bytes;
    uint8_t *rows, *packed;
    struct kernel_act x;
    float *v, *y;               /* v[tokens][k]; y[tokens][16 * GROUPS] */
};

static struct product new_product(struct harness *h, enum tensor_type type, struct input_kinds kinds, uint32_t k,
                                  uint32_t columns, uint32_t tokens)
{
    struct product p = { .type = type, .kinds = kinds, .k = k, .columns = columns, .tokens = tokens };
    size_t row_bytes = row_bytes_of(type, k);
    p.group_bytes = kernel_group_bytes(type, k);
    p.rows = guarded(h, 16 * GROUPS * row_bytes);
    p.packed = guarded(h, GROUPS * p.group_bytes);
    p.v = guarded(h, tokens * k * sizeof *p.v);
    p.y = guarded(h, tokens * 16 * GROUPS * sizeof *p.y);
    p.x = new_act(h, tensor_types[type].act, k, columns, tokens);
    fill_weights(h, type, kinds.weights, p.rows, 16 * GROUPS * row_bytes);
    for (uint32_t g = 0; g < GROUPS; g++) {
        const uint8_t *rows = p.rows + 16 * g * row_bytes;
        expect(h, kernel_pack_group(type, rows, row_bytes, 16, k, p.packed + g * p.group_bytes) == 0, "%s: refused",
               tensor_types[type].name);
    }
    fill_vector(h, kinds.vector, p.v, tokens * k);
    fill_act(h, &h->ref, &p.x, p.v, tokens);
    h->ref.matmul[type](p.packed, GROUPS, &p.x, 0, tokens, p.y, 16 * GROUPS);
    return p;
}

/* The first rows of ref against f64 over the decoded weights: rounding stays in proportion to the sum of magnitudes. */
static void check_against_f64(struct harness *h, const struct product *p)
{
    float *w = guarded(h, p->k * sizeof *w);
    for (uint32_t row = 0; row < 16 * GROUPS; row += 7) {
        kernel_decode_row(p->type, p->rows + row * row_bytes_of(p->type, p->k), p->k, w);
        for (uint32_t t = 0; t < p->tokens; t += 4) {
            double sum = 0, size = 0;
            for (uint32_t k = 0; k < p->k; k++) {
                double term = (double)w[k] * act_value(&p->x, t, k);
                sum += term;
                size += fabs(term);
            }
            double error = fabs(p->y[t * 16 * GROUPS + row] - sum);
            expect(h, error <= size * 0x1p-16 + 1e-30, "%s k %u columns %u kinds %d %d: %g instead of %g",
                   tensor_types[p->type].name, p->k, p->columns, p->kinds.weights, p->kinds.vector,
                   p->y[t * 16 * GROUPS + row], sum);
        }
    }
}

/*
 * The last @groups groups and @tokens tokens in one way of a level: the same bits as ref's whole, and nothing beside
 * them.
 */
static void check_way(struct harness *h, const struct kernel_ops *ops, kernel_matmul_fn *way, const struct product *p,
                      uint32_t groups, uint32_t tokens)
{
    static const float untouched = -12345.0f;
    size_t stride = 16 * groups + (tokens & 1 ? 3 : 16), values = (tokens - 1) * stride + 16 * groups;
    float *y = guarded(h, values * sizeof *y), *expected = guarded(h, values * sizeof *expected);
    uint32_t g = GROUPS - groups, first = p->tokens - tokens;
    for (size_t i = 0; i < values; i++)
        y[i] = expected[i] = untouched;
    for (uint32_t t = 0; t < tokens; t++)
        memcpy(expected + t * stride, p->y + (first + t) * 16 * GROUPS + 16 * g, 16 * groups * sizeof *y);
    way(p->packed + g * p->group_bytes, groups, &p->x, first, tokens, y, stride);
    expect_same(h, expected, y, values * sizeof *y, "%s k %u columns %u kinds %d %d groups %u tokens %u",
                ops->matmul_name[p->type], p->k, p->columns, p->kinds.weights, p->kinds.vector, groups, tokens);
}

/* In the way for many columns where there is one, whatever their number: below it lies the next level's own. */
static void check_part(struct harness *h, const struct kernel_ops *ops, const struct product *p, uint32_t groups,
                       uint32_t tokens)
{
    kernel_matmul_fn *many = ops->matmul_many[p->type];
    check_way(h, ops, many ? many : ops->matmul[p->type], p, groups, tokens);
}

/*
 * Every number of tokens that a tile may have left, where few and where many tokens are computed; or two, for most of
 * the kinds of input.
 */
static void check_product(struct harness *h, enum tensor_type type, unsigned kind, uint32_t k, uint32_t columns)
{
    static const uint32_t every[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 16, 17, 18, 19, 0, 0, 0 };
    static const uint32_t some[] = { 1, 4, 0, 0, 0 };
    const uint32_t *batches = kind % 4 == 0 ? every : some;
    struct product p = new_product(h, type, input_kinds[kind], k, columns, kind % 4 == 0 ? 19 : 4);
    unsigned kept = h->guard_count;
    check_against_f64(h, &p);
    for (unsigned l = 0; l <= h->level_count; l++) {
        const struct kernel_ops *ops = l ? &h->levels[l - 1] : &h->ref;
        for (unsigned i = 0; batches[i]; i += h->fast ? 3 : 1) {
            for (uint32_t groups = 1; groups <= GROUPS; groups++) {
                if (l % 2 == 0 && (i + groups) % 6) /* ref against itself; a level again with other traits */
                    continue;
                check_part(h, ops, &p, groups, batches[i]);
                guards_release(h, kept);
            }
        }
    }
    guards_check(h);
}

/* Ways for many columns: around one block of them and two, and the choice between the ways. */
static void check_many(struct harness *h, enum tensor_type type, unsigned kind, uint32_t columns)
{
    static const uint32_t batches[] = { 15, 16, 17, 31, 32, 33, 35 };
    struct product p = new_product(h, type, input_kinds[kind], input_ks[tensor_types[type].act][4], columns, 35);
    unsigned kept = h->guard_count;
    for (unsigned l = 0; l < h->level_count; l++) {
        for (unsigned i = 0; i < sizeof batches / sizeof *batches; i++) {
            check_part(h, &h->levels[l], &p, 1 + i % GROUPS, batches[i]);
            guards_release(h, kept);
        }
    }
    guards_check(h);
}

static unsigned ways;                   /* bit 0: the one for few columns was called, bit 1: the one for many */

static void few(const uint8_t *packed, uint32_t groups, const struct kernel_act *x, uint32_t token_first,
                uint32_t tokens, float *y, size_t y_stride)
{
    (void)packed, (void)groups, (void)x, (void)token_first, (void)tokens, (void)y, (void)y_stride;
    ways |= 1;
}

static void many(const uint8_t *packed, uint32_t groups, const struct kernel_act *x, uint32_t token_first,
                 uint32_t tokens, float *y, size_t y_stride)
{
    (void)packed, (void)groups, (void)x, (void)token_first, (void)tokens, (void)y, (void)y_stride;
    ways |= 2;
}

/* Twelve columns, of twelve tokens and of six. */
static void check_choice(struct harness *h)
{
    static const uint32_t bounds[] = { 1, 11, 12, 13, UINT32_MAX };
    struct kernel_ops ops = h->ref;
    ops.matmul[TENSOR_Q4_K] = few;
    ops.matmul_many[TENSOR_Q4_K] = many;
    for (unsigned i = 0; i < 2 * sizeof bounds / sizeof *bounds; i++) {
        struct kernel_act x = { .columns = 1 + i % 2 };
        ops.many_columns[TENSOR_Q4_K] = bounds[i / 2];
        ways = 0;
        kernel_matmul(&ops, TENSOR_Q4_K, NULL, 1, &x, 0, 12 / x.columns, NULL, 0);
        expect(h, ways == (bounds[i / 2] <= 12 ? 2u : 1u), "12 columns where many are %u", bounds[i / 2]);
    }
}

static int has_many(const struct harness *h, unsigned type)
{
    int own = 0;
    for (unsigned l = 0; l < h->level_count; l++)
        own |= h->levels[l].matmul_many[type] != NULL;
    return own;
}

void check_matmul(struct harness *h)
{
    check_choice(h);
    for (unsigned t = 0; t < TENSOR_TYPE_COUNT; t++) {
        const uint32_t *ks = input_ks[tensor_types[t].act], profiles = tensor_types[t].act == ACT_F32 ? 1 : 2;
        for (uint32_t columns = 1; columns <= profiles; columns++)
            for (unsigned i = 0; ks[i]; i += h->fast ? 5 : 1)
                for (unsigned kind = 0; kind < input_kinds_count; kind += h->fast ? 6 : 1)
                    check_product(h, (enum tensor_type)t, kind, ks[i], columns);
    }
    for (unsigned t = 0; t < TENSOR_TYPE_COUNT; t++)
        for (unsigned i = 0; has_many(h, t) && i < 2 * input_kinds_count; i++)
            check_many(h, (enum tensor_type)t, i / 2, 1 + i % 2);
}
