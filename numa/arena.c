/* SPDX-License-Identifier: Apache-2.0 */
#include "numa/arena.h"

#include <fcntl.h>
#include <numaif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "numa/arena_internal.h"
#include "numa/note.h"
#include "numa/pages_internal.h"
#include "numa/text.h"
#include "numa/where.h"
#include "src/base/clock.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25        /* Linux 6.1 */
#endif
#ifndef MFD_HUGE_2MB
#define MFD_HUGE_2MB (21u << 26)
#endif
#ifndef MFD_HUGE_1GB
#define MFD_HUGE_1GB (30u << 26)
#endif

#define NODES_MAX 1024
#define NAME_CHARS_MAX 200
#define PIECES_MAX 3
#define SEAL_PATIENCE_NS (2 * NS_PER_S)
#define POPULATE_TRIES 100

struct piece {
    int fd;                     /* -1: anonymous memory, which cannot be sealed or handed on */
    uint64_t offset, bytes;
    enum page_size size;
};

struct arena_private {
    const char *root;
    char *name;
    uint64_t reserved_bytes;    /* from arena->base on; beyond arena->bytes nothing is mapped yet */
    bool lock, read_only;
    uint32_t piece_count;
    struct piece pieces[PIECES_MAX];
};

struct node_mask {
    unsigned long words[NODES_MAX / (8 * sizeof(unsigned long))];
};

static struct node_mask mask_of(uint32_t os_node)
{
    struct node_mask mask = { { 0 } };
    size_t bits = 8 * sizeof mask.words[0];

    mask.words[os_node / bits] = 1ul << os_node % bits;
    return mask;
}

/* The kernel takes the last bit of maxnode off again. */
#define MASK_BITS (NODES_MAX + 1)

/* The policy of the thread, set aside while it maps for a node. */
struct policy {
    bool saved;
    int mode;
    struct node_mask mask;
};

/*
 * With the thread bound to the node, mmap() of huge pages checks and reserves that node's pool and says ENOMEM;
 * without, it looks at the pools of all nodes together and the first touch finds out.
 */
static void policy_begin(struct policy *policy, uint32_t os_node)
{
    struct node_mask mask = mask_of(os_node);

    memset(policy, 0, sizeof *policy);
    policy->saved = get_mempolicy(&policy->mode, policy->mask.words, MASK_BITS, NULL, 0) == 0;
    if (policy->saved)
        policy->saved = set_mempolicy(MPOL_BIND, mask.words, MASK_BITS) == 0;
}

static void policy_end(const struct policy *policy)
{
    bool none = policy->mode == MPOL_DEFAULT;       /* which takes no mask, not even an empty one */

    if (policy->saved)
        (void)!set_mempolicy(policy->mode, none ? NULL : policy->mask.words, none ? 0 : MASK_BITS);
}

/* Keeps the addresses and gives the memory back. */
static bool hold_addresses(uint8_t *at, uint64_t bytes)
{
    return mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == at;
}

