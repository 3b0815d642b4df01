/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * libtenon: asks tenond, the LLM inference daemon on this host, over its Unix socket.
 *
 *     struct tenon_error error;
 *     struct tenon *tenon;
 *     if (tenon_open(NULL, NULL, &tenon, &error))
 *         return puts(error.message), 1;
 *     struct tenon_segment prompt = { TENON_UNTRUSTED_TEXT, "Once upon a time", 16 };
 *     struct tenon_request request = TENON_REQUEST_DEFAULT;
 *     request.segments = &prompt; request.segment_count = 1; request.max_tokens = 32;
 *     tenon_generate(tenon, &request, on_event, NULL, NULL, &error);
 *     tenon_close(tenon);
 *
 * Results: 0, or a code of enum tenon_code, which is also in @error with a message for a person.  @error may be NULL.
 * Outputs (ret_…) are written on 0 only.  Units: bytes, milliseconds (_ms), nanoseconds (_ns).  Texts are bytes with a
 * length, mostly UTF-8, and not NUL-terminated unless `const char *` stands without a size beside it.
 *
 * Threads: one connection belongs to one thread at a time; open one per thread.  Calls block, at most as long as the
 * timeout of the options (waiting for tokens: as tenon_next() is told).  No signals are raised, no globals kept.
 * After TENON_E_CLOSED, TENON_E_TIMEOUT and TENON_E_PROTOCOL a connection is good for tenon_close() only.
 *
 * Memory: what a call hands over is freed by its tenon_…_free(); an event lives until the next call on its connection.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tenon_code {
    TENON_OK = 0,
    /* from the server */
    TENON_E_PROTOCOL = 1, TENON_E_VERSION, TENON_E_UNSUPPORTED, TENON_E_INVALID, TENON_E_NOT_FOUND, TENON_E_PERMISSION,
    TENON_E_BUSY, TENON_E_CONTEXT_TOO_LONG, TENON_E_CANCELLED, TENON_E_DEADLINE, TENON_E_DRAINING, TENON_E_NO_MEMORY,
    TENON_E_IO, TENON_E_MODEL_CORRUPT, TENON_E_GRAMMAR, TENON_E_LIMIT, TENON_E_LOADING, TENON_E_INTERNAL,
    /* on this side */
    TENON_E_CONNECT = 256,      /* nobody listens, or we may not connect */
    TENON_E_CLOSED,             /* the server hung up */
    TENON_E_TIMEOUT,            /* the server said nothing for too long */
    TENON_E_SYSTEM,             /* no memory or another failure of this host */
    TENON_E_ARGUMENT,           /* this call was wrong */
    TENON_E_CHAT,               /* no chat: the template is of no known family, or cannot hold these messages */
};

struct tenon_error {
    int code;
    uint32_t detail;            /* as the protocol says: LOADING percent, CONTEXT_TOO_LONG the context, … */
    uint32_t retry_after_ms;    /* BUSY, LOADING: when to come again; else 0 */
    char message[1024];
};

/* "BUSY"; for logs. */
const char *tenon_code_name(int code);

/* ---- the connection ---- */

struct tenon;

struct tenon_options {
    const char *name;           /* of this program, for the server's log; NULL = "libtenon" */
    uint32_t timeout_ms;        /* of every answer but tokens; 0 = 30000 */
};

struct tenon_server {
    char name[64];
    uint16_t version;           /* of the protocol */
    bool leaving;               /* it said GOAWAY: new requests will get DRAINING */
    uint32_t max_in_flight;     /* requests on this connection */
    uint32_t max_prompt_bytes;  /* of texts and ids in one request */
    uint64_t capabilities, boot_id;
};

/* @path NULL: $TENON_SOCKET, then /run/tenon/tenon.sock, then $XDG_RUNTIME_DIR/tenon.sock. */
int tenon_open(const char *path, const struct tenon_options *options, struct tenon **ret_tenon,
               struct tenon_error *error);
/* Cancels what is in flight.  Takes NULL, returns NULL. */
struct tenon *tenon_close(struct tenon *tenon);
const struct tenon_server *tenon_server(const struct tenon *tenon);
/* To poll for POLLIN beside others.  Also ask tenon_pending(): frames may have been read already. */
int tenon_fd(const struct tenon *tenon);
bool tenon_pending(const struct tenon *tenon);
int tenon_ping(struct tenon *tenon, uint64_t *ret_round_trip_ns, struct tenon_error *error);

/* ---- models ---- */

enum tenon_state { TENON_LOADING = 1, TENON_READY, TENON_DRAINING, TENON_GONE, TENON_FAILED };

struct tenon_model {
    const char *id;
    uint32_t state;             /* enum tenon_state; later servers may have more */
    uint32_t context;           /* positions of one sequence; 0 until loaded */
    uint64_t bytes;             /* of the file */
};

