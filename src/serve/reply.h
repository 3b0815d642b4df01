/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What happened, as frames of the protocol.  Door thread only. */

#include "src/serve/request.h"

/* An error that ends the request @cookie of @type; or, with cookie 0 and type WIRE_TYPE_ERROR, the connection. */
void reply_error(struct conn *conn, uint16_t type, uint64_t cookie, const struct refusal *refusal);
/* Encodes @value as one frame and queues it; flags are FRAME_END or 0. */
void reply_message(struct conn *conn, const struct wire_message *message, const void *value, uint64_t cookie,
                   uint8_t flags);
/* Ends @request by an error, or by a message with END, and forgets it. */
void reply_refuse(struct request *request, const struct refusal *refusal);
void reply_end(struct request *request, const struct wire_message *message, const void *value);

/* Events of the engine. */
void reply_started(struct request *request, const struct engine_started *started);
void reply_token(struct request *request, const struct bridge_token *token,
                 const struct engine_alternative *alternatives, struct span text);
void reply_text(struct request *request, struct span text);
void reply_done(struct request *request, const struct bridge_done *done, struct span text);

/* Queues pieces of a long reply as long as there is room; true when its END is queued (the request is gone then). */
bool reply_body(struct request *request);
/* The one frame of MODEL_INFO, as much of it as the client's frames hold (reply_info.c).  Returns its flags. */
uint8_t reply_info(struct request *request, struct frame_header head, struct frame_out *out);
/* Tells a subscriber of a model's load or state (enum wire_event_kind), now or when there is room. */
void reply_event(struct request *request, uint32_t event, uint32_t model);
void reply_stale_events(struct request *request);
