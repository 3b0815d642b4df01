/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernels/bits.h"
#include "kernels/file.h"
#include "kernels/layout.h"
#include "kernels/ops.h"

/* One row's share of one record: two blocks of 32 (the second one zero at the end of an odd row) or one of 256. */
typedef void put_row(const struct file_block *b, uint32_t row, uint8_t *record);

size_t kernel_group_bytes(enum tensor_type type, uint32_t k)
{
    const struct layout *l = &kernel_layouts[type];
    return ((size_t)k + l->record_values - 1) / l->record_values * l->record_bytes;
}

/* --- slices of 64 quants into lines: 4 bytes of a row in each line --- */

static inline void put_nibbles(uint8_t lines[8][LINE], uint32_t row, const uint8_t *first, const uint8_t *second)
{
    uint8_t both[32];
    for (unsigned i = 0; i < 32; i += 4)
        store_u32(both + i, (load_u32(first + i) & 0x0f0f0f0fu) | (load_u32(second + i) & 0x0f0f0f0fu) << 4);
    for (unsigned i = 0; i < 8; i++)
        memcpy(&lines[i][4 * row], both + 4 * i, 4);
}

/* Bits @shift and @shift + 1 of 16 quants into one line; two quads at a time. */
static inline void put_pairs(uint8_t *line, uint32_t row, const uint8_t *q, unsigned shift)
{
    const uint64_t mask = 0x0303030303030303ull;
    uint64_t pairs = (load_u64(q) >> shift & mask) | (load_u64(q + 8) >> shift & mask) << 4;
    store_u32(line + 4 * row, (uint32_t)pairs | (uint32_t)(pairs >> 32) << 2);
}

/* Bit @shift of 32 quants into one line; two quads at a time. */
static inline void put_bits(uint8_t *line, uint32_t row, const uint8_t *q, unsigned shift)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < 4; i++)
        bits |= (load_u64(q + 8 * i) >> shift & 0x0101010101010101ull) << 2 * i;
    store_u32(line + 4 * row, (uint32_t)bits | (uint32_t)(bits >> 32) << 1);
}

/* --- records --- */

static void put_q4_0(const struct file_block *b, uint32_t row, uint8_t *record)
{
    struct packed_q4_0 *p = (struct packed_q4_0 *)record;
    put_nibbles(p->nibbles, row, b[0].q, b[1].q);
    p->d[0][row] = b[0].d;
    p->d[1][row] = b[1].d;
}

static void put_q4_1(const struct file_block *b, uint32_t row, uint8_t *record)
{
    struct packed_q4_1 *p = (struct packed_q4_1 *)record;
    put_nibbles(p->nibbles, row, b[0].q, b[1].q);
    for (unsigned i = 0; i < 2; i++) {
        p->d[i][row] = b[i].d;
        p->m[i][row] = b[i].m;
    }
}

static void put_q5_0(const struct file_block *b, uint32_t row, uint8_t *record)
{
    struct packed_q5_0 *p = (struct packed_q5_0 *)record;
    put_nibbles(p->nibbles, row, b[0].q, b[1].q);
    for (unsigned i = 0; i < 2; i++) {
        put_bits(p->bits[i], row, b[i].q, 4);
        p->d[i][row] = b[i].d;
    }
}

static void put_q5_1(const struct file_block *b, uint32_t row, uint8_t *record)
{
    struct packed_q5_1 *p = (struct packed_q5_1 *)record;
    put_nibbles(p->nibbles, row, b[0].q, b[1].q);
    for (unsigned i = 0; i < 2; i++) {
        put_bits(p->bits[i], row, b[i].q, 4);
        p->d[i][row] = b[i].d;
        p->m[i][row] = b[i].m;
    }
}

static void put_q8_0(const struct file_block *b, uint32_t row, uint8_t *record)
{
    struct packed_q8_0 *p = (struct packed_q8_0 *)record;
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned quad = 0; quad < 8; quad++)
            memcpy(&p->q[i][quad][4 * row], b[i].q + 4 * quad, 4);
        p->d[i][row] = b[i].d;
    }
}

static void put_q2_k(const struct file_block *b, uint32_t row, uint8_t *record)
{
    struct packed_q2_k *p = (struct packed_q2_k *)record;
    for (unsigned j = 0; j < 16; j++) {
        put_pairs(p->part[j / 4].pairs[j % 4], row, b->q + 16 * j, 0);
        p->part[j / 4].scales[j % 4][row] = (uint8_t)(b->scale[j] | b->min[j] << 4);
    }
    p->d[row] = b->d;
    p->dmin[row] = b->m;
}

static void put_q3_k(const struct file_block *b, uint32_t row, uint8_t *record)
{
    struct packed_q3_k *p = (struct packed_q3_k *)record;
    for (unsigned j = 0; j < 16; j++)
        put_pairs(p->part[j / 4].pairs[j % 4], row, b->q + 16 * j, 0);
    for (unsigned h = 0; h < 8; h++)
        put_bits(p->part[h / 2].bits[h % 2], row, b->q + 32 * h, 2);
    for (unsigned j = 0; j < 8; j++)
        p->scales_low[j][row] = (uint8_t)((b->scale[j] & 15) | b->scale[j + 8] << 4);
    for (unsigned j = 0; j < 4; j++) {
        unsigned high = 0;
        for (unsigned i = 0; i < 4; i++)
            high |= (unsigned)(b->scale[j + 4 * i] >> 4) << 2 * i;
        p->scales_high[j][row] = (uint8_t)high;
    }
    p->d[row] = b->d;
}

