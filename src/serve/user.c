/* SPDX-License-Identifier: Apache-2.0 */
#include "src/serve/user.h"

#include <stdlib.h>

int users_ref(struct users *users, uint32_t uid, struct user **ret_user)
{
    struct user *user = users->first;

    while (user && user->uid != uid)
        user = user->next;
    if (!user) {
        user = calloc(1, sizeof(*user));
        if (!user)
            return -ENOMEM;
        user->uid = uid;
        user->next = users->first;
        users->first = user;
    }
    user->references++;
    *ret_user = user;
    return 0;
}

struct user *users_unref(struct users *users, struct user *user)
{
    struct user **at = &users->first;

    if (!user)
        return NULL;
    check(user->references);
    if (--user->references)
        return NULL;
    check(user->connections == 0 && user->requests == 0 && user->bytes == 0);
    while (*at != user)
        at = &(*at)->next;
    *at = user->next;
    free(user);
    return NULL;
}

int user_charge_bytes(struct user *user, uint64_t bytes, const struct limits *limits)
{
    if (bytes > limits->bytes_uid || user->bytes > limits->bytes_uid - bytes)
        return 1;
    user->bytes += bytes;
    return 0;
}

void user_discharge_bytes(struct user *user, uint64_t bytes)
{
    check(user->bytes >= bytes);
    user->bytes -= bytes;
}
