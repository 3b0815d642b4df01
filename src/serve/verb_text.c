/* SPDX-License-Identifier: Apache-2.0 */
/* TOKENIZE and DETOKENIZE; and where text that was turned into tokens goes on. */
#include <string.h>

#include "src/serve/door_internal.h"

#define IDS_INLINE_MAX 4096u            /* ids that the door turns into text itself */

static void refuse_frame(struct conn *c, const struct inbox_frame *frame, const struct refusal *refusal)
{
    reply_error(c, frame->header.type, frame->header.request, refusal);
}

/* What the work may come to hold, at worst: a token for each byte, and text read from memfds. */
static uint64_t worst_bytes(const struct scribe_work *w, uint64_t text_bytes, bool memfd, size_t payload)
{
    return payload + (memfd ? text_bytes : 0) + (w->kind == SCRIBE_ENCODE ? 8 * text_bytes : 0);
}

static void tokenize(struct conn *c, struct inbox_frame *frame, struct request *r, struct scribe_work *w)
{
    struct wire_fault fault;
    struct wire_tokenize t;
    uint64_t bytes = 0;
    bool memfd = false;
    struct refusal refusal;

    check(wire_tokenize_decode((struct span){ w->payload, frame->payload.size }, &t, &fault) == 0);
    w->prompt.vocab = instance_vocab(r->model->instance);
    w->prompt.segments = t.segments;
    w->prompt.no_bos = t.flags & WIRE_FLAG_PROMPT_NO_BOS;
    w->prompt.may_be_empty = true;
    if (prompt_measure(&w->prompt, &bytes, &memfd, &refusal) ||
        request_charge(r, worst_bytes(w, bytes, memfd, frame->payload.size), &refusal)) {
        reply_refuse(r, &refusal);
        scribe_work_free(w);
    } else if (memfd || bytes > c->door->limits->inline_text) {
        request_give(r, w);
    } else {
        scribe_work_do(w);
        verb_read(r, w);
        scribe_work_free(w);
    }
}

void verb_tokenize(struct conn *c, struct inbox_frame *frame)
{
    struct scribe_work *w;
    struct wire_fault fault;
    struct wire_tokenize t;
    struct refusal refusal;
    struct model *model;
    struct request *r;

    if (wire_tokenize_decode(frame->payload, &t, &fault))
        refuse_fault(&refusal, &fault);
    else if (models_find_ready(&c->door->models, t.model, &model, &refusal) == 0 &&
             request_new(c, &frame->header, &r, &refusal) == 0) {
        r->model = model;
        w = scribe_work_new(SCRIBE_ENCODE, frame->payload, frame->fds, frame->header.nfds);
        if (w) {
            tokenize(c, frame, r, w);
            return;
        }
        refuse(&refusal, WIRE_E_NO_MEMORY, 0, "no memory for the text");
        reply_refuse(r, &refusal);
        return;
    }
    refuse_frame(c, frame, &refusal);
}

static void detokenize(struct inbox_frame *frame, struct request *r, struct scribe_work *w)
{
    struct wire_detokenize d;
    struct wire_fault fault;
    struct refusal refusal;

    check(wire_detokenize_decode((struct span){ w->payload, frame->payload.size }, &d, &fault) == 0);
    w->prompt.vocab = instance_vocab(r->model->instance);
    w->ids = d.ids;
    w->with_control = d.flags & WIRE_FLAG_DETOKENIZE_CONTROL;
    if (request_charge(r, worst_bytes(w, 0, false, frame->payload.size), &refusal)) {
        reply_refuse(r, &refusal);
        scribe_work_free(w);
    } else if (d.ids.count > IDS_INLINE_MAX) {
        request_give(r, w);
    } else {
        scribe_work_do(w);
        verb_read(r, w);
        scribe_work_free(w);
    }
}

void verb_detokenize(struct conn *c, struct inbox_frame *frame)
{
    struct wire_detokenize d;
    struct scribe_work *w;
    struct wire_fault fault;
    struct refusal refusal;
    struct model *model;
    struct request *r;

    if (wire_detokenize_decode(frame->payload, &d, &fault))
        refuse_fault(&refusal, &fault);
    else if (models_find_ready(&c->door->models, d.model, &model, &refusal) == 0 &&
             request_new(c, &frame->header, &r, &refusal) == 0) {
        r->model = model;
        w = scribe_work_new(SCRIBE_DECODE, frame->payload, NULL, 0);
        if (w) {
            detokenize(frame, r, w);
            return;
        }
        refuse(&refusal, WIRE_E_NO_MEMORY, 0, "no memory for the ids");
        reply_refuse(r, &refusal);
        return;
    }
    refuse_frame(c, frame, &refusal);
}

/* What is really held now, instead of the worst that was to be feared.  It only gets less. */
static void recharge(struct request *r, uint64_t bytes)
{
    if (bytes >= r->charged_bytes)
        return;
    user_discharge_bytes(r->user, r->charged_bytes - bytes);
    r->charged_bytes = bytes;
}

void verb_read(struct request *r, struct scribe_work *w)
{
    struct refusal refusal;

    if (w->refusal.code) {
        reply_refuse(r, &w->refusal);
        return;
    }
    if (w->text.size > r->charged_bytes && request_charge(r, w->text.size - r->charged_bytes, &refusal)) {
        reply_refuse(r, &refusal);
        return;
    }
    recharge(r, w->text.size + w->tokens.capacity * 8);
    if (r->type == WIRE_TYPE_GENERATE) {
        r->job->prompt = w->tokens;
        w->tokens = (struct tokens)TOKENS_NULL;
        r->job->request.prompt = r->job->prompt.ids;
        r->job->request.prompt_count = (uint32_t)r->job->prompt.count;
        request_submit(r);
        return;
    }
    r->body.kind = r->type == WIRE_TYPE_TOKENIZE ? BODY_TOKENS : BODY_TEXT;
    r->body.tokens = w->tokens;
    r->body.text = w->text;
    w->tokens = (struct tokens)TOKENS_NULL;
    w->text = (struct buffer)BUFFER_NULL;
    request_move(r, REQUEST_REPLYING);
    conn_touch(r->conn);
}
