/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/serve/fake_engine.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/base/clock.h"
#include "src/base/hash.h"

#define FAKE_LIVE_MAX 1024u

struct fake fake;

struct instance { struct instance_info info; };
struct vocab { int nothing; };
struct workers { int nothing; };
struct sequence { const struct engine_request *request; uint32_t made; bool parked, started; };

struct engine {
    struct engine_events events;
    struct sequence live[FAKE_LIVE_MAX];    /* in order of arrival */
    uint32_t count;
    struct engine_stats stats;
};

static struct vocab the_vocab;
static struct workers the_workers;

void fake_reset(void)
{
    memset(&fake, 0, sizeof(fake));
    fake.sequences = 4;
    fake.queue = 8;
    fake.context = 4096;
    fake.add_bos = true;
}

static void pass(uint64_t ns)
{
    struct timespec t = { (time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S) };

    if (ns)
        nanosleep(&t, NULL);
}

uint8_t fake_answer_byte(const uint32_t *prompt, uint32_t prompt_count, uint64_t seed, uint32_t n)
{
    uint64_t h = hash64(prompt, prompt_count * sizeof(*prompt), seed);

    return (uint8_t)('a' + hash64(&n, sizeof(n), h) % 26);
}

/* --- vocabulary --- */

void tokens_deinit(struct tokens *t)
{
    free(t->ids);
    free(t->offsets);
    *t = (struct tokens)TOKENS_NULL;
}

int tokens_push(struct tokens *t, uint32_t id, uint32_t offset)
{
    if (t->count == t->capacity) {
        size_t capacity = t->capacity ? 2 * t->capacity : 64;
        uint32_t *ids = realloc(t->ids, capacity * 4), *offsets;

        if (!ids)
            return -ENOMEM;
        t->ids = ids;
        offsets = realloc(t->offsets, capacity * 4);
        if (!offsets)
            return -ENOMEM;
        t->offsets = offsets;
        t->capacity = capacity;
    }
    t->ids[t->count] = id;
    t->offsets[t->count++] = offset;
    return 0;
}

uint32_t vocab_size(const struct vocab *v) { (void)v; return FAKE_VOCAB; }
const char *vocab_model_name(const struct vocab *v) { (void)v; return "bpe"; }
const char *vocab_pre_name(const struct vocab *v) { (void)v; return "fake"; }
uint32_t vocab_bos(const struct vocab *v) { (void)v; return FAKE_BOS; }
uint32_t vocab_eos(const struct vocab *v) { (void)v; return FAKE_EOS; }
bool vocab_add_bos(const struct vocab *v) { (void)v; return fake.add_bos; }
bool vocab_add_eos(const struct vocab *v) { (void)v; return false; }
bool vocab_is_eog(const struct vocab *v, uint32_t id) { (void)v; return id == FAKE_EOS; }
bool vocab_is_control(const struct vocab *v, uint32_t id) { (void)v; return id >= 256 && id != FAKE_LONG; }

int vocab_encode(const struct vocab *v, const void *text, size_t size, unsigned flags, struct tokens *tokens,
                 struct error *error)
{
    const uint8_t *s = text;
    size_t mark = strlen(FAKE_MARK_TEXT);

    (void)v;
    (void)error;
    pass(fake.encode_ns_per_byte * (uint64_t)size);
    for (size_t i = 0; i < size;) {
        bool special = flags & VOCAB_PARSE_SPECIAL && size - i >= mark && memcmp(s + i, FAKE_MARK_TEXT, mark) == 0;

        if (tokens_push(tokens, special ? FAKE_MARK : s[i], (uint32_t)i) < 0)
            return -ENOMEM;
        i += special ? mark : 1;
    }
    return 0;
}

void vocab_decode(const struct vocab *v, uint32_t id, bool with_control, struct buffer *out)
{
    (void)v;
    if (id < 256)
        buffer_put_u8(out, (uint8_t)id);
    else if (id == FAKE_LONG)
        for (uint32_t i = 0; i < fake.long_token; i++)
            buffer_put_u8(out, 'x');
    else if (with_control && id == FAKE_MARK)
        buffer_put(out, FAKE_MARK_TEXT, strlen(FAKE_MARK_TEXT));
}

