/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Model files that are sound as containers and wrong as models: one thing is changed in a good one, and the refusal
 * names it, says its value and what would be right.  What a container can have wrong is in test_gguf.c, what a
 * tokenizer can in test_vocab_load.c; here it only has to arrive.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/model/model.h"
#include "tests/harness/alloc_fail.h"
#include "tests/harness/random_model.h"
#include "tests/harness/resources.h"

#define LAYERS 2
#define EMBD 64         /* 4 heads of 16 over 2 */
#define FF 96

enum change {
    NOTHING,
    SET_U32, SET_I32, SET_F32, SET_BOOL, SET_STRING,    /* of a key, which may be new */
    SET_ARRAY,          /* .number values of GGUF_U8 */
    NO_KEY,
    SET_TENSOR,         /* .type and .shape of a tensor, which may be new; its data is zeros */
    CLAIM_TENSOR,       /* .number as type id and .shape of a tensor, without data */
    NO_TENSOR,
    OVERLAP,            /* a tensor begins where the first one does */
    CUT,                /* the file ends .number bytes early */
    LONG_STRING,        /* a string that claims .number bytes */
    TOKEN,              /* the token .name is called .text, which is as long */
};

struct row {
    const char *architecture;
    enum change change;
    const char *name;                   /* of the key or tensor */
    uint64_t number;
    float real;
    const char *text;
    enum tensor_type type;
    uint64_t shape[4];
    int code;
    const char *says[4];                /* parts of the text */
};

#define BAD(arch, ...) { .architecture = arch, .code = -EINVAL, __VA_ARGS__ }
#define REFUSED(arch, ...) { .architecture = arch, .code = -ENOTSUP, __VA_ARGS__ }
#define GOOD(arch, kind, ...) { .architecture = arch, .change = kind, __VA_ARGS__ }
#define U32(key, value, ...) BAD("llama", .change = SET_U32, .name = key, .number = value, \
                                 .says = { key, __VA_ARGS__ })
#define F32(key, value, ...) BAD("llama", .change = SET_F32, .name = key, .real = value, .says = { key, __VA_ARGS__ })
#define OTHER(kind, key, ...) BAD("llama", .change = kind, .name = key, .number = 4, .text = "4", .real = 4, \
                                  .says = { key, __VA_ARGS__ })
#define SHAPED(tensor, a, b, ...) BAD("llama", .change = SET_TENSOR, .name = tensor, .type = TENSOR_F32, \
                                      .shape = { a, b }, .says = { tensor, __VA_ARGS__ })
#define WITHOUT(tensor) BAD("llama", .change = NO_TENSOR, .name = tensor, \
                            .says = { "tensor " tensor " is missing", "convert" })

