/* SPDX-License-Identifier: Apache-2.0 */
/* The graph as a person reads it: the operations of the architecture, and the phases they are fused into. */
#include "src/graph/internal.h"

const char *graph_phase_name(uint32_t kind)
{
    static const char *const names[PHASE_KIND_COUNT] = {
        [PHASE_EMBED] = "embed", [PHASE_QKV] = "qkv", [PHASE_ATTEND] = "attend", [PHASE_OUT] = "out",
        [PHASE_JOIN_OUT] = "join_out", [PHASE_GATE_UP] = "gate_up", [PHASE_DOWN] = "down",
        [PHASE_JOIN_DOWN] = "join_down", [PHASE_HEAD] = "head",
    };

    return names[kind];
}

static const char *type_name(const struct model *m, uint32_t matrix)
{
    return tensor_types[m->matrices[matrix].type].name;
}

static void print_operations(const struct model *m, struct buffer *out)
{
    const struct arch_row *a = m->hparams.arch;
    const struct model_layer *l = &m->layers[0];

    buffer_printf(out, "operations (layer 0 of %u)\n", m->hparams.n_layer);
    buffer_printf(out, "  embed %s%s\n", type_name(m, m->embed), a->embed_scale ? ", scale sqrt(n_embd)" : "");
    buffer_printf(out, "  rms_norm · q %s, k %s, v %s%s%s · rope %s · kv write\n", type_name(m, l->q),
                  type_name(m, l->k), type_name(m, l->v), a->qkv_bias ? " · bias" : "",
                  a->qk_norm ? " · head norm" : "", a->rope == ARCH_ROPE_ADJACENT ? "adjacent pairs" : "halves");
    buffer_printf(out, "  attention%s\n", m->hparams.window ? " (window on local layers)" : "");
    buffer_printf(out, "  out %s%s · residual\n", type_name(m, l->o), a->post_norms ? " · post norm" : "");
    buffer_printf(out, "  rms_norm · gate %s, up %s · %s · down %s%s · residual\n", type_name(m, l->gate),
                  type_name(m, l->up), a->activation == ARCH_SILU ? "silu" : "gelu", type_name(m, l->down),
                  a->post_norms ? " · post norm" : "");
    buffer_printf(out, "  rms_norm · head %s\n", type_name(m, m->head));
}

static void print_phases(const struct model *m, struct buffer *out)
{
    bool post = m->hparams.arch->post_norms;

    buffer_printf(out, "phases (a barrier after each)\n");
    buffer_printf(out, "  embed          rows, rope tables, norm weight, quantise\n");
    buffer_printf(out, "  qkv            matmul, 1/rms, bias, head norm, rope, kv write\n");
    buffer_printf(out, "  attend         scores, softmax, values, quantise\n");
    buffer_printf(out, "  out            matmul, %s\n", post ? "sum of squares" : "residual, norm weight, quantise");
    if (post)
        buffer_printf(out, "  join           post norm, residual, norm weight, quantise\n");
    buffer_printf(out, "  gate_up        matmul x 2, 1/rms, activation, quantise\n");
    buffer_printf(out, "  down           matmul, %s\n", post ? "sum of squares" : "residual, norm weight, quantise");
    if (post)
        buffer_printf(out, "  join           post norm, residual, norm weight, quantise\n");
    buffer_printf(out, "  head           matmul, 1/rms\n");
    buffer_printf(out, "%u barriers a step\n", m->hparams.n_layer * (post ? 7 : 5) + 2);
}

void graph_print(const struct model *model, struct buffer *out)
{
    print_operations(model, out);
    print_phases(model, out);
}
