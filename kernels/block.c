/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/block.h"

const struct tensor_type_info tensor_types[TENSOR_TYPE_COUNT] = {
    [TENSOR_F32]  = { "F32",   0,   1,   4, ACT_F32 },
    [TENSOR_F16]  = { "F16",   1,   1,   2, ACT_F32 },
    [TENSOR_BF16] = { "BF16", 30,   1,   2, ACT_F32 },
    [TENSOR_Q4_0] = { "Q4_0",  2,  32,  18, ACT_32 },
    [TENSOR_Q4_1] = { "Q4_1",  3,  32,  20, ACT_32 },
    [TENSOR_Q5_0] = { "Q5_0",  6,  32,  22, ACT_32 },
    [TENSOR_Q5_1] = { "Q5_1",  7,  32,  24, ACT_32 },
    [TENSOR_Q8_0] = { "Q8_0",  8,  32,  34, ACT_32 },
    [TENSOR_Q2_K] = { "Q2_K", 10, 256,  84, ACT_256 },
    [TENSOR_Q3_K] = { "Q3_K", 11, 256, 110, ACT_256 },
    [TENSOR_Q4_K] = { "Q4_K", 12, 256, 144, ACT_256 },
    [TENSOR_Q5_K] = { "Q5_K", 13, 256, 176, ACT_256 },
    [TENSOR_Q6_K] = { "Q6_K", 14, 256, 210, ACT_256 },
};

int tensor_type_from_file(uint32_t file_id, enum tensor_type *ret_type)
{
    for (unsigned t = 0; t < TENSOR_TYPE_COUNT; t++) {
        if (tensor_types[t].file_id == file_id) {
            *ret_type = (enum tensor_type)t;
            return 0;
        }
    }
    return -1;
}
