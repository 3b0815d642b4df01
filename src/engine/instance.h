/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An instance: one model, placed, loaded and ready to compute on a pool of workers, with its KV memory.
 *
 * instance_load() must run on worker 0 of the pool (the engine thread).  What instance_info(), instance_vocab() and
 * the tokenizer functions give is immutable and may be read by any thread while the instance lives.
 */

#include "io/loader.h"
#include "kernels/ops.h"
#include "numa/arena.h"
#include "numa/worker.h"
#include "src/base/error.h"
#include "src/model/vocab.h"

struct instance_config {
    const char *id;                     /* name on the wire */
    const char *path;                   /* GGUF file */
    const struct topology *topology;    /* may be invented */
    const struct topology *host;
    enum plan_policy policy;
    uint32_t threads;                   /* 0 = as the plan says */
    bool unpinned;                      /* workers go where the kernel puts them, to compare */
    enum kernel_level level;            /* highest wanted */
    bool level_required;                /* -ENOTSUP rather than a lower one */
    enum io_kind io;
    uint32_t wide_mask;                 /* activation profile */
    enum kv_format kv;                  /* how keys and values are kept */
    uint32_t context;                   /* positions per sequence; 0 = from the memory that is left */
    uint32_t sequences;                 /* that may run at once; 0 = 8 */
    uint32_t prefill_chunk;             /* tokens of prompts per step; 0 = 512 */
    uint64_t kv_bytes;                  /* budget; 0 = from the memory that is left */
    enum arena_policy memory;
    /* Called from worker 0 while loading, about ten times a second and once at the end; may be NULL. */
    void (*progress)(void *arg, const struct loader_report *report);
    void *progress_arg;
};

struct instance_info {
    const char *id;
    char architecture[32], name[64];
    char file_types[128];               /* "Q4_1 210, F32 61, Q8_0 1" */
    const char *level;                  /* of the kernels really used */
    uint32_t levels_failed;             /* higher ones that did not pass their self-test */
    struct instance_kernel {            /* which multiplies with matrices of a type */
        const char *type, *name, *many_name;    /* the last one from @many_columns on, or NULL */
        uint32_t many_columns;          /* UINT32_MAX: never */
    } kernels[TENSOR_TYPE_COUNT];
    uint32_t kernel_count;
    char activations[64];
    const char *kv_format;              /* "f16", "q8" */
    uint64_t file_bytes, weight_bytes, kv_bytes, scratch_bytes;
    uint64_t bytes_by_size[PAGE_SIZE_COUNT];    /* of weights, KV and scratch; PAGE_4K: all that is not hugetlb */
    uint64_t placed_bytes, misplaced_bytes;     /* read back from the kernel: on the node of the plan, on others */
    uint64_t checksum;                  /* of the packed weights, by matrix and group: the same on any plan */
    uint32_t vocab_size, context, context_trained, sequences;
    uint32_t nodes, threads;
    bool pinned, oversubscribed;
    struct loader_report load;
    char note[1536];                    /* steps down of every arena, notes of plan and loader */
};

struct instance;

must_check int instance_load(const struct instance_config *config, struct workers **workers_inout,
                             struct instance **ret_instance, struct error *error);
struct instance *instance_free(struct instance *instance);

const struct instance_info *instance_info(const struct instance *instance);
const struct vocab *instance_vocab(const struct instance *instance);
const struct gguf *instance_gguf(const struct instance *instance);
