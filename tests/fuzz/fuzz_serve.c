/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that says anything after HELLO to a door with an engine that computes nothing (tests/serve/fake_engine.h).
 * Whatever it was, the server answers in frames that can be read, ends each request once and then hangs up; and the
 * next client is served.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/base/log.h"
#include "src/serve/door.h"
#include "src/serve/host.h"
#include "tests/fuzz/fuzz.h"
#include "tests/serve/fake_engine.h"

#define LAST_COOKIE UINT64_C(0xffffffffffffffff)
#define INPUT_BYTES_MAX 60000u          /* fits into the socket's buffer: nobody has to wait for anybody */

static char path[64];
static _Atomic bool serving;

static void wake(void *arg) { ring_wake(arg); }
static void on_serving(void *arg) { (void)arg; serving = true; }

static void *run_door(void *arg)
{
    struct error error;

    (void)!door_run(arg, &error);
    check(!"the door ends");
    return NULL;
}

static void remove_socket(void)
{
    unlink(path);
}

static void start(void)
{
    static const struct instance_config model = { .id = "fake", .path = "/nowhere" };
    struct door_config c = { .models = &model, .model_count = 1, .signal_fd = -1, .limits = LIMITS_DEFAULT,
                             .listener_count = 1, .hooks = { .serving = on_serving } };
    struct socket_listen_config listen = { .path = path, .mode = 0600, .group = SOCKET_GROUP_KEEP };
    static struct socket_listener listener;
    struct error error = ERROR_NULL;
    struct door *door;
    struct host *host;
    pthread_t thread;

    log_set_level(LOG_LEVEL_ERROR);
    fake_reset();
    fake.context = 64;
    snprintf(path, sizeof(path), "/tmp/tenon-fuzz-%d.sock", (int)getpid());
    check(socket_listen(&listen, &listener, &error) == 0 && ring_new(&(struct ring_config){ .operations = 0 }, &c.ring,
                                                                     &error) == 0);
    atexit(remove_socket);
    check(bridge_new(wake, c.ring, &c.bridge) == 0);
    c.listeners[0].fd = listener.fd;
    check(door_new(&c, &door, &error) == 0 && host_start(c.bridge, &model, 1, &host, &error) == 0);
    check(pthread_create(&thread, NULL, run_door, door) == 0);
    while (!serving)
        usleep(1000);
}

static void put_frame(struct buffer *b, const struct wire_message *message, const void *value, uint64_t cookie)
{
    struct frame_out out = { .capacity = 1024, .data = (uint8_t[1024]){ 0 } };

    check(wire_encode(message, value, (struct frame_header){ .request = cookie }, &out, NULL) == 0);
    buffer_put(b, out.data, out.size);
}

/* False at the end of the stream, or where nothing comes: a subscription, say, stays silent. */
static bool read_all(int fd, uint8_t *to, size_t size)
{
    while (size) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        ssize_t n;

        if (poll(&p, 1, 100) != 1)
            return false;
        n = recv(fd, to, size, 0);
        if (n <= 0)
            return false;
        to += n;
        size -= (size_t)n;
    }
    return true;
}

/* Until the answer to our last frame, or the server hangs up. */
static void read_frames(int fd, uint8_t *payload)
{
    uint8_t head[FRAME_HEADER_BYTES], value[WIRE_STRUCT_MAX];
    struct wire_fault fault;
    struct frame_header h;

    while (read_all(fd, head, sizeof(head))) {
        const struct wire_message *message;

        check(frame_header_decode(head, WIRE_LIMIT_FRAME_SERVER, &h, &fault) == 0 && h.nfds == 0);
        if (!read_all(fd, payload, h.length))
            return;
        message = wire_message_find(&h, (struct span){ payload, h.length });
        check(message && wire_decode(message, (struct span){ payload, h.length }, value, &fault) == 0);
        if (h.request == LAST_COOKIE && message == &wire_pong_message)
            return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_hello hello = { .magic = WIRE_MAGIC, .version_min = 1, .version_max = 1 };
    struct buffer all = BUFFER_NULL;
    struct error error;
    uint8_t *payload;
    int fd;

    if (!path[0])
        start();
    if (size > INPUT_BYTES_MAX)
        return 0;
    put_frame(&all, &wire_hello_message, &hello, 0);
    buffer_put(&all, data, size);
    put_frame(&all, &wire_ping_message, &(struct wire_ping){ .opaque = 1 }, LAST_COOKIE);
    payload = malloc(WIRE_LIMIT_FRAME_SERVER);
    check(buffer_ok(&all) && payload && socket_connect(path, &fd, &error) == 0);
    (void)!send(fd, all.data, all.size, MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    read_frames(fd, payload);
    close(fd);
    free(payload);
    buffer_deinit(&all);
    return 0;
}
