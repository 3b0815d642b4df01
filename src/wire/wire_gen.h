/* SPDX-License-Identifier: Apache-2.0 */
/* Made by generate.py from wire.json; do not edit. */
#pragma once

/*
 * Codes, limits, types and messages of the wire protocol, version 1.  How to decode and encode: codec.h.
 */

#include "src/wire/codec.h"

#define WIRE_VERSION 1
#define WIRE_MAGIC 0x31574e54u

enum wire_code {
    WIRE_OK = 0,
    WIRE_E_PROTOCOL = 1,                /* a framing error; the connection closes after it */
    WIRE_E_VERSION = 2,                 /* no version in common; detail is the highest the server has */
    /* a type, a flag or a TLV that must be understood and is not; detail is the type, the flag bits or the tag */
    WIRE_E_UNSUPPORTED = 3,
    /* a field out of its range or a payload that contradicts itself; detail is the byte offset in the payload */
    WIRE_E_INVALID = 4,
    WIRE_E_NOT_FOUND = 5,               /* no model of this name */
    WIRE_E_PERMISSION = 6,              /* an admin request on the ordinary socket */
    WIRE_E_BUSY = 7,                    /* the queue or a quota is full; retry_after_ms says when to come again */
    WIRE_E_CONTEXT_TOO_LONG = 8,        /* the prompt does not fit into the context; detail is the context in tokens */
    WIRE_E_CANCELLED = 9,               /* cancelled before it started */
    WIRE_E_DEADLINE = 10,               /* the deadline passed before it started */
    WIRE_E_DRAINING = 11,               /* the server or the model takes no new requests */
    WIRE_E_NO_MEMORY = 12,              /* no memory for this request */
    WIRE_E_IO = 13,                     /* reading or writing failed */
    WIRE_E_MODEL_CORRUPT = 14,          /* the model file is damaged or not what it says */
    WIRE_E_GRAMMAR = 15,                /* the grammar cannot be used; detail is the byte offset in it */
    WIRE_E_LIMIT = 16,                  /* a limit of this protocol or of the server is exceeded; detail is the limit */
    WIRE_E_LOADING = 17,                /* the model is still loading; detail is the progress in percent */
    WIRE_E_INTERNAL = 18,               /* the server failed; its log says more */
};

enum wire_limit {
    WIRE_LIMIT_FRAME_BEFORE_HELLO = 65536, /* payload of a frame in either direction before HELLO_OK */
    /* payload of a frame from the server; longer replies are sent in several frames */
    WIRE_LIMIT_FRAME_SERVER = 65536,
    WIRE_LIMIT_FRAME_CLIENT = 1048576,  /* payload of a frame from a client after HELLO_OK */
    WIRE_LIMIT_PROMPT_INLINE = 983040,  /* text and token ids of all segments of one request inside the frame */
    WIRE_LIMIT_PROMPT_MEMFD = 67108864, /* a prompt in a sealed memfd */
    WIRE_LIMIT_FDS = 4,                 /* file descriptors of one frame */
    WIRE_LIMIT_TLVS = 64,               /* TLVs of one frame */
    WIRE_LIMIT_SEGMENTS = 4096,         /* segments of one request */
    WIRE_LIMIT_GRAMMAR = 65536,         /* a grammar */
    WIRE_LIMIT_STOP_STRINGS = 16,       /* stop strings of one request */
    WIRE_LIMIT_STOP_STRING = 256,       /* one stop string */
    WIRE_LIMIT_STOP_IDS = 64,           /* stop token ids of one request */
    WIRE_LIMIT_LOGIT_BIAS = 1024,       /* biased token ids of one request */
    WIRE_LIMIT_LOGPROBS = 20,           /* alternatives with each token */
    WIRE_LIMIT_IN_FLIGHT = 64,          /* requests in flight on one connection */
    WIRE_LIMIT_IN_FLIGHT_UID = 256,     /* requests in flight of one user id */
    WIRE_LIMIT_CONNECTIONS = 1024,      /* connections */
    WIRE_LIMIT_CONNECTIONS_UID = 64,    /* connections of one user id */
    /* replies that wait for a slow reader; when it is full that connection's requests are parked */
    WIRE_LIMIT_OUTPUT_QUEUE = 262144,
    WIRE_LIMIT_HANDSHAKE_MS = 2000,     /* from the connection to a whole HELLO */
    WIRE_LIMIT_FRAME_MS = 10000,        /* from the first byte of a frame to its last */
    WIRE_LIMIT_STALL_MS = 30000,        /* a request parked for longer is cancelled */
};

enum wire_capability {
    WIRE_CAP_PROMPT_MEMFD = 1 << 0,     /* segments of the kind TEXT_MEMFD are taken */
    WIRE_CAP_CREDITS = 1 << 1,          /* GENERATE.credits and GRANT are honoured */
    WIRE_CAP_GRAMMAR = 1 << 2,          /* GENERATE.grammar is honoured */
    WIRE_CAP_LOGIT_BIAS = 1 << 3,       /* GENERATE.logit_bias is honoured */
    WIRE_CAP_SUBSCRIBE = 1 << 4,        /* SUBSCRIBE is answered */
    WIRE_CAP_ADMIN = 1 << 5,            /* this is the admin socket */
};

