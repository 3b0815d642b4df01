/* SPDX-License-Identifier: Apache-2.0 */
#include "src/client/chat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/client/connection.h"

/*
 * Sources: the chat templates that models of these families carry, and
 * ChatML: https://github.com/openai/openai-python/blob/release-v0.28.0/chatml.md
 * Llama 3: https://www.llama.com/docs/model-cards-and-prompt-formats/meta-llama-3/
 * Gemma: https://ai.google.dev/gemma/docs/core/prompt-structure
 */
struct chat_family {
    const char *name;
    const char *mark;                   /* in a template of this family */
    const char *bos;                    /* text of its BOS token, NULL = none */
    const char *before_role, *after_role, *after_content;
    const char *system, *user, *assistant;  /* names of roles; system NULL: goes in front of the first user's text */
    bool trims;                         /* blanks around contents are dropped */
    bool alternates;                    /* user and assistant must take turns, user first */
};

static const struct chat_family families[] = {
    { "Llama 3", "<|start_header_id|>", "<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>\n\n",
      "<|eot_id|>", "system", "user", "assistant", true, false },
    { "Gemma", "<start_of_turn>", "<bos>", "<start_of_turn>", "\n", "<end_of_turn>\n", NULL, "user", "model", true,
      true },
    { "ChatML", "<|im_start|>", NULL, "<|im_start|>", "\n", "<|im_end|>\n", "system", "user", "assistant", false,
      false },
};

/* A prompt while it is written.  Trusted text is gathered; positions become pointers when it no longer moves. */
struct writer {
    const struct chat_family *family;
    struct span template;
    struct buffer text;                 /* all trusted text */
    struct buffer pieces;               /* struct piece */
};

struct piece {
    struct span content;                /* untrusted; data NULL: trusted */
    size_t start, size;                 /* in text */
};

struct prompt_result {
    struct tenon_prompt public;
    struct tenon_segment *segments;
    uint8_t *text;
};

static const uint8_t *find(struct span in, const char *what)
{
    return in.size ? memmem(in.data, in.size, what, strlen(what)) : NULL;
}

static struct span behind(struct span in, const uint8_t *from, size_t skip)
{
    size_t at = (size_t)(from - in.data) + skip;

    return span_of(in.data + at, in.size - at);
}

const struct chat_family *chat_family_find(struct span template)
{
    for (size_t i = 0; i < ARRAY_LENGTH(families); i++)
        if (find(template, families[i].mark))
            return &families[i];
    return NULL;
}

const char *chat_family_name(const struct chat_family *family) { return family->name; }

/* ---- writing ---- */

static void trusted(struct writer *w, const void *text, size_t size)
{
    size_t count = w->pieces.size / sizeof(struct piece);
    struct piece *last = count ? (struct piece *)(void *)w->pieces.data + count - 1 : NULL;
    struct piece new = { .start = w->text.size, .size = size };

    if (!size)
        return;
    buffer_put(&w->text, text, size);
    if (last && !last->content.data)
        last->size += size;
    else
        buffer_put(&w->pieces, &new, sizeof(new));
}

static void marker(struct writer *w, const char *text) { trusted(w, text, strlen(text)); }

static void untrusted(struct writer *w, struct span content)
{
    struct piece new = { .content = content };

    if (content.size)
        buffer_put(&w->pieces, &new, sizeof(new));
}

/* What templates' trim takes away, as far as it is ASCII. */
static bool is_blank(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f); }

static struct span trimmed(struct span s)
{
    while (s.size && is_blank(s.data[s.size - 1]))
        s.size--;
    while (s.size && is_blank(s.data[0])) {
        s.data++;
        s.size--;
    }
    return s;
}

static struct span content_of(const struct writer *w, const struct tenon_message *m)
{
    struct span s = span_of(m->content, m->content_size);

    return w->family->trims ? trimmed(s) : s;
}

static void turn_begins(struct writer *w, const char *role)
{
    marker(w, w->family->before_role);
    marker(w, role);
    marker(w, w->family->after_role);
}

