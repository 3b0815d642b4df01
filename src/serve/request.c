/* SPDX-License-Identifier: Apache-2.0 */
#include "src/serve/request.h"

#include <stdlib.h>

#include "src/base/clock.h"
#include "src/serve/door_internal.h"

static const struct { const char *name; uint32_t next; } states[REQUEST_STATE_COUNT] = {
    [REQUEST_NEW] = { "new", 1u << REQUEST_READING | 1u << REQUEST_WAITING | 1u << REQUEST_REPLYING |
                             1u << REQUEST_WATCHING | 1u << REQUEST_ENDED },
    [REQUEST_READING] = { "reading", 1u << REQUEST_WAITING | 1u << REQUEST_REPLYING | 1u << REQUEST_ENDED },
    [REQUEST_WAITING] = { "waiting", 1u << REQUEST_STREAMING | 1u << REQUEST_ENDED },
    [REQUEST_STREAMING] = { "streaming", 1u << REQUEST_ENDED },
    [REQUEST_REPLYING] = { "replying", 1u << REQUEST_ENDED },
    [REQUEST_WATCHING] = { "watching", 1u << REQUEST_ENDED },
    [REQUEST_ENDED] = { "ended", 0 },
};

const char *request_state_name(enum request_state state)
{
    return states[state].name;
}

void request_move(struct request *r, enum request_state to)
{
    check(states[r->state].next & 1u << to);
    r->state = to;
}

struct request *request_find(struct conn *conn, uint64_t cookie)
{
    struct request *r = conn->requests;

    while (r && r->cookie != cookie)
        r = r->next;
    return r;
}

struct request *request_by_key(struct door *door, uint64_t key)
{
    struct request *r = door->requests[key_slot(key)];

    return r && r->key == key ? r : NULL;
}

static int check_quotas(struct conn *conn, uint64_t cookie, struct refusal *refusal)
{
    const struct limits *limits = conn->door->limits;
    int r = 0;

    if (cookie == 0)
        return refuse(refusal, WIRE_E_INVALID, 8, "a request needs a cookie that is not 0");
    if (request_find(conn, cookie))
        return refuse(refusal, WIRE_E_INVALID, 8, "the cookie %llu is that of a request in flight",
                      (unsigned long long)cookie);
    if (conn->request_count >= limits->in_flight)
        return refuse(refusal, WIRE_E_LIMIT, limits->in_flight, "%u requests are in flight on this connection",
                      conn->request_count);
    if (conn->user->requests >= limits->in_flight_uid)
        r = refuse(refusal, WIRE_E_BUSY, limits->in_flight_uid, "%u requests of uid %u are in flight",
                   conn->user->requests, conn->user->uid);
    else if (conn->door->free_count == 0)
        r = refuse(refusal, WIRE_E_BUSY, LIMIT_REQUESTS, "%u requests are in flight", LIMIT_REQUESTS);
    if (r)
        refusal->retry_after_ms = door_retry_after_ms(conn->door);
    return r;
}

/* The client gave credits and then no more of them. */
static void starved_late(struct door *door, struct alarm *alarm)
{
    (void)door;
    request_cancel(alarm_owner(alarm, struct request, starved));
}

int request_new(struct conn *conn, const struct frame_header *header, struct request **ret_request,
                struct refusal *refusal)
{
    struct door *door = conn->door;
    struct request *r;
    int result = check_quotas(conn, header->request, refusal);

    if (result)
        return result;
    r = calloc(1, sizeof(*r));
    if (!r)
        return refuse(refusal, WIRE_E_NO_MEMORY, 0, "no memory for a request");
    r->magic = REQUEST_MAGIC;
    r->key = key_make(door->free_slots[--door->free_count], ++door->generation);
    r->cookie = header->request;
    r->type = header->type;
    r->door = door;
    r->conn = conn;
    r->user = conn->user;
    r->user->references++;
    r->user->requests++;
    r->arrived_ns = door->now_ns;
    r->starved.fire = starved_late;
    r->next = conn->requests;
    if (r->next)
        r->next->previous = r;
    conn->requests = r;
    conn->request_count++;
    door->requests[key_slot(r->key)] = r;
    door->request_count++;
    *ret_request = r;
    return 0;
}

int request_charge(struct request *r, uint64_t bytes, struct refusal *refusal)
{
    if (user_charge_bytes(r->user, bytes, r->door->limits))
        return refuse(refusal, WIRE_E_LIMIT, (uint32_t)min_u64(r->door->limits->bytes_uid, UINT32_MAX),
                      "uid %u holds %llu bytes here; %llu more are too many", r->user->uid,
                      (unsigned long long)r->user->bytes, (unsigned long long)bytes);
    r->charged_bytes += bytes;
    return 0;
}

/* --- the end --- */

static void unlink_telling(struct request *r)
{
    struct request **at = &r->door->telling;

    if (!r->telling)
        return;
    while (*at != r)
        at = &(*at)->next_telling;
    *at = r->next_telling;
    r->telling = false;
}