/* what a segment of a prompt holds */
enum wire_segment_kind {
    WIRE_SEGMENT_KIND_TRUSTED_TEXT = 1, /* text whose special tokens are parsed: templates */
    WIRE_SEGMENT_KIND_UNTRUSTED_TEXT = 2, /* text that never becomes a special token: what a user typed */
    WIRE_SEGMENT_KIND_TOKEN_IDS = 3,    /* u32 token ids; count is their number */
    WIRE_SEGMENT_KIND_TEXT_MEMFD = 4,   /* untrusted text, the whole of the sealed memfd number fd */
};

/* why an answer ended */
enum wire_reason {
    WIRE_REASON_STOP = 1,               /* a stop string or a stop id */
    WIRE_REASON_LENGTH = 2,             /* max_tokens or the context is full */
    WIRE_REASON_EOS = 3,                /* the model ended it */
    WIRE_REASON_CANCELLED = 4,          /* CANCEL, or a reader that stalled */
    WIRE_REASON_DEADLINE = 5,           /* deadline_ms passed */
};

/* state of a model */
enum wire_model_state {
    WIRE_MODEL_STATE_LOADING = 1,       /* requests get LOADING */
    WIRE_MODEL_STATE_READY = 2,         /* requests are taken */
    WIRE_MODEL_STATE_DRAINING = 3,      /* requests in flight finish, new ones get DRAINING */
    WIRE_MODEL_STATE_GONE = 4,          /* unloaded */
    WIRE_MODEL_STATE_FAILED = 5,        /* loading failed; the note says why */
};

/* why the server asks clients to leave */
enum wire_goaway_reason {
    WIRE_GOAWAY_REASON_DRAIN = 1,       /* an administrator drains this server */
    WIRE_GOAWAY_REASON_RELOAD = 2,      /* the configuration changes what this connection relies on */
    WIRE_GOAWAY_REASON_SHUTDOWN = 3,    /* the server stops */
};

/* form of the statistics */
enum wire_stats_format {
    WIRE_STATS_FORMAT_COUNTERS = 0,     /* TLVs of the reply */
    WIRE_STATS_FORMAT_PROMETHEUS = 1,   /* Prometheus text exposition format in text, in one or more frames */
};

/* what happened */
enum wire_event_kind {
    WIRE_EVENT_KIND_LOAD = 1,           /* a model is being read */
    WIRE_EVENT_KIND_STATE = 2,          /* a model changed its state */
    WIRE_EVENT_KIND_RELOAD = 3,         /* the configuration was read again */
};

/* as syslog(3) numbers them */
enum wire_log_priority {
    WIRE_LOG_PRIORITY_ERROR = 3,
    WIRE_LOG_PRIORITY_WARNING = 4,
    WIRE_LOG_PRIORITY_NOTICE = 5,
    WIRE_LOG_PRIORITY_INFO = 6,
    WIRE_LOG_PRIORITY_DEBUG = 7,
};

/* kind of STARTED */
enum wire_started_kind {
    WIRE_STARTED_KIND_STARTED = 1,
};

/* kind of TOKENS */
enum wire_tokens_kind {
    WIRE_TOKENS_KIND_TOKENS = 2,
};

/* kind of DONE */
enum wire_done_kind {
    WIRE_DONE_KIND_DONE = 3,
};

/* flags of GENERATE */
enum wire_flag_generate {
    WIRE_FLAG_GENERATE_SEED = 1 << 0,   /* seed is given; else the server draws one and tells it in STARTED */
    WIRE_FLAG_GENERATE_IGNORE_EOS = 1 << 1, /* end markers of the model do not end the answer */
    WIRE_FLAG_GENERATE_LOGPROB = 1 << 2, /* log-probability of each chosen token (implied by n_logprobs > 0) */
    WIRE_FLAG_GENERATE_NO_BOS = 1 << 3, /* no BOS before the prompt even where the model asks for one */
};

/* flags of TOKENIZE and SCORE */
enum wire_flag_prompt {
    WIRE_FLAG_PROMPT_NO_BOS = 1 << 0,   /* no BOS before the text even where the model asks for one */
};

/* flags of DETOKENIZE */
enum wire_flag_detokenize {
    WIRE_FLAG_DETOKENIZE_CONTROL = 1 << 0, /* control tokens give their names instead of nothing */
};

/* mask of SUBSCRIBE; 0 = all */
enum wire_flag_event {
    WIRE_FLAG_EVENT_LOAD = 1 << 0,      /* load progress */
    WIRE_FLAG_EVENT_STATE = 1 << 1,     /* states of models */
    WIRE_FLAG_EVENT_RELOAD = 1 << 2,    /* reloads of the configuration */
};

