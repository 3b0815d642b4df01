/* SPDX-License-Identifier: Apache-2.0 */
#include "src/serve/conn.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/log.h"
#include "src/serve/door_internal.h"

static const struct { const char *name; uint32_t next; } states[CONN_STATE_COUNT] = {
    [CONN_HANDSHAKE] = { "handshake", 1u << CONN_OPEN | 1u << CONN_FINISHING | 1u << CONN_CLOSING },
    [CONN_OPEN] = { "open", 1u << CONN_FINISHING | 1u << CONN_CLOSING },
    [CONN_FINISHING] = { "finishing", 1u << CONN_CLOSING },
    [CONN_CLOSING] = { "closing", 0 },
};

const char *conn_state_name(enum conn_state state)
{
    return states[state].name;
}

void conn_move(struct conn *c, enum conn_state to)
{
    check(states[c->state].next & 1u << to);
    c->state = to;
}

static uint64_t ms(uint32_t n) { return n * NS_PER_MS; }

/* --- the ring's operations --- */

static void start_receive(struct conn *c)
{
    uint32_t above = c->inbox.capacity - INBOX_BASE_BYTES, now;
    uint8_t *data;
    uint32_t size;

    if (inbox_room(&c->inbox, &data, &size) < 0) {
        conn_abort(c);
        return;
    }
    now = c->inbox.capacity - INBOX_BASE_BYTES;
    check(above == c->inbox_charged);
    user_discharge_bytes(c->user, above);
    c->inbox_charged = 0;
    if (user_charge_bytes(c->user, now, c->door->limits)) {
        log_line(LOG_LEVEL_INFO, "uid %u holds too many bytes: a connection is closed", c->peer.uid);
        inbox_deinit(&c->inbox);
        conn_abort(c);
        return;
    }
    c->inbox_charged = now;
    c->receive = (struct ring_receive){ .data = data, .size = size };
    if (ring_recv(c->door->ring, c->fd, &c->receive, door_cookie(OP_RECEIVE, c->slot)) != 0)
        conn_abort(c);
    else
        c->receiving = true;
}

static void start_send(struct conn *c)
{
    struct iovec parts[RING_PARTS_MAX];
    uint32_t n = outbox_parts(&c->outbox, parts, RING_PARTS_MAX);

    if (ring_send(c->door->ring, c->fd, parts, n, NULL, 0, door_cookie(OP_SEND, c->slot)) != 0)
        conn_abort(c);
    else
        c->sending = true;
}

/* Nothing more is received: the only news can be that the peer has gone. */
static void start_polling(struct conn *c)
{
    if (c->receiving || c->polling || c->state == CONN_CLOSING)
        return;
    if (ring_poll(c->door->ring, c->fd, 0, door_cookie(OP_HANGUP, c->slot)) != 0)
        conn_abort(c);
    else
        c->polling = true;
}

static void start_close(struct conn *c)
{
    conn_move(c, CONN_CLOSING);
    door_quiet(c->door, &c->input_alarm);
    door_quiet(c->door, &c->output_alarm);
    check(ring_close(c->door->ring, c->fd, door_cookie(OP_CLOSE, c->slot)) == 0);
}

/* --- birth and death --- */

static void input_late(struct door *door, struct alarm *alarm)
{
    struct conn *c = alarm_owner(alarm, struct conn, input_alarm);
    struct refusal refusal;

    refuse(&refusal, WIRE_E_PROTOCOL, 0, c->state == CONN_HANDSHAKE ? "no HELLO within %u ms"
           : "a frame was begun and not finished within %u ms",
           c->state == CONN_HANDSHAKE ? door->limits->handshake_ms : door->limits->frame_ms);
    door->metrics.framing_errors_total++;
    reply_error(c, WIRE_TYPE_ERROR, 0, &refusal);
    conn_finish(c, true);
}

/* The reader does not read: what it asked for is given up. */
static void output_late(struct door *door, struct alarm *alarm)
{
    struct conn *c = alarm_owner(alarm, struct conn, output_alarm);

    (void)door;
    if (c->state == CONN_FINISHING && !c->requests) {
        conn_abort(c);
        return;
    }
    log_line(LOG_LEVEL_INFO, "uid %u does not read: %u requests are cancelled", c->peer.uid, c->request_count);
    for (struct request *r = c->requests, *next; r; r = next) {
        next = r->next;
        if (r->state != REQUEST_WATCHING)
            request_cancel(r);
    }
    conn_touch(c);
}

/* A connection that is not taken: told why, if it listens, and closed. */
static void turn_away(struct door *door, int fd, uint32_t code, uint32_t detail, const char *text)
{
    struct frame_out out = { .data = door->scratch, .capacity = FRAME_HEADER_BYTES + WIRE_LIMIT_FRAME_SERVER };
    struct wire_error error = { .code = code, .detail = detail, .message = { (const uint8_t *)text, strlen(text) } };
    struct frame_header head = { .flags = FRAME_END | FRAME_ERROR };

    if (code == WIRE_E_LIMIT)
        error.retry_after_ms = 1000;
    if (wire_error_encode(&error, head, &out) == 0 &&
        send(fd, out.data, out.size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)out.size)
        door->metrics.errors_total++;
    door->closing_orphans++;
    check(ring_close(door->ring, fd, door_cookie(OP_ORPHAN, door->orphan_serial++)) == 0);
}