static const struct row rows[] = {
    /* --- the architecture --- */
    REFUSED("llama", .change = SET_STRING, .name = "general.architecture", .text = "plamo2",
            .says = { "architecture \"plamo2\"", "llama, qwen2, qwen3, gemma3" }),
    REFUSED("llama", .change = SET_STRING, .name = "general.architecture", .text = "",
            .says = { "architecture \"\"", "llama, qwen2, qwen3, gemma3" }),
    REFUSED("llama", .change = SET_STRING, .name = "general.architecture", .text = "llam",
            .says = { "architecture \"llam\"", "known" }),
    OTHER(SET_U32, "general.architecture", "uint32", "a string"),
    BAD("llama", .change = NO_KEY, .name = "general.architecture", .says = { "general.architecture is missing" }),

    /* --- how many, how wide --- */
    U32("llama.block_count", 0, "is 0", "1 to 512"),
    U32("llama.block_count", UINT32_MAX, "4294967295", "1 to 512"),
    U32("llama.block_count", 513, "513", "1 to 512"),
    BAD("llama", .change = SET_U32, .name = "llama.block_count", .number = LAYERS + 1,
        .says = { "tensor blk.2.attn_norm.weight is missing" }),
    REFUSED("llama", .change = SET_U32, .name = "llama.block_count", .number = LAYERS - 1,
            .says = { "blk.1.attn_norm.weight", "no place", "llama" }),
    BAD("llama", .change = NO_KEY, .name = "llama.block_count", .says = { "llama.block_count is missing", "convert" }),
    U32("llama.embedding_length", 0, "is 0", "32 to 65536"),
    U32("llama.embedding_length", 1u << 30, "1073741824", "32 to 65536"),
    U32("llama.embedding_length", UINT32_MAX, "4294967295"),
    BAD("llama", .change = SET_U32, .name = "llama.embedding_length", .number = EMBD * 2,
        .says = { "token_embd.weight", "64 x", "expected 128 x 1 to" }),
    REFUSED("llama", .change = SET_U32, .name = "llama.embedding_length", .number = EMBD + 4,
            .says = { "llama.embedding_length is 68", "multiples of 32" }),
    U32("llama.feed_forward_length", 0, "is 0", "32 to"),
    U32("llama.feed_forward_length", UINT32_MAX, "4294967295"),
    BAD("llama", .change = SET_U32, .name = "llama.feed_forward_length", .number = FF + 32,
        .says = { "blk.0.ffn_gate.weight", "64 x 96", "64 x 128" }),
    U32("llama.context_length", 0, "is 0", "1 to 16777216"),
    U32("llama.context_length", UINT32_MAX, "4294967295", "1 to 16777216"),
    U32("llama.context_length", (1u << 24) + 1, "16777217"),
    F32("llama.attention.layer_norm_rms_epsilon", NAN, "nan", "1e-12 to 1"),
    F32("llama.attention.layer_norm_rms_epsilon", INFINITY, "inf"),
    F32("llama.attention.layer_norm_rms_epsilon", -1e-5f, "-1e-05"),
    F32("llama.attention.layer_norm_rms_epsilon", 0, "is 0"),
    BAD("llama", .change = NO_KEY, .name = "llama.attention.layer_norm_rms_epsilon", .says = { "epsilon is missing" }),

    /* --- heads --- */
    U32("llama.attention.head_count", 0, "is 0", "1 to 1024"),
    U32("llama.attention.head_count", UINT32_MAX, "4294967295"),
    U32("llama.attention.head_count", 6, "embedding_length 64", "head_count 6", "key_length"),
    U32("llama.attention.head_count", 3, "head_count 3 does not divide", "head_count_kv 2"),
    U32("llama.attention.head_count_kv", 0, "is 0", "1 to 4"),
    U32("llama.attention.head_count_kv", 8, "is 8", "1 to 4"),
    U32("llama.attention.head_count_kv", 3, "head_count 4 does not divide", "head_count_kv 3"),
    U32("llama.attention.head_count_kv", UINT32_MAX, "4294967295"),
    BAD("llama", .change = SET_U32, .name = "llama.attention.head_count_kv", .number = 1,
        .says = { "blk.0.attn_k.weight", "64 x 32", "64 x 16" }),
    BAD("llama", .change = SET_U32, .name = "llama.attention.head_count", .number = 8,
        .says = { "llama.attention.key_length is missing, and from other keys it is 8", "16 to 256" }),
    U32("llama.attention.key_length", 0, "is 0", "16 to 256"),
    U32("llama.attention.key_length", 512, "512", "16 to 256"),
    REFUSED("llama", .change = SET_U32, .name = "llama.attention.key_length", .number = 24,
            .says = { "llama.attention.key_length is 24", "multiples of 16" }),
    REFUSED("llama", .change = SET_U32, .name = "llama.attention.value_length", .number = 32,
            .says = { "llama.attention.value_length 32", "equal" }),
    REFUSED("qwen3", .change = SET_U32, .name = "qwen3.attention.key_length", .number = 32,
        .says = { "qwen3.attention.key_length is 32", "qwen3.attention.value_length 16" }),

    /* --- rope --- */
    U32("llama.rope.dimension_count", 15, "is 15", "even"),
    U32("llama.rope.dimension_count", 18, "is 18", "2 to 16"),
    U32("llama.rope.dimension_count", 0, "is 0", "2 to 16"),
    F32("llama.rope.freq_base", 0, "is 0", "1 to 1e+12"),
    F32("llama.rope.freq_base", NAN, "nan"),
    F32("llama.rope.freq_base", -10000, "-10000"),
    F32("llama.rope.freq_base", INFINITY, "inf"),
    F32("llama.rope.scaling.factor", 0, "is 0", "0.001 to"),
    F32("llama.rope.scaling.factor", NAN, "nan"),
    F32("llama.rope.scaling.factor", -4, "-4"),
    F32("llama.rope.scale_linear", -4, "-4"),
    REFUSED("llama", .change = SET_STRING, .name = "llama.rope.scaling.type", .text = "yarn",
            .says = { "llama.rope.scaling.type", "\"yarn\"", "none, linear" }),
    REFUSED("llama", .change = SET_STRING, .name = "llama.rope.scaling.type", .text = "longrope",
            .says = { "\"longrope\"" }),
    SHAPED("rope_freqs.weight", 16, 1, "16 x 1", "expected 8"),

    /* --- the window --- */
    BAD("gemma3", .change = SET_U32, .name = "gemma3.attention.sliding_window", .number = 0,
        .says = { "gemma3.attention.sliding_window is 0", "1 to 16777216" }),
    BAD("gemma3", .change = NO_KEY, .name = "gemma3.attention.sliding_window",
        .says = { "gemma3.attention.sliding_window is missing" }),
    BAD("gemma3", .change = SET_U32, .name = "gemma3.attention.sliding_window", .number = UINT32_MAX,
        .says = { "sliding_window is 4294967295" }),
    BAD("gemma3", .change = SET_U32, .name = "gemma3.attention.sliding_window_pattern", .number = 0,
        .says = { "sliding_window_pattern is 0", "1 to 512" }),

    /* --- keys that are computed with by others, and not here --- */
    REFUSED("llama", .change = SET_U32, .name = "llama.expert_count", .number = 8,
            .says = { "llama.expert_count is 8", "experts" }),
    REFUSED("gemma3", .change = SET_F32, .name = "gemma3.final_logit_softcapping", .real = 30,
            .says = { "final_logit_softcapping is 30" }),
    REFUSED("gemma3", .change = SET_F32, .name = "gemma3.attn_logit_softcapping", .real = NAN,
            .says = { "attn_logit_softcapping is nan" }),
    REFUSED("llama", .change = SET_BOOL, .name = "llama.attention.causal", .number = 0,
            .says = { "llama.attention.causal is false" }),

    /* --- values of another type --- */
    OTHER(SET_STRING, "llama.block_count", "string", "an integer"),
    OTHER(SET_F32, "llama.block_count", "float32", "an integer"),
    OTHER(SET_ARRAY, "llama.block_count", "an array of uint8", "an integer"),
    OTHER(SET_BOOL, "llama.block_count", "bool", "an integer"),
    BAD("llama", .change = SET_I32, .name = "llama.block_count", .number = (uint64_t)-2,
        .says = { "llama.block_count", "-2", "negative" }),
    OTHER(SET_ARRAY, "llama.attention.head_count", "an array of uint8", "an integer"),
    OTHER(SET_ARRAY, "llama.feed_forward_length", "an array of uint8", "an integer"),
    OTHER(SET_F32, "llama.attention.head_count_kv", "float32", "an integer"),
    OTHER(SET_U32, "llama.attention.layer_norm_rms_epsilon", "uint32", "a float"),
    OTHER(SET_STRING, "llama.rope.freq_base", "string", "a float"),
    OTHER(SET_U32, "llama.rope.scaling.type", "uint32", "a string"),
    OTHER(SET_ARRAY, "llama.rope.scaling.factor", "an array", "a float"),
    OTHER(SET_U32, "llama.attention.causal", "uint32", "a bool"),

    /* --- tensors --- */
    WITHOUT("token_embd.weight"),
    WITHOUT("output_norm.weight"),
    WITHOUT("blk.0.attn_norm.weight"),
    WITHOUT("blk.1.ffn_down.weight"),
    WITHOUT("blk.1.attn_v.weight"),
    BAD("qwen2", .change = NO_TENSOR, .name = "blk.1.attn_k.bias",
        .says = { "tensor blk.1.attn_k.bias is missing" }),
    BAD("qwen3", .change = NO_TENSOR, .name = "blk.0.attn_q_norm.weight",
        .says = { "tensor blk.0.attn_q_norm.weight is missing" }),
    BAD("gemma3", .change = NO_TENSOR, .name = "blk.1.post_ffw_norm.weight",
        .says = { "tensor blk.1.post_ffw_norm.weight is missing" }),
    SHAPED("blk.1.attn_output.weight", EMBD, EMBD + 1, "64 x 65 x 1 x 1", "expected 64 x 64"),
    SHAPED("blk.0.attn_q.weight", 2 * EMBD, EMBD / 2, "128 x 32", "expected 64 x 64"),
    SHAPED("blk.0.attn_norm.weight", EMBD + 16, 1, "80 x 1", "expected 64"),
    SHAPED("output_norm.weight", EMBD, 2, "64 x 2", "expected 64"),
    SHAPED("token_embd.weight", 1, EMBD, "1 x 64", "expected 64 x 1 to 2097152"),
    SHAPED("output.weight", EMBD, 16, "64 x 16", "expected 64 x"),
    BAD("llama", .change = SET_TENSOR, .name = "blk.0.ffn_up.weight", .type = TENSOR_F32, .shape = { EMBD, FF, 1, 2 },
        .says = { "blk.0.ffn_up.weight", "64 x 96 x 1 x 2" }),
    BAD("llama", .change = SET_TENSOR, .name = "token_embd.weight", .type = TENSOR_F32, .shape = { EMBD, 64 },
        .says = { "output.weight", "expected 64 x 64" }),
    BAD("qwen3", .change = SET_TENSOR, .name = "token_embd.weight", .type = TENSOR_F32,
        .shape = { EMBD, 64 }, .says = { "vocabulary has", "token_embd.weight only 64 rows" }),
    REFUSED("llama", .change = CLAIM_TENSOR, .name = "blk.0.attn_k.weight", .number = 99, .shape = { EMBD, 32 },
            .says = { "tensor blk.0.attn_k.weight has type 99", "known types: F32", "Q6_K" }),
    REFUSED("llama", .change = CLAIM_TENSOR, .name = "output_norm.weight", .number = UINT32_MAX, .shape = { EMBD },
            .says = { "tensor output_norm.weight has type 4294967295", "known types" }),
    BAD("llama", .change = CLAIM_TENSOR, .name = "blk.0.attn_k.weight", .number = 12, .shape = { EMBD, 32 },
        .says = { "tensor blk.0.attn_k.weight has rows of 64", "blocks of 256", "Q4_K" }),
    REFUSED("llama", .change = SET_TENSOR, .name = "blk.0.attn_q.bias", .type = TENSOR_F32, .shape = { EMBD },
            .says = { "tensor blk.0.attn_q.bias has no place", "llama" }),
    REFUSED("llama", .change = SET_TENSOR, .name = "blk.2.attn_norm.weight", .type = TENSOR_F32, .shape = { EMBD },
            .says = { "tensor blk.2.attn_norm.weight has no place" }),
    REFUSED("qwen2", .change = SET_TENSOR, .name = "blk.0.attn_q_norm.weight", .type = TENSOR_F32, .shape = { 16 },
            .says = { "tensor blk.0.attn_q_norm.weight has no place", "qwen2" }),
    REFUSED("llama", .change = SET_TENSOR, .name = "a", .type = TENSOR_F32, .shape = { 1 },
            .says = { "tensor a has no place" }),

    /* --- what the container and the tokenizer refuse --- */
    BAD("llama", .change = CLAIM_TENSOR, .name = "output_norm.weight", .number = 0,
        .shape = { (UINT64_C(1) << 42) + 1 }, .says = { "output_norm.weight", "4398046511105" }),
    BAD("llama", .change = CLAIM_TENSOR, .name = "output_norm.weight", .number = 0, .shape = { 0 },
        .says = { "output_norm.weight", "is 0" }),
    BAD("llama", .change = CLAIM_TENSOR, .name = "output_norm.weight", .number = 0, .shape = { INT64_MAX, 2 },
        .says = { "output_norm.weight", "9223372036854775807" }),
    BAD("llama", .change = OVERLAP, .name = "output_norm.weight", .shape = { EMBD },
        .says = { "output_norm.weight", "inside or before the tensor" }),
    BAD("llama", .change = CUT, .number = 32, .says = { "output.weight", "truncated" }),
    BAD("llama", .change = LONG_STRING, .name = "general.note", .number = UINT64_C(1) << 60,
        .says = { "general.note", "1152921504606846976" }),
    BAD("gemma3", .change = SET_ARRAY, .name = "tokenizer.ggml.scores", .number = 600,
        .says = { "tokenizer.ggml.scores", "an array of uint8", "float32" }),
    REFUSED("llama", .change = SET_STRING, .name = "tokenizer.ggml.model", .text = "plamo2", .says = { "plamo2" }),
    REFUSED("llama", .change = SET_STRING, .name = "tokenizer.ggml.pre", .text = "gpt-9", .says = { "gpt-9" }),
    BAD("gemma3", .change = TOKEN, .name = "<0x41>", .text = "<0x-1>",
        .says = { "token 71", "byte" }),

    /* --- and what is right --- */
    GOOD("llama", NOTHING),
    GOOD("qwen2", NOTHING),
    GOOD("qwen3", NOTHING),
    GOOD("gemma3", NOTHING),
    GOOD("llama", SET_F32, .name = "llama.rope.scaling.factor", .real = 4),
    GOOD("llama", SET_STRING, .name = "llama.rope.scaling.type", .text = "none"),
    GOOD("llama", SET_U32, .name = "llama.rope.dimension_count", .number = 8),
    GOOD("llama", SET_U32, .name = "llama.context_length", .number = 1u << 24),
    GOOD("llama", SET_U32, .name = "llama.expert_count", .number = 0),
    GOOD("llama", NO_KEY, .name = "llama.context_length"),
    GOOD("llama", NO_KEY, .name = "llama.rope.dimension_count"),
    GOOD("llama", NO_TENSOR, .name = "output.weight"),      /* the embeddings are the head */
    GOOD("llama", SET_TENSOR, .name = "rope_freqs.weight", .type = TENSOR_F32, .shape = { 8 }),
    GOOD("llama", SET_TENSOR, .name = "output_norm.weight", .type = TENSOR_Q4_0, .shape = { EMBD }),
    GOOD("gemma3", SET_U32, .name = "gemma3.attention.sliding_window_pattern", .number = 1),
};