struct tenon_models { size_t count; const struct tenon_model *items; };

int tenon_models(struct tenon *tenon, struct tenon_models **ret_models, struct tenon_error *error);
struct tenon_models *tenon_models_free(struct tenon_models *models);

#define TENON_NO_TOKEN UINT32_MAX

struct tenon_model_info {       /* fields that are not known yet are 0 or "" */
    const char *id, *architecture, *name, *file_types, *level, *activations, *tokenizer, *pre_tokenizer;
    const char *chat_template;  /* "" = none */
    const char *note;
    const char *kernels;        /* by tensor type, "Q4_1 NAME; Q8_0 NAME from 9 columns, else NAME"; "" = not told */
    uint32_t state, vocab_size, context, context_trained, sequences, nodes, threads;
    uint32_t bos, eos;          /* or TENON_NO_TOKEN */
    const uint32_t *end_ids;    /* all that end an answer */
    size_t end_id_count;
    bool adds_bos, pinned, oversubscribed;
    uint64_t file_bytes, weight_bytes, kv_bytes, scratch_bytes, checksum;
    uint64_t load_bytes_done, load_bytes_total, load_ns;
    size_t page_count;          /* where the weights lie */
    const struct tenon_pages { uint64_t page_size, bytes; } *pages;
};

/* @model NULL or "": the only one there is. */
int tenon_model_info(struct tenon *tenon, const char *model, struct tenon_model_info **ret_info,
                     struct tenon_error *error);
struct tenon_model_info *tenon_model_info_free(struct tenon_model_info *info);

/* ---- prompts ---- */

enum tenon_segment_kind {
    TENON_TRUSTED_TEXT = 1,     /* special tokens in it become themselves: templates, never what a user typed */
    TENON_UNTRUSTED_TEXT = 2,   /* text is only text */
    TENON_TOKEN_IDS = 3,        /* data: uint32_t ids, size: their bytes */
};

struct tenon_segment {
    enum tenon_segment_kind kind;
    const void *data;
    size_t size;                /* bytes */
};

/* A prompt of at most server->max_prompt_bytes; longer untrusted texts go by memfd where the server takes them. */

struct tenon_tokens { size_t count; const uint32_t *ids, *offsets; };   /* offsets: bytes in the joined texts */

enum { TENON_NO_BOS = 1 };      /* no BOS even where the model asks for one */
int tenon_tokenize(struct tenon *tenon, const char *model, const struct tenon_segment *segments, size_t count,
                   uint32_t flags, struct tenon_tokens **ret_tokens, struct tenon_error *error);
struct tenon_tokens *tenon_tokens_free(struct tenon_tokens *tokens);

struct tenon_text { size_t size; const char *data; };                   /* and a NUL behind */

/* @control: control tokens give their names instead of nothing. */
int tenon_detokenize(struct tenon *tenon, const char *model, const uint32_t *ids, size_t count, bool control,
                     struct tenon_text **ret_text, struct tenon_error *error);
struct tenon_text *tenon_text_free(struct tenon_text *text);

/*
 * Messages into segments by the marker family of a model's template (ChatML, Llama 3, Gemma): markers are trusted,
 * contents are not.  Roles: "system", "user", "assistant".  The answer of the assistant is asked for at the end.
 * Segments borrow the contents.  TENON_E_CHAT where the template is of another family; TENON_E_LOADING while the model
 * loads, TENON_E_NOT_FOUND where that failed.
 */
struct tenon_message { const char *role, *content; size_t content_size; };
struct tenon_prompt { size_t count; const struct tenon_segment *segments; };

int tenon_chat(const struct tenon_model_info *info, const struct tenon_message *messages, size_t count,
               struct tenon_prompt **ret_prompt, struct tenon_error *error);
struct tenon_prompt *tenon_prompt_free(struct tenon_prompt *prompt);

/* ---- generation ---- */

struct tenon_bias { uint32_t id; float bias; };         /* -100 .. 100; -100 forbids the token */

