/* SPDX-License-Identifier: Apache-2.0 */
/* Made by generate.py from wire.json; do not edit. */
#include "src/wire/wire_gen.h"

static const struct wire_name items_segment_kind[] = {
    { 1, "TRUSTED_TEXT" },
    { 2, "UNTRUSTED_TEXT" },
    { 3, "TOKEN_IDS" },
    { 4, "TEXT_MEMFD" },
};
static const struct wire_names names_segment_kind = {
    "segment_kind", false, false, 0x1e, 4, items_segment_kind,
};

static const struct wire_name items_reason[] = {
    { 1, "STOP" },
    { 2, "LENGTH" },
    { 3, "EOS" },
    { 4, "CANCELLED" },
    { 5, "DEADLINE" },
};
static const struct wire_names names_reason = {
    "reason", false, true, 0x3e, 5, items_reason,
};

static const struct wire_name items_model_state[] = {
    { 1, "LOADING" },
    { 2, "READY" },
    { 3, "DRAINING" },
    { 4, "GONE" },
    { 5, "FAILED" },
};
static const struct wire_names names_model_state = {
    "model_state", false, true, 0x3e, 5, items_model_state,
};

static const struct wire_name items_goaway_reason[] = {
    { 1, "DRAIN" },
    { 2, "RELOAD" },
    { 3, "SHUTDOWN" },
};
static const struct wire_names names_goaway_reason = {
    "goaway_reason", false, true, 0xe, 3, items_goaway_reason,
};

static const struct wire_name items_stats_format[] = {
    { 0, "COUNTERS" },
    { 1, "PROMETHEUS" },
};
static const struct wire_names names_stats_format = {
    "stats_format", false, false, 0x3, 2, items_stats_format,
};

static const struct wire_name items_event_kind[] = {
    { 1, "LOAD" },
    { 2, "STATE" },
    { 3, "RELOAD" },
};
static const struct wire_names names_event_kind = {
    "event_kind", false, true, 0xe, 3, items_event_kind,
};

static const struct wire_name items_log_priority[] = {
    { 3, "ERROR" },
    { 4, "WARNING" },
    { 5, "NOTICE" },
    { 6, "INFO" },
    { 7, "DEBUG" },
};
static const struct wire_names names_log_priority = {
    "log_priority", false, false, 0xf8, 5, items_log_priority,
};

static const struct wire_name items_started_kind[] = {
    { 1, "STARTED" },
};
static const struct wire_names names_started_kind = {
    "started_kind", false, false, 0x2, 1, items_started_kind,
};

static const struct wire_name items_tokens_kind[] = {
    { 2, "TOKENS" },
};
static const struct wire_names names_tokens_kind = {
    "tokens_kind", false, false, 0x4, 1, items_tokens_kind,
};

static const struct wire_name items_done_kind[] = {
    { 3, "DONE" },
};
static const struct wire_names names_done_kind = {
    "done_kind", false, false, 0x8, 1, items_done_kind,
};

static const struct wire_name items_flag_generate[] = {
    { 0, "SEED" },
    { 1, "IGNORE_EOS" },
    { 2, "LOGPROB" },
    { 3, "NO_BOS" },
};
static const struct wire_names names_flag_generate = {
    "generate", true, false, 0xf, 4, items_flag_generate,
};

static const struct wire_name items_flag_prompt[] = {
    { 0, "NO_BOS" },
};
static const struct wire_names names_flag_prompt = {
    "prompt", true, false, 0x1, 1, items_flag_prompt,
};

static const struct wire_name items_flag_detokenize[] = {
    { 0, "CONTROL" },
};
static const struct wire_names names_flag_detokenize = {
    "detokenize", true, false, 0x1, 1, items_flag_detokenize,
};

static const struct wire_name items_flag_event[] = {
    { 0, "LOAD" },
    { 1, "STATE" },
    { 2, "RELOAD" },
};
static const struct wire_names names_flag_event = {
    "event", true, false, 0x7, 3, items_flag_event,
};

static const struct wire_name items_flag_model[] = {
    { 0, "ADD_BOS" },
    { 1, "ADD_EOS" },
    { 2, "PINNED" },
    { 3, "OVERSUBSCRIBED" },
    { 4, "NO_TEMPLATE" },
};
static const struct wire_names names_flag_model = {
    "model", true, true, 0x1f, 5, items_flag_model,
};

static const struct wire_field fields_segment[] = {
    { .name = "kind", .type = WIRE_U32, .offset = 0, .member = offsetof(struct wire_segment, kind), .minimum = 0u,
      .maximum = 0xffffffffu, .names = &names_segment_kind },
    { .name = "fd", .type = WIRE_U32, .offset = 4, .member = offsetof(struct wire_segment, fd), .minimum = 0u,
      .maximum = 0x3u },
    { .name = "data", .type = WIRE_BYTES, .offset = 8, .member = offsetof(struct wire_segment, data), .minimum = 0u,
      .maximum = 0xffffffffu, .flags = WIRE_FIELD_IDS, .ids_when = 3 },
};

const struct wire_record wire_segment_record = {
    .name = "segment", .wire_bytes = 16, .struct_bytes = sizeof(struct wire_segment),
    .field_count = 3, .references = true, .fields = fields_segment,
};

static const struct wire_field fields_token[] = {
    { .name = "id", .type = WIRE_U32, .offset = 0, .member = offsetof(struct wire_token, id), .minimum = 0u,
      .maximum = 0xffffffffu },
    { .name = "logprob", .type = WIRE_F32, .offset = 4, .member = offsetof(struct wire_token, logprob),
      .float_minimum = -1.7976931348623157e308, .float_maximum = 1.7976931348623157e308 },
    { .name = "text_offset", .type = WIRE_U32, .offset = 8, .member = offsetof(struct wire_token, text_offset),
      .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "text_length", .type = WIRE_U32, .offset = 12, .member = offsetof(struct wire_token, text_length),
      .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "alternatives", .type = WIRE_U32, .offset = 16, .member = offsetof(struct wire_token, alternatives),
      .minimum = 0u, .maximum = 0xffffffffu },
};

const struct wire_record wire_token_record = {
    .name = "token", .wire_bytes = 20, .struct_bytes = sizeof(struct wire_token),
    .field_count = 5, .references = false, .fields = fields_token,
};

static const struct wire_field fields_logprob[] = {
    { .name = "id", .type = WIRE_U32, .offset = 0, .member = offsetof(struct wire_logprob, id), .minimum = 0u,
      .maximum = 0xffffffffu },
    { .name = "logprob", .type = WIRE_F32, .offset = 4, .member = offsetof(struct wire_logprob, logprob),
      .float_minimum = -1.7976931348623157e308, .float_maximum = 1.7976931348623157e308 },
};

const struct wire_record wire_logprob_record = {
    .name = "logprob", .wire_bytes = 8, .struct_bytes = sizeof(struct wire_logprob),
    .field_count = 2, .references = false, .fields = fields_logprob,
};

static const struct wire_field fields_bias[] = {
    { .name = "id", .type = WIRE_U32, .offset = 0, .member = offsetof(struct wire_bias, id), .minimum = 0u,
      .maximum = 0xffffffffu },
    { .name = "bias", .type = WIRE_F32, .offset = 4, .member = offsetof(struct wire_bias, bias),
      .float_minimum = -100.0, .float_maximum = 100.0 },
};

const struct wire_record wire_bias_record = {
    .name = "bias", .wire_bytes = 8, .struct_bytes = sizeof(struct wire_bias),
    .field_count = 2, .references = false, .fields = fields_bias,
};