/* A generated model in a writer, small enough for hundreds of them. */
static void fill(const char *architecture, struct gguf_writer *w)
{
    struct random_model_spec spec;

    assert_int_equal(random_model_spec_init(&spec, architecture, 1), 0);
    assert_int_equal(random_model_set(&spec, "type=Q8_0", NULL), 0);
    spec.layers = LAYERS;
    spec.embedding = EMBD;
    spec.feed_forward = FF;
    spec.head_dim = EMBD / spec.heads;
    assert_int_equal(random_model_fill(&spec, w, NULL), 0);
}

static uint32_t dims_of(const struct row *row)
{
    uint32_t dims = ARRAY_LENGTH(row->shape);

    while (dims > 1 && !row->shape[dims - 1])
        dims--;
    return dims;
}

static void claim(struct gguf_writer *w, const struct row *row, uint64_t offset)
{
    struct gguf_writer_claim c = {
        .name = row->name, .name_size = strlen(row->name), .dims = dims_of(row), .file_type = (uint32_t)row->number,
        .offset = offset,
    };

    assert_true(gguf_writer_forget_tensor(w, row->name));
    memcpy(c.shape, row->shape, sizeof(row->shape));
    gguf_writer_tensor_raw(w, &c);
}

static void call_token(struct gguf_writer *w, const struct row *row)
{
    uint8_t *token = memmem(w->kv_bytes.data, w->kv_bytes.size, row->name, strlen(row->name));

    assert_non_null(token);
    memcpy(token, row->text, strlen(row->text));
}

