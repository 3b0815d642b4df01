/* SPDX-License-Identifier: Apache-2.0 */
#include "src/base/json.h"
#include "src/engine/instance_internal.h"
#include "src/tools/bench.h"

static double bytes_per_s(const struct bench_options *o, const struct bench_result *r)
{
    return r->decode_tokens_per_s / o->batch * r->step_bytes;
}

static double fraction(const struct bench_options *o, const struct bench_result *r)
{
    return r->bandwidth > 0 ? bytes_per_s(o, r) / r->bandwidth : 0;
}

/* Bytes of keys and values that a context adds to a step, and what a step takes longer, over the first context. */
static double added_bytes(const struct instance *in, const struct bench_options *o, uint32_t i)
{
    return bench_kv_bytes(in) * ((double)o->contexts.values[i] - (double)o->contexts.values[0]);
}

static double added_s(const struct bench_result *r, uint32_t i)
{
    return r->contexts[i].seconds.median - r->contexts[0].seconds.median;
}

/* --- JSON --- */

static void put_sweep(struct json *j, const char *name, const char *what, const struct bench_list *list,
                      const struct bench_point *points)
{
    json_key(j, name);
    json_array(j);
    for (uint32_t i = 0; i < list->count; i++) {
        json_object(j);
        json_pair_u64(j, what, list->values[i]);
        json_pair_f64(j, "tokens_per_s", points[i].tokens_per_s);
        spread_put(j, "seconds", &points[i].seconds);
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void put_contexts(struct json *j, const struct instance *in, const struct bench_options *o,
                         const struct bench_result *r)
{
    json_key(j, "contexts");
    json_array(j);
    for (uint32_t i = 0; i < o->contexts.count; i++) {
        json_object(j);
        json_pair_u64(j, "context", o->contexts.values[i]);
        json_pair_f64(j, "tokens_per_s", r->contexts[i].tokens_per_s);
        spread_put(j, "seconds", &r->contexts[i].seconds);
        json_pair_f64(j, "added_bytes", added_bytes(in, o, i));
        json_pair_f64(j, "added_seconds", added_s(r, i));
        json_pair_f64(j, "added_bytes_seconds", r->bandwidth > 0 ? added_bytes(in, o, i) / r->bandwidth : 0);
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void put_links(struct json *j, const struct bench_result *r)
{
    json_key(j, "links");
    json_array(j);
    for (uint32_t i = 0; i < r->link_count; i++) {
        json_object(j);
        json_pair_u64(j, "reading_node", r->links[i].reading_node);
        json_pair_u64(j, "memory_node", r->links[i].memory_node);
        json_pair_f64(j, "bytes_per_s", r->links[i].bytes_per_s);
        json_end(j, '}');
    }
    json_end(j, ']');
}

/* Seconds of all steps of a kind by phase: at work, and waiting for the other workers. */
static void put_times(struct json *j, const char *name, const struct graph_times *t)
{
    json_key(j, name);
    json_object(j);
    json_pair_u64(j, "steps", t->steps);
    for (uint32_t k = 0; k < GRAPH_PHASE_KINDS; k++) {
        if (!t->run_ns[k])
            continue;
        json_key(j, graph_phase_name(k));
        json_array(j);
        json_f64(j, (double)t->run_ns[k] * 1e-9);
        json_f64(j, (double)t->wait_ns[k] * 1e-9);
        json_end(j, ']');
    }
    json_end(j, '}');
}

static void put_phases(struct json *j, const struct bench_result *r)
{
    json_key(j, "phases");
    json_object(j);
    put_times(j, "few_tokens", &r->times[0]);
    put_times(j, "many_tokens", &r->times[1]);
    json_end(j, '}');
}

static void put_instance(struct json *j, const struct instance_info *i)
{
    json_pair_text(j, "level", i->level);
    json_pair_text(j, "activations", i->activations);
    json_pair_text(j, "kv", i->kv_format);
    json_pair_u64(j, "threads", i->threads);
    json_pair_u64(j, "nodes", i->nodes);
    json_key(j, "pinned");
    json_bool(j, i->pinned);
    json_key(j, "model");
    json_object(j);
    json_pair_text(j, "name", i->name);
    json_pair_text(j, "architecture", i->architecture);
    json_pair_text(j, "types", i->file_types);
    json_pair_u64(j, "weight_bytes", i->weight_bytes);
    json_pair_u64(j, "kv_bytes", i->kv_bytes);
    json_end(j, '}');
    json_key(j, "pages");
    json_object(j);
    json_pair_u64(j, "1g_bytes", i->bytes_by_size[PAGE_1G]);
    json_pair_u64(j, "2m_bytes", i->bytes_by_size[PAGE_2M]);
    json_pair_u64(j, "other_bytes", i->bytes_by_size[PAGE_4K]);
    json_end(j, '}');
    json_pair_text(j, "note", i->note);
}

static void put_json(const struct instance *in, const struct bench_options *o, const struct bench_result *r,
                     struct buffer *out)
{
    struct json j = json_to(out);

    json_object(&j);
    json_key(&j, "prefill");
    json_object(&j);
    json_pair_f64(&j, "tokens", o->prompt);
    json_pair_f64(&j, "tokens_per_s", r->prefill_tokens_per_s);
    json_end(&j, '}');
    json_key(&j, "decode");
    json_object(&j);
    json_pair_f64(&j, "tokens", o->generate);
    json_pair_f64(&j, "batch", o->batch);
    json_pair_f64(&j, "tokens_per_s", r->decode_tokens_per_s);
    spread_put(&j, "step_seconds", &r->step);
    json_pair_f64(&j, "bytes_per_step", r->step_bytes);
    json_pair_f64(&j, "bytes_per_s", bytes_per_s(o, r));
    json_pair_f64(&j, "bandwidth_fraction", fraction(o, r));
    json_end(&j, '}');
    put_sweep(&j, "prompts", "tokens", &o->prefill, r->prefill);
    put_sweep(&j, "batches", "batch", &o->batches, r->batches);
    put_contexts(&j, in, o, r);
    put_links(&j, r);
    put_phases(&j, r);
    json_pair_f64(&j, "read_bandwidth_bytes_per_s", r->bandwidth);
    json_pair_f64(&j, "load_bytes_per_s", r->load_bytes_per_s);
    json_pair_f64(&j, "load_seconds", r->load_s);
    put_instance(&j, instance_info(in));
    json_end(&j, '}');
    buffer_put_u8(out, '\n');
}

/* --- a table --- */

static void put_points(struct buffer *out, const char *title, const struct bench_list *list,
                       const struct bench_point *points)
{
    if (list->count)
        buffer_printf(out, "\n%-16s %12s %10s %10s %10s\n", title, "tokens/s", "ms min", "median", "max");
    for (uint32_t i = 0; i < list->count; i++)
        buffer_printf(out, "%16u %12.1f %10.3f %10.3f %10.3f\n", list->values[i], points[i].tokens_per_s,
                      points[i].seconds.min * 1e3, points[i].seconds.median * 1e3, points[i].seconds.max * 1e3);
}

static void put_added(struct buffer *out, const struct instance *in, const struct bench_options *o,
                      const struct bench_result *r)
{
    for (uint32_t i = 1; i < o->contexts.count; i++)
        buffer_printf(out, "%u positions more add %.3f ms to a step; reading their %.1f MB takes %.3f ms\n",
                      o->contexts.values[i] - o->contexts.values[0], added_s(r, i) * 1e3,
                      added_bytes(in, o, i) * 1e-6, added_bytes(in, o, i) / r->bandwidth * 1e3);
}

/* Shares of what the steps of a kind took: phase by phase, and the waiting of them all. */
static void put_shares(struct buffer *out, const char *what, const struct graph_times *t)
{
    uint64_t all = 0, wait = 0;

    for (uint32_t k = 0; k < GRAPH_PHASE_KINDS; k++) {
        all += t->run_ns[k] + t->wait_ns[k];
        wait += t->wait_ns[k];
    }
    if (!all)
        return;
    buffer_printf(out, "%s", what);
    for (uint32_t k = 0; k < GRAPH_PHASE_KINDS; k++)
        if (t->run_ns[k])
            buffer_printf(out, " %s %.1f", graph_phase_name(k), 100.0 * (double)t->run_ns[k] / (double)all);
    buffer_printf(out, " waiting %.1f %%, %.3f ms in the graph\n", 100.0 * (double)wait / (double)all,
                  (double)all * 1e-6 / (double)t->steps);
}

static void put_table(const struct instance *in, const struct bench_options *o, const struct bench_result *r,
                      struct buffer *out)
{
    buffer_printf(out,
                  "prefill  %8.1f tokens/s (%u tokens)\ndecode   %8.1f tokens/s (%u tokens, batch %u), %.2f GB/s, "
                  "%.0f %% of the read bandwidth\nread     %8.2f GB/s (best of many rounds over 1 GiB)\n"
                  "load     %8.2f GB/s\n",
                  r->prefill_tokens_per_s, o->prompt, r->decode_tokens_per_s, o->generate, o->batch,
                  bytes_per_s(o, r) * 1e-9, 100 * fraction(o, r), r->bandwidth * 1e-9, r->load_bytes_per_s * 1e-9);
    put_shares(out, "steps of few tokens: ", &r->times[0]);
    put_shares(out, "steps of many tokens:", &r->times[1]);
    for (uint32_t i = 0; i < r->link_count && r->link_count > 1; i++)
        buffer_printf(out, "node %u reads node %u %8.2f GB/s\n", r->links[i].reading_node, r->links[i].memory_node,
                      r->links[i].bytes_per_s * 1e-9);
    put_points(out, "prompt tokens", &o->prefill, r->prefill);
    put_points(out, "sequences", &o->batches, r->batches);
    put_points(out, "context", &o->contexts, r->contexts);
    put_added(out, in, o, r);
}

int bench_tell(const struct instance *in, const struct bench_options *o, const struct bench_result *r)
{
    struct buffer out = BUFFER_NULL;
    int code;

    (o->as_json ? put_json : put_table)(in, o, r, &out);
    code = tool_put(&out);
    buffer_deinit(&out);
    return code;
}
