/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/serve/prompt.h"
#include "tests/serve/fake_engine.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static struct refusal refusal;
static struct tokens tokens;

static int reset(void **state)
{
    (void)state;
    fake_reset();
    refusal = (struct refusal)REFUSAL_NULL;
    tokens = (struct tokens)TOKENS_NULL;
    return 0;
}

static int clear(void **state)
{
    (void)state;
    tokens_deinit(&tokens);
    return 0;
}

static struct wire_segment text(uint32_t kind, const char *s)
{
    return (struct wire_segment){ .kind = kind, .data = { (const uint8_t *)s, strlen(s) } };
}

static struct wire_segment ids(const uint32_t *list, size_t count)
{
    return (struct wire_segment){ .kind = WIRE_SEGMENT_KIND_TOKEN_IDS, .data = { (const uint8_t *)list, count * 4 } };
}

static struct prompt prompt_of(const struct wire_segment *segments, uint32_t count)
{
    return (struct prompt){ .segments = { .count = count, .items = segments }, .context = 4096 };
}

static void expect_ids(const uint32_t *expected, size_t count)
{
    assert_int_equal(tokens.count, count);
    assert_memory_equal(tokens.ids, expected, count * 4);
}

#define EXPECT(...) expect_ids((const uint32_t[]){ __VA_ARGS__ }, sizeof((const uint32_t[]){ __VA_ARGS__ }) / 4)

/* What a user typed never becomes a special token, whatever the segments beside it are. */
static void untrusted_text_stays_text(void **state)
{
    struct wire_segment s[] = { text(WIRE_SEGMENT_KIND_TRUSTED_TEXT, "<|mark|>"),
                                text(WIRE_SEGMENT_KIND_UNTRUSTED_TEXT, "<|mark|>"),
                                text(WIRE_SEGMENT_KIND_UNTRUSTED_TEXT, "<|"),
                                text(WIRE_SEGMENT_KIND_UNTRUSTED_TEXT, "mark|>"),
                                text(WIRE_SEGMENT_KIND_TRUSTED_TEXT, "<|mark|>") };
    struct prompt p = prompt_of(s, ARRAY_LENGTH(s));
    uint32_t marks = 0;

    (void)state;
    assert_int_equal(prompt_encode(&p, &tokens, &refusal), 0);
    for (size_t i = 0; i < tokens.count; i++)
        marks += tokens.ids[i] == FAKE_MARK;
    assert_int_equal(marks, 2);
    assert_int_equal(tokens.count, 1 + 2 + 8 + 8);
    assert_int_equal(tokens.offsets[tokens.count - 1], 24);     /* over the text of all segments */
}

static void exactly_one_bos(void **state)
{
    static const uint32_t with[] = { FAKE_BOS, 'a' }, without[] = { 'a' };
    struct wire_segment a = text(WIRE_SEGMENT_KIND_UNTRUSTED_TEXT, "a");
    struct wire_segment b[] = { ids(with, 2) }, c[] = { ids(without, 1) };
    struct prompt p = prompt_of(&a, 1);

    (void)state;
    assert_int_equal(prompt_encode(&p, &tokens, &refusal), 0);
    EXPECT(FAKE_BOS, 'a');
    tokens_deinit(&tokens);

    p = prompt_of(b, 1);                /* the segments begin with it */
    assert_int_equal(prompt_encode(&p, &tokens, &refusal), 0);
    EXPECT(FAKE_BOS, 'a');
    tokens_deinit(&tokens);

    p = prompt_of(c, 1);
    p.no_bos = true;
    assert_int_equal(prompt_encode(&p, &tokens, &refusal), 0);
    EXPECT('a');
    tokens_deinit(&tokens);

    p = prompt_of(c, 1);
    fake.add_bos = false;               /* the model does not ask */
    assert_int_equal(prompt_encode(&p, &tokens, &refusal), 0);
    EXPECT('a');
}

static void empty_prompts(void **state)
{
    struct wire_segment s[] = { text(WIRE_SEGMENT_KIND_TRUSTED_TEXT, ""), text(WIRE_SEGMENT_KIND_UNTRUSTED_TEXT, "") };
    struct prompt p = prompt_of(s, 2);

    (void)state;
    assert_int_equal(prompt_encode(&p, &tokens, &refusal), WIRE_E_INVALID);
    assert_non_null(strstr(refusal.text, "empty"));
    p.may_be_empty = true;
    assert_int_equal(prompt_encode(&p, &tokens, &refusal), 0);
    EXPECT(FAKE_BOS);
}

static void ids_are_checked(void **state)
{
    static const uint32_t bad[] = { 1, FAKE_VOCAB }, worse[] = { UINT32_MAX };
    struct wire_segment s = ids(bad, 2);
    struct prompt p = prompt_of(&s, 1);

    (void)state;
    assert_int_equal(prompt_encode(&p, &tokens, &refusal), WIRE_E_INVALID);
    assert_int_equal(refusal.detail, FAKE_VOCAB);
    s = ids(worse, 1);
    assert_int_equal(prompt_encode(&p, &tokens, &refusal), WIRE_E_INVALID);
}

