/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/unpack.h"

#include <string.h>

#include "kernels/bits.h"
#include "kernels/file.h"
#include "kernels/ops.h"

/* What a row of a record says, its slices joined again: a file block without the file's order. */
typedef void get_row(const uint8_t *record, uint32_t half, uint32_t row, struct file_block *ret);

/* --- lines back to quants, the reverse of pack.c --- */

static inline void get_quads(const uint8_t lines[][LINE], uint32_t row, unsigned quads, uint8_t *ret)
{
    for (unsigned i = 0; i < quads; i++)
        memcpy(ret + 4 * i, &lines[i][4 * row], 4);
}

static inline void get_nibbles(const uint8_t lines[8][LINE], uint32_t row, uint32_t half, uint8_t q[32])
{
    for (unsigned i = 0; i < 8; i++)
        store_u32(q + 4 * i, load_u32(&lines[i][4 * row]) >> 4 * half & 0x0f0f0f0fu);
}

static inline void add_bits(const uint8_t *line, uint32_t row, unsigned shift, uint8_t q[32])
{
    uint32_t bits = load_u32(line + 4 * row);
    for (unsigned i = 0; i < 8; i++)
        store_u32(q + 4 * i, load_u32(q + 4 * i) | (bits >> i & 0x01010101u) << shift);
}

static inline void add_pairs(const uint8_t *line, uint32_t row, unsigned shift, uint8_t q[16])
{
    uint32_t pairs = load_u32(line + 4 * row);
    for (unsigned i = 0; i < 4; i++)
        store_u32(q + 4 * i, load_u32(q + 4 * i) | (pairs >> 2 * i & 0x03030303u) << shift);
}

/* --- records --- */

static void get_q4_0(const uint8_t *record, uint32_t half, uint32_t row, struct file_block *ret)
{
    const struct packed_q4_0 *p = (const struct packed_q4_0 *)record;
    get_nibbles(p->nibbles, row, half, ret->q);
    ret->d = p->d[half][row];
}

static void get_q4_1(const uint8_t *record, uint32_t half, uint32_t row, struct file_block *ret)
{
    const struct packed_q4_1 *p = (const struct packed_q4_1 *)record;
    get_nibbles(p->nibbles, row, half, ret->q);
    ret->d = p->d[half][row];
    ret->m = p->m[half][row];
}

static void get_q5_0(const uint8_t *record, uint32_t half, uint32_t row, struct file_block *ret)
{
    const struct packed_q5_0 *p = (const struct packed_q5_0 *)record;
    get_nibbles(p->nibbles, row, half, ret->q);
    add_bits(p->bits[half], row, 4, ret->q);
    ret->d = p->d[half][row];
}

static void get_q5_1(const uint8_t *record, uint32_t half, uint32_t row, struct file_block *ret)
{
    const struct packed_q5_1 *p = (const struct packed_q5_1 *)record;
    get_nibbles(p->nibbles, row, half, ret->q);
    add_bits(p->bits[half], row, 4, ret->q);
    ret->d = p->d[half][row];
    ret->m = p->m[half][row];
}

static void get_q8_0(const uint8_t *record, uint32_t half, uint32_t row, struct file_block *ret)
{
    const struct packed_q8_0 *p = (const struct packed_q8_0 *)record;
    get_quads((const uint8_t(*)[LINE])p->q[half], row, 8, ret->q);
    ret->d = p->d[half][row];
}

static void get_q2_k(const uint8_t *record, uint32_t half, uint32_t row, struct file_block *ret)
{
    const struct packed_q2_k *p = (const struct packed_q2_k *)record;
    (void)half;
    memset(ret->q, 0, sizeof ret->q);
    for (unsigned j = 0; j < 16; j++) {
        add_pairs(p->part[j / 4].pairs[j % 4], row, 0, ret->q + 16 * j);
        ret->scale[j] = p->part[j / 4].scales[j % 4][row] & 15;
        ret->min[j] = p->part[j / 4].scales[j % 4][row] >> 4;
    }
    ret->d = p->d[row];
    ret->m = p->dmin[row];
}

