/* SPDX-License-Identifier: Apache-2.0 */
/* tenon plan: where a model would lie, on this host or an invented one, and the huge pages to reserve for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/json.h"
#include "src/engine/choices.h"
#include "src/engine/kv_pool.h"
#include "src/engine/memory.h"
#include "src/engine/place.h"
#include "src/tools/options.h"

#define BAR_WIDTH 32u

struct picture {
    struct topology *host, *topology;
    struct model *model;
    struct plan *plan;
    uint32_t context, sequences;
    struct memory_node memory[TOPOLOGY_NODES_MAX];  /* what this host has; nothing of an invented one */
    uint32_t memory_count;
};

static int help(void)
{
    printf("usage: tenon plan [-m] FILE [options]\n\n" MODEL_OPTIONS_HELP
           "      --sequences N        that run at once; default 8\n"
           "      --json               one JSON object\n\n"
           "An invented host is drawn as if it were there.  --isa, --io, --memory and -q change nothing here.\n");
    return EXIT_OK;
}

static int prepare(struct picture *p, const struct model_options *o, struct error *error)
{
    struct place_request q = { .policy = o->policy, .threads = o->threads, .wide_mask = o->wide_mask, .kv = o->kv,
                               .prefill_chunk = o->prefill_chunk, .sequences = o->sequences };
    struct place_steps steps;
    int r = topology_load(NULL, &p->host, error);

    if (r == 0 && o->topology)
        r = topology_load(o->topology, &p->topology, error);
    if (r == 0)
        r = model_open(o->model, &p->model, error);
    if (r < 0)
        return r;
    q.model = p->model;
    /* An invented host is planned as if it were there: how this one would carry it is not asked. */
    q.host = q.topology = p->topology ? p->topology : p->host;
    p->sequences = place_sequences(&q);
    p->context = o->context ? o->context
                            : (uint32_t)min_u64(p->model->hparams.context_trained, MEMORY_CONTEXT_DEFAULT);
    r = place_plan(&q, kv_blocks_for(p->context) * p->sequences, &p->plan, &steps, error);
    if (r == 0 && !p->topology)
        r = memory_nodes(p->plan, p->memory, &p->memory_count, error);
    return r;
}

/* Arenas are made apart for weights, KV and scratch: each rounds up to whole pages. */
static void node_pages(const struct plan_node *n, uint64_t *ret_1g, uint64_t *ret_2m)
{
    const uint64_t parts[] = { n->weight_bytes, n->kv_bytes, n->scratch_bytes };

    *ret_1g = *ret_2m = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(parts); i++) {
        uint64_t g, m;

        plan_pages(parts[i], false, &g, &m);
        *ret_1g += g;
        *ret_2m += m;
    }
}

static void draw_node(const struct picture *p, uint32_t node, uint64_t most, struct buffer *out)
{
    const struct plan_node *n = &p->plan->nodes[node];
    uint64_t total = n->weight_bytes + n->kv_bytes, filled = most ? total * BAR_WIDTH / most : 0, g, m;
    uint64_t weights = most ? n->weight_bytes * BAR_WIDTH / most : 0;

    node_pages(n, &g, &m);
    buffer_printf(out, "node %-2u |", n->topology_node);
    for (uint64_t i = 0; i < BAR_WIDTH; i++)
        buffer_printf(out, "%c", i < weights ? '#' : i < filled ? '+' : ' ');
    buffer_printf(out, "| %8.1f MB weights, %8.1f MB KV, %3u worker%s %3u KV head%s %6llu pages of 2 MiB\n",
                  (double)n->weight_bytes * 1e-6, (double)n->kv_bytes * 1e-6, n->worker_count,
                  n->worker_count == 1 ? ", " : "s,", n->head_count, n->head_count == 1 ? ", " : "s,",
                  (unsigned long long)m);
}

static void draw_shards(const struct picture *p, struct buffer *out)
{
    static const char *const names[] = { "q", "k", "v", "out", "gate", "up", "down" };
    const struct model_layer *l = &p->model->layers[0];
    const uint32_t matrices[] = { l->q, l->k, l->v, l->o, l->gate, l->up, l->down };

    buffer_printf(out, "\nshards of layer 0 (row groups of 16)\n");
    for (size_t i = 0; i < ARRAY_LENGTH(matrices); i++) {
        const uint32_t *split = p->plan->split + (size_t)matrices[i] * (p->plan->node_count + 1);
        const struct model_matrix *m = &p->model->matrices[matrices[i]];

        buffer_printf(out, "  %-5s %-5s %6u x %-6u", names[i], tensor_types[m->type].name, m->rows, m->k);
        for (uint32_t n = 0; n < p->plan->node_count; n++)
            if (p->plan->policy == PLAN_MIRROR)
                buffer_printf(out, "  node %u: all", p->plan->nodes[n].topology_node);
            else
                buffer_printf(out, "  node %u: %u-%u", p->plan->nodes[n].topology_node, split[n], split[n + 1]);
        buffer_printf(out, "\n");
    }
}

static void draw_reserve(const struct picture *p, struct buffer *out)
{
    buffer_printf(out, "\nhuge pages to reserve (as root)\n");
    for (uint32_t n = 0; n < p->plan->node_count; n++) {
        const struct plan_node *node = &p->plan->nodes[n];
        uint64_t g, m;

        node_pages(node, &g, &m);
        buffer_printf(out, "  echo %llu > /sys/devices/system/node/node%u/hugepages/hugepages-2048kB/nr_hugepages\n",
                      (unsigned long long)m,
                      p->topology ? p->topology->nodes[node->topology_node].os_node : node->os_node);
    }
}