static struct conn *conn_new(struct door *door, int fd, bool admin, const struct socket_peer *peer, struct user *user)
{
    struct conn *c = calloc(1, sizeof(*c));
    uint32_t slot = 0;

    if (!c)
        return NULL;
    if (inbox_init(&c->inbox) < 0) {
        free(c);
        return NULL;
    }
    while (door->conns[slot])
        slot++;
    c->magic = CONN_MAGIC;
    c->door = door;
    c->slot = slot;
    c->fd = fd;
    c->admin = admin;
    c->peer = *peer;
    c->user = user;
    c->max_frame = WIRE_LIMIT_FRAME_BEFORE_HELLO;
    c->input_alarm.fire = input_late;
    c->output_alarm.fire = output_late;
    door->conns[slot] = c;
    door->conn_count++;
    user->connections++;
    return c;
}

void conn_accept(struct door *door, int fd, bool admin)
{
    struct socket_peer peer;
    struct user *user;
    struct conn *c;

    if (door->draining) {
        turn_away(door, fd, WIRE_E_DRAINING, 0, "this server takes no new connections");
        return;
    }
    if (door->conn_count == door->limits->connections) {
        turn_away(door, fd, WIRE_E_LIMIT, door->limits->connections, "too many connections");
        return;
    }
    if (socket_peer(fd, &peer) < 0 || users_ref(&door->users, peer.uid, &user) < 0) {
        turn_away(door, fd, WIRE_E_NO_MEMORY, 0, "no memory for a connection");
        return;
    }
    if (user->connections == door->limits->connections_uid) {
        turn_away(door, fd, WIRE_E_LIMIT, door->limits->connections_uid, "too many connections of this user");
        users_unref(&door->users, user);
        return;
    }
    c = conn_new(door, fd, admin, &peer, user);
    if (!c) {
        turn_away(door, fd, WIRE_E_NO_MEMORY, 0, "no memory for a connection");
        users_unref(&door->users, user);
        return;
    }
    door->metrics.connections++;
    door->metrics.connections_total++;
    door_alarm(door, &c->input_alarm, ms(door->limits->handshake_ms));
    start_receive(c);
}

static void unlink_dirty(struct conn *c)
{
    struct conn **at = &c->door->dirty;

    if (!c->dirty)
        return;
    while (*at != c)
        at = &(*at)->next_dirty;
    *at = c->next_dirty;
}

void conn_free(struct conn *c)
{
    struct door *door = c->door;

    check(c->magic == CONN_MAGIC && !c->requests);
    unlink_dirty(c);
    door_quiet(door, &c->input_alarm);
    door_quiet(door, &c->output_alarm);
    inbox_deinit(&c->inbox);
    outbox_deinit(&c->outbox, &door->chunks);
    user_discharge_bytes(c->user, c->inbox_charged);
    c->user->connections--;
    users_unref(&door->users, c->user);
    door->conns[c->slot] = NULL;
    door->conn_count--;
    door->metrics.connections--;
    c->magic = 0;
    free(c);
}

void conn_closed(struct conn *c)
{
    check(c->state == CONN_CLOSING && !c->receiving && !c->sending && !c->polling);
    conn_free(c);
}

void conn_finish(struct conn *c, bool cancel)
{
    if (c->state == CONN_CLOSING)
        return;
    if (c->state != CONN_FINISHING)
        conn_move(c, CONN_FINISHING);
    door_quiet(c->door, &c->input_alarm);
    for (struct request *r = c->requests, *next; r && cancel; r = next) {
        next = r->next;
        request_cancel(r);
    }
    start_polling(c);
    conn_touch(c);
}

void conn_abort(struct conn *c)
{
    if (c->state == CONN_CLOSING)
        return;
    while (c->requests)
        request_abandon(c->requests);
    start_close(c);
}

/* --- input --- */

static void framing_error(struct conn *c, const struct wire_fault *fault)
{
    struct refusal refusal;

    refuse_fault(&refusal, fault);
    log_line(LOG_LEVEL_INFO, "uid %u, client \"%s\": %s", c->peer.uid, c->client, refusal.text);
    c->door->metrics.framing_errors_total++;
    reply_error(c, WIRE_TYPE_ERROR, 0, &refusal);
    conn_finish(c, true);
}

static void take_frames(struct conn *c, bool fresh)
{
    struct wire_fault fault;
    struct inbox_frame frame;
    int r;

    while ((r = inbox_next(&c->inbox, &frame, &fault)) == 0) {
        verb_handle(c, &frame);
        inbox_drop(&c->inbox);
        fresh = true;
        if (c->state >= CONN_FINISHING)
            return;
    }
    if (r != INBOX_MORE) {
        framing_error(c, &fault);
        return;
    }
    if (c->state == CONN_HANDSHAKE)
        return;                         /* its deadline is that of the handshake */
    if (!inbox_started(&c->inbox))
        door_quiet(c->door, &c->input_alarm);
    else if (fresh)
        door_alarm(c->door, &c->input_alarm, ms(c->door->limits->frame_ms));
}