static const struct wire_field fields_model_entry[] = {
    { .name = "id", .type = WIRE_BYTES, .offset = 0, .member = offsetof(struct wire_model_entry, id), .minimum = 0u,
      .maximum = 0xffffffffu },
    { .name = "state", .type = WIRE_U32, .offset = 8, .member = offsetof(struct wire_model_entry, state),
      .minimum = 0u, .maximum = 0xffffffffu, .names = &names_model_state },
    { .name = "context", .type = WIRE_U32, .offset = 12, .member = offsetof(struct wire_model_entry, context),
      .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "bytes", .type = WIRE_U64, .offset = 16, .member = offsetof(struct wire_model_entry, bytes),
      .minimum = 0u, .maximum = 0xffffffffffffffffu },
};

const struct wire_record wire_model_entry_record = {
    .name = "model_entry", .wire_bytes = 24, .struct_bytes = sizeof(struct wire_model_entry),
    .field_count = 4, .references = true, .fields = fields_model_entry,
};

static const struct wire_field fields_page_bytes[] = {
    { .name = "page_size", .type = WIRE_U64, .offset = 0, .member = offsetof(struct wire_page_bytes, page_size),
      .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "bytes", .type = WIRE_U64, .offset = 8, .member = offsetof(struct wire_page_bytes, bytes),
      .minimum = 0u, .maximum = 0xffffffffffffffffu },
};

const struct wire_record wire_page_bytes_record = {
    .name = "page_bytes", .wire_bytes = 16, .struct_bytes = sizeof(struct wire_page_bytes),
    .field_count = 2, .references = false, .fields = fields_page_bytes,
};

static const struct wire_field fields_error[] = {
    { .name = "code", .type = WIRE_U32, .offset = 8, .member = offsetof(struct wire_error, code), .minimum = 0u,
      .maximum = 0xffffffffu },
    { .name = "detail", .type = WIRE_U32, .offset = 12, .member = offsetof(struct wire_error, detail),
      .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "retry_after_ms", .type = WIRE_U32, .offset = 16,
      .member = offsetof(struct wire_error, retry_after_ms), .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "message", .type = WIRE_BYTES, .offset = 20, .member = offsetof(struct wire_error, message),
      .minimum = 0u, .maximum = 0x400u },
};

const struct wire_message wire_error_message = {
    .name = "ERROR", .type = 0x8000, .kind = 0,
    .fixed_bytes = 32, .struct_bytes = sizeof(struct wire_error),
    .field_count = 4, .tlv_count = 0,
    .fields = fields_error,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_error) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_hello[] = {
    { .name = "magic", .type = WIRE_U32, .offset = 8, .member = offsetof(struct wire_hello, magic),
      .minimum = 827805268u, .maximum = 0x31574e54u, .flags = WIRE_FIELD_CONST },
    { .name = "version_min", .type = WIRE_U16, .offset = 12, .member = offsetof(struct wire_hello, version_min),
      .minimum = 1u, .maximum = 0xffffu },
    { .name = "version_max", .type = WIRE_U16, .offset = 14, .member = offsetof(struct wire_hello, version_max),
      .minimum = 1u, .maximum = 0xffffu },
    { .name = "capabilities", .type = WIRE_U64, .offset = 16, .member = offsetof(struct wire_hello, capabilities),
      .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "max_frame", .type = WIRE_U32, .offset = 24, .member = offsetof(struct wire_hello, max_frame),
      .minimum = 4096u, .maximum = 0xffffffffu, .flags = WIRE_FIELD_ZERO },
    { .name = "client", .type = WIRE_BYTES, .offset = 28, .member = offsetof(struct wire_hello, client),
      .minimum = 0u, .maximum = 0x100u },
};

const struct wire_message wire_hello_message = {
    .name = "HELLO", .type = 0x0001, .kind = 0,
    .fixed_bytes = 40, .struct_bytes = sizeof(struct wire_hello),
    .field_count = 6, .tlv_count = 0,
    .fields = fields_hello,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_hello) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_hello_ok[] = {
    { .name = "version", .type = WIRE_U16, .offset = 8, .member = offsetof(struct wire_hello_ok, version),
      .minimum = 1u, .maximum = 0xffffu },
    { .name = "max_fds", .type = WIRE_U8, .offset = 10, .member = offsetof(struct wire_hello_ok, max_fds),
      .minimum = 0u, .maximum = 0xffu },
    { .name = "capabilities", .type = WIRE_U64, .offset = 16,
      .member = offsetof(struct wire_hello_ok, capabilities), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "max_frame", .type = WIRE_U32, .offset = 24, .member = offsetof(struct wire_hello_ok, max_frame),
      .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "max_in_flight", .type = WIRE_U32, .offset = 28,
      .member = offsetof(struct wire_hello_ok, max_in_flight), .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "max_prompt_bytes", .type = WIRE_U32, .offset = 32,
      .member = offsetof(struct wire_hello_ok, max_prompt_bytes), .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "credit_default", .type = WIRE_U32, .offset = 36,
      .member = offsetof(struct wire_hello_ok, credit_default), .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "boot_id", .type = WIRE_U64, .offset = 40, .member = offsetof(struct wire_hello_ok, boot_id),
      .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "server", .type = WIRE_BYTES, .offset = 48, .member = offsetof(struct wire_hello_ok, server),
      .minimum = 0u, .maximum = 0x100u },
};

static const struct wire_field tlvs_hello_ok[] = {
    { .name = "limit_prompt_memfd", .type = WIRE_U64, .offset = 1,
      .member = offsetof(struct wire_hello_ok, limit_prompt_memfd), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "limit_tlvs", .type = WIRE_U64, .offset = 2, .member = offsetof(struct wire_hello_ok, limit_tlvs),
      .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "limit_segments", .type = WIRE_U64, .offset = 3,
      .member = offsetof(struct wire_hello_ok, limit_segments), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "limit_grammar", .type = WIRE_U64, .offset = 4,
      .member = offsetof(struct wire_hello_ok, limit_grammar), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "limit_stop_strings", .type = WIRE_U64, .offset = 5,
      .member = offsetof(struct wire_hello_ok, limit_stop_strings), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "limit_stop_string", .type = WIRE_U64, .offset = 6,
      .member = offsetof(struct wire_hello_ok, limit_stop_string), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "limit_stop_ids", .type = WIRE_U64, .offset = 7,
      .member = offsetof(struct wire_hello_ok, limit_stop_ids), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "limit_logit_bias", .type = WIRE_U64, .offset = 8,
      .member = offsetof(struct wire_hello_ok, limit_logit_bias), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "limit_logprobs", .type = WIRE_U64, .offset = 9,
      .member = offsetof(struct wire_hello_ok, limit_logprobs), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "limit_in_flight_uid", .type = WIRE_U64, .offset = 10,
      .member = offsetof(struct wire_hello_ok, limit_in_flight_uid), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "limit_connections", .type = WIRE_U64, .offset = 11,
      .member = offsetof(struct wire_hello_ok, limit_connections), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "limit_connections_uid", .type = WIRE_U64, .offset = 12,
      .member = offsetof(struct wire_hello_ok, limit_connections_uid), .minimum = 0u,
      .maximum = 0xffffffffffffffffu },
    { .name = "limit_output_queue", .type = WIRE_U64, .offset = 13,
      .member = offsetof(struct wire_hello_ok, limit_output_queue), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "limit_handshake_ms", .type = WIRE_U64, .offset = 14,
      .member = offsetof(struct wire_hello_ok, limit_handshake_ms), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "limit_frame_ms", .type = WIRE_U64, .offset = 15,
      .member = offsetof(struct wire_hello_ok, limit_frame_ms), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "limit_stall_ms", .type = WIRE_U64, .offset = 16,
      .member = offsetof(struct wire_hello_ok, limit_stall_ms), .minimum = 0u, .maximum = 0xffffffffffffffffu },
};

