-- SPDX-License-Identifier: Apache-2.0
-- Wireshark dissector.  Made by generate.py from wire.json; do not edit.
--
-- A Unix socket is not seen by a capture; put a relay between and record that:
--   socat TCP-LISTEN:5555,bind=127.0.0.1,fork UNIX-CONNECT:/run/tenon/tenon.sock

local enums, flags, records, by_type, reserved = {}, {}, {}, {}, {}
enums.segment_kind = { bits = false, [1] = "TRUSTED_TEXT", [2] = "UNTRUSTED_TEXT", [3] = "TOKEN_IDS", [4] = "TEXT_MEMFD" }
enums.reason = { bits = false, [1] = "STOP", [2] = "LENGTH", [3] = "EOS", [4] = "CANCELLED", [5] = "DEADLINE" }
enums.model_state = { bits = false, [1] = "LOADING", [2] = "READY", [3] = "DRAINING", [4] = "GONE", [5] = "FAILED" }
enums.goaway_reason = { bits = false, [1] = "DRAIN", [2] = "RELOAD", [3] = "SHUTDOWN" }
enums.stats_format = { bits = false, [0] = "COUNTERS", [1] = "PROMETHEUS" }
enums.event_kind = { bits = false, [1] = "LOAD", [2] = "STATE", [3] = "RELOAD" }
enums.log_priority = { bits = false, [3] = "ERROR", [4] = "WARNING", [5] = "NOTICE", [6] = "INFO", [7] = "DEBUG" }
enums.started_kind = { bits = false, [1] = "STARTED" }
enums.tokens_kind = { bits = false, [2] = "TOKENS" }
enums.done_kind = { bits = false, [3] = "DONE" }
flags.generate = { bits = true, [0] = "SEED", [1] = "IGNORE_EOS", [2] = "LOGPROB", [3] = "NO_BOS" }
flags.prompt = { bits = true, [0] = "NO_BOS" }
flags.detokenize = { bits = true, [0] = "CONTROL" }
flags.event = { bits = true, [0] = "LOAD", [1] = "STATE", [2] = "RELOAD" }
flags.model = { bits = true, [0] = "ADD_BOS", [1] = "ADD_EOS", [2] = "PINNED", [3] = "OVERSUBSCRIBED", [4] = "NO_TEMPLATE" }
records.segment = { name = "segment", size = 16, fields = {
    { "kind", "u32", 0, enums.segment_kind },
    { "fd", "u32", 4 },
    { "data", "bytes", 8 },
} }
records.token = { name = "token", size = 20, fields = {
    { "id", "u32", 0 },
    { "logprob", "f32", 4 },
    { "text_offset", "u32", 8 },
    { "text_length", "u32", 12 },
    { "alternatives", "u32", 16 },
} }
records.logprob = { name = "logprob", size = 8, fields = {
    { "id", "u32", 0 },
    { "logprob", "f32", 4 },
} }
records.bias = { name = "bias", size = 8, fields = {
    { "id", "u32", 0 },
    { "bias", "f32", 4 },
} }
records.model_entry = { name = "model_entry", size = 24, fields = {
    { "id", "bytes", 0 },
    { "state", "u32", 8, enums.model_state },
    { "context", "u32", 12 },
    { "bytes", "u64", 16 },
} }
records.page_bytes = { name = "page_bytes", size = 16, fields = {
    { "page_size", "u64", 0 },
    { "bytes", "u64", 8 },
} }
by_type[0x8000] = by_type[0x8000] or {}
by_type[0x8000][0] = { name = "ERROR", fields = {
    { "code", "u32", 8 },
    { "detail", "u32", 12 },
    { "retry_after_ms", "u32", 16 },
    { "message", "bytes", 20 },
}, tlvs = {
} }
by_type[0x0001] = by_type[0x0001] or {}
by_type[0x0001][0] = { name = "HELLO", fields = {
    { "magic", "u32", 8 },
    { "version_min", "u16", 12 },
    { "version_max", "u16", 14 },
    { "capabilities", "u64", 16 },
    { "max_frame", "u32", 24 },
    { "client", "bytes", 28 },
}, tlvs = {
} }
by_type[0x8001] = by_type[0x8001] or {}
by_type[0x8001][0] = { name = "HELLO_OK", fields = {
    { "version", "u16", 8 },
    { "max_fds", "u8", 10 },
    { "capabilities", "u64", 16 },
    { "max_frame", "u32", 24 },
    { "max_in_flight", "u32", 28 },
    { "max_prompt_bytes", "u32", 32 },
    { "credit_default", "u32", 36 },
    { "boot_id", "u64", 40 },
    { "server", "bytes", 48 },
}, tlvs = {
    [1] = { "limit_prompt_memfd", "u64", 1 },
    [2] = { "limit_tlvs", "u64", 2 },
    [3] = { "limit_segments", "u64", 3 },
    [4] = { "limit_grammar", "u64", 4 },
    [5] = { "limit_stop_strings", "u64", 5 },
    [6] = { "limit_stop_string", "u64", 6 },
    [7] = { "limit_stop_ids", "u64", 7 },
    [8] = { "limit_logit_bias", "u64", 8 },
    [9] = { "limit_logprobs", "u64", 9 },
    [10] = { "limit_in_flight_uid", "u64", 10 },
    [11] = { "limit_connections", "u64", 11 },
    [12] = { "limit_connections_uid", "u64", 12 },
    [13] = { "limit_output_queue", "u64", 13 },
    [14] = { "limit_handshake_ms", "u64", 14 },
    [15] = { "limit_frame_ms", "u64", 15 },
    [16] = { "limit_stall_ms", "u64", 16 },
} }
by_type[0x0002] = by_type[0x0002] or {}
by_type[0x0002][0] = { name = "PING", fields = {
    { "opaque", "u64", 8 },
}, tlvs = {
} }
by_type[0x8002] = by_type[0x8002] or {}
by_type[0x8002][0] = { name = "PONG", fields = {
    { "opaque", "u64", 8 },
    { "server_ns", "u64", 16 },
}, tlvs = {
} }
by_type[0x0003] = by_type[0x0003] or {}
by_type[0x0003][0] = { name = "GOAWAY", fields = {
    { "reason", "u32", 8, enums.goaway_reason },
    { "deadline_ms", "u32", 12 },
}, tlvs = {
} }
by_type[0x0004] = by_type[0x0004] or {}
by_type[0x0004][0] = { name = "CANCEL", fields = {
}, tlvs = {
} }
by_type[0x0005] = by_type[0x0005] or {}
by_type[0x0005][0] = { name = "GRANT", fields = {
    { "credits", "u32", 8 },
}, tlvs = {
} }
by_type[0x0101] = by_type[0x0101] or {}
by_type[0x0101][0] = { name = "MODEL_LIST", fields = {
}, tlvs = {
} }
by_type[0x8101] = by_type[0x8101] or {}
by_type[0x8101][0] = { name = "MODEL_LIST_REPLY", fields = {
    { "models", "list", 8, nil, records.model_entry },
}, tlvs = {
} }
by_type[0x0102] = by_type[0x0102] or {}
by_type[0x0102][0] = { name = "MODEL_INFO", fields = {
    { "model", "bytes", 8 },
}, tlvs = {
} }
by_type[0x8102] = by_type[0x8102] or {}
by_type[0x8102][0] = { name = "MODEL_INFO_REPLY", fields = {
    { "id", "bytes", 8 },
    { "state", "u32", 16, enums.model_state },
    { "flags", "u32", 20, flags.model },
    { "architecture", "bytes", 24 },
    { "name", "bytes", 32 },
    { "file_types", "bytes", 40 },
    { "level", "bytes", 48 },
    { "activations", "bytes", 56 },
    { "tokenizer", "bytes", 64 },
    { "pre_tokenizer", "bytes", 72 },
    { "vocab_size", "u32", 80 },
    { "context", "u32", 84 },
    { "context_trained", "u32", 88 },
    { "sequences", "u32", 92 },
    { "nodes", "u32", 96 },
    { "threads", "u32", 100 },
    { "bos", "u32", 104 },
    { "eos", "u32", 108 },
    { "end_ids", "list", 112 },
    { "pages", "list", 120, nil, records.page_bytes },
    { "file_bytes", "u64", 128 },
    { "weight_bytes", "u64", 136 },
    { "kv_bytes", "u64", 144 },
    { "scratch_bytes", "u64", 152 },
    { "checksum", "u64", 160 },
    { "load_bytes_done", "u64", 168 },
    { "load_bytes_total", "u64", 176 },
    { "load_ns", "u64", 184 },
}, tlvs = {
    [1] = { "template", "bytes", 1 },
    [2] = { "sha256", "bytes", 2 },
    [3] = { "note", "bytes", 3 },
    [4] = { "kernels", "bytes", 4 },
} }
by_type[0x0201] = by_type[0x0201] or {}
by_type[0x0201][0] = { name = "TOKENIZE", fields = {
    { "model", "bytes", 8 },
    { "segments", "list", 16, nil, records.segment },
    { "flags", "u32", 24, flags.prompt },
}, tlvs = {
} }
by_type[0x8201] = by_type[0x8201] or {}
by_type[0x8201][0] = { name = "TOKENIZE_REPLY", fields = {
    { "first", "u32", 8 },
    { "total", "u32", 12 },
    { "ids", "list", 16 },
    { "offsets", "list", 24 },
}, tlvs = {
} }
by_type[0x0202] = by_type[0x0202] or {}
by_type[0x0202][0] = { name = "DETOKENIZE", fields = {
    { "model", "bytes", 8 },
    { "ids", "list", 16 },
    { "flags", "u32", 24, flags.detokenize },
}, tlvs = {
} }
by_type[0x8202] = by_type[0x8202] or {}
by_type[0x8202][0] = { name = "DETOKENIZE_REPLY", fields = {
    { "text", "bytes", 8 },
}, tlvs = {
} }
by_type[0x0301] = by_type[0x0301] or {}
by_type[0x0301][0] = { name = "GENERATE", fields = {
    { "model", "bytes", 8 },
    { "segments", "list", 16, nil, records.segment },
    { "max_tokens", "u32", 24 },
    { "temperature", "f32", 28 },
    { "top_p", "f32", 32 },
    { "min_p", "f32", 36 },
    { "typical_p", "f32", 40 },
    { "repeat_penalty", "f32", 44 },
    { "presence_penalty", "f32", 48 },
    { "frequency_penalty", "f32", 52 },
    { "repeat_last_n", "u32", 56 },
    { "top_k", "u32", 60 },
    { "seed", "u64", 64 },
    { "n_logprobs", "u32", 72 },
    { "credits", "u32", 76 },
    { "deadline_ms", "u32", 80 },
    { "flags", "u32", 84, flags.generate },
}, tlvs = {
    [1] = { "stop_strings", "strings", 1 },
    [2] = { "stop_ids", "list", 2 },
    [3] = { "logit_bias", "list", 3, nil, records.bias },
    [4] = { "grammar", "bytes", 4 },
    [5] = { "cache_key", "bytes", 5 },
    [6] = { "priority", "u32", 6 },
    [7] = { "traceparent", "bytes", 7 },
} }
by_type[0x8301] = by_type[0x8301] or {}
by_type[0x8301][1] = { name = "STARTED", fields = {
    { "kind", "u32", 8, enums.started_kind },
    { "prompt_tokens", "u32", 12 },
    { "cached_tokens", "u32", 16 },
    { "queue_ns", "u64", 24 },
    { "seed", "u64", 32 },
}, tlvs = {
} }
by_type[0x8301] = by_type[0x8301] or {}
by_type[0x8301][2] = { name = "TOKENS", fields = {
    { "kind", "u32", 8, enums.tokens_kind },
    { "tokens", "list", 12, nil, records.token },
    { "alternatives", "list", 20, nil, records.logprob },
    { "text", "bytes", 28 },
}, tlvs = {
} }
by_type[0x8301] = by_type[0x8301] or {}
by_type[0x8301][3] = { name = "DONE", fields = {
    { "kind", "u32", 8, enums.done_kind },
    { "reason", "u32", 12, enums.reason },
    { "prompt_tokens", "u32", 16 },
    { "cached_tokens", "u32", 20 },
    { "generated_tokens", "u32", 24 },
    { "text_offset", "u32", 28 },
    { "text", "bytes", 32 },
    { "queue_ns", "u64", 40 },
    { "prefill_ns", "u64", 48 },
    { "decode_ns", "u64", 56 },
}, tlvs = {
} }
reserved[0x0311] = "EMBED"
reserved[0x0312] = "RERANK"
reserved[0x0313] = "PREFIX"
by_type[0x0321] = by_type[0x0321] or {}
by_type[0x0321][0] = { name = "SCORE", fields = {
    { "model", "bytes", 8 },
    { "segments", "list", 16, nil, records.segment },
    { "from", "u32", 24 },
    { "flags", "u32", 28, flags.prompt },
    { "deadline_ms", "u32", 32 },
}, tlvs = {
} }
by_type[0x8321] = by_type[0x8321] or {}
by_type[0x8321][0] = { name = "SCORE_REPLY", fields = {
    { "first", "u32", 8 },
    { "total", "u32", 12 },
    { "scores", "list", 16, nil, records.logprob },
    { "sum", "f64", 24 },
}, tlvs = {
} }
by_type[0x0401] = by_type[0x0401] or {}
by_type[0x0401][0] = { name = "STATS", fields = {
    { "format", "u32", 8, enums.stats_format },
}, tlvs = {
} }
by_type[0x8401] = by_type[0x8401] or {}
by_type[0x8401][0] = { name = "STATS_REPLY", fields = {
    { "format", "u32", 8, enums.stats_format },
    { "text", "bytes", 12 },
}, tlvs = {
    [1] = { "uptime_ns", "u64", 1 },
    [2] = { "connections", "u64", 2 },
    [3] = { "connections_total", "u64", 3 },
    [4] = { "requests_total", "u64", 4 },
    [5] = { "requests_running", "u64", 5 },
    [6] = { "requests_waiting", "u64", 6 },
    [7] = { "requests_parked", "u64", 7 },
    [8] = { "prompt_tokens_total", "u64", 8 },
    [9] = { "cached_tokens_total", "u64", 9 },
    [10] = { "generated_tokens_total", "u64", 10 },
    [11] = { "done_stop_total", "u64", 11 },
    [12] = { "done_length_total", "u64", 12 },
    [13] = { "done_eos_total", "u64", 13 },
    [14] = { "done_cancelled_total", "u64", 14 },
    [15] = { "done_deadline_total", "u64", 15 },
    [16] = { "done_failed_total", "u64", 16 },
    [17] = { "errors_total", "u64", 17 },
    [18] = { "busy_total", "u64", 18 },
    [19] = { "framing_errors_total", "u64", 19 },
    [20] = { "steps_total", "u64", 20 },
    [21] = { "step_ns_total", "u64", 21 },
    [22] = { "kv_blocks_used", "u64", 22 },
    [23] = { "kv_blocks", "u64", 23 },
    [24] = { "received_bytes_total", "u64", 24 },
    [25] = { "sent_bytes_total", "u64", 25 },
} }
by_type[0x0402] = by_type[0x0402] or {}
by_type[0x0402][0] = { name = "SUBSCRIBE", fields = {
    { "mask", "u32", 8, flags.event },
}, tlvs = {
} }
by_type[0x8402] = by_type[0x8402] or {}
by_type[0x8402][0] = { name = "EVENT", fields = {
    { "event", "u32", 8, enums.event_kind },
    { "state", "u32", 12, enums.model_state },
    { "model", "bytes", 16 },
    { "bytes_done", "u64", 24 },
    { "bytes_total", "u64", 32 },
    { "time_ns", "u64", 40 },
    { "note", "bytes", 48 },
}, tlvs = {
} }
by_type[0x0501] = by_type[0x0501] or {}
by_type[0x0501][0] = { name = "LOAD", fields = {
    { "model", "bytes", 8 },
}, tlvs = {
} }
by_type[0x8501] = by_type[0x8501] or {}
by_type[0x8501][0] = { name = "LOAD_REPLY", fields = {
    { "state", "u32", 8, enums.model_state },
    { "bytes_done", "u64", 16 },
    { "bytes_total", "u64", 24 },
    { "note", "bytes", 32 },
}, tlvs = {
} }
by_type[0x0502] = by_type[0x0502] or {}
by_type[0x0502][0] = { name = "UNLOAD", fields = {
    { "model", "bytes", 8 },
    { "drain_ms", "u32", 16 },
}, tlvs = {
} }
by_type[0x8502] = by_type[0x8502] or {}
by_type[0x8502][0] = { name = "UNLOAD_REPLY", fields = {
}, tlvs = {
} }
by_type[0x0503] = by_type[0x0503] or {}
by_type[0x0503][0] = { name = "RELOAD", fields = {
}, tlvs = {
} }
by_type[0x8503] = by_type[0x8503] or {}
by_type[0x8503][0] = { name = "RELOAD_REPLY", fields = {
    { "difference", "bytes", 8 },
}, tlvs = {
} }
by_type[0x0504] = by_type[0x0504] or {}
by_type[0x0504][0] = { name = "DRAIN", fields = {
    { "deadline_ms", "u32", 8 },
}, tlvs = {
} }
by_type[0x8504] = by_type[0x8504] or {}
by_type[0x8504][0] = { name = "DRAIN_REPLY", fields = {
}, tlvs = {
} }
by_type[0x0505] = by_type[0x0505] or {}
by_type[0x0505][0] = { name = "LOG_LEVEL", fields = {
    { "level", "u32", 8, enums.log_priority },
}, tlvs = {
} }
by_type[0x8505] = by_type[0x8505] or {}
by_type[0x8505][0] = { name = "LOG_LEVEL_REPLY", fields = {
    { "previous", "u32", 8 },
}, tlvs = {
} }
by_type[0x0506] = by_type[0x0506] or {}
by_type[0x0506][0] = { name = "SWAP", fields = {
    { "model", "bytes", 8 },
    { "replacement", "bytes", 16 },
    { "drain_ms", "u32", 24 },
}, tlvs = {
} }
by_type[0x8506] = by_type[0x8506] or {}
by_type[0x8506][0] = { name = "SWAP_REPLY", fields = {
    { "state", "u32", 8, enums.model_state },
    { "bytes_done", "u64", 16 },
    { "bytes_total", "u64", 24 },
    { "note", "bytes", 32 },
}, tlvs = {
} }
reserved[0x0507] = "ADAPTER"
local proto = Proto("tenon", "Tenon wire protocol")
local scalar_bytes = { u8 = 1, u16 = 2, u32 = 4, u64 = 8, f32 = 4, f64 = 8 }
local header = {
    length = ProtoField.uint32("tenon.length", "length"),
    type = ProtoField.uint16("tenon.type", "type", base.HEX),
    flags = ProtoField.uint8("tenon.flags", "flags", base.HEX),
    nfds = ProtoField.uint8("tenon.nfds", "nfds"),
    request = ProtoField.uint64("tenon.request", "request"),
}
proto.fields = { header.length, header.type, header.flags, header.nfds, header.request }