/* flags of MODEL_INFO_REPLY */
enum wire_flag_model {
    WIRE_FLAG_MODEL_ADD_BOS = 1 << 0,   /* the server puts BOS before a prompt */
    WIRE_FLAG_MODEL_ADD_EOS = 1 << 1,   /* the model asks for EOS after a text */
    WIRE_FLAG_MODEL_PINNED = 1 << 2,    /* each worker is pinned to a core of its own */
    WIRE_FLAG_MODEL_OVERSUBSCRIBED = 1 << 3, /* more workers than cores */
    WIRE_FLAG_MODEL_NO_TEMPLATE = 1 << 4, /* the model has a template that is too long to be told */
};

enum wire_type_number {
    WIRE_TYPE_ERROR = 0x8000,
    WIRE_TYPE_HELLO = 0x0001,
    WIRE_TYPE_HELLO_OK = 0x8001,
    WIRE_TYPE_PING = 0x0002,
    WIRE_TYPE_PONG = 0x8002,
    WIRE_TYPE_GOAWAY = 0x0003,
    WIRE_TYPE_CANCEL = 0x0004,
    WIRE_TYPE_GRANT = 0x0005,
    WIRE_TYPE_MODEL_LIST = 0x0101,
    WIRE_TYPE_MODEL_LIST_REPLY = 0x8101,
    WIRE_TYPE_MODEL_INFO = 0x0102,
    WIRE_TYPE_MODEL_INFO_REPLY = 0x8102,
    WIRE_TYPE_TOKENIZE = 0x0201,
    WIRE_TYPE_TOKENIZE_REPLY = 0x8201,
    WIRE_TYPE_DETOKENIZE = 0x0202,
    WIRE_TYPE_DETOKENIZE_REPLY = 0x8202,
    WIRE_TYPE_GENERATE = 0x0301,
    WIRE_TYPE_STARTED = 0x8301,
    WIRE_TYPE_TOKENS = 0x8301,
    WIRE_TYPE_DONE = 0x8301,
    WIRE_TYPE_EMBED = 0x0311,
    WIRE_TYPE_RERANK = 0x0312,
    WIRE_TYPE_PREFIX = 0x0313,
    WIRE_TYPE_SCORE = 0x0321,
    WIRE_TYPE_SCORE_REPLY = 0x8321,
    WIRE_TYPE_STATS = 0x0401,
    WIRE_TYPE_STATS_REPLY = 0x8401,
    WIRE_TYPE_SUBSCRIBE = 0x0402,
    WIRE_TYPE_EVENT = 0x8402,
    WIRE_TYPE_LOAD = 0x0501,
    WIRE_TYPE_LOAD_REPLY = 0x8501,
    WIRE_TYPE_UNLOAD = 0x0502,
    WIRE_TYPE_UNLOAD_REPLY = 0x8502,
    WIRE_TYPE_RELOAD = 0x0503,
    WIRE_TYPE_RELOAD_REPLY = 0x8503,
    WIRE_TYPE_DRAIN = 0x0504,
    WIRE_TYPE_DRAIN_REPLY = 0x8504,
    WIRE_TYPE_LOG_LEVEL = 0x0505,
    WIRE_TYPE_LOG_LEVEL_REPLY = 0x8505,
    WIRE_TYPE_SWAP = 0x0506,
    WIRE_TYPE_SWAP_REPLY = 0x8506,
    WIRE_TYPE_ADAPTER = 0x0507,
};

/* one piece of a prompt */
struct wire_segment {
    uint32_t kind;                      /* what data holds; WIRE_SEGMENT_KIND_… */
    uint32_t fd;                        /* TEXT_MEMFD: which of the frame's descriptors, from 0; 0 .. 3 */
    struct span data;                   /* the text or the ids; empty for TEXT_MEMFD */
};
WIRE_RECORD(segment)

/* one token of an answer */
struct wire_token {
    uint32_t id;                        /* token id */
    float logprob;                      /* natural logarithm of its probability at temperature 1; 0 unless asked for */
    uint32_t text_offset;               /* byte of the answer at which the text released with it begins */
    uint32_t text_length;               /* bytes released with it, in order from TOKENS.text; may be 0 */
    uint32_t alternatives;              /* how many of TOKENS.alternatives are its own, in order */
};
WIRE_RECORD(token)

/* a token and its log-probability */
struct wire_logprob {
    uint32_t id;                        /* token id */
    float logprob;                      /* natural logarithm of its probability at temperature 1 */
};
WIRE_RECORD(logprob)

/* added to the logit of a token */
struct wire_bias {
    uint32_t id;                        /* token id */
    float bias;                         /* added to the logit; -100 forbids the token; -100 .. 100 */
};
WIRE_RECORD(bias)

/* a model that the server knows */
struct wire_model_entry {
    struct span id;                     /* its name on the wire */
    uint32_t state;                     /* WIRE_MODEL_STATE_… */
    uint32_t context;                   /* positions of one sequence; 0 until loaded */
    uint64_t bytes;                     /* size of the model file */
};
WIRE_RECORD(model_entry)

/* weights in memory by page size */
struct wire_page_bytes {
    uint64_t page_size;                 /* bytes of one page */
    uint64_t bytes;                     /* bytes that lie in such pages */
};
WIRE_RECORD(page_bytes)

/*
 * 0x8000 ERROR: the payload of every frame with the ERROR flag, whatever its type; with this type and request 0: a
 * framing error
 */
