/* SPDX-License-Identifier: Apache-2.0 */
#include "src/tools/options.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/engine/choices.h"
#include "src/tools/progress.h"

static int refuse_habit(const char *verb, int option)
{
    if (option == OPTION_MMAP)
        return tool_usage(verb,
                          "--mmap is refused: weights are read past the page cache into huge pages on the right node");
    return tool_usage(
        verb,
        "--memory-f32 is refused: keys and values are kept as f16 or q8 (--kv), which is part of the numeric contract");
}

static int set_words(struct model_options *o, int option, const char *a, struct error *error)
{
    uint32_t word = 0;
    int r;

    switch (option) {
    case OPTION_ISA:
        o->level_required = true;
        return level_parse(a, &o->level, error);
    case OPTION_ACTIVATIONS:
        return activations_parse(a, &o->wide_mask, error);
    case OPTION_IO:
        r = words_parse(&io_words, a, &word, error);
        o->io = (enum io_kind)word;
        return r;
    case OPTION_KV:
        r = words_parse(&kv_words, a, &word, error);
        o->kv = (enum kv_format)word;
        return r;
    case OPTION_MEMORY:
        r = words_parse(&memory_words, a, &word, error);
        o->memory = (enum arena_policy)word;
        return r;
    default:
        r = words_parse(&placement_words, a, &word, error);
        o->policy = (enum plan_policy)word;
        return r;
    }
}

static int take_words(struct model_options *o, const char *verb, int option, const char *a)
{
    static const char *const names[] = { [OPTION_ISA - OPTION_TOPOLOGY] = "isa",
                                         [OPTION_ACTIVATIONS - OPTION_TOPOLOGY] = "activations",
                                         [OPTION_IO - OPTION_TOPOLOGY] = "io",
                                         [OPTION_MEMORY - OPTION_TOPOLOGY] = "memory",
                                         [OPTION_KV - OPTION_TOPOLOGY] = "kv",
                                         [OPTION_PLACEMENT - OPTION_TOPOLOGY] = "placement" };
    struct error error = ERROR_NULL;

    if (set_words(o, option, a, &error) < 0)
        return tool_usage(verb, "--%s: %s", names[option - OPTION_TOPOLOGY], error.text);
    return EXIT_OK;
}

/* The name of an option that says where and how a model computes, NULL for others. */
static const char *placing_name(int option)
{
    switch (option) {
    case 't': return "-t";
    case 'c': return "-c";
    case 'b': return "-b, --batch-size";
    case OPTION_CHUNK: return "--prefill-chunk";
    case OPTION_TOPOLOGY: return "--topology";
    case OPTION_ISA: return "--isa";
    case OPTION_ACTIVATIONS: return "--activations";
    case OPTION_IO: return "--io";
    case OPTION_MEMORY: return "--memory";
    case OPTION_PLACEMENT: return "--placement";
    case OPTION_KV: return "--kv";
    default: return NULL;
    }
}

static int take_number(const char *verb, int option, uint32_t minimum, uint32_t maximum, const char *a, uint32_t *ret)
{
    if (tool_u32(a, minimum, maximum, ret))
        return EXIT_OK;
    return tool_usage(verb, "%s takes %u to %u, not \"%.32s\"", placing_name(option), minimum, maximum, a);
}

bool model_option(struct model_options *o, const char *verb, int option, const char *a, int *ret_exit)
{
    *ret_exit = EXIT_OK;
    if (placing_name(option))
        o->placing = placing_name(option);
    switch (option) {
    case 'm': o->model = a; return true;
    case OPTION_TOPOLOGY: o->topology = a; return true;
    case 'q': o->quiet = true; return true;
    case 't': *ret_exit = take_number(verb, option, 1, TOPOLOGY_CORES_MAX, a, &o->threads); return true;
    case 'c': *ret_exit = take_number(verb, option, 0, 1u << 24, a, &o->context); return true;
    case 'b':
    case OPTION_CHUNK: *ret_exit = take_number(verb, option, 1, 65536, a, &o->prefill_chunk); return true;
    case OPTION_MLOCK: return true;     /* huge pages are never swapped, and what is not huge is locked anyway */
    case OPTION_MMAP:
    case OPTION_MEMORY_F32: *ret_exit = refuse_habit(verb, option); return true;
    case OPTION_ISA:
    case OPTION_ACTIVATIONS:
    case OPTION_IO:
    case OPTION_MEMORY:
    case OPTION_KV:
    case OPTION_PLACEMENT: *ret_exit = take_words(o, verb, option, a); return true;
    default: return false;
    }
}

int model_options_for_daemon(const struct model_options *o, const char *verb)
{
    if (!o->placing)
        return EXIT_OK;
    return tool_usage(verb, "%s is the decision of the daemon that is asked here: leave it out, or give -m FILE and no "
                      "--socket", o->placing);
}

static void say_what_is_used(const struct instance_info *i)
{
    fprintf(stderr, "%s: %s, %u node%s, %u thread%s%s, activations %s, context %u; weights %.1f MB, KV %.1f MB %s"
            " (1 GiB pages %.0f MB, 2 MiB pages %.0f MB, other %.0f MB)%s%s\n",
            i->id, i->level, i->nodes, i->nodes == 1 ? "" : "s", i->threads, i->threads == 1 ? "" : "s",
            i->oversubscribed ? " sharing cores" : i->pinned ? "" : " not pinned", i->activations, i->context,
            (double)i->weight_bytes * 1e-6, (double)i->kv_bytes * 1e-6, i->kv_format,
            (double)i->bytes_by_size[PAGE_1G] * 1e-6, (double)i->bytes_by_size[PAGE_2M] * 1e-6,
            (double)i->bytes_by_size[PAGE_4K] * 1e-6, i->note[0] ? "; " : "", SHOWN(i->note));
}

static int open_topologies(struct session *s, const char *invented, struct error *error)
{
    int r = topology_load(NULL, &s->host, error);

    if (r == 0 && invented)
        r = topology_load(invented, &s->topology, error);
    return r;
}

int session_open(struct session *s, const struct model_options *o)
{
    struct error error = ERROR_NULL;
    struct instance_config c = { .id = "model", .path = o->model, .policy = o->policy, .threads = o->threads,
                                 .unpinned = o->unpinned,
                                 .level = o->level, .level_required = o->level_required, .io = o->io,
                                 .wide_mask = o->wide_mask, .context = o->context, .sequences = o->sequences,
                                 .prefill_chunk = o->prefill_chunk, .memory = o->memory, .kv = o->kv };

    if (open_topologies(s, o->topology, &error) < 0)
        return tool_fail(&error);
    c.host = s->host;
    c.topology = s->topology ? s->topology : s->host;
    if (!o->quiet && isatty(STDERR_FILENO))
        c.progress = progress_load;
    if (instance_load(&c, &s->workers, &s->instance, &error) < 0) {
        session_close(s);
        return tool_fail(&error);
    }
    if (!o->quiet)
        say_what_is_used(instance_info(s->instance));
    return EXIT_OK;
}

void session_close(struct session *s)
{
    instance_free(s->instance);
    workers_free(s->workers);
    topology_free(s->topology);
    topology_free(s->host);
    *s = (struct session)SESSION_NULL;
}
