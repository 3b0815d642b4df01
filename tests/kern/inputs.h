/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Weights as a file has them, and vectors: ordinary ones and the corners. */

#include <stdint.h>

#include "kernels/ops.h"
#include "tests/kern/harness.h"

enum weights_kind {
    WEIGHTS_ORDINARY,           /* random quants, scales of a trained model's size */
    WEIGHTS_ANY_SCALE,          /* scales anywhere in f16: subnormal to 65504, both signs */
    WEIGHTS_HIGHEST,            /* every quant and sub-scale at its largest code */
    WEIGHTS_LOWEST,             /* int8 quants and scales at -128 */
    WEIGHTS_ZERO,
    WEIGHTS_KIND_COUNT,
};

enum vector_kind {
    VECTOR_ORDINARY,
    VECTOR_OUTLIERS,            /* a few values a thousand times larger */
    VECTOR_PLUS, VECTOR_MINUS,  /* every integer at one bound */
    VECTOR_SIGNS,               /* every integer at one of its bounds */
    VECTOR_FAR_APART,           /* blocks of 1e18 beside blocks below the smallest scale */
    VECTOR_ZERO,
    VECTOR_KIND_COUNT,
};

/* A pair of kinds that meet in a matmul. */
struct input_kinds {
    enum weights_kind weights;
    enum vector_kind vector;
};

extern const struct input_kinds input_kinds[];
extern const unsigned input_kinds_count;

/* Shapes per activation format: ends with 0. */
extern const uint32_t input_ks[ACT_FORMAT_COUNT][12];

size_t row_bytes_of(enum tensor_type type, uint32_t k);
/* @bytes bytes of blocks. */
void fill_weights(struct harness *h, enum tensor_type type, enum weights_kind kind, uint8_t *p, size_t bytes);
void fill_vector(struct harness *h, enum vector_kind kind, float *v, uint32_t n);

/* An activation of guarded buffers of exactly the size that ops.h states. */
struct kernel_act new_act(struct harness *h, enum act_format format, uint32_t k, uint32_t columns, uint32_t tokens);
/* Quantises tokens x k values with @ops. */
void fill_act(struct harness *h, const struct kernel_ops *ops, const struct kernel_act *x, const float *v,
              uint32_t tokens);
/* The value that integer k of a token stands for. */
double act_value(const struct kernel_act *x, uint32_t token, uint32_t k);

/* Element k of a row, straight after the table of NUMERICS.md section 1; another reading than kernels/file.c. */
float table_value(enum tensor_type type, const uint8_t *row, uint32_t k);