struct wire_error {
    uint32_t code;                      /* table of errors; an unknown one is INTERNAL */
    uint32_t detail;                    /* as the code says */
    uint32_t retry_after_ms;            /* 0 = do not retry for that reason alone */
    struct span message;                /* for a person: what, where, what to do; 0 .. 1024 bytes */
};
WIRE_MESSAGE(error)

/* 0x0001 HELLO: the first frame of a connection; its cookie is 0 */
struct wire_hello {
    uint32_t magic;                     /* 'TNW1' */
    uint16_t version_min;               /* lowest version the client speaks; 1 .. */
    /* highest version the client speaks; the server takes the highest in common; 1 .. */
    uint16_t version_max;
    uint64_t capabilities;              /* bits the client knows; unknown ones are ignored */
    uint32_t max_frame;                 /* largest payload the client takes; 0 = 65536; 4096 .. or 0 */
    struct span client;                 /* name and version of the client, for the log; 0 .. 256 bytes */
};
WIRE_MESSAGE(hello)

/* 0x8001 HELLO_OK, reply to HELLO: the connection is open */
enum {
    WIRE_HELLO_OK_HAS_LIMIT_PROMPT_MEMFD = 1 << 0,
    WIRE_HELLO_OK_HAS_LIMIT_TLVS = 1 << 1,
    WIRE_HELLO_OK_HAS_LIMIT_SEGMENTS = 1 << 2,
    WIRE_HELLO_OK_HAS_LIMIT_GRAMMAR = 1 << 3,
    WIRE_HELLO_OK_HAS_LIMIT_STOP_STRINGS = 1 << 4,
    WIRE_HELLO_OK_HAS_LIMIT_STOP_STRING = 1 << 5,
    WIRE_HELLO_OK_HAS_LIMIT_STOP_IDS = 1 << 6,
    WIRE_HELLO_OK_HAS_LIMIT_LOGIT_BIAS = 1 << 7,
    WIRE_HELLO_OK_HAS_LIMIT_LOGPROBS = 1 << 8,
    WIRE_HELLO_OK_HAS_LIMIT_IN_FLIGHT_UID = 1 << 9,
    WIRE_HELLO_OK_HAS_LIMIT_CONNECTIONS = 1 << 10,
    WIRE_HELLO_OK_HAS_LIMIT_CONNECTIONS_UID = 1 << 11,
    WIRE_HELLO_OK_HAS_LIMIT_OUTPUT_QUEUE = 1 << 12,
    WIRE_HELLO_OK_HAS_LIMIT_HANDSHAKE_MS = 1 << 13,
    WIRE_HELLO_OK_HAS_LIMIT_FRAME_MS = 1 << 14,
    WIRE_HELLO_OK_HAS_LIMIT_STALL_MS = 1 << 15,
};
struct wire_hello_ok {
    uint16_t version;                   /* version spoken from here on; 1 .. */
    uint8_t max_fds;                    /* file descriptors of one frame */
    uint64_t capabilities;              /* what the server offers */
    uint32_t max_frame;                 /* largest payload the server takes from here on */
    uint32_t max_in_flight;             /* requests in flight on this connection */
    uint32_t max_prompt_bytes;          /* text and ids of one request inside the frame */
    uint32_t credit_default;            /* credits of a request that gives none; 0 = unlimited */
    uint64_t boot_id;                   /* changes with each start of the server */
    struct span server;                 /* name and version of the server; 0 .. 256 bytes */
    uint64_t present;                   /* WIRE_HELLO_OK_HAS_… of these, each a TLV: */
    uint64_t limit_prompt_memfd;        /* limits as in the table of limits */
    uint64_t limit_tlvs;
    uint64_t limit_segments;
    uint64_t limit_grammar;
    uint64_t limit_stop_strings;
    uint64_t limit_stop_string;
    uint64_t limit_stop_ids;
    uint64_t limit_logit_bias;
    uint64_t limit_logprobs;
    uint64_t limit_in_flight_uid;
    uint64_t limit_connections;
    uint64_t limit_connections_uid;
    uint64_t limit_output_queue;
    uint64_t limit_handshake_ms;
    uint64_t limit_frame_ms;
    uint64_t limit_stall_ms;
};
WIRE_MESSAGE(hello_ok)

/* 0x0002 PING: answered at once, even while a model loads; the server's own has request 0 */
struct wire_ping {
    uint64_t opaque;                    /* comes back */
};
WIRE_MESSAGE(ping)

/* 0x8002 PONG, reply to PING */
struct wire_pong {
    uint64_t opaque;                    /* of the PING */
    uint64_t server_ns;                 /* CLOCK_MONOTONIC of the server; 0 from a client */
};
WIRE_MESSAGE(pong)

/* 0x0003 GOAWAY: requests in flight finish, new ones get DRAINING; request 0, no answer */
struct wire_goaway {
    uint32_t reason;                    /* WIRE_GOAWAY_REASON_… */
    uint32_t deadline_ms;               /* after that the connection closes */
};
WIRE_MESSAGE(goaway)

/*
 * 0x0004 CANCEL: cancels the request whose cookie the header carries; that request still ends with its own END frame;
 * no answer, unknown cookies are ignored
 */
