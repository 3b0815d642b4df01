/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "tests/kern/inputs.h"

/* table, decode_row() and unpack_row(pack_group()) agree in every bit. */
static void check_rows(struct harness *h, enum tensor_type type, enum weights_kind kind, uint32_t k, uint32_t n_rows)
{
    size_t row_bytes = row_bytes_of(type, k), packed_bytes = kernel_group_bytes(type, k);
    uint8_t *rows = guarded(h, n_rows * row_bytes), *packed = guarded(h, packed_bytes);
    float *decoded = guarded(h, k * sizeof(float)), *unpacked = guarded(h, k * sizeof(float));
    const char *name = tensor_types[type].name;
    fill_weights(h, type, kind, rows, n_rows * row_bytes);
    expect(h, packed_bytes % 64 == 0 && (uintptr_t)packed % 64 == 0, "%s: a group is not whole lines", name);
    expect(h, kernel_pack_group(type, rows, row_bytes, n_rows, k, packed) == 0, "%s: refused", name);
    for (uint32_t row = 0; row < 16; row++) {
        if (row < n_rows)
            kernel_decode_row(type, rows + row * row_bytes, k, decoded);
        for (uint32_t i = 0; row < n_rows && i < k; i++) {
            float f = table_value(type, rows + row * row_bytes, i);
            expect_same(h, &f, &decoded[i], 4, "%s kind %d: decoded element %u", name, (int)kind, i);
        }
        kernel_unpack_row(type, packed, row, k, unpacked);
        if (row < n_rows)
            expect_same(h, decoded, unpacked, k * sizeof(float), "%s kind %d k %u: unpacked row %u", name, (int)kind, k,
                        row);
        for (uint32_t i = 0; row >= n_rows && i < k; i++)
            expect(h, unpacked[i] == 0.0f, "%s: a missing row is not zero", name);
    }
    guards_check(h);
}

/* Each scale of a block in turn is Inf or NaN. */
static void check_not_finite(struct harness *h, enum tensor_type type)
{
    const uint32_t k = tensor_types[type].block_values * 3;
    size_t row_bytes = row_bytes_of(type, k);
    uint8_t rows[16 * 3 * 256], packed[3 * 3392] __attribute__((aligned(64)));
    unsigned refused = 0, block = tensor_types[type].block_bytes;
    fill_weights(h, type, WEIGHTS_ZERO, rows, 16 * row_bytes);
    for (unsigned at = 0; at + 1 < block; at += 2) {
        uint8_t *p = rows + 15 * row_bytes + 2 * block + at, saved[2];
        memcpy(saved, p, 2);
        memcpy(p, type == TENSOR_BF16 ? "\x80\xff" : type == TENSOR_F32 ? "\x80\x7f" : "\x00\x7e", 2);
        refused += kernel_pack_group(type, rows, row_bytes, 16, k, packed) != 0;
        memcpy(p, saved, 2);
    }
    int has_m = type == TENSOR_Q4_1 || type == TENSOR_Q5_1 || type == TENSOR_Q2_K || type == TENSOR_Q4_K ||
                type == TENSOR_Q5_K;
    expect(h, refused == (has_m ? 2u : 1u), "%s: %u places of a block may not hold Inf or NaN", tensor_types[type].name,
           refused);
}

static void check_size(struct harness *h, enum tensor_type type)
{
    static const uint32_t ks[] = { 512, 1536, 4096 };
    for (unsigned i = 0; i < sizeof ks / sizeof *ks; i++) {
        double file = 16.0 * (double)row_bytes_of(type, ks[i]), packed = (double)kernel_group_bytes(type, ks[i]);
        expect(h, packed <= 1.03 * file, "%s: packed size %.3f of the file's", tensor_types[type].name, packed / file);
    }
}

static void check_table(struct harness *h)
{
    enum tensor_type type = TENSOR_TYPE_COUNT;
    for (unsigned t = 0; t < TENSOR_TYPE_COUNT; t++) {
        const struct tensor_type_info *info = &tensor_types[t];
        expect(h, tensor_type_from_file(info->file_id, &type) == 0, "%s: its file id", info->name);
        expect(h, (unsigned)type == t, "%s: its file id is another type's", info->name);
    }
    type = TENSOR_Q2_K;
    expect(h, tensor_type_from_file(9, &type) < 0 && tensor_type_from_file(UINT32_MAX, &type) < 0, "an unknown type");
    expect(h, type == TENSOR_Q2_K, "an unknown type was written");
}

void check_pack(struct harness *h)
{
    check_table(h);
    for (unsigned t = 0; t < TENSOR_TYPE_COUNT; t++) {
        enum tensor_type type = (enum tensor_type)t;
        const uint32_t *ks = input_ks[tensor_types[t].act];
        check_size(h, type);
        check_not_finite(h, type);
        for (unsigned kind = 0; kind < WEIGHTS_KIND_COUNT; kind++)
            for (unsigned i = 0; ks[i]; i++)
                check_rows(h, type, (enum weights_kind)kind, ks[i], i % 3 == 2 ? 5 : 16);
    }
}
