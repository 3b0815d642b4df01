/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The table of kernels.  kernel_ops_init() fills it with `ref`, then every allowed level overwrites
 * what it does faster.  All levels give the same bits (NUMERICS.md): a test is a memcmp.
 *
 * Pure arithmetic: no threads, allocation, I/O or globals.  Pointers are borrowed for the call, shapes stand behind
 * every buffer, sizes are trusted (the callers have proven them).  Every caller's thread ran kernel_thread_init().
 *
 * Words: a *row group* is 16 consecutive output rows packed together; a *token* is one input vector;
 * a *column* is one int8 vector: a token has one (int8 profile) or two (int16: high, then low).
 */

#include <stddef.h>
#include <stdint.h>

#include "kernels/block.h"
#include "kernels/kv.h"

#define KERNEL_GROUP_ROWS 16u
#define KERNEL_SEGMENT 1024u            /* K is summed in segments of this many values */
#define KERNEL_BLOCK 256u               /* norm and activation blocks */
#define KERNEL_KV_RANGE 512u            /* absolute positions in a range of the online softmax */
#define KERNEL_QUERIES_MAX 64u
#define KERNEL_HEAD_DIM_MAX 256u        /* head_dim: a multiple of 16 up to this */
#define KERNEL_NUMERIC_VERSION 1u

/* KERNEL_AVXVNNI: AVX2 and VNNI's VEX form.  KERNEL_AVX512: F, BW, DQ, VL, VNNI.  KERNEL_AMX: this and int8 tiles. */
enum kernel_level { KERNEL_REF, KERNEL_AVX2, KERNEL_AVXVNNI, KERNEL_AVX512, KERNEL_AMX, KERNEL_LEVEL_COUNT };

/*
 * Input vectors of a matmul in one format.  k is a multiple of the format's block (ACT_F32: any).
 *   ACT_32, ACT_256:  q   [tokens][columns][k]        int8
 *                     d   [tokens][k / 32 or 256]     f32
 *                     s32 [tokens][columns][k / 32]   int16 sums of 32 integers
 *                     s16 [tokens][columns][k / 16]   int16 sums of 16 (ACT_256 only, else NULL)
 *   ACT_F32:          f   [tokens][k]                 f32; the others NULL
 */
struct kernel_act {
    enum act_format format;
    uint32_t k;
    uint32_t columns;                   /* 1 or 2 */
    int8_t *q;
    float *d;
    int16_t *s32, *s16;
    float *f;
};

/*
 * y[t * y_stride + 16 * g + r] = sum over k of W[16 * g + r][k] * x[token_first + t][k], for
 * `groups` row groups that follow one another from @packed (kernel_group_bytes() apart) and `tokens`
 * tokens.  Raw merged sums: the epilogue is the caller's.  @packed is 64-byte aligned.
 */
typedef void kernel_matmul_fn(const uint8_t *packed, uint32_t groups, const struct kernel_act *x,
                              uint32_t token_first, uint32_t tokens, float *y, size_t y_stride);

/* A query vector, and what it finds in one range. */
struct kernel_query {
    const float *q;                     /* [hd] */
    float *o;                           /* [hd], written */
    uint32_t lo, hi;                    /* the absolute positions it touches, all of one range */
    float m, l;                         /* written */
};

struct kernel_ops {
    enum kernel_level level;            /* the highest level that wrote into this table */
    kernel_matmul_fn *matmul[TENSOR_TYPE_COUNT];
    const char *matmul_name[TENSOR_TYPE_COUNT];     /* a sentence: "matmul_q4_k_a256_f32__avx2_16x4" */
    kernel_matmul_fn *matmul_many[TENSOR_TYPE_COUNT];   /* another way (matmul.h), or NULL */
    const char *many_name[TENSOR_TYPE_COUNT];
    uint32_t many_columns[TENSOR_TYPE_COUNT];       /* ... for so many columns or more; UINT32_MAX: never */

    /*
     * v = x * g (g NULL: v = x) for n <= 256 values, written into @out's token row at k_first (a multiple of
     * 256; n is a multiple of 32 unless ACT_F32; the 256-block of ACT_256 is whole).  -1 where a value is not finite.
     */
    int (*quantise)(const float *x, const float *g, uint32_t n, const struct kernel_act *out,
                    uint32_t token, uint32_t k_first);
    /* Sum of squares of n <= 256 values in 16 lanes and a tree (section 4). */
    float (*sumsq)(const float *x, uint32_t n);