int gguf_get_string(const struct gguf *gguf, const char *key, struct span *ret, struct error *error)
{
    static const char text[] = "{{ messages }}";

    (void)gguf;
    (void)error;
    if (strcmp(key, "tokenizer.chat_template") != 0)
        return 1;
    *ret = (struct span){ (const uint8_t *)text, sizeof(text) - 1 };
    return 0;
}

int sampling_check(const struct sampling *s, struct error *error)
{
    return s->min_p == 0.123f ? error_set(error, -EINVAL, "min_p is 0.123") : 0;
}

/* --- instance --- */

int instance_load(const struct instance_config *config, struct workers **workers, struct instance **ret_instance,
                  struct error *error)
{
    struct instance *in = calloc(1, sizeof(*in));
    struct loader_report *l = &in->info.load;
    uint64_t begun = clock_now_ns();

    for (uint32_t i = 0; i <= 10; i++) {
        *l = (struct loader_report){ .bytes_done = i * 1000, .bytes_total = 10000, .bytes_read = i * 1000,
                                     .started_ns = begun, .now_ns = clock_now_ns() };
        if (config->progress)
            config->progress(config->progress_arg, l);
        pass(i < 10 ? fake.load_ns / 10 : 0);
    }
    if (fake.load_error) {
        free(in);
        return error_set(error, fake.load_error, "the file is bad");
    }
    in->info = (struct instance_info){
        .id = config->id, .architecture = "fake", .name = "fake model", .file_types = "F32 1", .level = "ref",
        .activations = "int8", .file_bytes = 10000, .weight_bytes = 10000, .vocab_size = FAKE_VOCAB,
        .context = fake.context, .context_trained = 2 * fake.context, .sequences = fake.sequences, .nodes = 1,
        .threads = 1, .load = *l, .note = "computes nothing", .kernel_count = 4,
        .kernels = { { "F32", "one", NULL, UINT32_MAX }, { "Q4_0", "few", "many", 9 },
                     { "Q4_1", "few", "many", 1 }, { "Q4_K", "few", "many", UINT32_MAX } },
    };
    *workers = &the_workers;
    *ret_instance = in;
    return 0;
}

struct instance *instance_free(struct instance *in)
{
    free(in);
    return NULL;
}

const struct instance_info *instance_info(const struct instance *in) { return &in->info; }
const struct vocab *instance_vocab(const struct instance *in) { (void)in; return &the_vocab; }
const struct gguf *instance_gguf(const struct instance *in) { (void)in; return NULL; }
struct workers *workers_free(struct workers *w) { (void)w; return NULL; }
uint32_t workers_count(const struct workers *w) { (void)w; return 1; }
uint64_t workers_busy_ns(const struct workers *w, uint32_t worker) { (void)w; (void)worker; return 0; }

/* --- engine --- */

int engine_new(struct workers *workers, const struct engine_events *events, struct engine **ret_engine,
               struct error *error)
{
    struct engine *e = calloc(1, sizeof(*e));

    (void)workers;
    if (!e)
        return error_set(error, -ENOMEM, "no memory");
    e->events = *events;
    e->stats.kv_blocks_total = 64;
    *ret_engine = e;
    return 0;
}

struct engine *engine_free(struct engine *e)
{
    free(e);
    return NULL;
}

static struct sequence *find(struct engine *e, uint64_t key)
{
    for (uint32_t i = 0; i < e->count; i++)
        if (e->live[i].request->key == key)
            return &e->live[i];
    return NULL;
}

int engine_submit(struct engine *e, const struct engine_request *q, struct error *error)
{
    if (q->prompt_count + 1 > fake.context)
        return error_set(error, -E2BIG, "the prompt has %u tokens", q->prompt_count);
    if (e->count >= fake.sequences + fake.queue || e->count == FAKE_LIVE_MAX)
        return 1;
    e->live[e->count++] = (struct sequence){ .request = q };
    fake.live++;
    fake.submitted++;
    return 0;
}

