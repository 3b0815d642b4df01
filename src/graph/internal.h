/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The insides of the graph, shared by its own files only.
 *
 * Two ways to cut a phase into tasks give the same bits:
 *   narrow (few tokens): a task is a row group for all tokens; the last arriver of a unit (a head, or 256 outputs)
 *                        finishes it: norm, activation, quantisation.  Results meet in `shared`.
 *   wide (many tokens):  a task is a whole unit for a tile of tokens; it finishes what it computed, in private memory.
 */

#include <stdatomic.h>

#include "src/graph/graph.h"

#define NARROW_TOKENS 24u               /* at most this many tokens run narrow */
#define TILE_TOKENS 32u                 /* tokens of a wide task, at least */
#define TILE_TOKENS_MOST 96u            /* and at most: weights are taken apart once for all of them */
#define TILE_WORKERS 16u                /* more workers than that have many tasks of few tokens, little scratch each */
#define UNIT_GROUPS (KERNEL_BLOCK / KERNEL_GROUP_ROWS)
#define PART_SLOTS 4096u                /* ranges of attention that may wait for their merge */
#define TILE_STRIDE (2 * KERNEL_BLOCK)  /* gate and up, or a unit and room */
#define TILE_FLOATS (TILE_TOKENS * TILE_STRIDE)      /* of a tile at least */
#define CACHE_LINE 64

enum phase_kind {
    PHASE_EMBED,                        /* rows of the embedding, rope tables, first norm */
    PHASE_QKV,                          /* q, k, v + bias + head norm + rope + KV write */
    PHASE_ATTEND,                       /* attention + quantise */
    PHASE_OUT,                          /* output projection (+ residual, ffn norm, quantise) */
    PHASE_JOIN_OUT,                     /* post norm + residual, ffn norm, quantise */
    PHASE_GATE_UP,                      /* gate, up, activation, quantise */
    PHASE_DOWN,                         /* down projection (+ residual, next norm, quantise) */
    PHASE_JOIN_DOWN,                    /* post norm + residual, next norm, quantise */
    PHASE_HEAD,                         /* logits */
    PHASE_KIND_COUNT,
};
_Static_assert(PHASE_KIND_COUNT == GRAPH_PHASE_KINDS, "graph.h tells how many there are");

struct phase {
    enum phase_kind kind;
    uint32_t layer;
};

struct layer_formats { uint8_t mask[ACT_INPUT_COUNT]; };    /* bit per act_format that the layer's matrices read */

struct cursor_line { _Alignas(CACHE_LINE) _Atomic uint32_t next; };

struct graph {
    struct graph_config c;
    const struct hparams *h;
    uint32_t n_workers, n_blocks;       /* n_blocks: 256-blocks of n_embd */
    struct phase *phases;
    uint32_t phase_count;
    struct layer_formats *formats;      /* [n_layer]; ACT_OUTPUT in the last one */
    struct kernel_act acts[ACT_INPUT_COUNT][ACT_FORMAT_COUNT];
    double *inv_freq, *inv_freq_local;  /* [rope_dim / 2] */
    uint32_t unit_heads, attend_units;  /* heads whose outputs fill whole 256-blocks; such units per token */
    uint32_t part_stride;
    uint32_t tile_most, tile_floats;    /* tokens of a wide task at most, and what they need */

    float *x;                           /* [max_tokens][n_embd] residual stream */
    float *hidden;                      /* [max_tokens][n_embd] before a post norm, or NULL */
    float *ss, *ss_hidden;              /* [max_tokens][n_blocks] sums of squares */
    float *q;                           /* [max_tokens][n_head * head_dim] */
    float *attn;                        /* [NARROW_TOKENS][n_head * head_dim] */
    float *rope, *rope_local;           /* [max_tokens][rope_dim] cosines, sines */
    float *shared;                      /* [NARROW_TOKENS][shared_stride] raw sums of a narrow phase */
    uint32_t shared_stride;
    float *parts;                       /* [PART_SLOTS][part_stride]: m, l, (pad), o */
    float *logits;                      /* [max_rows][logits_stride] */
    uint32_t logits_stride;
    float *tiles;                       /* [n_workers][tile_floats] private sums */
    float *rs;                          /* [n_workers][r_stride] */
    uint32_t r_stride;
    float *zeros;                       /* [KERNEL_BLOCK] */
    uint32_t *row_token;                /* [max_tokens] */
    _Atomic uint8_t *failed;            /* [max_tokens] */
    _Atomic uint32_t *arrived;          /* units of a narrow phase; zero between phases */
    _Atomic uint32_t *merged;           /* (token, head) of narrow attention; zero between phases */
    struct cursor_line *cursors[2];     /* [n_workers] by parity of the phase */
    struct arena *arena;                /* what the float pointers above point into */
    struct graph_times *times;          /* [2], or NULL */

    /* of the step */
    struct graph_batch b;
    bool narrow;
    uint32_t tile_tokens;               /* of a wide task */
    uint32_t head_first, head_rows;     /* rows whose logits are held */
};

/* One worker inside a step. */
struct lane {
    struct graph *g;
    uint32_t worker, node;
    uint32_t layer;
    float *tile;                        /* its private sums */
    float *r;                           /* [r_stride] 1/rms of the tokens at hand */
};

/* Tasks 0 .. count-1 in node order: node n's own are first[n] .. first[n + 1). */
struct task_set {
    uint32_t count;
    uint32_t first[TOPOLOGY_NODES_MAX + 1];
};

typedef void task_fn(struct lane *lane, uint32_t task, uint32_t count);

/* exec.c */
void graph_run_tasks(struct lane *lane, const struct task_set *set, uint32_t grain, uint32_t parity, task_fn *fn);
void graph_even_tasks(const struct graph *g, uint32_t count, struct task_set *ret_set);
void graph_split_tasks(const struct graph *g, uint32_t matrix, uint32_t count, uint32_t multiply, uint32_t divide,
                       struct task_set *ret_set);

/* Wide tasks along the tokens of the step. */
static inline uint32_t graph_tiles(const struct graph *g)
{
    return (g->b.tokens + g->tile_tokens - 1) / g->tile_tokens;
}

/* block.c: what every finisher does */
bool graph_arrive(_Atomic uint32_t *counter, uint32_t share, uint32_t whole);
void graph_put(struct graph *g, enum act_input input, uint8_t formats, const float *x, const float *gain, uint32_t n,
               uint32_t token, uint32_t row, uint32_t k_first);
void graph_put_stream(struct graph *g, enum act_input input, uint32_t layer, uint32_t token, uint32_t block);
float graph_inv_rms(const struct graph *g, const float *ss, uint32_t token);
void graph_fail(struct graph *g, uint32_t token);
uint32_t graph_block_values(uint32_t n, uint32_t block);
void graph_matmul(struct lane *lane, uint32_t matrix, uint32_t group, uint32_t count, enum act_input input,
                  uint32_t token_first, uint32_t tokens, float *y, size_t y_stride);

/* the phases */
void phase_embed(struct lane *lane, uint32_t parity);
void phase_qkv(struct lane *lane, uint32_t parity);
void phase_attend(struct lane *lane, uint32_t parity);
void phase_stream(struct lane *lane, uint32_t parity, bool after_ffn);      /* out, down */
void phase_join(struct lane *lane, uint32_t parity, bool after_ffn);
void phase_gate_up(struct lane *lane, uint32_t parity);
void phase_head(struct lane *lane, uint32_t parity);
