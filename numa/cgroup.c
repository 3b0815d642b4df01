/* SPDX-License-Identifier: Apache-2.0 */
#include "numa/cgroup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numa/text.h"

#define TABLE_BYTES_MAX (UINT64_C(1) << 20)
#define DEPTH_MAX 256
/* Version 1 writes "no limit" as the largest multiple of a page in an int64_t. */
#define V1_UNLIMITED (UINT64_C(1) << 62)

static char *table_read(const char *root, const char *path)
{
    char *text = malloc(TABLE_BYTES_MAX);
    size_t size;

    if (text && text_read(root, path, text, TABLE_BYTES_MAX, &size)) {
        free(text);
        return NULL;
    }
    return text;
}

static bool list_has(const char *list, const char *word)
{
    size_t size = strlen(word);

    for (const char *p = list; p; p = strchr(p, ','), p = p ? p + 1 : NULL) {
        if (strncmp(p, word, size) == 0 && (p[size] == ',' || p[size] == '\0'))
            return true;
    }
    return false;
}

/* "4:cpu,cpuacct:/a/b" or "0::/a/b": the path of our group; a controller lives in one hierarchy only. */
static bool group_path(const char *root, const char *controller, bool *ret_v2, char path[CGROUP_PATH_MAX])
{
    char *table = table_read(root, "/proc/self/cgroup"), *rest = table;
    bool found = false, v1 = false;

    for (char *line; !v1 && (line = text_next(&rest, '\n'));) {
        char *id = text_next(&line, ':'), *list = text_next(&line, ':');
        if (!id || !list || !line || line[0] != '/' || strlen(line) >= CGROUP_PATH_MAX)
            continue;
        v1 = list_has(list, controller);
        if (!v1 && !(strcmp(id, "0") == 0 && list[0] == '\0'))
            continue;
        strcpy(path, line);
        *ret_v2 = !v1;
        found = true;
    }
    free(table);
    return found;
}

/* mountinfo writes blank, tab, newline and backslash as \040, \011, \012, \134 (proc(5)). */
static void unescape(char *text)
{
    char *out = text;

    for (const char *p = text; *p; out++) {
        bool octal = p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' && p[2] <= '7' && p[3] >= '0' &&
                     p[3] <= '7';
        if (octal) {
            *out = (char)((p[1] - '0') * 64 + (p[2] - '0') * 8 + (p[3] - '0'));
            p += 4;
        } else {
            *out = *p++;
        }
    }
    *out = '\0';
}

struct mount {
    char *inside, *point;       /* directory of the hierarchy that is mounted, and where */
};

/* "36 35 98:0 /inside /point options optional… - fstype source superoptions" */
static bool mount_parse(char *line, const char *controller, bool v2, struct mount *ret_mount)
{
    char *fields[5];

    for (size_t i = 0; i < ARRAY_LENGTH(fields); i++) {
        if (!(fields[i] = text_next(&line, ' ')))
            return false;
    }
    char *tail = line ? strstr(line, " - ") : NULL;
    if (!tail)
        return false;
    tail += 3;
    char *type = text_next(&tail, ' '), *source = text_next(&tail, ' '), *options = text_next(&tail, ' ');
    if (!type || !source || !options || fields[3][0] != '/' || fields[4][0] != '/')
        return false;
    if (v2 ? strcmp(type, "cgroup2") != 0 : strcmp(type, "cgroup") != 0 || !list_has(options, controller))
        return false;
    unescape(fields[3]);
    unescape(fields[4]);
    *ret_mount = (struct mount){ fields[3], fields[4] };
    return true;
}

/*
 * In a container the mount may begin at our own group, and the path may be the host's or hold "..": what does
 * not lie inside the mount is looked at from the mount point.
 */
static bool place(const struct mount *mount, const char *group, struct cgroup *cgroup)
{
    size_t inside_size = strcmp(mount->inside, "/") == 0 ? 0 : strlen(mount->inside);
    const char *below = group + inside_size;

    if (strncmp(group, mount->inside, inside_size) != 0 || (*below != '/' && *below != '\0') || strstr(group, "/.."))
        below = "";
    size_t point_size = strcmp(mount->point, "/") == 0 ? 0 : strlen(mount->point);
    int n = snprintf(cgroup->path, sizeof cgroup->path, "%.*s%s", (int)point_size, mount->point, below);
    if (n < 0 || (size_t)n >= sizeof cgroup->path)
        return false;
    cgroup->mount_size = point_size;
    for (size_t size = (size_t)n; size > point_size && cgroup->path[size - 1] == '/'; size--)
        cgroup->path[size - 1] = '\0';
    return true;
}

bool cgroup_find(const char *root, const char *controller, struct cgroup *ret_cgroup)
{
    char group[CGROUP_PATH_MAX];
    struct cgroup cgroup = { .root = root };

    if (!group_path(root, controller, &cgroup.v2, group))
        return false;
    char *table = table_read(root, "/proc/self/mountinfo"), *rest = table;
    bool found = false;
    for (char *line; !found && (line = text_next(&rest, '\n'));) {
        struct mount mount;
        if (mount_parse(line, controller, cgroup.v2, &mount))
            found = place(&mount, group, &cgroup);
    }
    free(table);
    if (found)
        *ret_cgroup = cgroup;
    return found;
}

