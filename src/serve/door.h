/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The door: one thread, one ring.  Sockets, connections, deadlines; requests go to the engine's thread by the bridge
 * and come back as frames.  It answers while models load, never waits for a client, and never computes.
 */

#include "io/ring.h"
#include "io/socket.h"
#include "src/serve/bridge.h"
#include "src/serve/peer_limits.h"

#define DOOR_LISTENERS_MAX 4u

struct door_listener {
    int fd;                                     /* borrowed; stays open after door_free() */
    bool admin;
    bool inherited;                             /* its queue outlives us: what comes while we drain is the next one's */
};

/* What the daemon wants to know.  Called on the door's thread; any may be NULL. */
struct door_hooks {
    void *arg;
    void (*loading)(void *arg, uint32_t model, const struct loader_report *report);
    void (*ready)(void *arg, uint32_t model, const struct instance *instance);
    void (*serving)(void *arg);                 /* all models are ready */
    void (*draining)(void *arg);
    void (*signal)(void *arg, int fd);          /* signal_fd is readable */
    void (*tick)(void *arg);                    /* every tick_ns */
};

struct door_config {
    struct ring *ring;                          /* borrowed */
    struct bridge *bridge;                      /* borrowed; its wake must wake the ring */
    const struct instance_config *models;       /* as given to the host */
    uint32_t model_count;
    struct door_listener listeners[DOOR_LISTENERS_MAX];
    uint32_t listener_count;
    int signal_fd;                              /* -1 = none; borrowed */
    uint64_t tick_ns;                           /* 0 = none */
    uint64_t boot_id;
    uint32_t log_level;                         /* in force, for LOG_LEVEL */
    struct limits limits;
    struct door_hooks hooks;
};

struct door;

must_check int door_new(const struct door_config *config, struct door **ret_door, struct error *error);
struct door *door_free(struct door *door);

/*
 * Serves until drained, or until the engine's thread failed.  0: drained, and the engine's thread has ended.
 * Negative: what it failed with, and @error; its thread has ended, too.
 */
must_check int door_run(struct door *door, struct error *error);

/*
 * No new connections or requests; those in flight may take @deadline_ms (0 = as long as it takes), then they are
 * cancelled; door_run() returns when all is done.  @reason: enum wire_goaway_reason.
 */
void door_drain(struct door *door, uint32_t reason, uint32_t deadline_ms);
bool door_loading(const struct door *door);     /* a model is not ready yet: a drain would have to wait for it */
uint32_t door_requests(const struct door *door);        /* in flight */