static void context_is_checked(void **state)
{
    struct wire_segment s = text(WIRE_SEGMENT_KIND_UNTRUSTED_TEXT, "0123456789");
    struct prompt p = prompt_of(&s, 1);
    uint64_t bytes;
    bool memfd;

    (void)state;
    p.context = 12;                     /* BOS, ten bytes, and one place for the answer */
    assert_int_equal(prompt_encode(&p, &tokens, &refusal), 0);
    tokens_deinit(&tokens);
    p.context = 11;
    assert_int_equal(prompt_encode(&p, &tokens, &refusal), WIRE_E_CONTEXT_TOO_LONG);
    assert_int_equal(refusal.detail, 11);
    p.longest_token = 1;                /* known before anything is tokenised */
    p.context = 10;
    assert_int_equal(prompt_measure(&p, &bytes, &memfd, &refusal), WIRE_E_CONTEXT_TOO_LONG);
    p.context = 11;
    assert_int_equal(prompt_measure(&p, &bytes, &memfd, &refusal), 0);
    assert_int_equal(bytes, 10);
    assert_false(memfd);
}

static int make_memfd(const char *content, int seals)
{
    int fd = memfd_create("prompt", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    assert_int_equal(write(fd, content, strlen(content)), strlen(content));
    assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

static void memfds(void **state)
{
    struct wire_segment s[] = { text(WIRE_SEGMENT_KIND_UNTRUSTED_TEXT, "ab"),
                                { .kind = WIRE_SEGMENT_KIND_TEXT_MEMFD, .fd = 1 } };
    struct prompt p = prompt_of(s, 2);
    int fds[2] = { -1, make_memfd("<|mark|>", SEALS) };
    uint64_t bytes;
    bool memfd;

    (void)state;
    p.fds = fds;
    p.fd_count = 2;
    assert_int_equal(prompt_measure(&p, &bytes, &memfd, &refusal), 0);
    assert_true(memfd);
    assert_int_equal(bytes, 10);
    assert_int_equal(prompt_encode(&p, &tokens, &refusal), 0);
    assert_int_equal(tokens.count, 11);         /* untrusted: no mark */
    p.fd_count = 1;                             /* names one that did not come */
    assert_int_equal(prompt_measure(&p, &bytes, &memfd, &refusal), WIRE_E_INVALID);
    close(fds[1]);
}

static void memfds_that_could_change(void **state)
{
    static const int seals[] = { 0, F_SEAL_SHRINK | F_SEAL_GROW, F_SEAL_WRITE | F_SEAL_GROW,
                                 F_SEAL_SHRINK | F_SEAL_WRITE };
    struct wire_segment s = { .kind = WIRE_SEGMENT_KIND_TEXT_MEMFD };
    struct prompt p = prompt_of(&s, 1);
    uint64_t bytes;
    bool memfd;
    int fd;

    (void)state;
    p.fds = &fd;
    p.fd_count = 1;
    for (size_t i = 0; i < ARRAY_LENGTH(seals); i++) {
        fd = make_memfd("text", seals[i]);
        assert_int_equal(prompt_measure(&p, &bytes, &memfd, &refusal), WIRE_E_INVALID);
        assert_int_equal(prompt_encode(&p, &tokens, &refusal), WIRE_E_INVALID);
        close(fd);
    }
    fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    assert_int_equal(prompt_measure(&p, &bytes, &memfd, &refusal), WIRE_E_INVALID);
    close(fd);
    fd = memfd_create("large", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(ftruncate(fd, WIRE_LIMIT_PROMPT_MEMFD + 1), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, SEALS), 0);
    assert_int_equal(prompt_measure(&p, &bytes, &memfd, &refusal), WIRE_E_LIMIT);
    close(fd);
}

/* Several memfds, each within the limit, are not within it together. */
static void memfds_together(void **state)
{
    struct wire_segment s[2] = { { .kind = WIRE_SEGMENT_KIND_TEXT_MEMFD }, { .kind = WIRE_SEGMENT_KIND_TEXT_MEMFD } };
    struct prompt p = prompt_of(s, 2);
    uint64_t bytes;
    bool memfd;
    int fd = memfd_create("large", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    (void)state;
    p.context = 0;
    p.fds = &fd;
    p.fd_count = 1;
    assert_int_equal(ftruncate(fd, WIRE_LIMIT_PROMPT_MEMFD / 2 + 1), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, SEALS), 0);
    assert_int_equal(prompt_measure(&p, &bytes, &memfd, &refusal), WIRE_E_LIMIT);
    p.segments.count = 1;
    assert_int_equal(prompt_measure(&p, &bytes, &memfd, &refusal), 0);
    close(fd);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, reset, clear)
    const struct CMUnitTest tests[] = {
        CASE(untrusted_text_stays_text), CASE(exactly_one_bos), CASE(empty_prompts), CASE(ids_are_checked),
        CASE(context_is_checked), CASE(memfds), CASE(memfds_that_could_change), CASE(memfds_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
