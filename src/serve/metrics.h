/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Counters of the door, and the Prometheus text made of them and of the engine's gauges.  Door thread only. */

#include "src/base/bytes.h"
#include "src/serve/bridge.h"
#include "src/serve/peer_limits.h"

#define HISTOGRAM_BUCKETS 18u

struct histogram {
    uint64_t counts[HISTOGRAM_BUCKETS + 1];     /* the last one: above all bounds */
    uint64_t sum_ns;
};

void histogram_add(struct histogram *histogram, uint64_t ns);

enum { METRICS_CODES = WIRE_E_INTERNAL + 1 };

struct model_metrics {                  /* one set for each model */
    uint64_t ended[ENGINE_FAILED + 1];  /* by enum engine_reason */
    uint64_t refused[METRICS_CODES];    /* by enum wire_code */
    uint64_t prompt_tokens, cached_tokens, generated_tokens;
    struct histogram first_token, inter_token, duration, queue, prefill, decode;
};

struct metrics {
    uint64_t started_ns;
    uint64_t connections, connections_total, requests_total, errors_total, busy_total, framing_errors_total;
    uint64_t received_bytes, sent_bytes;
};

struct models;

/* The text exposition format, version 0.0.4. */
void metrics_write(const struct metrics *metrics, const struct models *models, struct bridge *bridge, uint64_t now_ns,
                   struct buffer *out);