struct wire_cancel {
    uint8_t nothing;
};
WIRE_MESSAGE(cancel)

/* 0x0005 GRANT: adds credits to the GENERATE whose cookie the header carries; no answer */
struct wire_grant {
    uint32_t credits;                   /* tokens more; 1 .. */
};
WIRE_MESSAGE(grant)

/* 0x0101 MODEL_LIST */
struct wire_model_list {
    uint8_t nothing;
};
WIRE_MESSAGE(model_list)

/* 0x8101 MODEL_LIST_REPLY, reply to MODEL_LIST: one or more frames */
struct wire_model_list_reply {
    struct wire_list models;            /* of wire_model_entry */
};
WIRE_MESSAGE(model_list_reply)

/* 0x0102 MODEL_INFO */
struct wire_model_info {
    struct span model;                  /* id of a model; empty: the only one there is; 0 .. 256 bytes */
};
WIRE_MESSAGE(model_info)

/*
 * 0x8102 MODEL_INFO_REPLY, reply to MODEL_INFO: what is known of a model; while it loads the fields that are not known
 * yet are 0
 */
enum {
    WIRE_MODEL_INFO_REPLY_HAS_TEMPLATE = 1 << 0,
    WIRE_MODEL_INFO_REPLY_HAS_SHA256 = 1 << 1,
    WIRE_MODEL_INFO_REPLY_HAS_NOTE = 1 << 2,
    WIRE_MODEL_INFO_REPLY_HAS_KERNELS = 1 << 3,
};
struct wire_model_info_reply {
    struct span id;                     /* 0 .. 256 bytes */
    uint32_t state;                     /* WIRE_MODEL_STATE_… */
    uint32_t flags;                     /* WIRE_FLAG_MODEL_… */
    struct span architecture;           /* as the file names it; 0 .. 256 bytes */
    struct span name;                   /* as the file names it; 0 .. 1024 bytes */
    struct span file_types;             /* tensor types with their numbers; 0 .. 1024 bytes */
    struct span level;                  /* instruction-set level in use; 0 .. 64 bytes */
    struct span activations;            /* activation profile; 0 .. 256 bytes */
    struct span tokenizer;              /* bpe, spm or wordpiece; 0 .. 64 bytes */
    struct span pre_tokenizer;          /* 0 .. 64 bytes */
    uint32_t vocab_size;                /* tokens */
    uint32_t context;                   /* positions of one sequence */
    uint32_t context_trained;           /* positions the model was trained for */
    uint32_t sequences;                 /* that may run at once */
    uint32_t nodes;                     /* memory nodes used */
    uint32_t threads;                   /* workers */
    uint32_t bos;                       /* token id, 0xffffffff = none */
    uint32_t eos;                       /* token id, 0xffffffff = none */
    struct wire_list end_ids;           /* all ids that end an answer; of u32; 0 .. 1024 items */
    struct wire_list pages;             /* where the weights lie; of wire_page_bytes; 0 .. 16 items */
    uint64_t file_bytes;
    uint64_t weight_bytes;              /* packed weights in memory */
    uint64_t kv_bytes;                  /* memory for keys and values */
    uint64_t scratch_bytes;
    uint64_t checksum;                  /* of the packed weights, the same on any plan */
    uint64_t load_bytes_done;           /* read so far */
    uint64_t load_bytes_total;
    uint64_t load_ns;                   /* time spent loading */
    uint64_t present;                   /* WIRE_MODEL_INFO_REPLY_HAS_… of these, each a TLV: */
    /* chat template of the file, for clients to look at; never run by the server; 0 .. 49152 bytes */
    struct span template;
    struct span sha256;                 /* of the file, if known; 32 .. 32 bytes */
    struct span note;                   /* steps down, notes of the plan, or why loading failed; 0 .. 2048 bytes */
    /* which kernel multiplies with each tensor type: Q4_1 NAME; Q8_0 NAME from 9 columns, else NAME; 0 .. 2048 bytes */
    struct span kernels;
};
WIRE_MESSAGE(model_info_reply)

/* 0x0201 TOKENIZE */
struct wire_tokenize {
    struct span model;                  /* id of a model; empty: the only one there is; 0 .. 256 bytes */
    struct wire_list segments;          /* the prompt; of wire_segment; 0 .. 4096 items */
    uint32_t flags;                     /* WIRE_FLAG_PROMPT_… */
};
WIRE_MESSAGE(tokenize)

/* 0x8201 TOKENIZE_REPLY, reply to TOKENIZE: one or more frames */
struct wire_tokenize_reply {
    uint32_t first;                     /* index of ids[0] in the whole */
    uint32_t total;                     /* ids of all frames together */
    struct wire_list ids;               /* token ids; of u32 */
    /* byte at which each token begins, counted over the text of all segments one after the other; of u32 */
    struct wire_list offsets;
};
WIRE_MESSAGE(tokenize_reply)

/* 0x0202 DETOKENIZE */
struct wire_detokenize {
    struct span model;                  /* id of a model; empty: the only one there is; 0 .. 256 bytes */
    struct wire_list ids;               /* token ids; of u32 */
    uint32_t flags;                     /* WIRE_FLAG_DETOKENIZE_… */
};
WIRE_MESSAGE(detokenize)