static void change(struct gguf_writer *w, const struct row *row)
{
    static const uint8_t bytes[1024];

    if (row->change >= SET_U32 && row->change <= SET_ARRAY)
        gguf_writer_forget_key(w, row->name);
    switch (row->change) {
    case NOTHING: case CUT: break;
    case SET_U32: gguf_writer_u32(w, row->name, (uint32_t)row->number); break;
    case SET_I32: gguf_writer_i32(w, row->name, (int32_t)row->number); break;
    case SET_F32: gguf_writer_f32(w, row->name, row->real); break;
    case SET_BOOL: gguf_writer_bool(w, row->name, row->number != 0); break;
    case SET_STRING: gguf_writer_string(w, row->name, row->text); break;
    case SET_ARRAY: gguf_writer_array(w, row->name, GGUF_U8, bytes, row->number); break;
    case LONG_STRING: gguf_writer_raw(w, row->name, strlen(row->name), GGUF_STRING, &row->number, 8); break;
    case TOKEN: call_token(w, row); break;
    case NO_KEY: assert_true(gguf_writer_forget_key(w, row->name)); break;
    case NO_TENSOR: assert_true(gguf_writer_forget_tensor(w, row->name)); break;
    case CLAIM_TENSOR: claim(w, row, align_up(w->data.size, w->alignment)); break;
    case OVERLAP: claim(w, row, 0); break;
    case SET_TENSOR:
        gguf_writer_forget_tensor(w, row->name);
        gguf_writer_tensor(w, row->name, row->type, dims_of(row), row->shape, NULL);
        break;
    }
}