bool cgroup_up(struct cgroup *cgroup)
{
    char *slash = strrchr(cgroup->path, '/');

    if (!slash || (size_t)(slash - cgroup->path) < cgroup->mount_size || cgroup->path[cgroup->mount_size] == '\0')
        return false;
    *slash = '\0';
    return true;
}

int cgroup_text(const struct cgroup *cgroup, const char *file, char *text, size_t capacity)
{
    char path[CGROUP_PATH_MAX + 64];
    size_t size;
    int n = snprintf(path, sizeof path, "%s/%s", cgroup->path, file);

    if (n < 0 || (size_t)n >= sizeof path)
        return -ENAMETOOLONG;
    return text_read(cgroup->root, path, text, capacity, &size);
}

static bool at_end(const char *text)
{
    return *text == '\0' || strcmp(text, "\n") == 0;
}

/* Quota and period in µs of one group: 1, 0 = no quota here, -EINVAL. */
static int group_quota(const struct cgroup *cgroup, uint64_t *ret_quota, uint64_t *ret_period)
{
    char text[128], period_text[128];
    const char *p = text;

    if (cgroup->v2) {
        int r = cgroup_text(cgroup, "cpu.max", text, sizeof text);
        if (r)
            return r == -EFBIG || r == -EILSEQ ? -EINVAL : 0;
        if (strncmp(text, "max", 3) == 0 && (text[3] == ' ' || at_end(text + 3)))
            return 0;
        if (!text_u64(&p, ret_quota) || !text_u64(&p, ret_period) || !at_end(p) || *ret_period == 0)
            return -EINVAL;
        return 1;
    }
    if (cgroup_text(cgroup, "cpu.cfs_quota_us", text, sizeof text) || strcmp(text, "-1\n") == 0)
        return 0;
    if (cgroup_text(cgroup, "cpu.cfs_period_us", period_text, sizeof period_text))
        return -EINVAL;
    const char *q = period_text;
    if (!text_u64(&p, ret_quota) || !at_end(p) || !text_u64(&q, ret_period) || !at_end(q) || *ret_period == 0)
        return -EINVAL;
    return 1;
}

int cgroup_cpu_quota(const char *root, uint32_t *ret_cores, char *note, size_t note_capacity)
{
    struct cgroup cgroup;
    uint64_t cores = UINT64_MAX;
    int result = 0;

    *ret_cores = 0;
    if (!cgroup_find(root, "cpu", &cgroup))
        return 0;
    for (int depth = 0; depth < DEPTH_MAX; depth++) {
        uint64_t quota, period;
        int r = group_quota(&cgroup, &quota, &period);
        if (r > 0)
            cores = min_u64(cores, min_u64(max_u64(quota / period, 1), UINT32_MAX));
        if (r < 0) {
            result = r;
            snprintf(note, note_capacity, "the CPU quota in %.80s makes no sense and is ignored", cgroup.path);
        }
        if (!cgroup_up(&cgroup))
            break;
    }
    if (cores != UINT64_MAX)
        *ret_cores = (uint32_t)cores;
    return result;
}

/* Page cache of a group in bytes; version 1 counts the groups below under names of their own. */
static uint64_t group_cache(const struct cgroup *cgroup, const char *stat_file)
{
    static const char *const keys_v2[] = { "inactive_file ", "active_file " };
    static const char *const keys_v1[] = { "total_inactive_file ", "total_active_file " };
    const char *const *keys = cgroup->v2 ? keys_v2 : keys_v1;
    char text[8192], *rest = text;
    uint64_t sum = 0;

    if (!stat_file || cgroup_text(cgroup, stat_file, text, sizeof text))
        return 0;
    for (char *line; (line = text_next(&rest, '\n'));) {
        for (size_t i = 0; i < 2; i++) {
            size_t size = strlen(keys[i]);
            const char *p = line + size;
            uint64_t bytes;
            if (strncmp(line, keys[i], size) == 0 && text_u64(&p, &bytes) && ckd_add(&sum, sum, bytes))
                return 0;
        }
    }
    return sum;
}

static uint64_t group_room(const struct cgroup *cgroup, const struct cgroup_pair *pair)
{
    const char *limit_file = cgroup->v2 ? pair->limit_v2 : pair->limit_v1;
    const char *usage_file = cgroup->v2 ? pair->usage_v2 : pair->usage_v1;
    char text[128];
    const char *p = text;
    uint64_t limit, usage;

    if (!limit_file || cgroup_text(cgroup, limit_file, text, sizeof text) || !text_u64(&p, &limit) || !at_end(p))
        return UINT64_MAX;
    if (!cgroup->v2 && limit >= V1_UNLIMITED)
        return UINT64_MAX;
    p = text;
    if (cgroup_text(cgroup, usage_file, text, sizeof text) || !text_u64(&p, &usage) || !at_end(p))
        usage = 0;
    usage -= min_u64(usage, group_cache(cgroup, pair->stat));
    return limit > usage ? limit - usage : 0;
}

uint64_t cgroup_room(const char *root, const char *controller, const struct cgroup_pair *pair)
{
    struct cgroup cgroup;
    uint64_t room = UINT64_MAX;

    if (!cgroup_find(root, controller, &cgroup))
        return room;
    for (int depth = 0; depth < DEPTH_MAX; depth++) {
        room = min_u64(room, group_room(&cgroup, pair));
        if (!cgroup_up(&cgroup))
            break;
    }
    return room;
}