static void put_q4_k(const struct file_block *b, uint32_t row, uint8_t *record)
{
    struct packed_q4_k *p = (struct packed_q4_k *)record;
    for (unsigned c = 0; c < 4; c++) {
        put_nibbles(p->part[c].nibbles, row, b->q + 64 * c, b->q + 64 * c + 32);
        for (unsigned i = 0; i < 2; i++) {
            p->part[c].scales[i][row] = b->scale[2 * c + i];
            p->part[c].mins[row][i] = b->min[2 * c + i];
        }
    }
    p->d[row] = b->d;
    p->dmin[row] = b->m;
}

static void put_q5_k(const struct file_block *b, uint32_t row, uint8_t *record)
{
    struct packed_q5_k *p = (struct packed_q5_k *)record;
    for (unsigned c = 0; c < 4; c++) {
        put_nibbles(p->part[c].nibbles, row, b->q + 64 * c, b->q + 64 * c + 32);
        for (unsigned i = 0; i < 2; i++) {
            put_bits(p->part[c].bits[i], row, b->q + 64 * c + 32 * i, 4);
            p->part[c].scales[i][row] = b->scale[2 * c + i];
            p->part[c].mins[row][i] = b->min[2 * c + i];
        }
    }
    p->d[row] = b->d;
    p->dmin[row] = b->m;
}

static void put_q6_k(const struct file_block *b, uint32_t row, uint8_t *record)
{
    struct packed_q6_k *p = (struct packed_q6_k *)record;
    for (unsigned c = 0; c < 4; c++) {
        put_nibbles(p->part[c].nibbles, row, b->q + 64 * c, b->q + 64 * c + 32);
        for (unsigned s = 0; s < 4; s++) {
            put_pairs(p->part[c].pairs[s], row, b->q + 64 * c + 16 * s, 4);
            p->part[c].scales[s][row] = (int8_t)b->scale[4 * c + s];
        }
    }
    p->d[row] = b->d;
}

static put_row *const put_rows[TENSOR_TYPE_COUNT] = {
    [TENSOR_Q4_0] = put_q4_0, [TENSOR_Q4_1] = put_q4_1, [TENSOR_Q5_0] = put_q5_0, [TENSOR_Q5_1] = put_q5_1,
    [TENSOR_Q8_0] = put_q8_0, [TENSOR_Q2_K] = put_q2_k, [TENSOR_Q3_K] = put_q3_k, [TENSOR_Q4_K] = put_q4_k,
    [TENSOR_Q5_K] = put_q5_k, [TENSOR_Q6_K] = put_q6_k,
};

/* --- groups --- */

static int f16_is_special(uint16_t h) { return (h & F16_INFINITY) == F16_INFINITY; }

static int pack_quants(enum tensor_type type, const uint8_t *rows, size_t row_bytes, uint32_t n_rows, uint32_t k,
                       uint8_t *ret_packed)
{
    const struct tensor_type_info *info = &tensor_types[type];
    file_block_read *read = kernel_file_formats[type].read;
    put_row *put = put_rows[type];
    uint32_t blocks = k / info->block_values, per_record = kernel_layouts[type].record_values / info->block_values;
    int special = 0;
    for (uint32_t first = 0; first < blocks; first += per_record, ret_packed += kernel_layouts[type].record_bytes) {
        uint32_t count = blocks - first < per_record ? blocks - first : per_record;
        memset(ret_packed, 0, kernel_layouts[type].record_bytes);
        for (uint32_t row = 0; row < n_rows; row++) {
            struct file_block b[2];
            const uint8_t *p = rows + row * row_bytes + (size_t)first * info->block_bytes;
            if (count < per_record)
                memset(&b[1], 0, sizeof b[1]);
            for (uint32_t i = 0; i < count; i++) {
                b[i].m = 0;
                read(p + (size_t)i * info->block_bytes, &b[i]);
                special |= f16_is_special(b[i].d) | f16_is_special(b[i].m);
            }
            put(b, row, ret_packed);
        }
    }
    return special ? -1 : 0;
}

static int pack_f32(const uint8_t *rows, size_t row_bytes, uint32_t n_rows, uint32_t k, uint32_t *ret)
{
    int special = 0;
    for (uint32_t row = 0; row < n_rows; row++) {
        const uint8_t *p = rows + row * row_bytes;
        for (size_t i = 0; i < k; i++) {
            uint32_t u = load_u32(p + 4 * i);
            special |= (u & FLOAT_MAGNITUDE) >= FLOAT_INFINITY;
            ret[ROWS * i + row] = u;
        }
    }
    return special ? -1 : 0;
}

static int pack_16(const uint8_t *rows, size_t row_bytes, uint32_t n_rows, uint32_t k, uint16_t exponent,
                   uint16_t *ret)
{
    int special = 0;
    for (uint32_t row = 0; row < n_rows; row++) {
        const uint8_t *p = rows + row * row_bytes;
        for (size_t i = 0; i < k; i++) {
            uint16_t u = load_u16(p + 2 * i);
            special |= (u & exponent) == exponent;
            ret[ROWS * i + row] = u;
        }
    }
    return special ? -1 : 0;
}

int kernel_pack_group(enum tensor_type type, const uint8_t *rows, size_t row_bytes, uint32_t n_rows, uint32_t k,
                      uint8_t *ret_packed)
{
    if (kernel_file_formats[type].read)
        return pack_quants(type, rows, row_bytes, n_rows, k, ret_packed);
    if (n_rows < ROWS || k % kernel_layouts[type].record_values)
        memset(ret_packed, 0, kernel_group_bytes(type, k));
    if (type == TENSOR_F32)
        return pack_f32(rows, row_bytes, n_rows, k, (uint32_t *)ret_packed);
    uint16_t exponent = type == TENSOR_F16 ? F16_INFINITY : BF16_INFINITY;
    return pack_16(rows, row_bytes, n_rows, k, exponent, (uint16_t *)ret_packed);
}
