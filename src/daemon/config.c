/* SPDX-License-Identifier: Apache-2.0 */
#include "src/daemon/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/log.h"
#include "src/daemon/ini.h"
#include "src/daemon/units.h"
#include "src/engine/choices.h"
#include "src/model/model.h"

enum kind { KIND_TEXT, KIND_COUNT, KIND_OCTAL, KIND_BYTES, KIND_TIME, KIND_LOG_LEVEL, KIND_LEVEL, KIND_PLACEMENT,
            KIND_IO, KIND_MEMORY, KIND_ACTIVATIONS, KIND_KV };

enum section { SECTION_server, SECTION_compute, SECTION_model, SECTION_COUNT };

struct setting {
    enum section section;
    const char *key;
    enum kind kind;
    size_t member;                      /* in struct config, or in struct config_model for [model] */
    uint64_t minimum, maximum;
    const char *argument, *help;
};

static const char *const section_names[SECTION_COUNT] = { "server", "compute", "model" };

#define MEMBER_server(member) offsetof(struct config, member)
#define MEMBER_compute(member) offsetof(struct config, member)
#define MEMBER_model(member) offsetof(struct config_model, member)

static const struct setting settings[] = {
#define SETTING(section, key, kind, member, minimum, maximum, argument, help) \
    { SECTION_##section, key, KIND_##kind, MEMBER_##section(member), minimum, maximum, argument, help },
#include "src/daemon/settings.def"
#undef SETTING
};

_Static_assert(ARRAY_LENGTH(settings) <= 32, "config_model.given has a bit for each");

void config_init(struct config *c)
{
    *c = (struct config){ .socket_mode = 0660, .log_level = LOG_LEVEL_INFO, .drain_ms = 30000,
                          .limits = LIMITS_DEFAULT, .policy = PLAN_SHARD, .io = IO_AUTO, .memory = ARENA_LADDER,
                          .level = KERNEL_LEVEL_COUNT - 1 };
}

static void model_deinit(struct config_model *m)
{
    free(m->id);
    free(m->file);
}

void config_deinit(struct config *c)
{
    free(c->socket);
    free(c->admin_socket);
    free(c->socket_group);
    free(c->admin_group);
    free(c->topology);
    model_deinit(&c->all);
    for (uint32_t i = 0; i < c->model_count; i++)
        model_deinit(&c->models[i]);
    *c = (struct config)CONFIG_NULL;
}

/* --- one value --- */

static int set_text(char **member, const char *value, struct error *error)
{
    char *copy = strdup(value);

    if (!copy)
        return error_set(error, -ENOMEM, "no memory for the configuration");
    free(*member);
    *member = copy;
    return 0;
}

static int set_number(const struct setting *s, void *member, const char *value, struct error *error)
{
    uint64_t v = 0;
    bool ok;

    if (s->kind == KIND_BYTES)
        ok = units_bytes(value, &v);
    else if (s->kind == KIND_TIME)
        ok = units_ms(value, &v);
    else if (s->kind == KIND_OCTAL)
        ok = units_octal(value, &v);
    else
        ok = units_number(value, &v);
    if (!ok)
        return error_set(error, -EINVAL, "\"%.64s\" is no %s", value,
                         s->kind == KIND_BYTES ? "size (as 512M, 4G)" : s->kind == KIND_TIME ? "time (as 250ms, 30s)"
                         : s->kind == KIND_OCTAL ? "octal number (as 0660)" : "number");
    if (v < s->minimum || v > s->maximum)
        return error_set(error, -EINVAL, "%.64s is not within %llu to %llu%s", value, (unsigned long long)s->minimum,
                         (unsigned long long)s->maximum, s->kind == KIND_TIME ? " ms" : "");
    if (s->kind == KIND_BYTES)
        memcpy(member, &v, sizeof(v));
    else
        memcpy(member, &(uint32_t){ (uint32_t)v }, sizeof(uint32_t));
    return 0;
}

static int set_level(struct config *c, const char *value, struct error *error)
{
    enum kernel_level level;
    int r = level_parse(value, &level, error);

    if (r == 0) {
        c->level = level;
        c->level_required = true;
    }
    return r;
}

/* @base is the config, or the model's part of it. */
static int set_value(struct config *c, const struct setting *s, void *base, const char *value, struct error *error)
{
    static const char *const levels[] = { [LOG_LEVEL_ERROR] = "error", [LOG_LEVEL_WARNING] = "warning",
                                          [LOG_LEVEL_NOTICE] = "notice", [LOG_LEVEL_INFO] = "info",
                                          [LOG_LEVEL_DEBUG] = "debug" };
    static const struct words log_words = WORDS(levels);
    void *member = (char *)base + s->member;
    int r = 0;

    if (!value[0])
        return error_set(error, -EINVAL, "the value is empty");
    switch (s->kind) {
    case KIND_TEXT:
        r = set_text(member, value, error);
        break;
    case KIND_COUNT:
    case KIND_OCTAL:
    case KIND_BYTES:
    case KIND_TIME:
        r = set_number(s, member, value, error);
        break;
    case KIND_LOG_LEVEL:
        r = words_parse(&log_words, value, member, error);
        break;
    case KIND_LEVEL:
        r = set_level(c, value, error);
        break;
    case KIND_PLACEMENT:
        r = words_parse(&placement_words, value, member, error);
        break;
    case KIND_IO:
        r = words_parse(&io_words, value, member, error);
        break;
    case KIND_MEMORY:
        r = words_parse(&memory_words, value, member, error);
        break;
    case KIND_ACTIVATIONS:
        r = activations_parse(value, member, error);
        break;
    case KIND_KV:
        r = words_parse(&kv_words, value, member, error);
        break;
    }
    return r;
}

/* --- models --- */

static struct config_model *find_model(struct config *c, const char *id)
{
    for (uint32_t i = 0; i < c->model_count; i++)
        if (strcmp(c->models[i].id, id) == 0)
            return &c->models[i];
    return NULL;
}

static int add_model(struct config *c, const char *id, struct config_model **ret_model, struct error *error)
{
    struct config_model *m = &c->models[c->model_count];

    if (!id[0] || strlen(id) > 256)
        return error_set(error, -EINVAL, "a model's id has 1 to 256 bytes");
    for (const char *at = id; *at; at++)
        if ((unsigned char)*at <= 0x20 || *at == 0x7f)
            return error_set(error, -EINVAL, "a model's id has no blanks and no control characters");
    if (c->model_count == LIMIT_MODELS)
        return error_set(error, -EINVAL, "at most %u models", LIMIT_MODELS);
    *m = (struct config_model){ .id = NULL };
    if (set_text(&m->id, id, error) < 0)
        return -ENOMEM;
    c->model_count++;
    *ret_model = m;
    return 0;
}

int config_take_model(struct config *c, const char *text, struct error *error)
{
    const char *equals = strchr(text, '='), *slash = strchr(text, '/'), *file = text;
    struct config_model *m;
    char id[264];
    size_t n;
    int r;

    if (equals && (!slash || equals < slash)) {
        n = (size_t)(equals - text);
        file = equals + 1;
    } else {
        text = strrchr(text, '/') ? strrchr(text, '/') + 1 : text;
        n = strlen(text);
        if (n > 5 && strcmp(text + n - 5, ".gguf") == 0)
            n -= 5;
    }
    if (n >= sizeof(id) || !file[0])
        return error_set(error, -EINVAL, "--model takes ID=FILE, not \"%.64s\"", text);
    memcpy(id, text, n);
    id[n] = '\0';
    if (find_model(c, id))
        return error_set(error, -EINVAL, "there are two models \"%.64s\"", id);
    r = add_model(c, id, &m, error);
    return r < 0 ? r : set_text(&m->file, file, error);
}

/* --- a file --- */

static const struct setting *find_setting(enum section section, const char *key)
{
    for (size_t i = 0; i < ARRAY_LENGTH(settings); i++)
        if (settings[i].section == section && strcmp(settings[i].key, key) == 0)
            return &settings[i];
    return NULL;
}

static void warn_unknown(const struct ini *ini, enum section section)
{
    const char *names[ARRAY_LENGTH(settings)];
    size_t count = 0, near;

    for (size_t i = 0; i < ARRAY_LENGTH(settings); i++)
        if (settings[i].section == section)
            names[count++] = settings[i].key;
    near = units_nearest(ini->key, names, count);
    if (near < count)
        log_line(LOG_LEVEL_WARNING, "%s:%u: [%s] knows no %.64s; did you mean %s?", ini->name, ini->line, ini->section,
                 ini->key, names[near]);
    else
        log_line(LOG_LEVEL_WARNING, "%s:%u: [%s] knows no %.64s", ini->name, ini->line, ini->section, ini->key);
}

static int take_key(struct config *c, const struct ini *ini, struct error *error)
{
    enum section section = 0;
    const struct setting *s;
    struct config_model *m;
    int r = 0;

    while (section < SECTION_COUNT && strcmp(section_names[section], ini->section) != 0)
        section++;
    if (section == SECTION_COUNT) {
        size_t near = units_nearest(ini->section, section_names, SECTION_COUNT);

        log_line(LOG_LEVEL_WARNING, "%s:%u: no section [%.64s] is known; %s%s", ini->name, ini->line, ini->section,
                 near < SECTION_COUNT ? "did you mean " : "there are server, compute, model ID",
                 near < SECTION_COUNT ? section_names[near] : "");
        return 0;
    }
    s = find_setting(section, ini->key);
    if (!s) {
        warn_unknown(ini, section);
        return 0;
    }
    if (section != SECTION_model)
        return set_value(c, s, c, ini->value, error);
    m = find_model(c, ini->argument);
    if (!m)
        r = add_model(c, ini->argument, &m, error);
    if (r == 0)
        r = set_value(c, s, m, ini->value, error);
    if (r == 0)
        m->given |= 1u << (s - settings);
    return r;
}

int config_take_text(struct config *c, const char *name, const char *text, size_t size, struct error *error)
{
    struct ini ini = ini_of(name, text, size);
    int r;

    while ((r = ini_next(&ini, error)) == 0) {
        r = take_key(c, &ini, error);
        if (r < 0) {
            error_prefix(error, "%s:%u: %s", name, ini.line, ini.key);
            return r;
        }
    }
    return r < 0 ? r : 0;
}

int config_read(struct config *c, const char *path, struct error *error)
{
    char *text;
    size_t size;
    int r = ini_read_file(path, &text, &size, error);

    if (r < 0)
        return r;
    r = config_take_text(c, path, text, size, error);
    free(text);
    return r;
}

int config_take_option(struct config *c, size_t setting, const char *value, struct error *error)
{
    const struct setting *s = &settings[setting];
    void *base = s->section == SECTION_model ? (void *)&c->all : (void *)c;
    int r = set_value(c, s, base, value, error);

    if (r == 0 && s->section == SECTION_model)
        c->all.given |= 1u << setting;
    if (r < 0)
        error_prefix(error, "--%s", s->key);
    return r;
}

/* --- the whole --- */

int config_check(const struct config *c, struct error *error)
{
    if (!c->model_count)
        return error_set(error, -EINVAL, "no model: give --model ID=FILE, or a section [model ID] with file = FILE");
    for (uint32_t i = 0; i < c->model_count; i++) {
        const struct config_model *m = &c->models[i];

        if (!m->file)
            return error_set(error, -EINVAL, "model %s has no file", m->id);
        if (access(m->file, R_OK) < 0)
            return error_set(error, -errno, "model %s: %s: %s", m->id, m->file, strerror(errno));
    }
    return 0;
}

int config_check_models(const struct config *c, struct error *error)
{
    for (uint32_t i = 0; i < c->model_count; i++) {
        struct model *model;
        int r = model_open(c->models[i].file, &model, error);

        if (r < 0) {
            error_prefix(error, "model %s", c->models[i].id);
            return r;
        }
        model_close(model);
    }
    return 0;
}

/* The command line's where it was given, else the model's own section's. */
#define DECIDED(member, bit_of) (c->all.given & given_bit(bit_of) ? c->all.member : m->member)

static uint32_t given_bit(const char *key)
{
    return 1u << (find_setting(SECTION_model, key) - settings);
}

struct instance_config config_instance(const struct config *c, uint32_t index, const struct topology *topology,
                                       const struct topology *host)
{
    const struct config_model *m = &c->models[index];

    return (struct instance_config){
        .id = m->id, .path = m->file, .topology = topology, .host = host, .policy = (enum plan_policy)c->policy,
        .threads = c->threads, .level = (enum kernel_level)c->level, .level_required = c->level_required,
        .io = (enum io_kind)c->io, .memory = (enum arena_policy)c->memory,
        .wide_mask = DECIDED(wide_mask, "activations"), .context = DECIDED(context, "context"),
        .sequences = DECIDED(sequences, "sequences"), .prefill_chunk = DECIDED(prefill_chunk, "prefill-chunk"),
        .kv_bytes = DECIDED(kv_bytes, "kv-bytes"), .kv = (enum kv_format)DECIDED(kv, "kv"),
    };
}

size_t config_setting_count(void)
{
    return ARRAY_LENGTH(settings);
}

const char *config_setting_name(size_t setting)
{
    return settings[setting].help[0] ? settings[setting].key : NULL;
}

void config_print_settings(void)
{
    for (size_t i = 0; i < ARRAY_LENGTH(settings); i++) {
        const struct setting *s = &settings[i];
        char left[64];

        if (!s->help[0])
            continue;
        snprintf(left, sizeof(left), "--%s %s", s->key, s->argument);
        printf("  %-32s %s\n", left, s->help);
    }
}
