/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "src/serve/door_internal.h"

#define TEMPLATE_MAX 49152u             /* as wire.json has it */
#define KERNELS_MAX 2048u               /* likewise */
#define KERNELS_SMALL 1024u             /* for clients with small frames */
#define END_IDS_MAX 1024u
#define END_IDS_SMALL 64u               /* for clients with small frames */

static struct span text_of(const char *s)
{
    return (struct span){ (const uint8_t *)s, strlen(s) };
}

/* "NAME", or "NAME from 9 columns, else NAME" */
static int put_kernel(const struct instance_kernel *k, char *text, size_t size)
{
    if (!k->many_name)
        return snprintf(text, size, "%s %s", k->type, k->name);
    if (k->many_columns == UINT32_MAX)
        return snprintf(text, size, "%s %s never, else %s", k->type, k->many_name, k->name);
    return snprintf(text, size, "%s %s from %u column%s, else %s", k->type, k->many_name, k->many_columns,
                    k->many_columns == 1 ? "" : "s", k->name);
}

/* "Q4_1 NAME; Q8_0 NAME" */
static void list_kernels(const struct instance_info *info, char *text, size_t size)
{
    size_t n = 0;

    text[0] = '\0';
    for (uint32_t k = 0; k < info->kernel_count && n < size - 2; k++) {
        if (n)
            n += (size_t)snprintf(text + n, size - n, "; ");
        n += (size_t)put_kernel(&info->kernels[k], text + n, size - n);
    }
}

static void add_instance(const struct instance *instance, bool small, struct wire_model_info_reply *m,
                         uint32_t end_ids[END_IDS_MAX], struct wire_page_bytes pages[PAGE_SIZE_COUNT],
                         char kernels[KERNELS_MAX])
{
    static const uint64_t page_bytes[PAGE_SIZE_COUNT] = { 4096, PAGE_2M_BYTES, PAGE_1G_BYTES };
    const struct instance_info *info = instance_info(instance);
    const struct vocab *vocab = instance_vocab(instance);
    const uint32_t end_capacity = small ? END_IDS_SMALL : END_IDS_MAX;

    m->flags = (vocab_add_bos(vocab) ? WIRE_FLAG_MODEL_ADD_BOS : 0) |
               (vocab_add_eos(vocab) ? WIRE_FLAG_MODEL_ADD_EOS : 0) |
               (info->pinned ? WIRE_FLAG_MODEL_PINNED : 0) |
               (info->oversubscribed ? WIRE_FLAG_MODEL_OVERSUBSCRIBED : 0);
    m->architecture = text_of(info->architecture);
    m->name = text_of(info->name);
    m->file_types = text_of(info->file_types);
    m->level = text_of(info->level);
    m->activations = text_of(info->activations);
    m->tokenizer = text_of(vocab_model_name(vocab));
    m->pre_tokenizer = text_of(vocab_pre_name(vocab));
    m->vocab_size = info->vocab_size;
    m->context = info->context;
    m->context_trained = info->context_trained;
    m->sequences = info->sequences;
    m->nodes = info->nodes;
    m->threads = info->threads;
    m->bos = vocab_bos(vocab);
    m->eos = vocab_eos(vocab);
    m->file_bytes = info->file_bytes;
    m->weight_bytes = info->weight_bytes;
    m->kv_bytes = info->kv_bytes;
    m->scratch_bytes = info->scratch_bytes;
    m->checksum = info->checksum;
    for (uint32_t id = 0; id < info->vocab_size && m->end_ids.count < end_capacity; id++)
        if (vocab_is_eog(vocab, id))
            end_ids[m->end_ids.count++] = id;
    m->end_ids.items = end_ids;
    for (uint32_t s = 0; s < PAGE_SIZE_COUNT; s++)
        if (info->bytes_by_size[s])
            pages[m->pages.count++] = (struct wire_page_bytes){ page_bytes[s], info->bytes_by_size[s] };
    m->pages.items = pages;
    list_kernels(info, kernels, small ? KERNELS_SMALL : KERNELS_MAX);
    m->kernels = text_of(kernels);
    m->present |= WIRE_MODEL_INFO_REPLY_HAS_KERNELS;
}

static void add_template(const struct instance *instance, uint32_t max_frame, struct wire_model_info_reply *m)
{
    struct error error;

    if (gguf_get_string(instance_gguf(instance), "tokenizer.chat_template", &m->template, &error) != 0)
        return;
    m->present |= WIRE_MODEL_INFO_REPLY_HAS_TEMPLATE;
    if (m->template.size <= TEMPLATE_MAX &&
        wire_size(&wire_model_info_reply_message, m) <= FRAME_HEADER_BYTES + max_frame)
        return;
    m->present &= ~(uint64_t)WIRE_MODEL_INFO_REPLY_HAS_TEMPLATE;
    m->template = (struct span){ .data = NULL };
    m->flags |= WIRE_FLAG_MODEL_NO_TEMPLATE;
}

uint8_t reply_info(struct request *r, struct frame_header head, struct frame_out *out)
{
    const struct model *model = r->model;
    const struct loader_report *l = &model->report;
    struct wire_page_bytes pages[PAGE_SIZE_COUNT];
    uint32_t end_ids[END_IDS_MAX];
    char kernels[KERNELS_MAX];
    struct wire_model_info_reply m = {
        .id = text_of(model->id), .state = model->state, .file_bytes = model->file_bytes, .note = text_of(model->note),
        .bos = VOCAB_NONE, .eos = VOCAB_NONE, .load_bytes_done = l->bytes_done, .load_bytes_total = l->bytes_total,
        .load_ns = l->now_ns > l->started_ns ? l->now_ns - l->started_ns : 0,
    };

    if (model->note[0])
        m.present |= WIRE_MODEL_INFO_REPLY_HAS_NOTE;
    if (model->instance) {
        add_instance(model->instance, r->conn->max_frame < 16384, &m, end_ids, pages, kernels);
        add_template(model->instance, r->conn->max_frame, &m);
    }
    head.flags = FRAME_END;
    check(wire_model_info_reply_encode(&m, head, out) == 0);
    return head.flags;
}