/* Bytes that nobody looks at any more. */
static void discard(struct conn *c, int32_t result)
{
    if (result >= 0)
        for (uint32_t i = 0; i < c->receive.fd_count; i++)
            close(c->receive.fds[i]);
}

void conn_received(struct conn *c, int32_t result)
{
    struct wire_fault fault;
    bool fresh;

    c->receiving = false;
    if (c->state >= CONN_FINISHING) {
        discard(c, result);
        start_polling(c);
        return;
    }
    if (result <= 0) {
        discard(c, result);
        c->input_ended = true;
        if (result < 0)
            conn_abort(c);
        else
            conn_finish(c, false);
        return;
    }
    c->door->metrics.received_bytes += (uint64_t)result;
    fresh = !inbox_started(&c->inbox);
    if (inbox_received(&c->inbox, (uint32_t)result, c->receive.fds, c->receive.fd_count, c->receive.truncated, &fault))
        framing_error(c, &fault);
    else
        take_frames(c, fresh);
    if (c->state < CONN_FINISHING)
        start_receive(c);
}

void conn_hung_up(struct conn *c)
{
    c->polling = false;
    conn_abort(c);
}

/* --- output --- */

void conn_put(struct conn *c, const void *frames, size_t size)
{
    /* Tokens that were on their way when the queue filled up: their frames are less than twice their mail. */
    size_t most = (size_t)c->door->limits->output_queue + 2 * BRIDGE_EVENT_BYTES +
                  (size_t)c->door->limits->in_flight * LIMIT_END_BYTES;

    if (c->state == CONN_CLOSING || c->doomed)
        return;
    conn_touch(c);
    if (c->outbox.bytes + size > most) {
        log_line(LOG_LEVEL_INFO, "uid %u, client \"%s\" asks and does not read: closed", c->peer.uid, c->client);
        c->doomed = true;
    } else if (outbox_put(&c->outbox, &c->door->chunks, frames, size) < 0) {
        c->doomed = true;
    }
}

/* Long replies take half of the queue: tokens of others need not wait behind them for long. */
size_t conn_room(const struct conn *c)
{
    size_t most = c->door->limits->output_queue / 2;

    return c->outbox.bytes < most ? most - c->outbox.bytes : 0;
}

void conn_touch(struct conn *c)
{
    if (c->dirty || c->state == CONN_CLOSING)
        return;
    c->dirty = true;
    c->next_dirty = c->door->dirty;
    c->door->dirty = c;
}

void conn_sent(struct conn *c, int32_t result)
{
    c->sending = false;
    if (c->state == CONN_CLOSING)
        return;
    if (result < 0) {
        conn_abort(c);
        return;
    }
    c->door->metrics.sent_bytes += (uint64_t)result;
    outbox_sent(&c->outbox, &c->door->chunks, (size_t)result);
    if (result && !c->full)
        door_quiet(c->door, &c->output_alarm);      /* it reads: if it is late again, then from now on */
    conn_touch(c);
}

/* One piece of each long reply in turn.  True when some had to wait. */
static bool fill(struct conn *c)
{
    bool waiting = false, moved = true;

    while (moved) {
        moved = waiting = false;
        for (struct request *r = c->requests, *next; r; r = next) {
            next = r->next;
            if (r->state == REQUEST_WATCHING)
                reply_stale_events(r);
            if (r->state != REQUEST_REPLYING)
                continue;
            if (reply_body(r))
                moved = true;
            else
                waiting = true;
        }
    }
    return waiting;
}

static void watch_fullness(struct conn *c)
{
    size_t queue = c->door->limits->output_queue;
    bool full = c->full ? c->outbox.bytes > queue / 4 : c->outbox.bytes > queue / 4 * 3;

    if (full == c->full)
        return;
    c->full = full;
    door_quiet(c->door, &c->output_alarm);          /* a new reason: counted from now on */
    for (struct request *r = c->requests; r; r = r->next)
        request_park(r, full);
}

void conn_flush(struct conn *c)
{
    struct door *door = c->door;
    bool waiting, last;

    c->dirty = false;
    if (c->state == CONN_CLOSING)
        return;
    waiting = fill(c);
    if (c->doomed) {
        conn_abort(c);
        return;
    }
    watch_fullness(c);
    if (!c->sending && c->outbox.bytes)
        start_send(c);
    if (c->state == CONN_CLOSING)
        return;
    if (door->draining && c->state == CONN_OPEN && !c->requests)
        conn_finish(c, false);
    last = c->state == CONN_FINISHING && !c->requests;
    if (last && !c->outbox.bytes && !c->sending)
        start_close(c);
    else if (!c->full && !waiting && !last)
        door_quiet(door, &c->output_alarm);
    else if (!c->output_alarm.timer.place)
        door_alarm(door, &c->output_alarm, ms(door->limits->stall_ms));
}