/* Leaves the file in memory, open as *ret_fd, and gives its path. */
static void make_file(const struct row *row, int *ret_fd, char path[32])
{
    struct gguf_writer w = GGUF_WRITER_INIT;
    struct buffer file = BUFFER_NULL;
    size_t size;

    fill(row->architecture, &w);
    change(&w, row);
    gguf_writer_finish(&w, &file);
    size = file.size - (row->change == CUT ? row->number : 0);
    *ret_fd = memfd_create("model", MFD_CLOEXEC);
    assert_true(*ret_fd >= 0);
    assert_int_equal(write(*ret_fd, file.data, size), size);
    buffer_deinit(&file);
    snprintf(path, 32, "/proc/self/fd/%d", *ret_fd);
}

/* Sanitizers map what they want. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static uint32_t count_maps(void) { return 0; }
#else
static uint32_t count_maps(void)
{
    FILE *f = fopen("/proc/self/maps", "re");
    uint32_t lines = 0;

    assert_non_null(f);
    for (int c; (c = getc(f)) != EOF;)
        lines += c == '\n';
    fclose(f);
    return lines;
}
#endif

/* Opens and closes; nothing is held afterwards, whatever came out. */
static int try(const char *path, struct error *error)
{
    uint32_t fds = resources_now().fds, maps = count_maps();
    size_t held = alloc_held();
    struct model *model = NULL;
    int r = model_open(path, &model, error);

    assert_int_equal(r == 0, model != NULL);
    model_close(model);
    assert_int_equal(alloc_held(), held);
    assert_int_equal(count_maps(), maps);
    assert_int_equal(resources_now().fds, fds);
    return r;
}