/* 0x8202 DETOKENIZE_REPLY, reply to DETOKENIZE: one or more frames; their texts joined are the answer */
struct wire_detokenize_reply {
    struct span text;
};
WIRE_MESSAGE(detokenize_reply)

/* 0x0301 GENERATE: answered by STARTED, any number of TOKENS, DONE; by an error alone if it does not start */
enum {
    WIRE_GENERATE_HAS_STOP_STRINGS = 1 << 0,
    WIRE_GENERATE_HAS_STOP_IDS = 1 << 1,
    WIRE_GENERATE_HAS_LOGIT_BIAS = 1 << 2,
    WIRE_GENERATE_HAS_GRAMMAR = 1 << 3,
    WIRE_GENERATE_HAS_CACHE_KEY = 1 << 4,
    WIRE_GENERATE_HAS_PRIORITY = 1 << 5,
    WIRE_GENERATE_HAS_TRACEPARENT = 1 << 6,
};
struct wire_generate {
    struct span model;                  /* id of a model; empty: the only one there is; 0 .. 256 bytes */
    struct wire_list segments;          /* the prompt; of wire_segment; 1 .. 4096 items */
    uint32_t max_tokens;                /* 0 = until the context is full */
    float temperature;                  /* 0 = always the most probable token; 0.000976562 .. 1024 or 0 */
    float top_p;                        /* 0 or 1 = off; 0 .. 1 */
    float min_p;                        /* 0 = off; 0 .. 1 */
    float typical_p;                    /* 0 or 1 = off; 0 .. 1 */
    float repeat_penalty;               /* 0 or 1 = off; 0 .. 1000 */
    float presence_penalty;             /* 0 = off; -100 .. 100 */
    float frequency_penalty;            /* 0 = off; -100 .. 100 */
    uint32_t repeat_last_n;             /* tokens the penalties look back at; 0 = no penalties */
    uint32_t top_k;                     /* 0 = off */
    uint64_t seed;                      /* with the flag SEED */
    uint32_t n_logprobs;                /* alternatives with each token; 0 .. 20 */
    uint32_t credits;                   /* tokens that may be sent before GRANT; 0 = as HELLO_OK.credit_default says */
    uint32_t deadline_ms;               /* from arrival; 0 = none */
    uint32_t flags;                     /* WIRE_FLAG_GENERATE_… */
    uint64_t present;                   /* WIRE_GENERATE_HAS_… of these, each a TLV: */
    /* the answer ends before the first of them; of texts; 0 .. 16 items each of 1 .. limit stop_string bytes */
    struct wire_list stop_strings;
    struct wire_list stop_ids;          /* token ids that end the answer; of u32; 0 .. 64 items */
    struct wire_list logit_bias;        /* added to logits before sampling; of wire_bias; 0 .. 1024 items */
    struct span grammar;                /* the answer must be a sentence of it; 0 .. 65536 bytes */
    /*
     * requests of one key may share a cached prefix, others not; absent: shared within the user id; nothing where no
     * prefix is cached; 0 .. 64 bytes
     */
    struct span cache_key;
    /* higher goes first among the waiting; 128 if absent; servers that know no order refuse others; 0 .. 255 */
    uint32_t priority;
    struct span traceparent;            /* W3C trace context, for servers that log requests; 0 .. 128 bytes */
};
WIRE_MESSAGE(generate)

/* 0x8301 STARTED, reply to GENERATE, kind 1: the prompt was taken; the first reply */
struct wire_started {
    uint32_t kind;                      /* 1; WIRE_STARTED_KIND_… */
    uint32_t prompt_tokens;             /* BOS included */
    uint32_t cached_tokens;             /* of them taken from the cache */
    uint64_t queue_ns;                  /* time spent waiting */
    uint64_t seed;                      /* seed in use */
};
WIRE_MESSAGE(started)

/* 0x8301 TOKENS, reply to GENERATE, kind 2: tokens of the answer */
struct wire_tokens {
    uint32_t kind;                      /* 2; WIRE_TOKENS_KIND_… */
    struct wire_list tokens;            /* of wire_token */
    /* of all tokens of this frame, one after the other, best first; of wire_logprob */
    struct wire_list alternatives;
    /*
     * released bytes of all tokens of this frame, one after the other; in a frame without tokens: more of the last
     * token's
     */
    struct span text;
};
WIRE_MESSAGE(tokens)

/* 0x8301 DONE, reply to GENERATE, kind 3: the last reply, with END */
struct wire_done {
    uint32_t kind;                      /* 3; WIRE_DONE_KIND_… */
    uint32_t reason;                    /* why it ended; WIRE_REASON_… */
    uint32_t prompt_tokens;             /* usage */
    uint32_t cached_tokens;             /* usage */
    uint32_t generated_tokens;          /* usage */
    uint32_t text_offset;               /* byte of the answer at which text begins */
    struct span text;                   /* bytes that were held back until now */
    uint64_t queue_ns;                  /* time spent waiting */
    uint64_t prefill_ns;                /* time from there to the first token */
    uint64_t decode_ns;                 /* time from there to the end */
};
WIRE_MESSAGE(done)