    /* Epilogue of n outputs (section 3): y, y*r, y+b or fma(y, r, b); use_r says whether r counts, bias may be NULL. */
    void (*epilogue)(float *y, uint32_t n, int use_r, float r, const float *bias);
    void (*add)(float *x, const float *y, uint32_t n);                                  /* x = x + y */
    void (*norm)(float *t, const float *g, float r, uint32_t n);                        /* t = (t * g) * r */
    void (*norm_add)(float *x, const float *h, const float *g, float r, uint32_t n);    /* x = fma(h * g, r, x) */
    void (*scale)(float *x, float c, uint32_t n);                                       /* x = x * c */
    void (*gated_silu)(const float *gate, const float *up, float *v, uint32_t n);       /* v = silu(gate) * up */
    void (*gated_gelu)(const float *gate, const float *up, float *v, uint32_t n);
    void (*exp)(const float *x, float *y, uint32_t n);                                  /* t_exp */

    /* Rope of one head of hd values: cs holds dim/2 cosines, then dim/2 sines; elements >= dim pass. */
    void (*rope_adjacent)(float *x, const float *cs, uint32_t dim);                     /* pairs (2i, 2i+1) */
    void (*rope_halves)(float *x, const float *cs, uint32_t dim);                       /* pairs (i, i + dim/2) */

    /* Stores one position, 0..63, into a KV block (kv.h).  -1 where a value is not finite. */
    int (*kv_store)(uint16_t *block, uint32_t hd, uint32_t position, const float *k, const float *v);
    /*
     * Up to KERNEL_QUERIES_MAX queries of one KV head, each over the positions it touches of one range (section 7):
     * query heads that share the KV head, and several tokens of a prompt.  What each finds does not depend on its
     * company.  blocks[i] is block (lo / 512) * 8 + i; untouched entries may be NULL.  softcap 0 = none.
     */
    void (*attend)(struct kernel_query *queries, uint32_t n, const uint16_t *const blocks[8], uint32_t hd,
                   float softcap);
    /* Both for KV_Q8; |q| < 2^50, and the store refuses more.  @columns: 2 where the profile has q in int16, else 1. */
    int (*kv_store_q8)(uint8_t *block, uint32_t hd, uint32_t position, const float *k, const float *v);
    void (*attend_q8)(struct kernel_query *queries, uint32_t n, const uint8_t *const blocks[8], uint32_t hd,
                      float softcap, uint32_t columns);
    /* Folds a later range (m_r, l_r, o_r) into (m, l, o). */
    void (*attend_merge)(float *m, float *l, float *o, float m_r, float l_r, const float *o_r, uint32_t hd);
    void (*attend_finish)(float *o, float l, uint32_t hd);                              /* o = o * (1 / l) */
    const struct kernel_limits *limits; /* level_limits.h */
};

/* Fills @ops up to @highest, as far as CPU and (AMX) system permit (cpu.h).  Returns the level reached. */
enum kernel_level kernel_ops_init(struct kernel_ops *ops, enum kernel_level highest);
const char *kernel_level_name(enum kernel_level level);
/* Sets and reads back MXCSR: nearest even, no FTZ, no DAZ, all masked.  -1 if it does not stick. */
int kernel_thread_init(void);

/* --- packed weights --- */

/* Bytes of one packed row group of k columns; a multiple of 64.  k is a multiple of the type's block. */
size_t kernel_group_bytes(enum tensor_type type, uint32_t k);
/*
 * Packs up to 16 rows as the file has them, row_bytes apart, into one group (64-byte aligned); missing
 * rows are zero rows.  -1 where a scale (or a float weight) is not finite.
 */
int kernel_pack_group(enum tensor_type type, const uint8_t *rows, size_t row_bytes, uint32_t n_rows, uint32_t k,
                      uint8_t *ret_packed);
/* Row 0..15 of a packed group as f32 numbers (section 1, "as a number"): embeddings, tests. */
void kernel_unpack_row(enum tensor_type type, const uint8_t *packed, uint32_t row, uint32_t k, float *ret);
/* One row as the file has it, as f32 numbers; n values, a multiple of the block. */
void kernel_decode_row(enum tensor_type type, const uint8_t *row, uint32_t n, float *ret);

/* --- scalar functions of the answer path, one C source for all levels (section 5) --- */

float kernel_exp(float x);
float kernel_softcap(float x, float cap);               /* cap * tanh(x / cap) */
float kernel_inv_rms(float sum_of_squares, uint32_t n, float eps);
double kernel_log64(double x);
double kernel_exp64(double x);
void kernel_sincos64(double x, double *ret_sin, double *ret_cos);
/* dim/2 cosines and dim/2 sines of position @position < 2^24; inv_freq[dim/2] from kernel_rope_freqs(). */
void kernel_rope_freqs(float base, uint32_t dim, double linear_scale, const float *factors, double *ret_inv_freq);
void kernel_rope_table(const double *inv_freq, uint32_t dim, uint32_t position, float *ret_cs);
/* Philox4x32-10 (Salmon et al., SC'11): four words from a counter and a key (section 9). */
void kernel_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t ret[4]);