const struct wire_message wire_hello_ok_message = {
    .name = "HELLO_OK", .type = 0x8001, .kind = 0,
    .fixed_bytes = 56, .struct_bytes = sizeof(struct wire_hello_ok),
    .field_count = 9, .tlv_count = 16,
    .present_member = offsetof(struct wire_hello_ok, present),
    .fields = fields_hello_ok,
    .tlvs = tlvs_hello_ok,
};
_Static_assert(sizeof(struct wire_hello_ok) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_ping[] = {
    { .name = "opaque", .type = WIRE_U64, .offset = 8, .member = offsetof(struct wire_ping, opaque), .minimum = 0u,
      .maximum = 0xffffffffffffffffu },
};

const struct wire_message wire_ping_message = {
    .name = "PING", .type = 0x0002, .kind = 0,
    .fixed_bytes = 16, .struct_bytes = sizeof(struct wire_ping),
    .field_count = 1, .tlv_count = 0,
    .fields = fields_ping,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_ping) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_pong[] = {
    { .name = "opaque", .type = WIRE_U64, .offset = 8, .member = offsetof(struct wire_pong, opaque), .minimum = 0u,
      .maximum = 0xffffffffffffffffu },
    { .name = "server_ns", .type = WIRE_U64, .offset = 16, .member = offsetof(struct wire_pong, server_ns),
      .minimum = 0u, .maximum = 0xffffffffffffffffu },
};

const struct wire_message wire_pong_message = {
    .name = "PONG", .type = 0x8002, .kind = 0,
    .fixed_bytes = 24, .struct_bytes = sizeof(struct wire_pong),
    .field_count = 2, .tlv_count = 0,
    .fields = fields_pong,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_pong) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_goaway[] = {
    { .name = "reason", .type = WIRE_U32, .offset = 8, .member = offsetof(struct wire_goaway, reason),
      .minimum = 0u, .maximum = 0xffffffffu, .names = &names_goaway_reason },
    { .name = "deadline_ms", .type = WIRE_U32, .offset = 12, .member = offsetof(struct wire_goaway, deadline_ms),
      .minimum = 0u, .maximum = 0xffffffffu },
};

const struct wire_message wire_goaway_message = {
    .name = "GOAWAY", .type = 0x0003, .kind = 0,
    .fixed_bytes = 16, .struct_bytes = sizeof(struct wire_goaway),
    .field_count = 2, .tlv_count = 0,
    .fields = fields_goaway,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_goaway) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

const struct wire_message wire_cancel_message = {
    .name = "CANCEL", .type = 0x0004, .kind = 0,
    .fixed_bytes = 8, .struct_bytes = sizeof(struct wire_cancel),
    .field_count = 0, .tlv_count = 0,
    .fields = NULL,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_cancel) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_grant[] = {
    { .name = "credits", .type = WIRE_U32, .offset = 8, .member = offsetof(struct wire_grant, credits),
      .minimum = 1u, .maximum = 0xffffffffu },
};

const struct wire_message wire_grant_message = {
    .name = "GRANT", .type = 0x0005, .kind = 0,
    .fixed_bytes = 16, .struct_bytes = sizeof(struct wire_grant),
    .field_count = 1, .tlv_count = 0,
    .fields = fields_grant,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_grant) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

const struct wire_message wire_model_list_message = {
    .name = "MODEL_LIST", .type = 0x0101, .kind = 0,
    .fixed_bytes = 8, .struct_bytes = sizeof(struct wire_model_list),
    .field_count = 0, .tlv_count = 0,
    .fields = NULL,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_model_list) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_model_list_reply[] = {
    { .name = "models", .type = WIRE_LIST, .offset = 8, .member = offsetof(struct wire_model_list_reply, models),
      .minimum = 0u, .maximum = 0xffffffffu, .record = &wire_model_entry_record },
};

const struct wire_message wire_model_list_reply_message = {
    .name = "MODEL_LIST_REPLY", .type = 0x8101, .kind = 0,
    .fixed_bytes = 16, .struct_bytes = sizeof(struct wire_model_list_reply),
    .field_count = 1, .tlv_count = 0,
    .fields = fields_model_list_reply,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_model_list_reply) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_model_info[] = {
    { .name = "model", .type = WIRE_BYTES, .offset = 8, .member = offsetof(struct wire_model_info, model),
      .minimum = 0u, .maximum = 0x100u },
};

const struct wire_message wire_model_info_message = {
    .name = "MODEL_INFO", .type = 0x0102, .kind = 0,
    .fixed_bytes = 16, .struct_bytes = sizeof(struct wire_model_info),
    .field_count = 1, .tlv_count = 0,
    .fields = fields_model_info,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_model_info) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_model_info_reply[] = {
    { .name = "id", .type = WIRE_BYTES, .offset = 8, .member = offsetof(struct wire_model_info_reply, id),
      .minimum = 0u, .maximum = 0x100u },
    { .name = "state", .type = WIRE_U32, .offset = 16, .member = offsetof(struct wire_model_info_reply, state),
      .minimum = 0u, .maximum = 0xffffffffu, .names = &names_model_state },
    { .name = "flags", .type = WIRE_U32, .offset = 20, .member = offsetof(struct wire_model_info_reply, flags),
      .minimum = 0u, .maximum = 0xffffffffu, .names = &names_flag_model },
    { .name = "architecture", .type = WIRE_BYTES, .offset = 24,
      .member = offsetof(struct wire_model_info_reply, architecture), .minimum = 0u, .maximum = 0x100u },
    { .name = "name", .type = WIRE_BYTES, .offset = 32, .member = offsetof(struct wire_model_info_reply, name),
      .minimum = 0u, .maximum = 0x400u },
    { .name = "file_types", .type = WIRE_BYTES, .offset = 40,
      .member = offsetof(struct wire_model_info_reply, file_types), .minimum = 0u, .maximum = 0x400u },
    { .name = "level", .type = WIRE_BYTES, .offset = 48, .member = offsetof(struct wire_model_info_reply, level),
      .minimum = 0u, .maximum = 0x40u },
    { .name = "activations", .type = WIRE_BYTES, .offset = 56,
      .member = offsetof(struct wire_model_info_reply, activations), .minimum = 0u, .maximum = 0x100u },
    { .name = "tokenizer", .type = WIRE_BYTES, .offset = 64,
      .member = offsetof(struct wire_model_info_reply, tokenizer), .minimum = 0u, .maximum = 0x40u },
    { .name = "pre_tokenizer", .type = WIRE_BYTES, .offset = 72,
      .member = offsetof(struct wire_model_info_reply, pre_tokenizer), .minimum = 0u, .maximum = 0x40u },
    { .name = "vocab_size", .type = WIRE_U32, .offset = 80,
      .member = offsetof(struct wire_model_info_reply, vocab_size), .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "context", .type = WIRE_U32, .offset = 84, .member = offsetof(struct wire_model_info_reply, context),
      .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "context_trained", .type = WIRE_U32, .offset = 88,
      .member = offsetof(struct wire_model_info_reply, context_trained), .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "sequences", .type = WIRE_U32, .offset = 92,
      .member = offsetof(struct wire_model_info_reply, sequences), .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "nodes", .type = WIRE_U32, .offset = 96, .member = offsetof(struct wire_model_info_reply, nodes),
      .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "threads", .type = WIRE_U32, .offset = 100, .member = offsetof(struct wire_model_info_reply, threads),
      .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "bos", .type = WIRE_U32, .offset = 104, .member = offsetof(struct wire_model_info_reply, bos),
      .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "eos", .type = WIRE_U32, .offset = 108, .member = offsetof(struct wire_model_info_reply, eos),
      .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "end_ids", .type = WIRE_LIST, .offset = 112,
      .member = offsetof(struct wire_model_info_reply, end_ids), .minimum = 0u, .maximum = 0x400u },
    { .name = "pages", .type = WIRE_LIST, .offset = 120, .member = offsetof(struct wire_model_info_reply, pages),
      .minimum = 0u, .maximum = 0x10u, .record = &wire_page_bytes_record },
    { .name = "file_bytes", .type = WIRE_U64, .offset = 128,
      .member = offsetof(struct wire_model_info_reply, file_bytes), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "weight_bytes", .type = WIRE_U64, .offset = 136,
      .member = offsetof(struct wire_model_info_reply, weight_bytes), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "kv_bytes", .type = WIRE_U64, .offset = 144,
      .member = offsetof(struct wire_model_info_reply, kv_bytes), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "scratch_bytes", .type = WIRE_U64, .offset = 152,
      .member = offsetof(struct wire_model_info_reply, scratch_bytes), .minimum = 0u,
      .maximum = 0xffffffffffffffffu },
    { .name = "checksum", .type = WIRE_U64, .offset = 160,
      .member = offsetof(struct wire_model_info_reply, checksum), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "load_bytes_done", .type = WIRE_U64, .offset = 168,
      .member = offsetof(struct wire_model_info_reply, load_bytes_done), .minimum = 0u,
      .maximum = 0xffffffffffffffffu },
    { .name = "load_bytes_total", .type = WIRE_U64, .offset = 176,
      .member = offsetof(struct wire_model_info_reply, load_bytes_total), .minimum = 0u,
      .maximum = 0xffffffffffffffffu },
    { .name = "load_ns", .type = WIRE_U64, .offset = 184, .member = offsetof(struct wire_model_info_reply, load_ns),
      .minimum = 0u, .maximum = 0xffffffffffffffffu },
};

static const struct wire_field tlvs_model_info_reply[] = {
    { .name = "template", .type = WIRE_BYTES, .offset = 1,
      .member = offsetof(struct wire_model_info_reply, template), .minimum = 0u, .maximum = 0xc000u },
    { .name = "sha256", .type = WIRE_BYTES, .offset = 2, .member = offsetof(struct wire_model_info_reply, sha256),
      .minimum = 32u, .maximum = 0x20u },
    { .name = "note", .type = WIRE_BYTES, .offset = 3, .member = offsetof(struct wire_model_info_reply, note),
      .minimum = 0u, .maximum = 0x800u },
    { .name = "kernels", .type = WIRE_BYTES, .offset = 4, .member = offsetof(struct wire_model_info_reply, kernels),
      .minimum = 0u, .maximum = 0x800u },
};

const struct wire_message wire_model_info_reply_message = {
    .name = "MODEL_INFO_REPLY", .type = 0x8102, .kind = 0,
    .fixed_bytes = 192, .struct_bytes = sizeof(struct wire_model_info_reply),
    .field_count = 28, .tlv_count = 4,
    .present_member = offsetof(struct wire_model_info_reply, present),
    .fields = fields_model_info_reply,
    .tlvs = tlvs_model_info_reply,
};
_Static_assert(sizeof(struct wire_model_info_reply) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_tokenize[] = {
    { .name = "model", .type = WIRE_BYTES, .offset = 8, .member = offsetof(struct wire_tokenize, model),
      .minimum = 0u, .maximum = 0x100u },
    { .name = "segments", .type = WIRE_LIST, .offset = 16, .member = offsetof(struct wire_tokenize, segments),
      .minimum = 0u, .maximum = 0x1000u, .flags = WIRE_FIELD_LIMIT, .record = &wire_segment_record,
      .total_maximum = WIRE_LIMIT_PROMPT_INLINE },
    { .name = "flags", .type = WIRE_U32, .offset = 24, .member = offsetof(struct wire_tokenize, flags),
      .minimum = 0u, .maximum = 0xffffffffu, .names = &names_flag_prompt },
};

const struct wire_message wire_tokenize_message = {
    .name = "TOKENIZE", .type = 0x0201, .kind = 0,
    .fixed_bytes = 32, .struct_bytes = sizeof(struct wire_tokenize),
    .field_count = 3, .tlv_count = 0,
    .fields = fields_tokenize,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_tokenize) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_tokenize_reply[] = {
    { .name = "first", .type = WIRE_U32, .offset = 8, .member = offsetof(struct wire_tokenize_reply, first),
      .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "total", .type = WIRE_U32, .offset = 12, .member = offsetof(struct wire_tokenize_reply, total),
      .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "ids", .type = WIRE_LIST, .offset = 16, .member = offsetof(struct wire_tokenize_reply, ids),
      .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "offsets", .type = WIRE_LIST, .offset = 24, .member = offsetof(struct wire_tokenize_reply, offsets),
      .minimum = 0u, .maximum = 0xffffffffu, .same_count = &fields_tokenize_reply[2] },
};

const struct wire_message wire_tokenize_reply_message = {
    .name = "TOKENIZE_REPLY", .type = 0x8201, .kind = 0,
    .fixed_bytes = 32, .struct_bytes = sizeof(struct wire_tokenize_reply),
    .field_count = 4, .tlv_count = 0,
    .fields = fields_tokenize_reply,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_tokenize_reply) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_detokenize[] = {
    { .name = "model", .type = WIRE_BYTES, .offset = 8, .member = offsetof(struct wire_detokenize, model),
      .minimum = 0u, .maximum = 0x100u },
    { .name = "ids", .type = WIRE_LIST, .offset = 16, .member = offsetof(struct wire_detokenize, ids),
      .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "flags", .type = WIRE_U32, .offset = 24, .member = offsetof(struct wire_detokenize, flags),
      .minimum = 0u, .maximum = 0xffffffffu, .names = &names_flag_detokenize },
};

const struct wire_message wire_detokenize_message = {
    .name = "DETOKENIZE", .type = 0x0202, .kind = 0,
    .fixed_bytes = 32, .struct_bytes = sizeof(struct wire_detokenize),
    .field_count = 3, .tlv_count = 0,
    .fields = fields_detokenize,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_detokenize) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_detokenize_reply[] = {
    { .name = "text", .type = WIRE_BYTES, .offset = 8, .member = offsetof(struct wire_detokenize_reply, text),
      .minimum = 0u, .maximum = 0xffffffffu },
};

const struct wire_message wire_detokenize_reply_message = {
    .name = "DETOKENIZE_REPLY", .type = 0x8202, .kind = 0,
    .fixed_bytes = 16, .struct_bytes = sizeof(struct wire_detokenize_reply),
    .field_count = 1, .tlv_count = 0,
    .fields = fields_detokenize_reply,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_detokenize_reply) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_generate[] = {
    { .name = "model", .type = WIRE_BYTES, .offset = 8, .member = offsetof(struct wire_generate, model),
      .minimum = 0u, .maximum = 0x100u },
    { .name = "segments", .type = WIRE_LIST, .offset = 16, .member = offsetof(struct wire_generate, segments),
      .minimum = 1u, .maximum = 0x1000u, .flags = WIRE_FIELD_LIMIT, .record = &wire_segment_record,
      .total_maximum = WIRE_LIMIT_PROMPT_INLINE },
    { .name = "max_tokens", .type = WIRE_U32, .offset = 24, .member = offsetof(struct wire_generate, max_tokens),
      .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "temperature", .type = WIRE_F32, .offset = 28, .member = offsetof(struct wire_generate, temperature),
      .float_minimum = 0.0009765625, .float_maximum = 1024.0, .flags = WIRE_FIELD_ZERO },
    { .name = "top_p", .type = WIRE_F32, .offset = 32, .member = offsetof(struct wire_generate, top_p),
      .float_minimum = 0.0, .float_maximum = 1.0 },
    { .name = "min_p", .type = WIRE_F32, .offset = 36, .member = offsetof(struct wire_generate, min_p),
      .float_minimum = 0.0, .float_maximum = 1.0 },
    { .name = "typical_p", .type = WIRE_F32, .offset = 40, .member = offsetof(struct wire_generate, typical_p),
      .float_minimum = 0.0, .float_maximum = 1.0 },
    { .name = "repeat_penalty", .type = WIRE_F32, .offset = 44,
      .member = offsetof(struct wire_generate, repeat_penalty), .float_minimum = 0.0, .float_maximum = 1000.0 },
    { .name = "presence_penalty", .type = WIRE_F32, .offset = 48,
      .member = offsetof(struct wire_generate, presence_penalty), .float_minimum = -100.0, .float_maximum = 100.0 },
    { .name = "frequency_penalty", .type = WIRE_F32, .offset = 52,
      .member = offsetof(struct wire_generate, frequency_penalty), .float_minimum = -100.0, .float_maximum = 100.0 },
    { .name = "repeat_last_n", .type = WIRE_U32, .offset = 56,
      .member = offsetof(struct wire_generate, repeat_last_n), .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "top_k", .type = WIRE_U32, .offset = 60, .member = offsetof(struct wire_generate, top_k),
      .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "seed", .type = WIRE_U64, .offset = 64, .member = offsetof(struct wire_generate, seed), .minimum = 0u,
      .maximum = 0xffffffffffffffffu },
    { .name = "n_logprobs", .type = WIRE_U32, .offset = 72, .member = offsetof(struct wire_generate, n_logprobs),
      .minimum = 0u, .maximum = 0x14u, .flags = WIRE_FIELD_LIMIT },
    { .name = "credits", .type = WIRE_U32, .offset = 76, .member = offsetof(struct wire_generate, credits),
      .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "deadline_ms", .type = WIRE_U32, .offset = 80, .member = offsetof(struct wire_generate, deadline_ms),
      .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "flags", .type = WIRE_U32, .offset = 84, .member = offsetof(struct wire_generate, flags),
      .minimum = 0u, .maximum = 0xffffffffu, .names = &names_flag_generate },
};

static const struct wire_field tlvs_generate[] = {
    { .name = "stop_strings", .type = WIRE_STRINGS, .offset = 1,
      .member = offsetof(struct wire_generate, stop_strings), .minimum = 0u, .maximum = 0x10u,
      .flags = WIRE_FIELD_LIMIT, .item_minimum = 1, .item_maximum = WIRE_LIMIT_STOP_STRING },
    { .name = "stop_ids", .type = WIRE_LIST, .offset = 2, .member = offsetof(struct wire_generate, stop_ids),
      .minimum = 0u, .maximum = 0x40u, .flags = WIRE_FIELD_LIMIT },
    { .name = "logit_bias", .type = WIRE_LIST, .offset = 3, .member = offsetof(struct wire_generate, logit_bias),
      .minimum = 0u, .maximum = 0x400u, .flags = WIRE_FIELD_LIMIT, .record = &wire_bias_record },
    { .name = "grammar", .type = WIRE_BYTES, .offset = 4, .member = offsetof(struct wire_generate, grammar),
      .minimum = 0u, .maximum = 0x10000u, .flags = WIRE_FIELD_LIMIT },
    { .name = "cache_key", .type = WIRE_BYTES, .offset = 5, .member = offsetof(struct wire_generate, cache_key),
      .minimum = 0u, .maximum = 0x40u },
    { .name = "priority", .type = WIRE_U32, .offset = 6, .member = offsetof(struct wire_generate, priority),
      .minimum = 0u, .maximum = 0xffu },
    { .name = "traceparent", .type = WIRE_BYTES, .offset = 7, .member = offsetof(struct wire_generate, traceparent),
      .minimum = 0u, .maximum = 0x80u },
};

const struct wire_message wire_generate_message = {
    .name = "GENERATE", .type = 0x0301, .kind = 0,
    .fixed_bytes = 88, .struct_bytes = sizeof(struct wire_generate),
    .field_count = 17, .tlv_count = 7,
    .present_member = offsetof(struct wire_generate, present),
    .fields = fields_generate,
    .tlvs = tlvs_generate,
};
_Static_assert(sizeof(struct wire_generate) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_started[] = {
    { .name = "kind", .type = WIRE_U32, .offset = 8, .member = offsetof(struct wire_started, kind), .minimum = 0u,
      .maximum = 0xffffffffu, .names = &names_started_kind },
    { .name = "prompt_tokens", .type = WIRE_U32, .offset = 12,
      .member = offsetof(struct wire_started, prompt_tokens), .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "cached_tokens", .type = WIRE_U32, .offset = 16,
      .member = offsetof(struct wire_started, cached_tokens), .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "queue_ns", .type = WIRE_U64, .offset = 24, .member = offsetof(struct wire_started, queue_ns),
      .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "seed", .type = WIRE_U64, .offset = 32, .member = offsetof(struct wire_started, seed), .minimum = 0u,
      .maximum = 0xffffffffffffffffu },
};

const struct wire_message wire_started_message = {
    .name = "STARTED", .type = 0x8301, .kind = 1,
    .fixed_bytes = 40, .struct_bytes = sizeof(struct wire_started),
    .field_count = 5, .tlv_count = 0,
    .fields = fields_started,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_started) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_tokens[] = {
    { .name = "kind", .type = WIRE_U32, .offset = 8, .member = offsetof(struct wire_tokens, kind), .minimum = 0u,
      .maximum = 0xffffffffu, .names = &names_tokens_kind },
    { .name = "tokens", .type = WIRE_LIST, .offset = 12, .member = offsetof(struct wire_tokens, tokens),
      .minimum = 0u, .maximum = 0xffffffffu, .record = &wire_token_record },
    { .name = "alternatives", .type = WIRE_LIST, .offset = 20, .member = offsetof(struct wire_tokens, alternatives),
      .minimum = 0u, .maximum = 0xffffffffu, .record = &wire_logprob_record },
    { .name = "text", .type = WIRE_BYTES, .offset = 28, .member = offsetof(struct wire_tokens, text), .minimum = 0u,
      .maximum = 0xffffffffu },
};

const struct wire_message wire_tokens_message = {
    .name = "TOKENS", .type = 0x8301, .kind = 2,
    .fixed_bytes = 40, .struct_bytes = sizeof(struct wire_tokens),
    .field_count = 4, .tlv_count = 0,
    .fields = fields_tokens,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_tokens) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_done[] = {
    { .name = "kind", .type = WIRE_U32, .offset = 8, .member = offsetof(struct wire_done, kind), .minimum = 0u,
      .maximum = 0xffffffffu, .names = &names_done_kind },
    { .name = "reason", .type = WIRE_U32, .offset = 12, .member = offsetof(struct wire_done, reason), .minimum = 0u,
      .maximum = 0xffffffffu, .names = &names_reason },
    { .name = "prompt_tokens", .type = WIRE_U32, .offset = 16, .member = offsetof(struct wire_done, prompt_tokens),
      .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "cached_tokens", .type = WIRE_U32, .offset = 20, .member = offsetof(struct wire_done, cached_tokens),
      .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "generated_tokens", .type = WIRE_U32, .offset = 24,
      .member = offsetof(struct wire_done, generated_tokens), .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "text_offset", .type = WIRE_U32, .offset = 28, .member = offsetof(struct wire_done, text_offset),
      .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "text", .type = WIRE_BYTES, .offset = 32, .member = offsetof(struct wire_done, text), .minimum = 0u,
      .maximum = 0xffffffffu },
    { .name = "queue_ns", .type = WIRE_U64, .offset = 40, .member = offsetof(struct wire_done, queue_ns),
      .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "prefill_ns", .type = WIRE_U64, .offset = 48, .member = offsetof(struct wire_done, prefill_ns),
      .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "decode_ns", .type = WIRE_U64, .offset = 56, .member = offsetof(struct wire_done, decode_ns),
      .minimum = 0u, .maximum = 0xffffffffffffffffu },
};

const struct wire_message wire_done_message = {
    .name = "DONE", .type = 0x8301, .kind = 3,
    .fixed_bytes = 64, .struct_bytes = sizeof(struct wire_done),
    .field_count = 10, .tlv_count = 0,
    .fields = fields_done,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_done) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_score[] = {
    { .name = "model", .type = WIRE_BYTES, .offset = 8, .member = offsetof(struct wire_score, model), .minimum = 0u,
      .maximum = 0x100u },
    { .name = "segments", .type = WIRE_LIST, .offset = 16, .member = offsetof(struct wire_score, segments),
      .minimum = 1u, .maximum = 0x1000u, .flags = WIRE_FIELD_LIMIT, .record = &wire_segment_record,
      .total_maximum = WIRE_LIMIT_PROMPT_INLINE },
    { .name = "from", .type = WIRE_U32, .offset = 24, .member = offsetof(struct wire_score, from), .minimum = 1u,
      .maximum = 0xffffffffu, .flags = WIRE_FIELD_ZERO },
    { .name = "flags", .type = WIRE_U32, .offset = 28, .member = offsetof(struct wire_score, flags), .minimum = 0u,
      .maximum = 0xffffffffu, .names = &names_flag_prompt },
    { .name = "deadline_ms", .type = WIRE_U32, .offset = 32, .member = offsetof(struct wire_score, deadline_ms),
      .minimum = 0u, .maximum = 0xffffffffu },
};

const struct wire_message wire_score_message = {
    .name = "SCORE", .type = 0x0321, .kind = 0,
    .fixed_bytes = 40, .struct_bytes = sizeof(struct wire_score),
    .field_count = 5, .tlv_count = 0,
    .fields = fields_score,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_score) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_score_reply[] = {
    { .name = "first", .type = WIRE_U32, .offset = 8, .member = offsetof(struct wire_score_reply, first),
      .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "total", .type = WIRE_U32, .offset = 12, .member = offsetof(struct wire_score_reply, total),
      .minimum = 0u, .maximum = 0xffffffffu },
    { .name = "scores", .type = WIRE_LIST, .offset = 16, .member = offsetof(struct wire_score_reply, scores),
      .minimum = 0u, .maximum = 0xffffffffu, .record = &wire_logprob_record },
    { .name = "sum", .type = WIRE_F64, .offset = 24, .member = offsetof(struct wire_score_reply, sum),
      .float_minimum = -1.7976931348623157e308, .float_maximum = 1.7976931348623157e308 },
};

const struct wire_message wire_score_reply_message = {
    .name = "SCORE_REPLY", .type = 0x8321, .kind = 0,
    .fixed_bytes = 32, .struct_bytes = sizeof(struct wire_score_reply),
    .field_count = 4, .tlv_count = 0,
    .fields = fields_score_reply,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_score_reply) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_stats[] = {
    { .name = "format", .type = WIRE_U32, .offset = 8, .member = offsetof(struct wire_stats, format), .minimum = 0u,
      .maximum = 0xffffffffu, .names = &names_stats_format },
};

const struct wire_message wire_stats_message = {
    .name = "STATS", .type = 0x0401, .kind = 0,
    .fixed_bytes = 16, .struct_bytes = sizeof(struct wire_stats),
    .field_count = 1, .tlv_count = 0,
    .fields = fields_stats,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_stats) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_stats_reply[] = {
    { .name = "format", .type = WIRE_U32, .offset = 8, .member = offsetof(struct wire_stats_reply, format),
      .minimum = 0u, .maximum = 0xffffffffu, .names = &names_stats_format },
    { .name = "text", .type = WIRE_BYTES, .offset = 12, .member = offsetof(struct wire_stats_reply, text),
      .minimum = 0u, .maximum = 0xffffffffu },
};

static const struct wire_field tlvs_stats_reply[] = {
    { .name = "uptime_ns", .type = WIRE_U64, .offset = 1, .member = offsetof(struct wire_stats_reply, uptime_ns),
      .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "connections", .type = WIRE_U64, .offset = 2,
      .member = offsetof(struct wire_stats_reply, connections), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "connections_total", .type = WIRE_U64, .offset = 3,
      .member = offsetof(struct wire_stats_reply, connections_total), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "requests_total", .type = WIRE_U64, .offset = 4,
      .member = offsetof(struct wire_stats_reply, requests_total), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "requests_running", .type = WIRE_U64, .offset = 5,
      .member = offsetof(struct wire_stats_reply, requests_running), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "requests_waiting", .type = WIRE_U64, .offset = 6,
      .member = offsetof(struct wire_stats_reply, requests_waiting), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "requests_parked", .type = WIRE_U64, .offset = 7,
      .member = offsetof(struct wire_stats_reply, requests_parked), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "prompt_tokens_total", .type = WIRE_U64, .offset = 8,
      .member = offsetof(struct wire_stats_reply, prompt_tokens_total), .minimum = 0u,
      .maximum = 0xffffffffffffffffu },
    { .name = "cached_tokens_total", .type = WIRE_U64, .offset = 9,
      .member = offsetof(struct wire_stats_reply, cached_tokens_total), .minimum = 0u,
      .maximum = 0xffffffffffffffffu },
    { .name = "generated_tokens_total", .type = WIRE_U64, .offset = 10,
      .member = offsetof(struct wire_stats_reply, generated_tokens_total), .minimum = 0u,
      .maximum = 0xffffffffffffffffu },
    { .name = "done_stop_total", .type = WIRE_U64, .offset = 11,
      .member = offsetof(struct wire_stats_reply, done_stop_total), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "done_length_total", .type = WIRE_U64, .offset = 12,
      .member = offsetof(struct wire_stats_reply, done_length_total), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "done_eos_total", .type = WIRE_U64, .offset = 13,
      .member = offsetof(struct wire_stats_reply, done_eos_total), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "done_cancelled_total", .type = WIRE_U64, .offset = 14,
      .member = offsetof(struct wire_stats_reply, done_cancelled_total), .minimum = 0u,
      .maximum = 0xffffffffffffffffu },
    { .name = "done_deadline_total", .type = WIRE_U64, .offset = 15,
      .member = offsetof(struct wire_stats_reply, done_deadline_total), .minimum = 0u,
      .maximum = 0xffffffffffffffffu },
    { .name = "done_failed_total", .type = WIRE_U64, .offset = 16,
      .member = offsetof(struct wire_stats_reply, done_failed_total), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "errors_total", .type = WIRE_U64, .offset = 17,
      .member = offsetof(struct wire_stats_reply, errors_total), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "busy_total", .type = WIRE_U64, .offset = 18, .member = offsetof(struct wire_stats_reply, busy_total),
      .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "framing_errors_total", .type = WIRE_U64, .offset = 19,
      .member = offsetof(struct wire_stats_reply, framing_errors_total), .minimum = 0u,
      .maximum = 0xffffffffffffffffu },
    { .name = "steps_total", .type = WIRE_U64, .offset = 20,
      .member = offsetof(struct wire_stats_reply, steps_total), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "step_ns_total", .type = WIRE_U64, .offset = 21,
      .member = offsetof(struct wire_stats_reply, step_ns_total), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "kv_blocks_used", .type = WIRE_U64, .offset = 22,
      .member = offsetof(struct wire_stats_reply, kv_blocks_used), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "kv_blocks", .type = WIRE_U64, .offset = 23, .member = offsetof(struct wire_stats_reply, kv_blocks),
      .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "received_bytes_total", .type = WIRE_U64, .offset = 24,
      .member = offsetof(struct wire_stats_reply, received_bytes_total), .minimum = 0u,
      .maximum = 0xffffffffffffffffu },
    { .name = "sent_bytes_total", .type = WIRE_U64, .offset = 25,
      .member = offsetof(struct wire_stats_reply, sent_bytes_total), .minimum = 0u, .maximum = 0xffffffffffffffffu },
};

const struct wire_message wire_stats_reply_message = {
    .name = "STATS_REPLY", .type = 0x8401, .kind = 0,
    .fixed_bytes = 24, .struct_bytes = sizeof(struct wire_stats_reply),
    .field_count = 2, .tlv_count = 25,
    .present_member = offsetof(struct wire_stats_reply, present),
    .fields = fields_stats_reply,
    .tlvs = tlvs_stats_reply,
};
_Static_assert(sizeof(struct wire_stats_reply) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_subscribe[] = {
    { .name = "mask", .type = WIRE_U32, .offset = 8, .member = offsetof(struct wire_subscribe, mask), .minimum = 0u,
      .maximum = 0xffffffffu, .names = &names_flag_event },
};

const struct wire_message wire_subscribe_message = {
    .name = "SUBSCRIBE", .type = 0x0402, .kind = 0,
    .fixed_bytes = 16, .struct_bytes = sizeof(struct wire_subscribe),
    .field_count = 1, .tlv_count = 0,
    .fields = fields_subscribe,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_subscribe) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_event[] = {
    { .name = "event", .type = WIRE_U32, .offset = 8, .member = offsetof(struct wire_event, event), .minimum = 0u,
      .maximum = 0xffffffffu, .names = &names_event_kind },
    { .name = "state", .type = WIRE_U32, .offset = 12, .member = offsetof(struct wire_event, state), .minimum = 0u,
      .maximum = 0xffffffffu, .names = &names_model_state },
    { .name = "model", .type = WIRE_BYTES, .offset = 16, .member = offsetof(struct wire_event, model),
      .minimum = 0u, .maximum = 0x100u },
    { .name = "bytes_done", .type = WIRE_U64, .offset = 24, .member = offsetof(struct wire_event, bytes_done),
      .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "bytes_total", .type = WIRE_U64, .offset = 32, .member = offsetof(struct wire_event, bytes_total),
      .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "time_ns", .type = WIRE_U64, .offset = 40, .member = offsetof(struct wire_event, time_ns),
      .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "note", .type = WIRE_BYTES, .offset = 48, .member = offsetof(struct wire_event, note), .minimum = 0u,
      .maximum = 0x800u },
};

const struct wire_message wire_event_message = {
    .name = "EVENT", .type = 0x8402, .kind = 0,
    .fixed_bytes = 56, .struct_bytes = sizeof(struct wire_event),
    .field_count = 7, .tlv_count = 0,
    .fields = fields_event,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_event) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_load[] = {
    { .name = "model", .type = WIRE_BYTES, .offset = 8, .member = offsetof(struct wire_load, model), .minimum = 1u,
      .maximum = 0x100u },
};

const struct wire_message wire_load_message = {
    .name = "LOAD", .type = 0x0501, .kind = 0,
    .fixed_bytes = 16, .struct_bytes = sizeof(struct wire_load),
    .field_count = 1, .tlv_count = 0,
    .fields = fields_load,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_load) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_load_reply[] = {
    { .name = "state", .type = WIRE_U32, .offset = 8, .member = offsetof(struct wire_load_reply, state),
      .minimum = 0u, .maximum = 0xffffffffu, .names = &names_model_state },
    { .name = "bytes_done", .type = WIRE_U64, .offset = 16, .member = offsetof(struct wire_load_reply, bytes_done),
      .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "bytes_total", .type = WIRE_U64, .offset = 24,
      .member = offsetof(struct wire_load_reply, bytes_total), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "note", .type = WIRE_BYTES, .offset = 32, .member = offsetof(struct wire_load_reply, note),
      .minimum = 0u, .maximum = 0x800u },
};

const struct wire_message wire_load_reply_message = {
    .name = "LOAD_REPLY", .type = 0x8501, .kind = 0,
    .fixed_bytes = 40, .struct_bytes = sizeof(struct wire_load_reply),
    .field_count = 4, .tlv_count = 0,
    .fields = fields_load_reply,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_load_reply) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_unload[] = {
    { .name = "model", .type = WIRE_BYTES, .offset = 8, .member = offsetof(struct wire_unload, model),
      .minimum = 1u, .maximum = 0x100u },
    { .name = "drain_ms", .type = WIRE_U32, .offset = 16, .member = offsetof(struct wire_unload, drain_ms),
      .minimum = 0u, .maximum = 0xffffffffu },
};

const struct wire_message wire_unload_message = {
    .name = "UNLOAD", .type = 0x0502, .kind = 0,
    .fixed_bytes = 24, .struct_bytes = sizeof(struct wire_unload),
    .field_count = 2, .tlv_count = 0,
    .fields = fields_unload,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_unload) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

const struct wire_message wire_unload_reply_message = {
    .name = "UNLOAD_REPLY", .type = 0x8502, .kind = 0,
    .fixed_bytes = 8, .struct_bytes = sizeof(struct wire_unload_reply),
    .field_count = 0, .tlv_count = 0,
    .fields = NULL,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_unload_reply) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

const struct wire_message wire_reload_message = {
    .name = "RELOAD", .type = 0x0503, .kind = 0,
    .fixed_bytes = 8, .struct_bytes = sizeof(struct wire_reload),
    .field_count = 0, .tlv_count = 0,
    .fields = NULL,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_reload) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_reload_reply[] = {
    { .name = "difference", .type = WIRE_BYTES, .offset = 8,
      .member = offsetof(struct wire_reload_reply, difference), .minimum = 0u, .maximum = 0x8000u },
};

const struct wire_message wire_reload_reply_message = {
    .name = "RELOAD_REPLY", .type = 0x8503, .kind = 0,
    .fixed_bytes = 16, .struct_bytes = sizeof(struct wire_reload_reply),
    .field_count = 1, .tlv_count = 0,
    .fields = fields_reload_reply,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_reload_reply) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_drain[] = {
    { .name = "deadline_ms", .type = WIRE_U32, .offset = 8, .member = offsetof(struct wire_drain, deadline_ms),
      .minimum = 0u, .maximum = 0xffffffffu },
};

const struct wire_message wire_drain_message = {
    .name = "DRAIN", .type = 0x0504, .kind = 0,
    .fixed_bytes = 16, .struct_bytes = sizeof(struct wire_drain),
    .field_count = 1, .tlv_count = 0,
    .fields = fields_drain,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_drain) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

const struct wire_message wire_drain_reply_message = {
    .name = "DRAIN_REPLY", .type = 0x8504, .kind = 0,
    .fixed_bytes = 8, .struct_bytes = sizeof(struct wire_drain_reply),
    .field_count = 0, .tlv_count = 0,
    .fields = NULL,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_drain_reply) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_log_level[] = {
    { .name = "level", .type = WIRE_U32, .offset = 8, .member = offsetof(struct wire_log_level, level),
      .minimum = 0u, .maximum = 0xffffffffu, .names = &names_log_priority },
};

const struct wire_message wire_log_level_message = {
    .name = "LOG_LEVEL", .type = 0x0505, .kind = 0,
    .fixed_bytes = 16, .struct_bytes = sizeof(struct wire_log_level),
    .field_count = 1, .tlv_count = 0,
    .fields = fields_log_level,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_log_level) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_log_level_reply[] = {
    { .name = "previous", .type = WIRE_U32, .offset = 8, .member = offsetof(struct wire_log_level_reply, previous),
      .minimum = 0u, .maximum = 0xffffffffu },
};

const struct wire_message wire_log_level_reply_message = {
    .name = "LOG_LEVEL_REPLY", .type = 0x8505, .kind = 0,
    .fixed_bytes = 16, .struct_bytes = sizeof(struct wire_log_level_reply),
    .field_count = 1, .tlv_count = 0,
    .fields = fields_log_level_reply,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_log_level_reply) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_swap[] = {
    { .name = "model", .type = WIRE_BYTES, .offset = 8, .member = offsetof(struct wire_swap, model), .minimum = 1u,
      .maximum = 0x100u },
    { .name = "replacement", .type = WIRE_BYTES, .offset = 16, .member = offsetof(struct wire_swap, replacement),
      .minimum = 0u, .maximum = 0x100u },
    { .name = "drain_ms", .type = WIRE_U32, .offset = 24, .member = offsetof(struct wire_swap, drain_ms),
      .minimum = 0u, .maximum = 0xffffffffu },
};

const struct wire_message wire_swap_message = {
    .name = "SWAP", .type = 0x0506, .kind = 0,
    .fixed_bytes = 32, .struct_bytes = sizeof(struct wire_swap),
    .field_count = 3, .tlv_count = 0,
    .fields = fields_swap,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_swap) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

static const struct wire_field fields_swap_reply[] = {
    { .name = "state", .type = WIRE_U32, .offset = 8, .member = offsetof(struct wire_swap_reply, state),
      .minimum = 0u, .maximum = 0xffffffffu, .names = &names_model_state },
    { .name = "bytes_done", .type = WIRE_U64, .offset = 16, .member = offsetof(struct wire_swap_reply, bytes_done),
      .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "bytes_total", .type = WIRE_U64, .offset = 24,
      .member = offsetof(struct wire_swap_reply, bytes_total), .minimum = 0u, .maximum = 0xffffffffffffffffu },
    { .name = "note", .type = WIRE_BYTES, .offset = 32, .member = offsetof(struct wire_swap_reply, note),
      .minimum = 0u, .maximum = 0x800u },
};

const struct wire_message wire_swap_reply_message = {
    .name = "SWAP_REPLY", .type = 0x8506, .kind = 0,
    .fixed_bytes = 40, .struct_bytes = sizeof(struct wire_swap_reply),
    .field_count = 4, .tlv_count = 0,
    .fields = fields_swap_reply,
    .tlvs = NULL,
};
_Static_assert(sizeof(struct wire_swap_reply) <= WIRE_STRUCT_MAX, "wire_decode() works on a copy");

const struct wire_message *const wire_messages[WIRE_MESSAGE_COUNT] = {
    &wire_error_message,
    &wire_hello_message,
    &wire_hello_ok_message,
    &wire_ping_message,
    &wire_pong_message,
    &wire_goaway_message,
    &wire_cancel_message,
    &wire_grant_message,
    &wire_model_list_message,
    &wire_model_list_reply_message,
    &wire_model_info_message,
    &wire_model_info_reply_message,
    &wire_tokenize_message,
    &wire_tokenize_reply_message,
    &wire_detokenize_message,
    &wire_detokenize_reply_message,
    &wire_generate_message,
    &wire_started_message,
    &wire_tokens_message,
    &wire_done_message,
    &wire_score_message,
    &wire_score_reply_message,
    &wire_stats_message,
    &wire_stats_reply_message,
    &wire_subscribe_message,
    &wire_event_message,
    &wire_load_message,
    &wire_load_reply_message,
    &wire_unload_message,
    &wire_unload_reply_message,
    &wire_reload_message,
    &wire_reload_reply_message,
    &wire_drain_message,
    &wire_drain_reply_message,
    &wire_log_level_message,
    &wire_log_level_reply_message,
    &wire_swap_message,
    &wire_swap_reply_message,
};

const struct wire_type wire_types[WIRE_TYPE_COUNT] = {
    { 0x0001, "HELLO", .from_client = true,
      .fds = 0, .since = 1 },
    { 0x0002, "PING", .from_client = true, .from_server = true,
      .fds = 0, .since = 1 },
    { 0x0003, "GOAWAY", .from_server = true,
      .fds = 0, .since = 1 },
    { 0x0004, "CANCEL", .from_client = true,
      .fds = 0, .since = 1 },
    { 0x0005, "GRANT", .from_client = true,
      .fds = 0, .since = 1 },
    { 0x0101, "MODEL_LIST", .from_client = true,
      .fds = 0, .since = 1 },
    { 0x0102, "MODEL_INFO", .from_client = true,
      .fds = 0, .since = 1 },
    { 0x0201, "TOKENIZE", .from_client = true,
      .fds = 4, .since = 1 },
    { 0x0202, "DETOKENIZE", .from_client = true,
      .fds = 0, .since = 1 },
    { 0x0301, "GENERATE", .from_client = true,
      .fds = 4, .since = 1 },
    { 0x0311, "EMBED", .from_client = true, .reserved = true,
      .fds = 0, .since = 1 },
    { 0x0312, "RERANK", .from_client = true, .reserved = true,
      .fds = 0, .since = 1 },
    { 0x0313, "PREFIX", .from_client = true, .reserved = true,
      .fds = 0, .since = 1 },
    { 0x0321, "SCORE", .from_client = true,
      .fds = 4, .since = 1 },
    { 0x0401, "STATS", .from_client = true,
      .fds = 0, .since = 1 },
    { 0x0402, "SUBSCRIBE", .from_client = true,
      .fds = 0, .since = 1 },
    { 0x0501, "LOAD", .from_client = true, .admin = true,
      .fds = 1, .since = 1 },
    { 0x0502, "UNLOAD", .from_client = true, .admin = true,
      .fds = 0, .since = 1 },
    { 0x0503, "RELOAD", .from_client = true, .admin = true,
      .fds = 0, .since = 1 },
    { 0x0504, "DRAIN", .from_client = true, .admin = true,
      .fds = 0, .since = 1 },
    { 0x0505, "LOG_LEVEL", .from_client = true, .admin = true,
      .fds = 0, .since = 1 },
    { 0x0506, "SWAP", .from_client = true, .admin = true,
      .fds = 1, .since = 1 },
    { 0x0507, "ADAPTER", .from_client = true, .admin = true, .reserved = true,
      .fds = 0, .since = 1 },
};

const struct wire_code_info wire_codes[WIRE_CODE_MAX + 1] = {
    [1] = { "PROTOCOL", "INVALID_ARGUMENT", 400 },
    [2] = { "VERSION", "FAILED_PRECONDITION", 400 },
    [3] = { "UNSUPPORTED", "UNIMPLEMENTED", 501 },
    [4] = { "INVALID", "INVALID_ARGUMENT", 400 },
    [5] = { "NOT_FOUND", "NOT_FOUND", 404 },
    [6] = { "PERMISSION", "PERMISSION_DENIED", 403 },
    [7] = { "BUSY", "RESOURCE_EXHAUSTED", 429 },
    [8] = { "CONTEXT_TOO_LONG", "OUT_OF_RANGE", 413 },
    [9] = { "CANCELLED", "CANCELLED", 499 },
    [10] = { "DEADLINE", "DEADLINE_EXCEEDED", 504 },
    [11] = { "DRAINING", "UNAVAILABLE", 503 },
    [12] = { "NO_MEMORY", "RESOURCE_EXHAUSTED", 503 },
    [13] = { "IO", "INTERNAL", 500 },
    [14] = { "MODEL_CORRUPT", "DATA_LOSS", 500 },
    [15] = { "GRAMMAR", "INVALID_ARGUMENT", 400 },
    [16] = { "LIMIT", "OUT_OF_RANGE", 413 },
    [17] = { "LOADING", "UNAVAILABLE", 503 },
    [18] = { "INTERNAL", "INTERNAL", 500 },
};