static void get_q3_k(const uint8_t *record, uint32_t half, uint32_t row, struct file_block *ret)
{
    const struct packed_q3_k *p = (const struct packed_q3_k *)record;
    (void)half;
    memset(ret->q, 0, sizeof ret->q);
    for (unsigned j = 0; j < 16; j++) {
        unsigned low = p->scales_low[j % 8][row] >> 4 * (j / 8) & 15;
        ret->scale[j] = (uint8_t)(low | (p->scales_high[j % 4][row] >> 2 * (j / 4) & 3) << 4);
        add_pairs(p->part[j / 4].pairs[j % 4], row, 0, ret->q + 16 * j);
    }
    for (unsigned h = 0; h < 8; h++)
        add_bits(p->part[h / 2].bits[h % 2], row, 2, ret->q + 32 * h);
    ret->d = p->d[row];
}

static void get_q4_k(const uint8_t *record, uint32_t half, uint32_t row, struct file_block *ret)
{
    const struct packed_q4_k *p = (const struct packed_q4_k *)record;
    (void)half;
    for (unsigned j = 0; j < 8; j++) {
        get_nibbles(p->part[j / 2].nibbles, row, j % 2, ret->q + 32 * j);
        ret->scale[j] = p->part[j / 2].scales[j % 2][row];
        ret->min[j] = p->part[j / 2].mins[row][j % 2];
    }
    ret->d = p->d[row];
    ret->m = p->dmin[row];
}

static void get_q5_k(const uint8_t *record, uint32_t half, uint32_t row, struct file_block *ret)
{
    const struct packed_q5_k *p = (const struct packed_q5_k *)record;
    (void)half;
    for (unsigned j = 0; j < 8; j++) {
        get_nibbles(p->part[j / 2].nibbles, row, j % 2, ret->q + 32 * j);
        add_bits(p->part[j / 2].bits[j % 2], row, 4, ret->q + 32 * j);
        ret->scale[j] = p->part[j / 2].scales[j % 2][row];
        ret->min[j] = p->part[j / 2].mins[row][j % 2];
    }
    ret->d = p->d[row];
    ret->m = p->dmin[row];
}

static void get_q6_k(const uint8_t *record, uint32_t half, uint32_t row, struct file_block *ret)
{
    const struct packed_q6_k *p = (const struct packed_q6_k *)record;
    (void)half;
    for (unsigned h = 0; h < 8; h++)
        get_nibbles(p->part[h / 2].nibbles, row, h % 2, ret->q + 32 * h);
    for (unsigned j = 0; j < 16; j++) {
        add_pairs(p->part[j / 4].pairs[j % 4], row, 4, ret->q + 16 * j);
        ret->scale[j] = (uint8_t)p->part[j / 4].scales[j % 4][row];
    }
    ret->d = p->d[row];
}

static get_row *const gets[TENSOR_TYPE_COUNT] = {
    [TENSOR_Q4_0] = get_q4_0, [TENSOR_Q4_1] = get_q4_1, [TENSOR_Q5_0] = get_q5_0, [TENSOR_Q5_1] = get_q5_1,
    [TENSOR_Q8_0] = get_q8_0, [TENSOR_Q2_K] = get_q2_k, [TENSOR_Q3_K] = get_q3_k, [TENSOR_Q4_K] = get_q4_k,
    [TENSOR_Q5_K] = get_q5_k, [TENSOR_Q6_K] = get_q6_k,
};

/* --- blocks for the reference --- */

static void read_packed(enum tensor_type type, const uint8_t *packed, uint32_t index, uint32_t row,
                        struct file_block *ret)
{
    uint32_t per_record = kernel_layouts[type].record_values / tensor_types[type].block_values;
    ret->m = 0;
    gets[type](packed + (size_t)(index / per_record) * kernel_layouts[type].record_bytes, index % per_record, row, ret);
}