/* 0x0321 SCORE: log-probability of a given text */
struct wire_score {
    struct span model;                  /* id of a model; empty: the only one there is; 0 .. 256 bytes */
    struct wire_list segments;          /* the text; of wire_segment; 1 .. 4096 items */
    /* index of the first scored token; 0 is as 1: the first token has nothing before it; 1 .. or 0 */
    uint32_t from;
    uint32_t flags;                     /* WIRE_FLAG_PROMPT_… */
    uint32_t deadline_ms;               /* from arrival; 0 = none */
};
WIRE_MESSAGE(score)

/* 0x8321 SCORE_REPLY, reply to SCORE: one or more frames */
struct wire_score_reply {
    uint32_t first;                     /* index of scores[0] among all tokens of the text */
    uint32_t total;                     /* tokens of the text */
    struct wire_list scores;            /* each token given those before it; of wire_logprob */
    double sum;                         /* over all frames so far */
};
WIRE_MESSAGE(score_reply)

/* 0x0401 STATS */
struct wire_stats {
    uint32_t format;                    /* WIRE_STATS_FORMAT_… */
};
WIRE_MESSAGE(stats)

/* 0x8401 STATS_REPLY, reply to STATS: one or more frames */
enum {
    WIRE_STATS_REPLY_HAS_UPTIME_NS = 1 << 0,
    WIRE_STATS_REPLY_HAS_CONNECTIONS = 1 << 1,
    WIRE_STATS_REPLY_HAS_CONNECTIONS_TOTAL = 1 << 2,
    WIRE_STATS_REPLY_HAS_REQUESTS_TOTAL = 1 << 3,
    WIRE_STATS_REPLY_HAS_REQUESTS_RUNNING = 1 << 4,
    WIRE_STATS_REPLY_HAS_REQUESTS_WAITING = 1 << 5,
    WIRE_STATS_REPLY_HAS_REQUESTS_PARKED = 1 << 6,
    WIRE_STATS_REPLY_HAS_PROMPT_TOKENS_TOTAL = 1 << 7,
    WIRE_STATS_REPLY_HAS_CACHED_TOKENS_TOTAL = 1 << 8,
    WIRE_STATS_REPLY_HAS_GENERATED_TOKENS_TOTAL = 1 << 9,
    WIRE_STATS_REPLY_HAS_DONE_STOP_TOTAL = 1 << 10,
    WIRE_STATS_REPLY_HAS_DONE_LENGTH_TOTAL = 1 << 11,
    WIRE_STATS_REPLY_HAS_DONE_EOS_TOTAL = 1 << 12,
    WIRE_STATS_REPLY_HAS_DONE_CANCELLED_TOTAL = 1 << 13,
    WIRE_STATS_REPLY_HAS_DONE_DEADLINE_TOTAL = 1 << 14,
    WIRE_STATS_REPLY_HAS_DONE_FAILED_TOTAL = 1 << 15,
    WIRE_STATS_REPLY_HAS_ERRORS_TOTAL = 1 << 16,
    WIRE_STATS_REPLY_HAS_BUSY_TOTAL = 1 << 17,
    WIRE_STATS_REPLY_HAS_FRAMING_ERRORS_TOTAL = 1 << 18,
    WIRE_STATS_REPLY_HAS_STEPS_TOTAL = 1 << 19,
    WIRE_STATS_REPLY_HAS_STEP_NS_TOTAL = 1 << 20,
    WIRE_STATS_REPLY_HAS_KV_BLOCKS_USED = 1 << 21,
    WIRE_STATS_REPLY_HAS_KV_BLOCKS = 1 << 22,
    WIRE_STATS_REPLY_HAS_RECEIVED_BYTES_TOTAL = 1 << 23,
    WIRE_STATS_REPLY_HAS_SENT_BYTES_TOTAL = 1 << 24,
};
struct wire_stats_reply {
    uint32_t format;                    /* WIRE_STATS_FORMAT_… */
    struct span text;                   /* PROMETHEUS: texts of all frames joined */
    uint64_t present;                   /* WIRE_STATS_REPLY_HAS_… of these, each a TLV: */
    uint64_t uptime_ns;                 /* since the start of the server */
    uint64_t connections;               /* open now */
    uint64_t connections_total;         /* accepted since the start */
    uint64_t requests_total;            /* GENERATE and SCORE taken since the start */
    uint64_t requests_running;          /* now */
    uint64_t requests_waiting;          /* now */
    uint64_t requests_parked;           /* now, for a slow reader */
    uint64_t prompt_tokens_total;       /* computed */
    uint64_t cached_tokens_total;       /* prompt tokens taken from the cache */
    uint64_t generated_tokens_total;
    uint64_t done_stop_total;           /* answers by reason */
    uint64_t done_length_total;
    uint64_t done_eos_total;
    uint64_t done_cancelled_total;
    uint64_t done_deadline_total;
    uint64_t done_failed_total;
    uint64_t errors_total;              /* error frames sent */
    uint64_t busy_total;                /* requests refused with BUSY */
    uint64_t framing_errors_total;      /* connections closed for a framing error */
    uint64_t steps_total;               /* forward passes */
    uint64_t step_ns_total;             /* time in them */
    uint64_t kv_blocks_used;            /* now */
    uint64_t kv_blocks;                 /* that there are */
    uint64_t received_bytes_total;      /* from clients */
    uint64_t sent_bytes_total;          /* to clients */
};
WIRE_MESSAGE(stats_reply)

