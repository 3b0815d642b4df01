/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Who pays: one account per user id (SO_PEERCRED), shared by all its connections and by requests whose connection has
 * gone while the engine still had them.  Door thread only.
 */

#include "src/serve/peer_limits.h"

struct user {
    uint32_t uid;
    uint32_t references;                /* connections and requests that point here */
    uint32_t connections, requests;
    uint64_t bytes;
    struct user *next;
};

struct users {
    struct user *first;
};

#define USERS_NULL { .first = NULL }

/* Finds the account or opens it.  0 or -ENOMEM; the caller owns a reference. */
must_check int users_ref(struct users *users, uint32_t uid, struct user **ret_user);
/* Gives the reference back; an account that nobody points at is closed, and must have nothing on it. */
struct user *users_unref(struct users *users, struct user *user);

/* 0 and charged, or 1: that would be more than the limit. */
must_check int user_charge_bytes(struct user *user, uint64_t bytes, const struct limits *limits);
void user_discharge_bytes(struct user *user, uint64_t bytes);
