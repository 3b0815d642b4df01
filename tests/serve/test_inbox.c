/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/serve/inbox.h"

static bool is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }
static int some_fd(void) { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

static void put_frame(struct buffer *b, uint32_t length, uint64_t request, uint8_t nfds)
{
    struct frame_header h = { .length = length, .type = WIRE_TYPE_PING, .request = request, .nfds = nfds };
    uint8_t head[FRAME_HEADER_BYTES];

    frame_header_encode(&h, head);
    buffer_put(b, head, sizeof(head));
    for (uint32_t i = 0; i < length; i++)
        buffer_put_u8(b, (uint8_t)(i * 7 + request));
}

static void check_payload(const struct inbox_frame *f)
{
    for (uint32_t i = 0; i < f->header.length; i++)
        assert_int_equal(f->payload.data[i], (uint8_t)(i * 7 + f->header.request));
}

/* Feeds in receives of at most @step bytes; returns how many frames came out. */
static uint32_t feed(struct inbox *in, const struct buffer *b, size_t step)
{
    struct wire_fault fault;
    struct inbox_frame f;
    uint32_t count = 0;

    for (size_t at = 0; at < b->size;) {
        uint8_t *to;
        uint32_t room, n;

        assert_int_equal(inbox_room(in, &to, &room), 0);
        assert_true(room > 0);
        n = (uint32_t)min_u64(min_u64(room, step), b->size - at);
        memcpy(to, b->data + at, n);
        at += n;
        assert_int_equal(inbox_received(in, n, NULL, 0, false, &fault), 0);
        while (inbox_next(in, &f, &fault) == 0) {
            assert_int_equal(f.header.request, ++count);
            check_payload(&f);
            inbox_drop(in);
        }
    }
    return count;
}

static void frames_of_any_size_in_pieces_of_any_size(void **state)
{
    static const size_t steps[] = { 1, 3, 16, 17, 100, 4096, 100000, SIZE_MAX };
    static const uint32_t lengths[] = { 0, 8, 4072, 4080, 4088, 0, 65536, 16, 1048576, 0, 8 };
    struct buffer b = BUFFER_NULL;

    (void)state;
    for (uint32_t i = 0; i < ARRAY_LENGTH(lengths); i++)
        put_frame(&b, lengths[i], i + 1, 0);
    for (size_t s = 0; s < ARRAY_LENGTH(steps); s++) {
        struct inbox in;

        assert_int_equal(inbox_init(&in), 0);
        in.max_payload = WIRE_LIMIT_FRAME_CLIENT;
        assert_int_equal(feed(&in, &b, steps[s]), ARRAY_LENGTH(lengths));
        assert_false(inbox_started(&in));
        inbox_deinit(&in);
    }
    buffer_deinit(&b);
}

/* Memory follows what has arrived, not what a header promises; and goes back. */
static void memory_grows_with_bytes(void **state)
{
    struct buffer b = BUFFER_NULL;
    struct inbox in;
    uint8_t *to;
    uint32_t room;

    (void)state;
    put_frame(&b, 1048576, 1, 0);
    assert_int_equal(inbox_init(&in), 0);
    in.max_payload = WIRE_LIMIT_FRAME_CLIENT;
    b.size = 4096;
    assert_int_equal(feed(&in, &b, SIZE_MAX), 0);
    assert_int_equal(inbox_room(&in, &to, &room), 0);
    assert_true(in.capacity <= 8192);
    inbox_deinit(&in);

    b.size = 1048576 + FRAME_HEADER_BYTES;
    assert_int_equal(inbox_init(&in), 0);
    in.max_payload = WIRE_LIMIT_FRAME_CLIENT;
    assert_int_equal(feed(&in, &b, SIZE_MAX), 1);
    assert_int_equal(inbox_room(&in, &to, &room), 0);
    assert_int_equal(in.capacity, INBOX_BASE_BYTES);
    inbox_deinit(&in);
    buffer_deinit(&b);
}

/* One receive with descriptors; returns inbox_next()'s verdict, or inbox_received()'s. */
static int receive(struct inbox *in, const struct buffer *b, const int *fds, uint32_t count, bool truncated,
                   struct inbox_frame *frame)
{
    struct wire_fault fault;
    uint8_t *to;
    uint32_t room;
    int r;

    assert_int_equal(inbox_init(in), 0);
    assert_int_equal(inbox_room(in, &to, &room), 0);
    memcpy(to, b->data, b->size);
    r = inbox_received(in, (uint32_t)b->size, fds, count, truncated, &fault);
    return r ? r : inbox_next(in, frame, &fault);
}

static void descriptors_belong_to_the_frame_that_counts_them(void **state)
{
    struct buffer b = BUFFER_NULL;
    struct wire_fault fault;
    struct inbox_frame f;
    struct inbox in;
    int fds[2] = { some_fd(), some_fd() }, kept;

    (void)state;
    put_frame(&b, 8, 1, 0);
    put_frame(&b, 8, 2, 2);
    assert_int_equal(receive(&in, &b, fds, 2, false, &f), 0);
    assert_int_equal(f.header.nfds, 0);
    inbox_drop(&in);
    assert_true(is_open(fds[0]) && is_open(fds[1]));
    assert_int_equal(inbox_next(&in, &f, &fault), 0);
    assert_int_equal(f.header.nfds, 2);
    assert_int_equal(f.fds[0], fds[0]);
    kept = f.fds[1];
    f.fds[1] = -1;                      /* the frame's user keeps this one */
    inbox_drop(&in);
    assert_false(is_open(fds[0]));
    assert_true(is_open(kept));
    close(kept);
    assert_int_equal(inbox_next(&in, &f, &fault), INBOX_MORE);
    inbox_deinit(&in);
    buffer_deinit(&b);
}

static void wrong_descriptors_are_closed(void **state)
{
    struct buffer none = BUFFER_NULL, one = BUFFER_NULL;
    struct inbox_frame f;
    struct wire_fault fault;
    struct inbox in;
    int fds[5];

    (void)state;
    put_frame(&none, 8, 1, 0);
    put_frame(&one, 8, 1, 1);

    assert_int_equal(receive(&in, &one, NULL, 0, false, &f), WIRE_E_PROTOCOL);      /* counted, did not come */
    inbox_deinit(&in);

    fds[0] = some_fd();
    assert_int_equal(receive(&in, &none, fds, 1, false, &f), 0);                    /* came, not counted */
    inbox_drop(&in);
    assert_int_equal(inbox_next(&in, &f, &fault), WIRE_E_PROTOCOL);
    inbox_deinit(&in);
    assert_false(is_open(fds[0]));

    for (int i = 0; i < 5; i++)
        fds[i] = some_fd();
    assert_int_equal(receive(&in, &one, fds, 5, false, &f), WIRE_E_PROTOCOL);       /* too many */
    inbox_deinit(&in);
    for (int i = 0; i < 5; i++)
        assert_false(is_open(fds[i]));

    fds[0] = some_fd();
    assert_int_equal(receive(&in, &one, fds, 1, true, &f), WIRE_E_PROTOCOL);        /* MSG_CTRUNC */
    inbox_deinit(&in);
    assert_false(is_open(fds[0]));

    fds[0] = some_fd();
    fds[1] = some_fd();
    one.size -= 4;                                                                  /* the frame is not whole yet */
    assert_int_equal(receive(&in, &one, fds, 2, false, &f), WIRE_E_PROTOCOL);
    inbox_deinit(&in);
    assert_false(is_open(fds[0]) || is_open(fds[1]));
    buffer_deinit(&none);
    buffer_deinit(&one);
}

static void bad_headers(void **state)
{
    static const struct { uint32_t length; uint8_t flags, nfds; } bad[] = {
        { 4, 0, 0 }, { 65544, 0, 0 }, { UINT32_MAX, 0, 0 }, { 0xfffffff8, 0, 0 }, { 8, 0x08, 0 }, { 8, 0x80, 0 },
        { 8, FRAME_ERROR, 0 }, { 8, 0, 5 }, { 8, 0, 255 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        struct frame_header h = { bad[i].length, WIRE_TYPE_PING, bad[i].flags, bad[i].nfds, 1 };
        struct buffer b = BUFFER_NULL;
        uint8_t head[FRAME_HEADER_BYTES];
        struct inbox_frame f;
        struct inbox in;

        frame_header_encode(&h, head);
        buffer_put(&b, head, sizeof(head));
        assert_int_equal(receive(&in, &b, NULL, 0, false, &f), WIRE_E_PROTOCOL);
        inbox_deinit(&in);
        buffer_deinit(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_of_any_size_in_pieces_of_any_size), cmocka_unit_test(memory_grows_with_bytes),
        cmocka_unit_test(descriptors_belong_to_the_frame_that_counts_them),
        cmocka_unit_test(wrong_descriptors_are_closed), cmocka_unit_test(bad_headers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
