/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What control groups allow this process: walks from its own group up to the root of the hierarchy, for each
 * ancestor may be the tightest.  Version 2 and version 1 hierarchies, also mixed, wherever they are mounted.
 * https://docs.kernel.org/admin-guide/cgroup-v2.html, https://docs.kernel.org/admin-guide/cgroup-v1/
 *
 * Internal to numa/.  @root goes before every absolute path: "" for this host, a directory for tests.
 */

#include "src/base/base.h"

#define CGROUP_PATH_MAX 4096

/* A place on the way up. */
struct cgroup {
    const char *root;
    bool v2;
    size_t mount_size;                  /* bytes of path that are the mount point */
    char path[CGROUP_PATH_MAX];         /* absolute, without a slash at the end */
};

/* The group of this process in the hierarchy that has @controller; false when there is none. */
bool cgroup_find(const char *root, const char *controller, struct cgroup *ret_cgroup);
/* To the parent; false at the mount point, which is then as it was. */
bool cgroup_up(struct cgroup *cgroup);

/* Text of a file of this group, as text_read(). */
must_check int cgroup_text(const struct cgroup *cgroup, const char *file, char *text, size_t capacity);

/*
 * Whole cores that the CPU bandwidth quota leaves: floor, at least 1; 0 = no quota.  0, or -EINVAL with @note
 * filled when a file made no sense (it is left out of the count).
 */
int cgroup_cpu_quota(const char *root, uint32_t *ret_cores, char *note, size_t note_capacity);

/*
 * Bytes left below the tightest limit of @controller: limit minus usage, for files named by version (NULL where
 * that version has none).  UINT64_MAX = no limit.  A limit that makes no sense counts as none, a usage that makes
 * none as 0.  @stat, where given, names the file whose page cache is taken off the usage, for it gives way.
 */
struct cgroup_pair {
    const char *limit_v2, *usage_v2, *limit_v1, *usage_v1, *stat;
};
uint64_t cgroup_room(const char *root, const char *controller, const struct cgroup_pair *pair);