static int reserve_addresses(struct arena *arena, uint64_t bytes, uint64_t align, struct error *error)
{
    uint64_t with_slack;
    uint8_t *p = MAP_FAILED;

    if (!ckd_add(&with_slack, bytes, align) && with_slack <= INT64_MAX)
        p = mmap(NULL, with_slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return error_set(error, -ENOMEM, "no %llu MiB of addresses for %s: see ulimit -v and vm.max_map_count",
                         (unsigned long long)(bytes >> 20), arena->private->name);
    uint64_t head = align_up((uintptr_t)p, align) - (uintptr_t)p;
    if (head > 0)
        munmap(p, head);
    if (align - head > 0)
        munmap(p + head + bytes, align - head);
    arena->base = p + head;
    arena->private->reserved_bytes = bytes;
    return 0;
}

/*
 * Containers without CAP_SYS_NICE often have mbind() forbidden: then the first touch decides, which pinned
 * workers make on their own node.  A node that our cpuset leaves out is an error; nothing could be had there.
 */
static int bind_piece(struct arena *arena, const struct piece *piece, unsigned flags, struct error *error)
{
    struct node_mask mask = mask_of(arena->os_node);

    if (!arena->bound)
        return 0;
    if (mbind(arena->base + piece->offset, piece->bytes, MPOL_BIND, mask.words, MASK_BITS, flags) == 0)
        return 0;
    if (errno == EPERM || errno == ENOSYS || errno == EACCES) {
        arena->bound = false;
        note_add(arena->note, "mbind is not allowed here (%s): the first touch by pinned workers decides on the node",
                 strerror(errno));
        return 0;
    }
    int r = -errno;
    return error_set(error, r, "cannot bind memory to node %u: %s%s", arena->os_node, strerror(-r), r == -EINVAL ?
                     "; the node does not exist or cpuset.mems (AllowedMemoryNodes=) leaves it out" : "");
}

static int piece_open(const struct arena *arena, enum page_size size, uint64_t bytes, int *ret_fd)
{
    static const unsigned flags[PAGE_SIZE_COUNT] = { [PAGE_4K] = 0, [PAGE_2M] = MFD_HUGETLB | MFD_HUGE_2MB,
                                                     [PAGE_1G] = MFD_HUGETLB | MFD_HUGE_1GB };
    int fd = memfd_create(arena->private->name, MFD_CLOEXEC | MFD_ALLOW_SEALING | flags[size]);

    if (fd < 0)
        return -errno;
    if (ftruncate(fd, (off_t)bytes)) {
        int r = -errno;
        close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

static int piece_map(struct arena *arena, const struct piece *piece, int protection)
{
    uint8_t *at = arena->base + piece->offset;
    int flags = MAP_FIXED | (piece->fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);

    if (mmap(at, piece->bytes, protection, flags, piece->fd, 0) == MAP_FAILED)
        return -errno;
    /* Weights and conversations belong into no core file, and a child has no use for them. */
    (void)!madvise(at, piece->bytes, MADV_DONTDUMP);
    (void)!madvise(at, piece->bytes, MADV_DONTFORK);
    return 0;
}

/* Puts @bytes behind what is mapped so far.  A negative errno without text: the caller knows the next rung. */
static int piece_add(struct arena *arena, enum page_size size, bool anonymous, uint64_t bytes)
{
    struct arena_private *private = arena->private;
    struct piece piece = { .fd = -1, .offset = arena->bytes, .bytes = bytes, .size = size };

    check(private->piece_count < PIECES_MAX && bytes <= private->reserved_bytes - arena->bytes);
    int r = anonymous ? 0 : piece_open(arena, size, bytes, &piece.fd);
    if (r)
        return r;
    r = piece_map(arena, &piece, PROT_READ | PROT_WRITE);
    if (r) {
        (void)!hold_addresses(arena->base + piece.offset, bytes);
        if (piece.fd >= 0)
            close(piece.fd);
        return r;
    }
    private->pieces[private->piece_count++] = piece;
    arena->bytes += bytes;
    arena->bytes_by_size[size] += bytes;
    return 0;
}

/* @why: what else than the pool stood in the way, "" if nothing. */
static int shortage(const struct arena *arena, uint64_t wanted, uint64_t available, const struct pages_pool *pool,
                    const char *why, struct error *error)
{
    return error_set(error, -ENOMEM, "node %u has %llu of %llu huge pages of 2 MiB for %s (%llu MiB)%s; reserve them: "
                     "echo %llu > /sys/devices/system/node/node%u/hugepages/hugepages-2048kB/nr_hugepages",
                     arena->os_node, (unsigned long long)available, (unsigned long long)wanted, arena->private->name,
                     (unsigned long long)(arena->private->reserved_bytes >> 20), why,
                     (unsigned long long)(pool->total + (wanted - available)), arena->os_node);
}

/* One rung of hugetlb pages: as many as there are, at most what is left of the arena. */
static int add_hugetlb(struct arena *arena, const struct arena_spec *spec, enum page_size size, struct error *error)
{
    struct arena_private *private = arena->private;
    struct pages_pool pool = { 0, 0 };
    struct error unread = ERROR_NULL;
    char why[128] = "";
    uint64_t page_bytes = pages_bytes(size), wanted = (private->reserved_bytes - arena->bytes) / page_bytes;

    if (wanted == 0)
        return 0;
    if (pages_pool_read_at(private->root, spec->os_node, size, &pool, &unread))
        note_add(arena->note, "%.180s", unread.text);
    uint64_t room = pages_cgroup_room_at(private->root, size) / page_bytes;
    uint64_t available = min_u64(min_u64(wanted, pool.free), room);
    if (room < min_u64(wanted, pool.free))
        snprintf(why, sizeof why, ", for the hugetlb cgroup allows no more");
    int r = available > 0 ? piece_add(arena, size, false, available * page_bytes) : 0;
    if (r) {
        /* Others took them since, or hold reservations that the count of free pages does not show. */
        snprintf(why, sizeof why, ", for %llu free ones could not be mapped: %s", (unsigned long long)available,
                 strerror(-r));
        available = 0;
    } else if (available > 0) {
        r = bind_piece(arena, &private->pieces[private->piece_count - 1], MPOL_MF_STRICT, error);
        if (r)
            return r;
    }
    if (available == wanted)
        return 0;
    if (spec->policy == ARENA_REQUIRE_HUGE && size == PAGE_2M)
        return shortage(arena, wanted, available, &pool, why, error);
    note_add(arena->note, "node %u has %llu of %llu pages of %s%s", spec->os_node, (unsigned long long)available,
             (unsigned long long)wanted, pages_name(size), why);
    return 0;
}

/* Bound memory that the node does not have would call the OOM killer: count before. */
static int check_ordinary(const struct arena *arena, uint64_t bytes, struct error *error)
{
    uint64_t free_bytes, room = pages_cgroup_room_at(arena->private->root, PAGE_4K);

    if (bytes > room)
        return error_set(error, -ENOMEM, "%s needs %llu MiB of ordinary memory and the memory cgroup leaves %llu MiB: "
                         "raise memory.max (MemoryMax=) or reserve huge pages, which it does not count",
                         arena->private->name, (unsigned long long)(bytes >> 20), (unsigned long long)(room >> 20));
    if (pages_node_free_at(arena->private->root, arena->os_node, &free_bytes, NULL) == 0 && bytes > free_bytes)
        return error_set(error, -ENOMEM, "node %u has %llu MiB of free memory and %s needs %llu MiB", arena->os_node,
                         (unsigned long long)(free_bytes >> 20), arena->private->name,
                         (unsigned long long)(bytes >> 20));
    return 0;
}

/* "always within_size advise [never] deny force" */
static bool shmem_denies_huge(const char *root)
{
    char text[256];
    size_t size;

    return text_read(root, "/sys/kernel/mm/transparent_hugepage/shmem_enabled", text, sizeof text, &size) == 0 &&
           strstr(text, "[deny]");
}

static bool lock_piece(const struct arena *arena, const struct piece *piece)
{
    /* ONFAULT: the pages come when a worker of the node populates them. */
    return mlock2(arena->base + piece->offset, piece->bytes, MLOCK_ONFAULT) == 0;
}

/* What hugetlb did not give: transparent huge pages in a memfd, or anonymous ones, or 4 KiB. */
static int add_ordinary(struct arena *arena, const struct arena_spec *spec, struct error *error)
{
    struct arena_private *private = arena->private;
    uint64_t bytes = private->reserved_bytes - arena->bytes;

    arena->locked = true;
    if (bytes == 0)
        return 0;
    int r = check_ordinary(arena, bytes, error);
    if (r)
        return r;
    bool anonymous = shmem_denies_huge(private->root);
    r = piece_add(arena, PAGE_4K, anonymous, bytes);
    if (r)
        return error_set(error, r, "cannot map %llu MiB for %s: %s", (unsigned long long)(bytes >> 20), private->name,
                         strerror(-r));
    const struct piece *piece = &private->pieces[private->piece_count - 1];
    int advice = spec->policy == ARENA_FROM_4K ? MADV_NOHUGEPAGE : MADV_HUGEPAGE;
    arena->transparent = madvise(arena->base + piece->offset, bytes, advice) == 0 && advice == MADV_HUGEPAGE;
    note_add(arena->note, "%llu MiB in %s", (unsigned long long)(bytes >> 20),
             !arena->transparent ? "4 KiB pages" :
             anonymous ? "anonymous pages, transparent huge ones where there are any; lost on restart" :
             "ordinary pages, transparent huge ones where there are any");
    r = bind_piece(arena, piece, MPOL_MF_STRICT, error);
    if (r)
        return r;
    arena->locked = spec->lock && lock_piece(arena, piece);
    if (spec->lock && !arena->locked)
        note_add(arena->note, "not locked, can be swapped: %s (LimitMEMLOCK=, ulimit -l)", strerror(errno));
    return 0;
}

static int build(struct arena *arena, const struct arena_spec *spec, struct error *error)
{
    struct policy policy;
    uint64_t bytes = align_up(spec->bytes, PAGE_2M_BYTES);
    bool use_1g = spec->allow_1g && bytes >= PAGE_1G_BYTES && spec->policy < ARENA_FROM_2M;
    int r = reserve_addresses(arena, bytes, use_1g ? PAGE_1G_BYTES : PAGE_2M_BYTES, error);

    if (r)
        return r;
    policy_begin(&policy, spec->os_node);
    if (use_1g)
        r = add_hugetlb(arena, spec, PAGE_1G, error);
    if (r == 0 && arena_takes_hugetlb(spec->policy))
        r = add_hugetlb(arena, spec, PAGE_2M, error);
    if (r == 0)
        r = add_ordinary(arena, spec, error);
    policy_end(&policy);
    return r;
}

int arena_new_at(const char *root, const struct arena_spec *spec, struct arena **ret_arena, struct error *error)
{
    size_t name_size = strnlen(spec->name, NAME_CHARS_MAX + 1);

    if (spec->bytes == 0 || spec->bytes > INT64_MAX / 2 || spec->os_node >= NODES_MAX || name_size > NAME_CHARS_MAX)
        return error_set(error, -EINVAL, "an arena of %llu bytes on node %u cannot be", (unsigned long long)spec->bytes,
                         spec->os_node);
    struct arena *arena = calloc(1, sizeof *arena);
    struct arena_private *private = calloc(1, sizeof *private);
    char *name = strndup(spec->name, name_size);
    if (!arena || !private || !name) {
        free(arena);
        free(private);
        free(name);
        return error_set(error, -ENOMEM, "no memory for an arena");
    }
    *private = (struct arena_private){ .root = root, .name = name, .lock = spec->lock };
    *arena = (struct arena){ .os_node = spec->os_node, .bound = true, .private = private };
    int r = build(arena, spec, error);
    if (r) {
        arena_free(arena);
        return r;
    }
    *ret_arena = arena;
    return 0;
}

int arena_new(const struct arena_spec *spec, struct arena **ret_arena, struct error *error)
{
    return arena_new_at("", spec, ret_arena, error);
}

struct arena *arena_free(struct arena *arena)
{
    if (!arena)
        return NULL;
    struct arena_private *private = arena->private;
    if (arena->base)
        munmap(arena->base, private->reserved_bytes);
    for (uint32_t i = 0; i < private->piece_count; i++) {
        if (private->pieces[i].fd >= 0)
            close(private->pieces[i].fd);
    }
    free(private->name);
    free(private);
    free(arena);
    return NULL;
}

static int populate_failed(const struct arena *arena, const struct piece *piece, int code, struct error *error)
{
    if (code == -EINVAL)
        return error_set(error, -ENOSYS, "this kernel cannot populate memory ahead (MADV_POPULATE_WRITE, Linux 5.14)");
    if (code != -EFAULT && code != -ENOMEM && code != -EHWPOISON)
        return error_set(error, code, "cannot populate memory on node %u: %s", arena->os_node, strerror(-code));
    const char *name = arena->private->name;
    if (code == -EHWPOISON)
        return error_set(error, -ENOMEM, "%s: a page of node %u has a hardware memory error; see dmesg", name,
                         arena->os_node);
    if (piece->size == PAGE_4K)
        return error_set(error, -ENOMEM, "%s: node %u has no more free memory (%llu MiB wanted)", name, arena->os_node,
                         (unsigned long long)(piece->bytes >> 20));
    return error_set(error, -ENOMEM, "%s: node %u has no free page of %s left (%llu wanted): others took them; reserve "
                     "more in /sys/devices/system/node/node%u/hugepages/hugepages-%llukB/nr_hugepages", name,
                     arena->os_node, pages_name(piece->size),
                     (unsigned long long)(piece->bytes / pages_bytes(piece->size)), arena->os_node,
                     (unsigned long long)(pages_bytes(piece->size) >> 10));
}

static int populate(const struct arena *arena, const struct piece *piece, uint64_t begin, uint64_t end, int advice,
                    struct error *error)
{
    int r = -EINTR;

    for (int i = 0; i < POPULATE_TRIES && (r == -EINTR || r == -EAGAIN); i++)
        r = madvise(arena->base + begin, end - begin, advice) ? -errno : 0;
    return r ? populate_failed(arena, piece, r, error) : 0;
}

int arena_populate(struct arena *arena, uint64_t offset, uint64_t bytes, struct error *error)
{
    const struct arena_private *private = arena->private;

    check(!private->read_only && offset <= arena->bytes && bytes <= arena->bytes - offset);
    for (uint32_t i = 0; i < private->piece_count; i++) {
        const struct piece *piece = &private->pieces[i];
        uint64_t piece_end = piece->offset + piece->bytes;
        uint64_t begin = max_u64(align_down(offset, 4096), piece->offset);
        uint64_t end = min_u64(align_up(offset + bytes, 4096), piece_end);
        if (bytes == 0 || begin >= end)
            continue;
        int r = populate(arena, piece, begin, end, MADV_POPULATE_WRITE, error);
        if (r)
            return r;
        if (piece->size != PAGE_4K || !arena->transparent)
            continue;
        /*
         * Best effort, and after the pages are there: collapsing goes to the node where most of them lie.  The
         * blocks at the ends are taken whole; the neighbour's part of them lies on the same node.
         */
        begin = align_down(begin, PAGE_2M_BYTES);
        end = align_up(end, PAGE_2M_BYTES);
        (void)!madvise(arena->base + begin, end - begin, MADV_COLLAPSE);
    }
    return 0;
}

int arena_populate_share(struct arena *arena, uint32_t share, uint32_t shares, struct error *error)
{
    uint64_t first, end;

    check(share < shares);
    if (!arena)
        return 0;
    first = align_down(arena->bytes / shares * share, PAGE_2M_BYTES);
    end = share + 1 == shares ? arena->bytes : align_down(arena->bytes / shares * (share + 1), PAGE_2M_BYTES);
    return arena_populate(arena, first, end - first, error);
}

/* Buffers that a ring has unregistered can stay pinned for a moment: EBUSY. */
static int add_seals(int fd)
{
    uint64_t begin_ns = clock_now_ns();

    for (;;) {
        if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0)
            return 0;
        if (errno != EBUSY || clock_now_ns() - begin_ns > SEAL_PATIENCE_NS)
            return -errno;
        nanosleep(&(struct timespec){ .tv_nsec = (long)(10 * NS_PER_MS) }, NULL);
    }
}

static int seal_piece(struct arena *arena, const struct piece *piece, struct error *error)
{
    uint8_t *at = arena->base + piece->offset;

    if (piece->fd < 0) {
        if (mprotect(at, piece->bytes, PROT_READ))
            return error_set(error, -errno, "cannot make %s read-only: %s", arena->private->name, strerror(errno));
        return populate(arena, piece, piece->offset, piece->offset + piece->bytes, MADV_POPULATE_READ, error);
    }
    if (!hold_addresses(at, piece->bytes))
        return error_set(error, -errno, "cannot unmap %s: %s", arena->private->name, strerror(errno));
    int r = add_seals(piece->fd);
    if (r)
        return error_set(error, r, "cannot seal %s: %s%s", arena->private->name, strerror(-r),
                         r == -EBUSY ? "; some ring still has it registered as a buffer" : "");
    r = piece_map(arena, piece, PROT_READ);
    if (r)
        return error_set(error, r, "cannot map %s again: %s", arena->private->name, strerror(-r));
    if (piece->size == PAGE_4K && arena->transparent)
        (void)!madvise(at, piece->bytes, MADV_HUGEPAGE);
    r = bind_piece(arena, piece, 0, error);
    if (r)
        return r;
    if (piece->size == PAGE_4K && arena->locked)
        arena->locked = lock_piece(arena, piece);
    /* Into the page table now: a fault on the token path, or one that finds no page, must not be. */
    return populate(arena, piece, piece->offset, piece->offset + piece->bytes, MADV_POPULATE_READ, error);
}

int arena_seal(struct arena *arena, struct error *error)
{
    struct arena_private *private = arena->private;
    bool sealed = true;
    struct policy policy;
    int r = 0;

    check(!private->read_only);
    private->read_only = true;
    policy_begin(&policy, arena->os_node);
    for (uint32_t i = 0; i < private->piece_count && r == 0; i++) {
        r = seal_piece(arena, &private->pieces[i], error);
        sealed = sealed && private->pieces[i].fd >= 0;
    }
    policy_end(&policy);
    if (r == 0)
        arena->sealed = sealed;
    return r;
}

int arena_where(const struct arena *arena, uint64_t *ret_bytes, uint32_t n, struct error *error)
{
    const struct arena_private *private = arena->private;
    int r = 0;

    memset(ret_bytes, 0, n * sizeof *ret_bytes);
    for (uint32_t i = 0; i < private->piece_count && r == 0; i++) {
        const struct piece *piece = &private->pieces[i];
        r = where_query(arena->base + piece->offset, piece->bytes, pages_bytes(piece->size), ret_bytes, n);
    }
    if (r == -EPERM || r == -ENOSYS || r == -EACCES) {
        memset(ret_bytes, 0, n * sizeof *ret_bytes);
        r = where_numa_maps(private->root, arena->base, arena->bytes, ret_bytes, n);
    }
    if (r)
        return error_set(error, r, "cannot ask on which nodes the pages of %s lie: %s", private->name, strerror(-r));
    return 0;
}
