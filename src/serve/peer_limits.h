/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a peer may make the daemon hold.  The defaults are those that wire.json tells clients; tests set smaller ones.
 */

#include "src/wire/wire_gen.h"

#define LIMIT_MODELS 32u                /* models of one daemon */
#define LIMIT_REQUESTS 4096u            /* requests alive, those included whose client has gone */
#define LIMIT_END_BYTES 768u            /* room in an output queue that every request in flight keeps for its END */
#define LIMIT_ERROR_TEXT 480u           /* bytes of an error's message, so that it fits there */

struct limits {
    uint32_t connections, connections_uid;
    uint32_t in_flight, in_flight_uid;
    uint32_t queue;                     /* GENERATEs that have not ended, of all clients; then BUSY */
    uint32_t output_queue;              /* bytes, without the room kept for END frames */
    uint64_t bytes_uid;                 /* frames being received, prompts, long replies */
    uint32_t handshake_ms, frame_ms, stall_ms;
    uint32_t inline_text;               /* bytes of text that the door tokenises itself; more is the scribe's */
};

#define LIMITS_DEFAULT {                                                                                        \
    .connections = WIRE_LIMIT_CONNECTIONS, .connections_uid = WIRE_LIMIT_CONNECTIONS_UID,                       \
    .in_flight = WIRE_LIMIT_IN_FLIGHT, .in_flight_uid = WIRE_LIMIT_IN_FLIGHT_UID, .queue = 512,                 \
    .output_queue = WIRE_LIMIT_OUTPUT_QUEUE, .bytes_uid = UINT64_C(640) << 20,                                  \
    .handshake_ms = WIRE_LIMIT_HANDSHAKE_MS, .frame_ms = WIRE_LIMIT_FRAME_MS, .stall_ms = WIRE_LIMIT_STALL_MS,  \
    .inline_text = 16384,                                                                                       \
}