/* 0x0402 SUBSCRIBE: events until CANCEL */
struct wire_subscribe {
    uint32_t mask;                      /* which; 0 = all; WIRE_FLAG_EVENT_… */
};
WIRE_MESSAGE(subscribe)

/* 0x8402 EVENT, reply to SUBSCRIBE: one event; the frame with END carries none (event 0) */
struct wire_event {
    uint32_t event;                     /* WIRE_EVENT_KIND_… */
    uint32_t state;                     /* of the model; 0 where none is meant; WIRE_MODEL_STATE_… */
    struct span model;                  /* id of the model; 0 .. 256 bytes */
    uint64_t bytes_done;                /* LOAD: read so far */
    uint64_t bytes_total;               /* LOAD */
    uint64_t time_ns;                   /* CLOCK_MONOTONIC of the server */
    struct span note;                   /* for a person; 0 .. 2048 bytes */
};
WIRE_MESSAGE(event)

/* 0x0501 LOAD: loads a model named in the configuration, or the GGUF file whose descriptor comes along; admin */
struct wire_load {
    struct span model;                  /* id of the model; 1 .. 256 bytes */
};
WIRE_MESSAGE(load)

/* 0x8501 LOAD_REPLY, reply to LOAD: progress, the last one with END */
struct wire_load_reply {
    uint32_t state;                     /* WIRE_MODEL_STATE_… */
    uint64_t bytes_done;                /* read so far */
    uint64_t bytes_total;
    struct span note;                   /* for a person; 0 .. 2048 bytes */
};
WIRE_MESSAGE(load_reply)

/* 0x0502 UNLOAD; admin */
struct wire_unload {
    struct span model;                  /* id of the model; 1 .. 256 bytes */
    uint32_t drain_ms;                  /* requests in flight may take that long */
};
WIRE_MESSAGE(unload)

/* 0x8502 UNLOAD_REPLY, reply to UNLOAD: it is gone */
struct wire_unload_reply {
    uint8_t nothing;
};
WIRE_MESSAGE(unload_reply)

/* 0x0503 RELOAD: reads the configuration again, as SIGHUP does; admin */
struct wire_reload {
    uint8_t nothing;
};
WIRE_MESSAGE(reload)

/* 0x8503 RELOAD_REPLY, reply to RELOAD */
struct wire_reload_reply {
    /* what changed and what waits for a restart, one setting a line; 0 .. 32768 bytes */
    struct span difference;
};
WIRE_MESSAGE(reload_reply)

/* 0x0504 DRAIN: takes no new requests and ends when the last is done; admin */
struct wire_drain {
    uint32_t deadline_ms;               /* 0 = as long as it takes */
};
WIRE_MESSAGE(drain)

/* 0x8504 DRAIN_REPLY, reply to DRAIN */
struct wire_drain_reply {
    uint8_t nothing;
};
WIRE_MESSAGE(drain_reply)

/* 0x0505 LOG_LEVEL; admin */
struct wire_log_level {
    uint32_t level;                     /* most verbose level that is logged; WIRE_LOG_PRIORITY_… */
};
WIRE_MESSAGE(log_level)

/* 0x8505 LOG_LEVEL_REPLY, reply to LOG_LEVEL */
struct wire_log_level_reply {
    uint32_t previous;                  /* level until now */
};
WIRE_MESSAGE(log_level_reply)

/* 0x0506 SWAP: puts another model in the place of one without cutting requests; admin */
struct wire_swap {
    struct span model;                  /* id of the model to replace; 1 .. 256 bytes */
    struct span replacement;            /* id in the configuration; empty with a descriptor; 0 .. 256 bytes */
    uint32_t drain_ms;                  /* requests in flight may take that long */
};
WIRE_MESSAGE(swap)

/* 0x8506 SWAP_REPLY, reply to SWAP: progress, the last one with END */
struct wire_swap_reply {
    uint32_t state;                     /* of the new one; WIRE_MODEL_STATE_… */
    uint64_t bytes_done;                /* read so far */
    uint64_t bytes_total;
    struct span note;                   /* for a person; 0 .. 2048 bytes */
};
WIRE_MESSAGE(swap_reply)

/* All of them, for tools and tests. */
#define WIRE_MESSAGE_COUNT 38
extern const struct wire_message *const wire_messages[WIRE_MESSAGE_COUNT];
#define WIRE_TYPE_COUNT 23
extern const struct wire_type wire_types[WIRE_TYPE_COUNT];      /* ascending */
#define WIRE_CODE_MAX 18
struct wire_code_info { const char *name, *grpc; uint32_t http; };
extern const struct wire_code_info wire_codes[WIRE_CODE_MAX + 1];