void request_settle(struct request *r)
{
    struct door *door = r->door;

    if (r->state != REQUEST_ENDED || r->at_engine || r->at_scribe)
        return;
    check(r->magic == REQUEST_MAGIC && !r->conn);
    unlink_telling(r);
    job_free(r->job);
    tokens_deinit(&r->body.tokens);
    buffer_deinit(&r->body.text);
    user_discharge_bytes(r->user, r->charged_bytes);
    r->user->requests--;
    users_unref(&door->users, r->user);
    door->requests[key_slot(r->key)] = NULL;
    door->free_slots[door->free_count++] = (uint16_t)key_slot(r->key);
    door->request_count--;
    r->magic = 0;
    free(r);
}

void request_end(struct request *r)
{
    struct conn *conn = r->conn;

    request_move(r, REQUEST_ENDED);
    door_quiet(r->door, &r->starved);
    if (r->previous)
        r->previous->next = r->next;
    else
        conn->requests = r->next;
    if (r->next)
        r->next->previous = r->previous;
    conn->request_count--;
    conn_touch(conn);
    r->conn = NULL;
    request_settle(r);
}

static void want_telling(struct request *r)
{
    if (r->telling || !r->at_engine)
        return;
    r->telling = true;
    r->next_telling = r->door->telling;
    r->door->telling = r;
}

static void cancel_at_engine(struct request *r)
{
    r->cancelled = true;
    r->tell_cancel = true;
    want_telling(r);
}

void request_abandon(struct request *r)
{
    if (r->at_engine)
        cancel_at_engine(r);
    request_end(r);
}

void request_cancel(struct request *r)
{
    struct refusal refusal;

    refuse(&refusal, WIRE_E_CANCELLED, 0, "cancelled");
    switch (r->state) {
    case REQUEST_NEW:
    case REQUEST_ENDED:
    case REQUEST_STATE_COUNT:
        break;
    case REQUEST_WAITING:
    case REQUEST_STREAMING:
        cancel_at_engine(r);            /* its DONE event makes the END frame */
        break;
    case REQUEST_READING:
    case REQUEST_REPLYING:
        reply_refuse(r, &refusal);
        break;
    case REQUEST_WATCHING:
        if (r->type == WIRE_TYPE_SUBSCRIBE)
            reply_end(r, &wire_event_message, &(struct wire_event){ .event = 0 });
        else
            reply_refuse(r, &refusal);
        break;
    }
}

/* --- to the scribe and the engine --- */

void request_give(struct request *r, struct scribe_work *work)
{
    request_move(r, REQUEST_READING);
    work->key = r->key;
    r->at_scribe = true;
    scribe_give(r->door->scribe, work);
}

void request_read(struct door *door, struct scribe_work *work)
{
    struct request *r = request_by_key(door, work->key);

    check(r && r->at_scribe);
    r->at_scribe = false;
    if (r->state == REQUEST_ENDED)
        request_settle(r);
    else
        verb_read(r, work);
    scribe_work_free(work);
}

void request_submit(struct request *r)
{
    request_move(r, REQUEST_WAITING);
    r->job->key = r->key;
    r->at_engine = true;
    r->tell_submit = true;
    r->door->submitted++;
    r->park_wanted = r->conn->full;
    want_telling(r);
}

void request_park(struct request *r, bool on)
{
    r->park_wanted = on;
    want_telling(r);
}

void request_grant(struct request *r, uint32_t credits)
{
    if (!r->limited)
        return;
    r->credits += credits;
    if (ckd_add(&r->tell_grants, r->tell_grants, credits))
        r->tell_grants = UINT32_MAX;
    door_quiet(r->door, &r->starved);
    want_telling(r);
}

static bool tell(struct request *r, enum bridge_command_kind kind, uint32_t value)
{
    struct bridge_command c = { .kind = kind, .value = value, .key = r->key };

    if (kind == BRIDGE_SUBMIT)
        c.job = r->job;
    return bridge_command(r->door->bridge, &c) == 0;
}

/* False: no room for all of it. */
static bool tell_all(struct request *r)
{
    if (r->tell_submit) {
        if (!tell(r, BRIDGE_SUBMIT, 0))
            return false;
        r->tell_submit = false;
    }
    if (r->park_wanted != r->park_told) {
        if (!tell(r, BRIDGE_PARK, r->park_wanted))
            return false;
        r->park_told = r->park_wanted;
    }
    if (r->tell_grants) {
        if (!tell(r, BRIDGE_GRANT, r->tell_grants))
            return false;
        r->tell_grants = 0;
    }
    if (r->tell_cancel) {
        if (!tell(r, BRIDGE_CANCEL, 0))
            return false;
        r->tell_cancel = false;
    }
    return true;
}

void requests_tell(struct door *door)
{
    struct request *all = NULL;

    while (door->telling) {             /* as they came, not as they lie */
        struct request *r = door->telling;

        door->telling = r->next_telling;
        r->next_telling = all;
        all = r;
    }
    while (all && tell_all(all)) {
        struct request *r = all;

        all = r->next_telling;
        r->telling = false;
    }
    if (!all)
        return;
    while (all) {                       /* no room: kept, newest first again */
        struct request *r = all;

        all = r->next_telling;
        r->next_telling = door->telling;
        door->telling = r;
    }
    door_alarm(door, &door->tell_alarm, 2 * NS_PER_MS);
}