/*
 * A system message that the template puts where the caller has none: a literal between the system marker and the end
 * marker, free of quotes and of template code.
 */
static struct span default_system(const struct writer *w)
{
    char mark[64];
    struct span rest = w->template;
    const uint8_t *at;

    if (!w->family->system)
        return span_of("", 0);
    snprintf(mark, sizeof(mark), "%s%s", w->family->before_role, w->family->system);
    while ((at = find(rest, mark))) {
        const uint8_t *end;
        struct span text;

        rest = behind(rest, at, strlen(mark));
        text = rest;
        if (text.size >= 2 && text.data[0] == '\\' && text.data[1] == 'n')
            text = behind(text, text.data, 2);      /* a line feed as template source writes it */
        else if (text.size >= 1 && text.data[0] == '\n')
            text = behind(text, text.data, 1);
        else
            continue;
        end = find(text, "<|im_end|>");
        if (!end)
            break;
        text.size = (size_t)(end - text.data);
        if (!memchr(text.data, '\'', text.size) && !memchr(text.data, '"', text.size) &&
            !memchr(text.data, '\\', text.size) && !memchr(text.data, '{', text.size))
            return text;
    }
    return span_of("", 0);
}

/* Reasoning of former turns, as "<think>…</think>", is dropped where the template drops it. */
static struct span without_thoughts(const struct writer *w, struct span content)
{
    const uint8_t *at;

    if (!find(w->template, "</think>"))
        return content;
    while ((at = find(content, "</think>")))
        content = behind(content, at, strlen("</think>"));
    while (content.size && content.data[0] == '\n')
        content = behind(content, content.data, 1);
    return content;
}

static const char *role_name(const struct chat_family *family, const char *role)
{
    return !strcmp(role, "user") ? family->user
           : !strcmp(role, "assistant") ? family->assistant
           : !strcmp(role, "system") ? (family->system ? family->system : "")
                                     : NULL;
}

/* Roles that this family can hold, in an order that it can hold. */
static int check_roles(const struct writer *w, const struct tenon_message *messages, size_t count,
                       struct tenon_error *error)
{
    const struct chat_family *f = w->family;
    bool merged = count && !f->system && messages[0].role && !strcmp(messages[0].role, "system");

    if (!count)
        return tenon_error_set(error, TENON_E_CHAT, "chat: no messages");
    if (merged && find(w->template, "System role not supported"))
        return tenon_error_set(error, TENON_E_CHAT, "chat: this model's template has no system messages");
    for (size_t i = 0; i < count; i++) {
        const char *name = messages[i].role ? role_name(f, messages[i].role) : NULL;
        bool first = merged && i == 0;

        if (!name || (!messages[i].content && messages[i].content_size))
            return tenon_error_set(error, TENON_E_CHAT, "chat: message %zu: role \"%.32s\"; known are system, user, "
                                   "assistant", i, messages[i].role ? messages[i].role : "");
        if (!f->alternates || first)
            continue;
        if (!*name || !strcmp(name, f->user) != ((i - merged) % 2 == 0))
            return tenon_error_set(error, TENON_E_CHAT, "chat: message %zu: with %s user and assistant take turns, "
                                   "user first", i, f->name);
    }
    if (merged && count == 1)
        return tenon_error_set(error, TENON_E_CHAT, "chat: with %s a system message needs one of the user", f->name);
    return 0;
}

static size_t last_user(const struct tenon_message *messages, size_t count)
{
    while (count > 0 && strcmp(messages[count - 1].role, "user") != 0)
        count--;
    return count;                       /* one behind it; 0 = none */
}

