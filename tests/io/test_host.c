/* SPDX-License-Identifier: Apache-2.0 */
/* What a host forbids or lacks: io_uring, locked memory, the file's permission, huge pages.  Each in a child. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/ring.h"
#include "tests/io/files.h"

#define MIB (UINT64_C(1) << 20)
#define FILE_SIZE (20 * MIB + 5)
#define SPANS 20u

static int file = -1;
static struct loader_span spans[SPANS];

static int set_up(void **state)
{
    (void)state;
    file = make_file(FILE_SIZE);
    for (uint32_t i = 0; i < SPANS; i++)
        spans[i] = (struct loader_span){ .offset = i * MIB + 3, .bytes = MIB };
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(file);
    return 0;
}

/* In the child: loads all and returns the report; a negative errno when it does not work. */
static int load(enum io_kind kind, struct loader_report *ret_report)
{
    struct loader_config config = { .fd = file, .spans = spans, .span_count = SPANS, .lanes = 1, .kind = kind };
    struct error error = ERROR_NULL;
    struct loader *loader = NULL;
    struct loader_piece piece;
    int r = loader_new(&config, &loader, &error);

    if (r) {
        fprintf(stderr, "loader_new: %s\n", error.text);
        return r;
    }
    while ((r = loader_take(loader, 0, &piece, &error)) == 0) {
        if (!piece_is_right(&piece))
            r = -EBADMSG;
        loader_give(loader, &piece);
    }
    loader_report(loader, ret_report);
    loader_free(loader);
    fprintf(stderr, "uring %d registered %d direct %d huge %d: %s\n", ret_report->uring, ret_report->registered,
            ret_report->direct, ret_report->huge_staging, ret_report->note);
    return r < 0 ? r : 0;
}

#define NEED(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            return 1; \
        } \
    } while (0)

static void in_child(int (*body)(void))
{
    pid_t pid;
    int status;

    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(body());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* As containers do: io_uring_setup(2) is refused, the rest goes on. */
static int forbid_io_uring(int code)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)code),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { .len = ARRAY_LENGTH(filter), .filter = filter };

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int without_io_uring(int code)
{
    struct ring_config config = { .backend = RING_AUTO };
    struct loader_report r;
    struct ring *ring = NULL;

    if (forbid_io_uring(code)) {
        fprintf(stderr, "skipped: no seccomp here\n");
        return 77;
    }
    NEED(load(IO_AUTO, &r) == 0);
    NEED(!r.uring && !r.registered && strstr(r.note, "reads by threads: io_uring refused"));
    NEED(r.depth >= 2 && r.depth < 32);
    NEED(load(IO_URING, &r) == -code);
    NEED(load(IO_PREADV, &r) == 0 && !strstr(r.note, "refused"));
    NEED(ring_new(&config, &ring, NULL) == 0);
    NEED(!strcmp(ring_name(ring), "epoll") && strstr(ring_note(ring), "io_uring"));
    ring_free(ring);
    config.backend = RING_URING;
    NEED(ring_new(&config, &ring, NULL) == -code);
    return 0;
}

static int body_eperm(void) { return without_io_uring(EPERM); }
static int body_enosys(void) { return without_io_uring(ENOSYS); }

static void test_no_io_uring(void **state)
{
    (void)state;
    in_child(body_eperm);
    in_child(body_enosys);
}

static int drop_ipc_lock(void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2];

    if (syscall(SYS_capget, &header, data))
        return -1;
    for (int i = 0; i < 2; i++) {
        data[i].effective &= i == CAP_IPC_LOCK / 32 ? ~(1u << CAP_IPC_LOCK % 32) : ~0u;
        data[i].permitted &= i == CAP_IPC_LOCK / 32 ? ~(1u << CAP_IPC_LOCK % 32) : ~0u;
    }
    return syscall(SYS_capset, &header, data) ? -1 : 0;
}

static int body_memlock(void)
{
    struct rlimit limit = { .rlim_cur = 256 << 10, .rlim_max = 256 << 10 };
    struct loader_report r;

    NEED(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
    NEED(drop_ipc_lock() == 0);
    NEED(load(IO_AUTO, &r) == 0);
    NEED(!r.registered);
    if (r.uring)
        NEED(strstr(r.note, "buffers not registered") && strstr(r.note, "MEMLOCK"));
    else
        NEED(strstr(r.note, "reads by threads"));
    return 0;
}

static void test_memlock(void **state)
{
    (void)state;
    in_child(body_memlock);
}

/* A descriptor passed by somebody with more rights: it can be read, not opened again. */
static int body_no_rights(void)
{
    struct loader_report r;

    if (getuid() != 0) {
        fprintf(stderr, "skipped: needs root\n");
        return 77;
    }
    NEED(fchmod(file, 0600) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
    NEED(load(IO_AUTO, &r) == 0);
    NEED(!r.direct && strstr(r.note, "buffered reads"));
    return 0;
}

static void test_no_rights(void **state)
{
    (void)state;
    in_child(body_no_rights);
}

#define POOL_PATH "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"

/* The pool's size, @change added to it first. */
static long pool_add(long change)
{
    FILE *f = fopen(POOL_PATH, "r+e");
    long n = -1;

    if (!f)
        return -1;
    if (fscanf(f, "%ld", &n) == 1 && change) {
        rewind(f);
        fprintf(f, "%ld\n", n + change);
        fflush(f);
        rewind(f);
        if (fscanf(f, "%ld", &n) != 1)
            n = -1;
    }
    fclose(f);
    return n;
}

static int body_huge(void)
{
    struct loader_report r;

    NEED(load(IO_AUTO, &r) == 0);
    NEED(r.huge_staging && !strstr(r.note, "hugetlb"));
    return 0;
}

static void test_huge(void **state)
{
    long before = pool_add(0), now;

    (void)state;
    now = before < 0 ? -1 : pool_add(16);
    if (now < before + 16) {
        print_message("skipped: 16 huge pages cannot be reserved\n");
        if (now > before)
            pool_add(before - now);
        skip();
    }
    in_child(body_huge);
    pool_add(-16);
}

static int body_no_huge(void)
{
    struct loader_report r;

    NEED(load(IO_AUTO, &r) == 0);
    NEED(r.huge_staging || strstr(r.note, "staging not in hugetlb pages"));
    return 0;
}

static void test_no_huge(void **state)
{
    (void)state;
    in_child(body_no_huge);
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_no_io_uring), CASE(test_memlock), CASE(test_no_rights), CASE(test_huge), CASE(test_no_huge),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