static bool is_as_told(const struct row *row, const char *path, int r, const struct error *error)
{
    bool right = r == row->code && (r == 0 || !strncmp(error->text, path, strlen(path)));

    for (size_t i = 0; i < ARRAY_LENGTH(row->says) && row->says[i] && r; i++)
        right = right && strstr(error->text, row->says[i]);
    return right;
}

static void test_rows(void **state)
{
    uint32_t wrong = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        const struct row *row = &rows[i];
        struct error error = ERROR_NULL;
        char path[32];
        int fd, r;

        make_file(row, &fd, path);
        r = try(path, &error);
        close(fd);
        if (is_as_told(row, path, r, &error))
            continue;
        wrong++;
        print_error("row %zu, %s with %s: %d, not %d: %s\n", i, row->architecture, row->name ? row->name : "nothing",
                    r, row->code, error.text);
        for (size_t k = 0; k < ARRAY_LENGTH(row->says) && row->says[k]; k++)
            if (!strstr(error.text, row->says[k]))
                print_error("    says nothing of \"%s\"\n", row->says[k]);
    }
    assert_int_equal(wrong, 0);
}

/* Each allocation in turn fails. */
static void test_no_memory(void **state)
{
    static const struct row good[] = { GOOD("llama", NOTHING), GOOD("gemma3", NOTHING) };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(good); i++) {
        char path[32];
        long n = 1;
        bool hit = true;
        int fd;

        make_file(&good[i], &fd, path);
        for (; hit; n++) {
            struct error error = ERROR_NULL;
            struct model *model = NULL;
            size_t held = alloc_held();
            int r;

            alloc_fail_after(n);
            r = model_open(path, &model, &error);
            hit = alloc_fail_hit();
            assert_int_equal(r, hit ? -ENOMEM : 0);
            assert_true(!hit || strstr(error.text, "no memory"));
            model_close(model);
            assert_int_equal(alloc_held(), held);
        }
        assert_true(n > 10);
        assert_int_equal(try(path, NULL), 0);
        close(fd);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