static void write_all(struct writer *w, bool server_adds_bos, const struct tenon_message *messages, size_t count)
{
    const struct chat_family *f = w->family;
    bool has_system = !strcmp(messages[0].role, "system");
    size_t thoughts_end = last_user(messages, count);

    if (f->bos && !server_adds_bos)
        marker(w, f->bos);
    if (!has_system && default_system(w).size) {
        turn_begins(w, f->system);
        trusted(w, default_system(w).data, default_system(w).size);
        marker(w, f->after_content);
    }
    for (size_t i = has_system && !f->system ? 1 : 0; i < count; i++) {
        struct span content = content_of(w, &messages[i]);
        const char *role = role_name(f, messages[i].role);

        if (role == f->assistant && i < thoughts_end)
            content = without_thoughts(w, content);
        turn_begins(w, role);
        if (i == 1 && has_system && !f->system) {
            untrusted(w, span_of(messages[0].content, messages[0].content_size));
            marker(w, "\n\n");
        }
        untrusted(w, content);
        marker(w, f->after_content);
    }
    turn_begins(w, f->assistant);
}

/* Pieces to segments.  The text is handed over to the result. */
static struct prompt_result *finish(struct writer *w)
{
    size_t count = w->pieces.size / sizeof(struct piece);
    const struct piece *pieces = (const struct piece *)(const void *)w->pieces.data;
    struct prompt_result *p = calloc(1, sizeof(*p));

    if (!p || !buffer_ok(&w->text) || !buffer_ok(&w->pieces))
        return free(p), NULL;
    p->segments = calloc(count, sizeof(p->segments[0]));
    if (!p->segments)
        return free(p), NULL;
    p->text = w->text.data;
    w->text = (struct buffer)BUFFER_NULL;
    for (size_t i = 0; i < count; i++) {
        const struct piece *piece = &pieces[i];

        if (piece->content.data)
            p->segments[i] = (struct tenon_segment){ TENON_UNTRUSTED_TEXT, piece->content.data, piece->content.size };
        else
            p->segments[i] = (struct tenon_segment){ TENON_TRUSTED_TEXT, p->text + piece->start, piece->size };
    }
    p->public = (struct tenon_prompt){ count, p->segments };
    return p;
}

int chat_prompt(struct span template, bool server_adds_bos, const struct tenon_message *messages, size_t count,
                struct tenon_prompt **ret_prompt, struct tenon_error *error)
{
    struct writer w = { .family = chat_family_find(template), .template = template };
    struct prompt_result *result = NULL;
    int r;

    if (!template.size)
        return tenon_error_set(error, TENON_E_CHAT, "chat: this model has no chat template; completion works");
    if (!w.family)
        return tenon_error_set(error, TENON_E_CHAT, "chat: this model's template is of no family known here (ChatML, "
                               "Llama 3, Gemma); completion works");
    if (count > CHAT_MESSAGES_MAX)
        return tenon_error_set(error, TENON_E_LIMIT, "chat: %zu messages, at most %u", count, CHAT_MESSAGES_MAX);
    r = check_roles(&w, messages, count, error);
    if (r)
        return r;
    write_all(&w, server_adds_bos, messages, count);
    result = finish(&w);
    buffer_deinit(&w.text);
    buffer_deinit(&w.pieces);
    if (!result)
        return tenon_error_set(error, TENON_E_SYSTEM, "chat: no memory");
    *ret_prompt = &result->public;
    return 0;
}

int tenon_chat(const struct tenon_model_info *info, const struct tenon_message *messages, size_t count,
               struct tenon_prompt **ret_prompt, struct tenon_error *error)
{
    /* The template comes with the file: without one there is nothing to say about it. */
    if (info->state == TENON_LOADING)
        return tenon_error_set(error, TENON_E_LOADING, "chat: model %s is loading: its template is not known yet",
                               info->id);
    if (info->state == TENON_FAILED)
        return tenon_error_set(error, TENON_E_NOT_FOUND, "chat: model %s failed to load: %s", info->id, info->note);
    return chat_prompt(span_of(info->chat_template, strlen(info->chat_template)), info->adds_bos, messages, count,
                       ret_prompt, error);
}

struct tenon_prompt *tenon_prompt_free(struct tenon_prompt *prompt)
{
    struct prompt_result *p = (struct prompt_result *)prompt;

    if (p) {
        free(p->segments);
        free(p->text);
        free(p);
    }
    return NULL;
}
