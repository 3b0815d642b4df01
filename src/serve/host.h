/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The engine's thread: loads the models, then turns commands of the door into calls of the engine and its events into
 * mail.  It becomes worker 0.  With nothing to do it sleeps on the bridge and uses no CPU.
 */

#include "src/serve/bridge.h"

struct host;

/*
 * Starts the thread.  @models are loaded in their order, all or nothing: BRIDGE_READY for each when all are there, or
 * one BRIDGE_FAILED, and the thread has ended and freed them.  The configurations and what they point to stay alive
 * until host_join(); their progress hooks are replaced.  The caller has blocked the signals that the thread must not
 * take.  0, or a negative errno with @error.
 */
must_check int host_start(struct bridge *bridge, const struct instance_config *models, uint32_t model_count,
                          struct host **ret_host, struct error *error);
/* Waits for the end of the thread (BRIDGE_FAILED, or BRIDGE_STOPPED after BRIDGE_STOP was sent); NULL-safe. */
struct host *host_join(struct host *host);
