/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the daemon was told: defaults, then the file, then the command line.  Every setting is a row of settings.def.
 */

#include "src/engine/instance.h"
#include "src/serve/peer_limits.h"

#define CONFIG_PATH "/etc/tenon/tenon.conf"
#define CONFIG_SOCKET "/run/tenon/tenon.sock"
#define CONFIG_ADMIN_SOCKET "/run/tenon/admin.sock"

/* The settings of [model ID].  Those that were not given there are those of the command line. */
struct config_model {
    char *id, *file;
    uint32_t context, sequences, prefill_chunk, wide_mask, kv;
    uint64_t kv_bytes;
    uint32_t given;                     /* bits: config.c's rows of [model] */
};

struct config {
    char *socket, *admin_socket, *socket_group, *admin_group, *topology;
    uint32_t socket_mode, log_level, drain_ms;
    struct limits limits;
    uint32_t threads, policy, io, memory, level;
    bool level_required;
    struct config_model all;            /* of the command line, for every model */
    struct config_model models[LIMIT_MODELS];
    uint32_t model_count;
};

#define CONFIG_NULL { .socket = NULL }

void config_init(struct config *config);
void config_deinit(struct config *config);

/* Takes a file over it.  Unknown keys are warnings in the log.  -EINVAL and others with @error ("file:line: what"). */
must_check int config_read(struct config *config, const char *path, struct error *error);
/* A text of a file, for tests and the above. */
must_check int config_take_text(struct config *config, const char *name, const char *text, size_t size,
                                struct error *error);
/* "ID=FILE"; or "FILE": then its name without .gguf is the id.  -EINVAL with @error. */
must_check int config_take_model(struct config *config, const char *text, struct error *error);
/* One setting by its place in the table, from the command line. */
must_check int config_take_option(struct config *config, size_t setting, const char *value, struct error *error);

/* What must hold for all of it together: there are models, and their files can be read.  Negative, with @error. */
must_check int config_check(const struct config *config, struct error *error);
/* The files of the models as far as they tell without being loaded: directory, vocabulary, every tensor's place. */
must_check int config_check_models(const struct config *config, struct error *error);
/* Of model @index, everything that was decided. */
struct instance_config config_instance(const struct config *config, uint32_t index, const struct topology *topology,
                                       const struct topology *host);

/* For the command line: name, and "  --name ARG   help" lines. */
size_t config_setting_count(void);
const char *config_setting_name(size_t setting);    /* NULL: not one of the command line */
void config_print_settings(void);
