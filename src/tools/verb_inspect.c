/* SPDX-License-Identifier: Apache-2.0 */
/* tenon inspect: metadata, tensors and graph of a model file. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "src/base/utf8.h"
#include "src/graph/graph.h"
#include "src/tools/tool.h"

static int help(void)
{
    printf("usage: tenon inspect FILE [options]\n\n"
           "  -m, --model FILE    the same\n"
           "      --graph         the operations of the model and the phases they are fused into\n"
           "      --tensors       every tensor with its type, shape and the kernel that multiplies with it here\n");
    return EXIT_OK;
}

/* A name as far as it may reach a terminal, padded to @width. */
static void print_name(struct span name, int width, struct buffer *out)
{
    char text[256 + 1];
    size_t n = min_u64(name.size, sizeof(text) - 1);

    memcpy(text, name.data, n);
    text[n] = '\0';
    utf8_clean(text, n);
    buffer_printf(out, "  %-*s ", width, text);
}

/* Which kernel multiplies with it here, and with many columns perhaps: a matrix is what has more than one row. */
static void print_kernel(const struct gguf_tensor *t, const struct kernel_ops *ops, struct buffer *out)
{
    if (!t->known || t->shape[1] <= 1)
        return;
    buffer_printf(out, "  %s", ops->matmul_name[t->type]);
    if (ops->matmul_many[t->type])
        buffer_printf(out, " or %s", ops->many_name[t->type]);
}

static void print_tensor(const struct gguf_tensor *t, const struct kernel_ops *ops, struct buffer *out)
{
    print_name(t->name, 40, out);
    buffer_printf(out, "%-5s %llu x %llu", t->known ? tensor_types[t->type].name : "?",
                  (unsigned long long)t->shape[0], (unsigned long long)t->shape[1]);
    if (!t->known)
        buffer_printf(out, " (type %u is not known)", t->file_type);
    if (t->shape[2] != 1 || t->shape[3] != 1)
        buffer_printf(out, " x %llu x %llu", (unsigned long long)t->shape[2], (unsigned long long)t->shape[3]);
    buffer_printf(out, "  %llu bytes", (unsigned long long)t->bytes);
    print_kernel(t, ops, out);
    buffer_put_u8(out, '\n');
}

static void print_file(const struct gguf *g, bool tensors, struct buffer *out)
{
    struct kernel_ops ops;

    kernel_ops_init(&ops, KERNEL_LEVEL_COUNT - 1);
    buffer_printf(out, "GGUF version %u, %llu metadata keys, %llu tensors\n", gguf_version(g),
                  (unsigned long long)gguf_kv_count(g), (unsigned long long)gguf_tensor_count(g));
    for (uint64_t i = 0; i < gguf_kv_count(g); i++) {
        print_name(gguf_kv_key(g, i), 44, out);
        gguf_kv_print(g, i, out);
        buffer_put_u8(out, '\n');
    }
    for (uint64_t i = 0; tensors && i < gguf_tensor_count(g); i++)
        print_tensor(gguf_tensor_at(g, i), &ops, out);
}

static int inspect(const char *path, bool graph, bool tensors)
{
    struct buffer out = BUFFER_NULL;
    struct error error = ERROR_NULL;
    struct model *model = NULL;
    struct gguf *gguf = NULL;
    int r = graph ? model_open(path, &model, &error) : gguf_read_file(path, &gguf, &error), code;

    if (r == 0 && graph)
        graph_print(model, &out);
    else if (r == 0)
        print_file(gguf, tensors, &out);
    code = r < 0 ? tool_fail(&error) : tool_put(&out);
    buffer_deinit(&out);
    gguf_free(gguf);
    model_close(model);
    return code;
}

int verb_inspect(int argc, char **argv)
{
    static const struct option longs[] = {
        { "model", required_argument, NULL, 'm' }, { "graph", no_argument, NULL, 'g' },
        { "tensors", no_argument, NULL, 't' },     { "help", no_argument, NULL, 'h' }, { NULL, 0, NULL, 0 },
    };
    const char *model = NULL;
    bool graph = false, tensors = false;
    int c;

    while ((c = getopt_long(argc, argv, "m:h", longs, NULL)) >= 0)
        switch (c) {
        case 'm': model = optarg; break;
        case 'g': graph = true; break;
        case 't': tensors = true; break;
        case 'h': return help();
        default: return tool_usage("inspect", "an option was not understood");
        }
    if (!model && optind < argc)
        model = argv[optind++];
    if (!model || optind < argc)
        return tool_usage("inspect", "give one FILE");
    return inspect(model, graph, tensors);
}