struct tenon_request {
    const char *model;          /* NULL or "": the only one there is */
    const struct tenon_segment *segments;
    size_t segment_count;
    uint32_t max_tokens;        /* 0 = until the context is full */
    float temperature;          /* 0 = the most probable token, else 2^-10 .. 1024 */
    float top_p, min_p, typical_p;      /* 0 .. 1; top_p and typical_p 0 or 1 = off, min_p 0 = off */
    float repeat_penalty;       /* 0 or 1 = off */
    float presence_penalty, frequency_penalty;          /* -100 .. 100; 0 = off */
    uint32_t repeat_last_n;     /* tokens the penalties look back at; 0 = none */
    uint32_t top_k;             /* 0 = off */
    bool seed_given;            /* else the server draws one and tells it in the started event */
    uint64_t seed;
    bool want_logprob;          /* of each chosen token */
    uint32_t logprobs;          /* alternatives with each token, 0 .. 20 */
    bool ignore_eos, no_bos;
    const char *const *stops;   /* the answer ends before the first of them; at most 16 of 1 .. 256 bytes */
    size_t stop_count;
    const uint32_t *stop_ids;   /* at most 64 */
    size_t stop_id_count;
    const struct tenon_bias *biases;    /* at most 1024 */
    size_t bias_count;
    const char *grammar;        /* NULL = none */
    uint32_t credits;           /* tokens before tenon_grant(); 0 = no limit of ours */
    uint32_t deadline_ms;       /* from arrival; 0 = none */
};

#define TENON_REQUEST_DEFAULT { .temperature = 0, .top_p = 1, .typical_p = 1, .repeat_penalty = 1, .repeat_last_n = 64 }

enum tenon_event_kind { TENON_STARTED = 1, TENON_TOKENS, TENON_DONE, TENON_ERROR };
enum tenon_reason { TENON_STOP = 1, TENON_LENGTH, TENON_EOS, TENON_CANCELLED, TENON_DEADLINE };

struct tenon_alternative { uint32_t id; float logprob; };

struct tenon_token {
    uint32_t id;
    float logprob;              /* natural logarithm; 0 unless asked for */
    const char *text;           /* released with this token: whole UTF-8, often empty while something is held back */
    size_t text_size;
    const struct tenon_alternative *alternatives;       /* best first */
    size_t alternative_count;
};

struct tenon_event {
    uint64_t request;           /* as tenon_submit() gave it */
    enum tenon_event_kind kind; /* DONE and ERROR are the last */
    const char *text;           /* TOKENS, DONE: bytes released; all of them joined are the answer */
    size_t text_size;
    const struct tenon_token *tokens;   /* TOKENS: may be none, when a long text of the last one goes on */
    size_t token_count;
    uint32_t prompt_tokens, cached_tokens, generated_tokens;    /* STARTED (first two), DONE */
    uint64_t seed;              /* STARTED */
    uint64_t queue_ns, prefill_ns, decode_ns;   /* STARTED (the first), DONE */
    uint32_t reason;            /* DONE: enum tenon_reason; later servers may have more */
    struct tenon_error error;   /* ERROR */
};

/* Sends a request; its events come from tenon_next().  Many may be in flight on one connection. */
int tenon_submit(struct tenon *tenon, const struct tenon_request *request, uint64_t *ret_request,
                 struct tenon_error *error);
/*
 * The next event of @request (0 = of any).  Events of others that come meanwhile are kept.  @timeout_ms -1 = wait for
 * ever; TENON_E_TIMEOUT here leaves the connection whole.  A request's own failure is an event, not a result.
 */
int tenon_next(struct tenon *tenon, uint64_t request, int timeout_ms, struct tenon_event *ret_event,
               struct tenon_error *error);
/* The request still ends with its DONE event, soon. */
int tenon_cancel(struct tenon *tenon, uint64_t request, struct tenon_error *error);
int tenon_grant(struct tenon *tenon, uint64_t request, uint32_t credits, struct tenon_error *error);

/*
 * All of it in one call: @on_event sees each event and returns false to cancel.  An error event is this call's result.
 * ret_done (may be NULL) is the last event without texts and tokens.
 */
typedef bool tenon_on_event(void *arg, const struct tenon_event *event);
int tenon_generate(struct tenon *tenon, const struct tenon_request *request, tenon_on_event *on_event, void *arg,
                   struct tenon_event *ret_done, struct tenon_error *error);

/* ---- statistics, frames ---- */

struct tenon_counter { const char *name; uint64_t value; };
struct tenon_stats { size_t count; const struct tenon_counter *items; };
int tenon_stats(struct tenon *tenon, struct tenon_stats **ret_stats, struct tenon_error *error);
struct tenon_stats *tenon_stats_free(struct tenon_stats *stats);
/* As Prometheus reads it. */
int tenon_metrics(struct tenon *tenon, struct tenon_text **ret_text, struct tenon_error *error);

/*
 * Frames as they are, for tools (`tenon raw`): src/wire/PROTOCOL.md.  Cookies of raw requests must be below 2^32.
 * tenon_raw_next() gives each frame that no call of this library waits for, valid until the next call; the handshake
 * and answers to the server's own PING are done by the library.
 */
int tenon_raw_send(struct tenon *tenon, const void *frame, size_t size, struct tenon_error *error);
int tenon_raw_next(struct tenon *tenon, int timeout_ms, const void **ret_frame, size_t *ret_size,
                   struct tenon_error *error);

#ifdef __cplusplus
}
#endif