static void finish(struct engine *e, struct sequence *s, enum engine_reason reason)
{
    struct engine_done d = { .reason = reason, .prompt_tokens = s->request->prompt_count, .generated_tokens = s->made,
                             .text_offset = s->made * (fake.long_token ? fake.long_token : 1) };
    uint64_t key = s->request->key;
    uint32_t at = (uint32_t)(s - e->live);

    e->stats.requests_done[reason]++;
    fake.parked -= s->parked;
    e->count--;
    memmove(s, s + 1, (e->count - at) * sizeof(*s));
    fake.live--;
    if (reason == ENGINE_CANCELLED)
        fake.cancelled++;
    e->events.done(e->events.arg, key, &d);
}

void engine_cancel(struct engine *e, uint64_t key)
{
    struct sequence *s = find(e, key);

    if (s)
        finish(e, s, ENGINE_CANCELLED);
}

void engine_park(struct engine *e, uint64_t key, bool parked)
{
    struct sequence *s = find(e, key);

    if (!s || s->parked == parked)
        return;
    s->parked = parked;
    fake.parks += parked;
    if (parked)
        fake.parked++;
    else
        fake.parked--;
}

static void emit(struct engine *e, struct sequence *s)
{
    const struct engine_request *q = s->request;
    struct engine_alternative best[ENGINE_LOGPROBS_MAX];
    uint8_t byte = fake_answer_byte(q->prompt, q->prompt_count, q->sampling.seed, s->made);
    uint8_t *text = malloc(max_u64(1, fake.long_token));
    struct engine_token t = { .id = byte, .logprob = q->want_logprob ? -0.5f : 0, .text = text,
                              .alternatives = best, .alternative_count = q->logprobs };

    t.text_size = fake.long_token ? fake.long_token : 1;
    t.text_offset = s->made * t.text_size;
    memset(text, byte, t.text_size);
    for (uint32_t i = 0; i < q->logprobs; i++)
        best[i] = (struct engine_alternative){ i, -(float)i };
    s->made++;
    fake.tokens++;
    e->stats.generated_tokens++;
    e->events.token(e->events.arg, q->key, &t);
    free(text);
}

/* True when it is still there. */
static bool advance(struct engine *e, struct sequence *s)
{
    const struct engine_request *q = s->request;
    struct engine_started started = { .prompt_tokens = q->prompt_count, .seed = q->sampling.seed };
    uint32_t room = fake.context - q->prompt_count;
    uint8_t byte;

    if (!s->started) {
        s->started = true;
        e->stats.prompt_tokens += q->prompt_count;
        e->events.started(e->events.arg, q->key, &started);
    }
    emit(e, s);
    byte = fake_answer_byte(q->prompt, q->prompt_count, q->sampling.seed, s->made - 1);
    for (uint32_t i = 0; i < q->stop_id_count; i++)
        if (q->stop_ids[i] == byte) {
            finish(e, s, ENGINE_STOP);
            return false;
        }
    if (s->made == (q->max_tokens ? min_u64(q->max_tokens, room) : room)) {
        finish(e, s, ENGINE_LENGTH);
        return false;
    }
    return true;
}

bool engine_step(struct engine *e)
{
    uint64_t now = clock_now_ns();
    uint32_t ran = 0;

    for (uint32_t i = 0; i < e->count;) {
        struct sequence *s = &e->live[i];

        if (s->request->deadline_ns && now >= s->request->deadline_ns)
            finish(e, s, ENGINE_DEADLINE);
        else
            i++;
    }
    for (uint32_t i = 0, places = fake.sequences; i < e->count && places; places--) {
        if (e->live[i].parked) {
            i++;
            continue;
        }
        ran++;
        if (advance(e, &e->live[i]))
            i++;
    }
    if (ran)
        pass(fake.step_ns);
    e->stats.steps += ran != 0;
    return ran != 0;
}

void engine_stats(const struct engine *e, struct engine_stats *ret)
{
    *ret = e->stats;
    ret->parked = fake.parked;
    ret->running = (uint32_t)min_u64(e->count, fake.sequences);
    ret->waiting = e->count - ret->running;
    ret->kv_blocks_used = e->count;
}