/* Node by node, what is wanted beside what is free now: the table by which a load would be refused. */
static void draw_free(const struct picture *p, struct buffer *out)
{
    struct error error = ERROR_NULL;

    buffer_printf(out, "\nfree on this host now\n");
    for (uint32_t i = 0; i < p->memory_count; i++) {
        const struct memory_node *m = &p->memory[i];

        buffer_printf(out, "node %-2u needs %.1f MB, free %.1f MB in huge pages and %.1f MB else\n", m->os_node,
                      (double)(m->weights + m->kv + m->scratch) * 1e-6, (double)m->huge_free * 1e-6,
                      (double)m->plain_free * 1e-6);
    }
    if (memory_judge(p->memory, p->memory_count, ARENA_LADDER, &error) < 0)
        buffer_printf(out, "it does not fit: %s\n", error.text);
}

static void draw(const struct picture *p, struct buffer *out)
{
    uint64_t most = 0;

    for (uint32_t n = 0; n < p->plan->node_count; n++)
        most = max_u64(most, p->plan->nodes[n].weight_bytes + p->plan->nodes[n].kv_bytes);
    buffer_printf(out, "%s, %u layers, placement %s: %u node%s, %u worker%s, %u sequence%s of %u positions\n\n",
                  p->model->hparams.arch->name, p->model->hparams.n_layer, placement_words.names[p->plan->policy],
                  p->plan->node_count, p->plan->node_count == 1 ? "" : "s", p->plan->worker_count,
                  p->plan->worker_count == 1 ? "" : "s", p->sequences, p->sequences == 1 ? "" : "s", p->context);
    for (uint32_t n = 0; n < p->plan->node_count; n++)
        draw_node(p, n, most, out);
    buffer_printf(out, "         # weights  + keys and values\n");
    draw_shards(p, out);
    draw_reserve(p, out);
    if (p->memory_count)
        draw_free(p, out);
    if (p->plan->note[0])
        buffer_printf(out, "\nnote: %s\n", SHOWN(p->plan->note));
}

static void json_node(const struct picture *p, const struct plan_node *n, struct json *j)
{
    const struct { const char *key; uint64_t value; } numbers[] = {
        { "node", n->topology_node }, { "workers", n->worker_count }, { "kv_heads", n->head_count },
        { "weight_bytes", n->weight_bytes }, { "kv_bytes", n->kv_bytes }, { "scratch_bytes", n->scratch_bytes },
        { "os_node", p->topology ? p->topology->nodes[n->topology_node].os_node : n->os_node },
    };
    uint64_t g, m;

    node_pages(n, &g, &m);
    json_object(j);
    for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++) {
        json_key(j, numbers[i].key);
        json_u64(j, numbers[i].value);
    }
    json_key(j, "pages_2m");
    json_u64(j, m);
    json_end(j, '}');
}

static void put_json(const struct picture *p, struct buffer *out)
{
    struct json j = json_to(out);

    json_object(&j);
    json_key(&j, "architecture");
    json_text(&j, p->model->hparams.arch->name);
    json_key(&j, "context");
    json_u64(&j, p->context);
    json_key(&j, "sequences");
    json_u64(&j, p->sequences);
    json_key(&j, "workers");
    json_u64(&j, p->plan->worker_count);
    json_key(&j, "note");
    json_text(&j, p->plan->note);
    json_key(&j, "nodes");
    json_array(&j);
    for (uint32_t n = 0; n < p->plan->node_count; n++)
        json_node(p, &p->plan->nodes[n], &j);
    json_end(&j, ']');
    json_end(&j, '}');
    buffer_put_u8(out, '\n');
}

static int plan(const struct model_options *o, bool as_json)
{
    struct picture p = { .host = NULL };
    struct buffer out = BUFFER_NULL;
    struct error error = ERROR_NULL;
    int r = prepare(&p, o, &error), code;

    if (r == 0 && as_json)
        put_json(&p, &out);
    else if (r == 0)
        draw(&p, &out);
    code = r < 0 ? tool_fail(&error) : tool_put(&out);
    buffer_deinit(&out);
    plan_free(p.plan);
    model_close(p.model);
    topology_free(p.topology);
    topology_free(p.host);
    return code;
}

int verb_plan(int argc, char **argv)
{
    enum { JSON = OPTION_VERB, SEQUENCES };
    static const struct option longs[] = { MODEL_LONG_OPTIONS, { "json", no_argument, NULL, JSON },
                                           { "sequences", required_argument, NULL, SEQUENCES }, { NULL, 0, NULL, 0 } };
    struct model_options o = MODEL_OPTIONS_DEFAULT;
    bool as_json = false;
    int c, code;

    o.sequences = 0;
    while ((c = getopt_long(argc, argv, MODEL_SHORT_OPTIONS, longs, NULL)) >= 0) {
        if (c == 'h')
            return help();
        if (c == JSON)
            as_json = true;
        else if (c == SEQUENCES && !tool_u32(optarg, 1, 1024, &o.sequences))
            return tool_usage("plan", "--sequences takes 1 to 1024, not \"%.32s\"", optarg);
        else if (c != SEQUENCES && !model_option(&o, "plan", c, optarg, &code))
            return tool_usage("plan", "an option was not understood");
        else if (c != SEQUENCES && code)
            return code;
    }
    if (!o.model && optind < argc)
        o.model = argv[optind++];
    if (!o.model || optind < argc)
        return tool_usage("plan", "give one FILE");
    return plan(&o, as_json);
}
