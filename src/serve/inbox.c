/* SPDX-License-Identifier: Apache-2.0 */
#include "src/serve/inbox.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int inbox_init(struct inbox *inbox)
{
    *inbox = (struct inbox){ .max_payload = WIRE_LIMIT_FRAME_BEFORE_HELLO, .capacity = INBOX_BASE_BYTES };
    inbox->data = malloc(INBOX_BASE_BYTES);
    return inbox->data ? 0 : -ENOMEM;
}

static void close_fds(struct inbox *inbox, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (inbox->fds[i] >= 0)
            close(inbox->fds[i]);
    inbox->fd_count -= count;
    memmove(inbox->fds, inbox->fds + count, inbox->fd_count * sizeof(inbox->fds[0]));
}

void inbox_deinit(struct inbox *inbox)
{
    close_fds(inbox, inbox->fd_count);
    free(inbox->data);
    *inbox = (struct inbox)INBOX_NULL;
}

static int resize(struct inbox *inbox, uint32_t capacity)
{
    uint8_t *data = realloc(inbox->data, capacity);

    if (!data)
        return -ENOMEM;
    inbox->data = data;
    inbox->capacity = capacity;
    return 0;
}

int inbox_room(struct inbox *inbox, uint8_t **ret_data, uint32_t *ret_size)
{
    uint32_t used = inbox->end - inbox->begin;
    uint32_t whole = inbox->have_header ? FRAME_HEADER_BYTES + inbox->header.length : 0;
    int r = 0;

    if (inbox->begin) {
        memmove(inbox->data, inbox->data + inbox->begin, used);
        inbox->begin = 0;
        inbox->end = used;
    }
    if (used == inbox->capacity)        /* a large frame: as much again, at most its whole */
        r = resize(inbox, (uint32_t)min_u64(whole, 2 * (uint64_t)inbox->capacity));
    else if (inbox->capacity > INBOX_BASE_BYTES && whole <= INBOX_BASE_BYTES && used <= INBOX_BASE_BYTES / 2)
        r = resize(inbox, INBOX_BASE_BYTES);
    if (r < 0)
        return r;
    check(inbox->end < inbox->capacity);
    *ret_data = inbox->data + inbox->end;
    *ret_size = inbox->capacity - inbox->end;
    return 0;
}

int inbox_received(struct inbox *inbox, uint32_t size, const int *fds, uint32_t fd_count, bool truncated,
                   struct wire_fault *fault)
{
    bool fits = inbox->fd_count + fd_count <= WIRE_LIMIT_FDS;

    check(size <= inbox->capacity - inbox->end);
    inbox->end += size;
    for (uint32_t i = 0; i < fd_count; i++)
        if (fits)
            inbox->fds[inbox->fd_count++] = fds[i];
        else
            close(fds[i]);
    if (truncated || !fits)
        return wire_fault_set(fault, WIRE_E_PROTOCOL, WIRE_LIMIT_FDS, "more descriptors than a frame may have");
    return 0;
}

int inbox_next(struct inbox *inbox, struct inbox_frame *ret_frame, struct wire_fault *fault)
{
    uint32_t used = inbox->end - inbox->begin;
    int r;

    if (!inbox->have_header) {
        if (used < FRAME_HEADER_BYTES) {
            if (inbox->fd_count && used == 0)
                return wire_fault_set(fault, WIRE_E_PROTOCOL, 0, "descriptors that no frame claims");
            return INBOX_MORE;
        }
        r = frame_header_decode(inbox->data + inbox->begin, inbox->max_payload, &inbox->header, fault);
        if (r)
            return r;
        if (inbox->header.nfds > inbox->fd_count)
            return wire_fault_set(fault, WIRE_E_PROTOCOL, 7, "the header counts descriptors that did not come");
        inbox->have_header = true;
        inbox->claimed = inbox->header.nfds;
    }
    if (used < FRAME_HEADER_BYTES + inbox->header.length)
        return inbox->fd_count > inbox->claimed
            ? wire_fault_set(fault, WIRE_E_PROTOCOL, 7, "more descriptors than the header counts") : INBOX_MORE;
    *ret_frame = (struct inbox_frame){
        .header = inbox->header,
        .payload = { inbox->data + inbox->begin + FRAME_HEADER_BYTES, inbox->header.length },
        .fds = inbox->fds,
    };
    return 0;
}

void inbox_drop(struct inbox *inbox)
{
    check(inbox->have_header);
    close_fds(inbox, inbox->claimed);
    inbox->begin += FRAME_HEADER_BYTES + inbox->header.length;
    inbox->have_header = false;
    inbox->claimed = 0;
    if (inbox->begin == inbox->end)
        inbox->begin = inbox->end = 0;
}
