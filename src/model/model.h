/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A model file understood: its numbers, its vocabulary, and what every tensor is for.  No weights yet: those are
 * placed and read by weights.h.  Immutable after model_open(); any thread may read it.
 *
 * A *matrix* is a weight that a matmul reads, [rows][k]; a *vector* is a norm weight, a bias or rope factors, kept as
 * f32. Every tensor of the file must have a purpose here, or the model is refused: an ignored tensor is a wrong answer.
 */

#include "kernels/ops.h"
#include "src/model/arch.h"
#include "src/model/vocab.h"

#define MODEL_NONE UINT32_MAX

struct model_matrix {
    const struct gguf_tensor *tensor;
    enum tensor_type type;
    uint32_t rows, k;
    uint32_t groups;                    /* of 16 rows; the last may be padded */
    uint32_t align_groups;              /* shard borders (q, k, v: whole KV heads) */
    uint64_t row_bytes;                 /* in the file */
    uint64_t group_bytes;               /* packed */
};

struct model_vector {
    const struct gguf_tensor *tensor;
    enum tensor_type type;
    uint32_t n;
    uint32_t first;                     /* where it begins in the f32 pool, in values */
};

struct model_layer {
    uint32_t q, k, v, o, gate, up, down;                        /* indexes of matrices */
    uint32_t attn_norm, ffn_norm;                               /* indexes of vectors, or MODEL_NONE */
    uint32_t q_bias, k_bias, v_bias, q_norm, k_norm;
    uint32_t post_attn_norm, post_ffn_norm;
    bool local;
};

struct model {
    int fd;                             /* open for reading */
    uint64_t file_bytes;
    struct gguf *gguf;
    struct vocab *vocab;
    struct hparams hparams;
    struct model_matrix *matrices;
    uint32_t matrix_count;
    struct model_vector *vectors;
    uint32_t vector_count;
    uint32_t vector_values;             /* size of the f32 pool; every vector begins at a multiple of 16 */
    struct model_layer *layers;
    uint32_t embed, head;               /* matrices; equal when the embeddings are tied */
    uint32_t output_norm;
    uint32_t rope_factors;              /* vector or MODEL_NONE */
};

must_check int model_open(const char *path, struct model **ret_model, struct error *error);
struct model *model_close(struct model *model);
/* Bit t: a matrix of the model is of tensor type t. */
uint32_t model_types(const struct model *model);
