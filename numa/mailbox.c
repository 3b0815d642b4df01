/* SPDX-License-Identifier: Apache-2.0 */
#include "numa/mailbox.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "numa/futex.h"
#include "src/base/clock.h"

/* Two cache lines, since x86 prefetches lines in pairs. */
#define LINE 128
#define HEADER 8
#define CAPACITY_MIN 64
#define CAPACITY_MAX (UINT32_C(1) << 30)
/* In the place of a size: the rest up to the end of the ring is skipped. */
#define SKIP UINT32_MAX

/*
 * Positions count bytes and never wrap; the place in the ring is the position modulo the capacity.  Every record
 * lies in one piece, so that the consumer reads it in place: where the end of the ring is too near, a mark says
 * that it follows at the beginning.
 *
 * Each side publishes its own position with release and reads the other's with acquire: the consumer sees a
 * whole record, and the producer writes over bytes only after they have been read.  Each keeps the last value
 * that it saw of the other, and looks again when that is not enough.
 */
struct mailbox {
    uint32_t capacity;
    uint8_t *ring;

    _Alignas(LINE) _Atomic uint64_t tail;       /* written by the producer */
    uint64_t head_seen;                         /* the producer's */

    _Alignas(LINE) _Atomic uint64_t head;       /* written by the consumer */
    uint64_t tail_seen;                         /* the consumer's */
    uint64_t peeked;                            /* the consumer's: bytes of the record in its hands, 0 = none */
};

static uint64_t record_bytes(uint32_t size)
{
    return align_up((uint64_t)size + HEADER, HEADER);
}

int mailbox_new(uint32_t capacity_bytes, struct mailbox **ret_mailbox)
{
    if (capacity_bytes < CAPACITY_MIN || capacity_bytes > CAPACITY_MAX || (capacity_bytes & (capacity_bytes - 1)) != 0)
        return -EINVAL;

    struct mailbox *m = aligned_alloc(LINE, sizeof *m);
    if (!m)
        return -ENOMEM;
    memset(m, 0, sizeof *m);
    m->capacity = capacity_bytes;
    m->ring = aligned_alloc(LINE, align_up(capacity_bytes, LINE));
    if (!m->ring) {
        free(m);
        return -ENOMEM;
    }
    /* Touched here, so that no page fault comes later on the token path. */
    memset(m->ring, 0, capacity_bytes);
    *ret_mailbox = m;
    return 0;
}

struct mailbox *mailbox_free(struct mailbox *mailbox)
{
    if (!mailbox)
        return NULL;
    free(mailbox->ring);
    free(mailbox);
    return NULL;
}

int mailbox_put(struct mailbox *mailbox, const void *record, uint32_t size)
{
    struct mailbox *m = mailbox;
    uint64_t need = record_bytes(size), tail = atomic_load_explicit(&m->tail, memory_order_relaxed);
    uint64_t place = tail & (m->capacity - 1), to_end = m->capacity - place;
    uint64_t skip = need > to_end ? to_end : 0;

    if (need > m->capacity / 2)
        return -EMSGSIZE;
    if (m->capacity - (tail - m->head_seen) < skip + need) {
        m->head_seen = atomic_load_explicit(&m->head, memory_order_acquire);
        if (m->capacity - (tail - m->head_seen) < skip + need)
            return 1;
    }
    if (skip > 0) {
        memcpy(m->ring + place, &(uint32_t){ SKIP }, sizeof(uint32_t));
        place = 0;
    }
    memcpy(m->ring + place, &size, sizeof size);
    if (size > 0)
        memcpy(m->ring + place + HEADER, record, size);
    atomic_store_explicit(&m->tail, tail + skip + need, memory_order_release);
    return 0;
}

