/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tensor types as a GGUF file stores them: ids, names, block sizes.  The kernel_layouts themselves are
 * decoded in pack.c and unpack.c after the table of NUMERICS.md section 1 (source: the GGUF
 * specification, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, and the block tables there).
 */

#include <stdint.h>

enum tensor_type {              /* dense and ours; file ids are in the table */
    TENSOR_F32, TENSOR_F16, TENSOR_BF16,
    TENSOR_Q4_0, TENSOR_Q4_1, TENSOR_Q5_0, TENSOR_Q5_1, TENSOR_Q8_0,
    TENSOR_Q2_K, TENSOR_Q3_K, TENSOR_Q4_K, TENSOR_Q5_K, TENSOR_Q6_K,
    TENSOR_TYPE_COUNT,
};

/* How the input vector of a matmul is prepared (NUMERICS.md section 2). */
enum act_format {
    ACT_F32,                    /* AF: the vector itself, for float weights */
    ACT_32,                     /* A32: one scale per 32, for the 32-block types */
    ACT_256,                    /* A256: one scale per 256, for K-quants */
    ACT_FORMAT_COUNT,
};

struct tensor_type_info {
    const char *name;           /* as GGUF names it: "Q4_K" */
    uint32_t file_id;           /* ggml_type in the file */
    uint32_t block_values;      /* values along K in one block: 1, 32 or 256 */
    uint32_t block_bytes;
    enum act_format act;
};

extern const struct tensor_type_info tensor_types[TENSOR_TYPE_COUNT];

/* 0 and *ret_type, or -1 where no such type is known. */
int tensor_type_from_file(uint32_t file_id, enum tensor_type *ret_type);