-- One number as text, with its name where it has one.
local function scalar_text(field, range)
    local kind = field[2]
    if kind == "f32" or kind == "f64" then return tostring(range:le_float()) end
    if kind == "u64" then return tostring(range:le_uint64()) end
    local v, names = range:le_uint(), field[4]
    if not names then return tostring(v) end
    if not names.bits then return (names[v] or "unknown") .. " (" .. v .. ")" end
    local set = {}
    for bit_number = 0, 31 do
        if math.floor(v / 2 ^ bit_number) % 2 == 1 then
            set[#set + 1] = names[bit_number] or ("bit " .. bit_number)
        end
    end
    return #set > 0 and table.concat(set, ", ") or "0"
end

local dissect_fields

-- A reference at @at: {offset, count} into the heap, bounds looked at.
local function reference(tree, field, tvb, at, heap, heap_size)
    local offset, count = tvb(at, 4):le_uint(), tvb(at + 4, 4):le_uint()
    local record = field[5]
    local unit = record and record.size or (field[2] == "list" and 4 or 1)
    local branch = tree:add(proto, tvb(at, 8), field[1] .. ": " .. count .. " at " .. offset)
    if count == 0 then return end
    if offset + count * unit > heap_size then
        branch:append_text(" (outside the heap)")
        return
    end
    local range = tvb(heap + offset, count * unit)
    if record then
        for i = 0, math.min(count, 1000) - 1 do
            local one = branch:add(proto, tvb(heap + offset + i * unit, unit), record.name .. " " .. i)
            dissect_fields(one, record.fields, tvb, heap + offset + i * unit, unit, heap, heap_size)
        end
    elseif field[2] == "list" then
        for i = 0, math.min(count, 1000) - 1 do
            branch:add(proto, tvb(heap + offset + i * 4, 4), tostring(tvb(heap + offset + i * 4, 4):le_uint()))
        end
    else
        branch:add(proto, range, range:string(ENC_UTF_8))
    end
end

-- Fields at @base; a field that begins behind @size is not there (a shorter fixed part).
dissect_fields = function(tree, fields, tvb, base_at, size, heap, heap_size)
    for _, field in ipairs(fields) do
        local bytes = scalar_bytes[field[2]] or 8
        if field[3] + bytes <= size then
            if scalar_bytes[field[2]] then
                local range = tvb(base_at + field[3], bytes)
                tree:add(proto, range, field[1] .. ": " .. scalar_text(field, range))
            else
                reference(tree, field, tvb, base_at + field[3], heap, heap_size)
            end
        end
    end
end

local function dissect_tlvs(tree, message, tvb, at, finish)
    while at + 8 <= finish do
        local tag, length = tvb(at, 2):le_uint(), tvb(at + 4, 4):le_uint()
        local critical = tag >= 0x8000
        if critical then tag = tag - 0x8000 end
        if length > finish - at - 8 then
            tree:add(proto, tvb(at, finish - at), "TLV beyond the payload")
            return
        end
        local name = message and message.tlvs[tag] and message.tlvs[tag][1] or "unknown"
        local one = tree:add(proto, tvb(at, 8 + length), "TLV " .. tag .. " " .. name)
        if critical then one:append_text(" (critical)") end
        local field = message and message.tlvs[tag]
        if length > 0 then
            local range = tvb(at + 8, length)
            if field and scalar_bytes[field[2]] == length then
                one:append_text(": " .. scalar_text(field, range))
            else
                one:append_text(": " .. range:string(ENC_UTF_8))
            end
        end
        at = at + 8 + length + (8 - length % 8) % 8
    end
end

local function find(kind, flags, tvb, payload, length)
    if math.floor(flags / 2) % 2 == 1 then return by_type[0x8000][0] end
    local variants = by_type[kind]
    if not variants then return nil end
    return variants[0] or (length >= 12 and variants[tvb(payload + 8, 4):le_uint()]) or nil
end

local function dissect_frame(tvb, pinfo, tree)
    local length, kind, flags = tvb(0, 4):le_uint(), tvb(4, 2):le_uint(), tvb(6, 1):uint()
    local message = find(kind, flags, tvb, 16, length)
    local name = message and message.name or reserved[kind] or string.format("type 0x%04x", kind)
    pinfo.cols.protocol = "TENON"
    pinfo.cols.info:append(name .. " ")
    local request = tostring(tvb(8, 8):le_uint64())
    local top = tree:add(proto, tvb(0, 16 + length), "Tenon " .. name .. ", request " .. request)
    top:add_le(header.length, tvb(0, 4))
    top:add_le(header.type, tvb(4, 2))
    top:add(header.flags, tvb(6, 1))
    top:add(header.nfds, tvb(7, 1))
    top:add_le(header.request, tvb(8, 8))
    if length < 8 then return end
    local fixed, heap_size = tvb(16, 4):le_uint(), tvb(20, 4):le_uint()
    if fixed < 8 or fixed + heap_size > length then
        top:add(proto, tvb(16, 8), "fixed_size and heap_size do not fit the payload")
        return
    end
    if message then dissect_fields(top, message.fields, tvb, 16, fixed, 16 + fixed, heap_size) end
    dissect_tlvs(top, message, tvb, 16 + fixed + heap_size, 16 + length)
end

function proto.dissector(tvb, pinfo, tree)
    pinfo.cols.info = ""
    dissect_tcp_pdus(tvb, tree, 16, function(head) return 16 + head(0, 4):le_uint() end,
        function(pdu, info, branch) dissect_frame(pdu, info, branch) return pdu:len() end)
    return tvb:len()
end

-- No port is ours: choose "Decode As… > TENON" for the port of your relay.
DissectorTable.get("tcp.port"):add_for_decode_as(proto)
