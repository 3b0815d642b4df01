/* SPDX-License-Identifier: Apache-2.0 */

/*
 * NUMERICS.md section 3, one block of a row group after the other: unpacked once, used by up to TOKENS tokens.
 */

#include <math.h>
#include <string.h>

#include "kernels/levels.h"
#include "kernels/ref/ref.h"
#include "kernels/unpack.h"

#define TOKENS 16u

/* One token's share of a block: the integers of its columns and their sums. */
struct block_x {
    uint32_t columns;
    int16_t q[2][256];
    int16_t s[2][16];           /* sums of 16 for K-quants; of the whole block of 32 in s[][0] */
    float d;
};

static void read_x(const struct kernel_act *x, uint32_t token, uint32_t k_first, struct block_x *ret)
{
    uint32_t values = x->format == ACT_32 ? 32 : KERNEL_BLOCK;
    ret->columns = x->columns;
    ret->d = x->d[((size_t)token * x->k + k_first) / values];
    for (uint32_t c = 0; c < x->columns; c++) {
        size_t first = ((size_t)token * x->columns + c) * x->k + k_first;
        for (uint32_t i = 0; i < values; i++)
            ret->q[c][i] = x->q[first + i];
        if (x->format == ACT_32)
            ret->s[c][0] = x->s32[first / 32];
        else
            memcpy(ret->s[c], x->s16 + first / 16, sizeof ret->s[c]);
    }
}