static void fold_scales(const struct file_format *f, const struct file_block *b, uint32_t values, int16_t *w)
{
    uint32_t sub = f->sub_values ? f->sub_values : values;
    for (uint32_t first = 0, j = 0; first < values; first += sub, j++) {
        int scale = f->sub_values ? (int8_t)b->scale[j] - f->scale_offset : 1;
        for (uint32_t i = first; i < first + sub; i++)
            w[i] = (int16_t)(scale * ((int8_t)b->q[i] - f->q_offset));
    }
}

static void unpack_block_row(enum tensor_type type, const struct file_block *b, uint32_t row,
                             struct unpacked_block *ret)
{
    const struct file_format *f = &kernel_file_formats[type];
    fold_scales(f, b, tensor_types[type].block_values, ret->w[row]);
    ret->d[row] = f16_to_f32(b->d);
    ret->m[row] = f->sub_values ? -f16_to_f32(b->m) : f16_to_f32(b->m);
    for (uint32_t j = 0; j < 16; j++)
        ret->min[row][j] = f->has_m && f->sub_values ? b->min[16 * j / f->sub_values] : 0;
}

void kernel_unpack_block(enum tensor_type type, const uint8_t *packed, uint32_t index, struct unpacked_block *ret)
{
    struct file_block b;
    for (uint32_t row = 0; row < ROWS; row++) {
        read_packed(type, packed, index, row, &b);
        unpack_block_row(type, &b, row, ret);
    }
}

static float float_weight(enum tensor_type type, const uint8_t *p, size_t index)
{
    if (type == TENSOR_F32)
        return bits_float(load_u32(p + 4 * index));
    uint16_t h = load_u16(p + 2 * index);
    return type == TENSOR_F16 ? f16_to_f32(h) : bf16_to_f32(h);
}

void kernel_unpack_floats(enum tensor_type type, const uint8_t *packed, uint32_t k, float ret[ROWS])
{
    for (uint32_t row = 0; row < ROWS; row++)
        ret[row] = float_weight(type, packed, (size_t)ROWS * k + row);
}

/* --- rows as numbers --- */

static void block_numbers(const struct file_format *f, const struct file_block *b, uint32_t values, float *ret)
{
    float d = f16_to_f32(b->d), m = f16_to_f32(b->m);
    for (uint32_t i = 0; i < values; i++) {
        float q = (float)((int8_t)b->q[i] - f->q_offset);
        if (!f->sub_values) {
            ret[i] = f->has_m ? d * q + m : d * q;
            continue;
        }
        uint32_t j = i / f->sub_values;
        float number = d * (float)((int8_t)b->scale[j] - f->scale_offset) * q;
        ret[i] = f->has_m ? number - m * (float)b->min[j] : number;
    }
}

void kernel_unpack_row(enum tensor_type type, const uint8_t *packed, uint32_t row, uint32_t k, float *ret)
{
    uint32_t values = tensor_types[type].block_values;
    if (!kernel_file_formats[type].read) {
        for (uint32_t i = 0; i < k; i++)
            ret[i] = float_weight(type, packed, (size_t)ROWS * i + row);
        return;
    }
    for (uint32_t first = 0; first < k; first += values) {
        struct file_block b;
        read_packed(type, packed, first / values, row, &b);
        block_numbers(&kernel_file_formats[type], &b, values, ret + first);
    }
}

void kernel_decode_row(enum tensor_type type, const uint8_t *row, uint32_t n, float *ret)
{
    const struct tensor_type_info *info = &tensor_types[type];
    if (!kernel_file_formats[type].read) {
        for (uint32_t i = 0; i < n; i++)
            ret[i] = float_weight(type, row, i);
        return;
    }
    for (uint32_t first = 0; first < n; first += info->block_values, row += info->block_bytes) {
        struct file_block b;
        b.m = 0;
        kernel_file_formats[type].read(row, &b);
        block_numbers(&kernel_file_formats[type], &b, info->block_values, ret + first);
    }
}