uint32_t mailbox_room(const struct mailbox *mailbox)
{
    const struct mailbox *m = mailbox;
    uint64_t tail = atomic_load_explicit(&m->tail, memory_order_relaxed);
    uint64_t unused = m->capacity - (tail - atomic_load_explicit(&m->head, memory_order_acquire));
    uint64_t to_end = m->capacity - (tail & (m->capacity - 1));
    uint64_t piece = unused <= to_end ? unused : max_u64(to_end, unused - to_end);

    piece = min_u64(piece, m->capacity / 2);
    return piece > HEADER ? (uint32_t)(piece - HEADER) : 0;
}

bool mailbox_peek(struct mailbox *mailbox, struct span *ret_record)
{
    struct mailbox *m = mailbox;
    uint64_t head = atomic_load_explicit(&m->head, memory_order_relaxed);

    if (head == m->tail_seen) {
        m->tail_seen = atomic_load_explicit(&m->tail, memory_order_acquire);
        if (head == m->tail_seen)
            return false;
    }
    uint64_t place = head & (m->capacity - 1);
    uint32_t size = load_u32(m->ring + place);
    if (size == SKIP) {
        /* The mark and the record behind it were published together. */
        head += m->capacity - place;
        atomic_store_explicit(&m->head, head, memory_order_release);
        place = 0;
        size = load_u32(m->ring);
    }
    m->peeked = record_bytes(size);
    check(m->peeked <= m->tail_seen - head && m->peeked <= m->capacity / 2);
    *ret_record = (struct span){ .data = m->ring + place + HEADER, .size = size };
    return true;
}

void mailbox_drop(struct mailbox *mailbox)
{
    struct mailbox *m = mailbox;
    uint64_t head = atomic_load_explicit(&m->head, memory_order_relaxed);

    check(m->peeked > 0);
    atomic_store_explicit(&m->head, head + m->peeked, memory_order_release);
    m->peeked = 0;
}

bool mailbox_empty(const struct mailbox *mailbox)
{
    uint64_t head = atomic_load_explicit(&mailbox->head, memory_order_acquire);

    return head == atomic_load_explicit(&mailbox->tail, memory_order_acquire);
}

/*
 * Bit 0 of the word says that somebody sleeps, the rest counts wakes.  Both sides change the word by
 * read-modify-write, so one comes first: either the sleeper's fails, because a wake came after doze_begin(), or
 * the waker finds the bit and makes the system call.  Without a sleeper a wake costs one atomic operation.
 */
#define DOZE_ASLEEP 1u
#define DOZE_STEP 2u

uint32_t doze_begin(struct doze *doze)
{
    return atomic_load_explicit(&doze->word, memory_order_seq_cst) & ~DOZE_ASLEEP;
}

void doze_sleep(struct doze *doze, uint32_t begun, uint64_t timeout_ns)
{
    uint32_t expected = begun;
    struct timespec timeout;

    if (!atomic_compare_exchange_strong_explicit(&doze->word, &expected, begun | DOZE_ASLEEP, memory_order_seq_cst,
                                                 memory_order_seq_cst) &&
        expected != (begun | DOZE_ASLEEP))
        return;
    timeout_ns = timeout_ns == UINT64_MAX ? timeout_ns : min_u64(timeout_ns, INT32_MAX * NS_PER_S);
    timeout.tv_sec = (time_t)(timeout_ns / NS_PER_S);
    timeout.tv_nsec = (long)(timeout_ns % NS_PER_S);
    futex_wait(&doze->word, begun | DOZE_ASLEEP, timeout_ns == UINT64_MAX ? NULL : &timeout);
    /* Acquire: what the waker wrote before doze_wake(). */
    (void)atomic_load_explicit(&doze->word, memory_order_acquire);
}

void doze_wake(struct doze *doze)
{
    uint32_t old = atomic_load_explicit(&doze->word, memory_order_relaxed);

    while (!atomic_compare_exchange_weak_explicit(&doze->word, &old, (old & ~DOZE_ASLEEP) + DOZE_STEP,
                                                  memory_order_seq_cst, memory_order_relaxed))
        ;
    if (old & DOZE_ASLEEP)
        futex_wake_all(&doze->word);
}