static int32_t dot(const int16_t *a, const int16_t *b, uint32_t n)
{
    int32_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* One sum of integers for each column becomes one float. */
static float join(const int32_t sum[2], uint32_t columns)
{
    return columns == 2 ? fmaf(128.0f, (float)sum[0], (float)sum[1]) : (float)sum[0];
}

static void add_block(enum tensor_type type, const struct unpacked_block *b, const struct block_x *x, float s[ROWS])
{
    const int is_k = tensor_types[type].act == ACT_256, has_m = type == TENSOR_Q4_1 || type == TENSOR_Q5_1 ||
                     type == TENSOR_Q2_K || type == TENSOR_Q4_K || type == TENSOR_Q5_K;
    for (uint32_t row = 0; row < ROWS; row++) {
        int32_t sum[2] = { 0, 0 };
        for (uint32_t c = 0; c < x->columns; c++)
            sum[c] = dot(b->w[row], x->q[c], tensor_types[type].block_values);
        s[row] = fmaf(b->d[row] * x->d, join(sum, x->columns), s[row]);
        if (!has_m)
            continue;
        for (uint32_t c = 0; c < x->columns; c++)
            sum[c] = is_k ? dot(b->min[row], x->s[c], 16) : x->s[c][0];
        s[row] = fmaf(b->m[row] * x->d, join(sum, x->columns), s[row]);
    }
}

/* One segment of one row group for a few tokens: s[token][row]. */
static void add_segment(enum tensor_type type, const uint8_t *packed, const struct kernel_act *x, uint32_t token_first,
                        uint32_t tokens, uint32_t k_first, uint32_t k_end, float s[TOKENS][ROWS])
{
    uint32_t values = tensor_types[type].block_values;
    for (uint32_t k = k_first; k < k_end; k += values) {
        if (tensor_types[type].act == ACT_F32) {
            float w[ROWS];
            kernel_unpack_floats(type, packed, k, w);
            for (uint32_t t = 0; t < tokens; t++)
                for (uint32_t row = 0; row < ROWS; row++)
                    s[t][row] = fmaf(w[row], x->f[(size_t)(token_first + t) * x->k + k], s[t][row]);
            continue;
        }
        struct unpacked_block b;
        kernel_unpack_block(type, packed, k / values, &b);
        for (uint32_t t = 0; t < tokens; t++) {
            struct block_x bx;
            read_x(x, token_first + t, k, &bx);
            add_block(type, &b, &bx, s[t]);
        }
    }
}

/* At most TOKENS tokens of one row group: segments ascending, each from zero, then merged. */
static void group_matmul(enum tensor_type type, const uint8_t *packed, const struct kernel_act *x, uint32_t token_first,
                         uint32_t tokens, float *y, size_t y_stride)
{
    for (uint32_t k = 0; k < x->k; k += KERNEL_SEGMENT) {
        float s[TOKENS][ROWS] = { { 0 } };
        uint32_t k_end = x->k - k < KERNEL_SEGMENT ? x->k : k + KERNEL_SEGMENT;
        add_segment(type, packed, x, token_first, tokens, k, k_end, s);
        for (uint32_t t = 0; t < tokens; t++)
            for (uint32_t row = 0; row < ROWS; row++)
                y[t * y_stride + row] = k == 0 ? s[t][row] : y[t * y_stride + row] + s[t][row];
    }
}

static void matmul(enum tensor_type type, const uint8_t *packed, uint32_t groups, const struct kernel_act *x,
                   uint32_t token_first, uint32_t tokens, float *y, size_t y_stride)
{
    for (uint32_t g = 0; g < groups; g++, packed += kernel_group_bytes(type, x->k), y += ROWS) {
        for (uint32_t t = 0; t < tokens; t += TOKENS) {
            uint32_t n = tokens - t < TOKENS ? tokens - t : TOKENS;
            group_matmul(type, packed, x, token_first + t, n, y + t * y_stride, y_stride);
        }
    }
}

MATMUL(f32, TENSOR_F32)
MATMUL(f16, TENSOR_F16)
MATMUL(bf16, TENSOR_BF16)
MATMUL(q4_0, TENSOR_Q4_0)
MATMUL(q4_1, TENSOR_Q4_1)
MATMUL(q5_0, TENSOR_Q5_0)
MATMUL(q5_1, TENSOR_Q5_1)
MATMUL(q8_0, TENSOR_Q8_0)
MATMUL(q2_k, TENSOR_Q2_K)
MATMUL(q3_k, TENSOR_Q3_K)
MATMUL(q4_k, TENSOR_Q4_K)
MATMUL(q5_k, TENSOR_Q5_K)
MATMUL(q6_k, TENSOR_Q6_K)

static const struct {
    kernel_matmul_fn *fn;
    const char *name;
} matmuls[TENSOR_TYPE_COUNT] = {
    [TENSOR_F32]  = { matmul_f32, "matmul_f32_f32_f32__ref" },
    [TENSOR_F16]  = { matmul_f16, "matmul_f16_f32_f32__ref" },
    [TENSOR_BF16] = { matmul_bf16, "matmul_bf16_f32_f32__ref" },
    [TENSOR_Q4_0] = { matmul_q4_0, "matmul_q4_0_a32_f32__ref" },
    [TENSOR_Q4_1] = { matmul_q4_1, "matmul_q4_1_a32_f32__ref" },
    [TENSOR_Q5_0] = { matmul_q5_0, "matmul_q5_0_a32_f32__ref" },
    [TENSOR_Q5_1] = { matmul_q5_1, "matmul_q5_1_a32_f32__ref" },
    [TENSOR_Q8_0] = { matmul_q8_0, "matmul_q8_0_a32_f32__ref" },
    [TENSOR_Q2_K] = { matmul_q2_k, "matmul_q2_k_a256_f32__ref" },
    [TENSOR_Q3_K] = { matmul_q3_k, "matmul_q3_k_a256_f32__ref" },
    [TENSOR_Q4_K] = { matmul_q4_k, "matmul_q4_k_a256_f32__ref" },
    [TENSOR_Q5_K] = { matmul_q5_k, "matmul_q5_k_a256_f32__ref" },
    [TENSOR_Q6_K] = { matmul_q6_k, "matmul_q6_k_a256_f32__ref" },
};

void kernel_ref_init_matmul(struct kernel_ops *ops)
{
    for (unsigned t = 0; t < TENSOR_TYPE_COUNT; t++) {
        ops->matmul[t] = matmuls[t].fn;
        ops->matmul_many[t] = NULL;
        ops->many_name[t] = NULL;
        ops->many_columns[t] = UINT32_MAX;
        ops->matmul_name[t] = matmuls[t].name;
    }
}
