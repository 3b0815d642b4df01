/* SPDX-License-Identifier: Apache-2.0 */
/* A computation in a child: what it returns, what ends it, and that this process does not notice. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/base/clock.h"
#include "src/engine/trial.h"

#define LONG_MS 20000                   /* never waited for */
#define SHORT_MS 100

static struct {
    uint32_t word;
    bool no_core, mortal, handler, left;
} *shared;
static uint32_t own;

static void says_a_word(void *arg)
{
    shared->word = *(uint32_t *)arg;
    own = 7;
}

static void is_illegal(void *arg)
{
    (void)arg;
    __asm__ volatile("ud2");
}

static void follows_null(void *arg)
{
    (void)arg;
    __asm__ volatile("movl $1, 16");
}

static void divides_by_zero(void *arg)
{
    (void)arg;
    __asm__ volatile("xorl %%ecx, %%ecx\n\tdivl %%ecx" : : : "eax", "ecx", "edx", "cc");
}

static void loops(void *arg)
{
    (void)arg;
    for (;;)
        __asm__ volatile("");
}

static void leaves(void *arg)
{
    (void)arg;
    _exit(3);
}

/* Blocked in the child: what a terminal or a service manager sends is for the parent. */
static void is_asked_to_end(void *arg)
{
    (void)arg;
    raise(SIGTERM);
    raise(SIGINT);
}

static void looks_around(void *arg)
{
    struct rlimit core = { .rlim_cur = 1 };
    struct sigaction action;
    int death = 0;

    (void)arg;
    shared->no_core = getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_cur == 0 && prctl(PR_GET_DUMPABLE) == 0;
    shared->mortal = prctl(PR_GET_PDEATHSIG, &death) == 0 && death == SIGKILL;
    shared->handler = sigaction(SIGILL, NULL, &action) == 0 && action.sa_handler != SIG_DFL;
}

static void note_exit(void)
{
    if (shared)
        shared->left = true;
}

static void is_handled(int number)
{
    (void)number;
    _exit(0);
}

static void no_child_is_left(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void what_it_says_arrives_and_nothing_else(void **s)
{
    uint32_t word = 42;

    (void)s;
    own = 1;
    assert_int_equal(trial_run(says_a_word, &word, LONG_MS), 0);
    assert_int_equal(shared->word, 42);
    assert_int_equal(own, 1);
    assert_false(shared->left);
    no_child_is_left();
}

static void expect_end(void (*what)(void *), int number, const char *words)
{
    char text[48];

    assert_int_equal(trial_run(what, NULL, LONG_MS), number);
    trial_describe(number, text, sizeof(text));
    assert_string_equal(text, words);
    no_child_is_left();
}

static void a_fault_ends_the_child_alone(void **s)
{
    (void)s;
    expect_end(is_illegal, SIGILL, "ends with SIGILL");
    expect_end(follows_null, SIGSEGV, "ends with SIGSEGV");
    expect_end(divides_by_zero, SIGFPE, "ends with SIGFPE");
    expect_end(leaves, TRIAL_LOST, "ends without a word");
}

/* Handlers and masks of this process are not the child's. */
static void handlers_of_the_parent_do_not_hide_a_fault(void **s)
{
    sigset_t all, old, after;
    struct rlimit core;

    (void)s;
    assert_int_equal(getrlimit(RLIMIT_CORE, &core), 0);
    core.rlim_cur = core.rlim_max;              /* so that there is something to forbid */
    assert_int_equal(setrlimit(RLIMIT_CORE, &core), 0);
    signal(SIGILL, is_handled);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &old);
    expect_end(is_illegal, SIGILL, "ends with SIGILL");
    sigprocmask(SIG_SETMASK, &old, &after);
    assert_int_equal(sigismember(&after, SIGUSR1), 1);          /* as it was before the call */
    assert_int_equal(trial_run(looks_around, NULL, LONG_MS), 0);
    assert_false(shared->handler);
    assert_true(shared->no_core);
    assert_true(shared->mortal);                /* it ends with its parent */
    assert_int_equal(prctl(PR_GET_DUMPABLE), 1);
    sigprocmask(SIG_SETMASK, NULL, &after);
    assert_int_equal(sigismember(&after, SIGUSR1), 0);
    signal(SIGILL, SIG_DFL);
}

static void one_that_loops_is_ended(void **s)
{
    uint64_t begun = clock_now_ns();
    char text[48];

    (void)s;
    assert_int_equal(trial_run(loops, NULL, SHORT_MS), TRIAL_LATE);
    assert_true(clock_now_ns() - begun >= SHORT_MS * NS_PER_MS - NS_PER_MS);
    assert_true(clock_now_ns() - begun < LONG_MS * NS_PER_MS);
    trial_describe(TRIAL_LATE, text, sizeof(text));
    assert_string_equal(text, "does not come back");
    no_child_is_left();
}

static void requests_to_end_are_the_parents(void **s)
{
    (void)s;
    assert_int_equal(trial_run(is_asked_to_end, NULL, LONG_MS), 0);
}

/* The system reaps then: that it returned is known nevertheless, and that it did not. */
static void ignored_children_are_judged_too(void **s)
{
    uint32_t word = 43;

    (void)s;
    signal(SIGCHLD, SIG_IGN);
    assert_int_equal(trial_run(says_a_word, &word, LONG_MS), 0);
    assert_int_equal(shared->word, 43);
    assert_int_equal(trial_run(is_illegal, NULL, LONG_MS), TRIAL_LOST);
    signal(SIGCHLD, SIG_DFL);
}

static void without_a_child_it_is_an_error(void **s)
{
    uint32_t word = 44;
    pid_t child = fork();
    int status = 0;

    (void)s;
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit none = { .rlim_cur = 0 };

        /* Root may have as many processes as it likes. */
        if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
            _exit(77);
        _exit(setrlimit(RLIMIT_NPROC, &none) == 0 && trial_run(says_a_word, &word, LONG_MS) == -EAGAIN ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_it_says_arrives_and_nothing_else),
        cmocka_unit_test(a_fault_ends_the_child_alone),
        cmocka_unit_test(handlers_of_the_parent_do_not_hide_a_fault),
        cmocka_unit_test(one_that_loops_is_ended),
        cmocka_unit_test(requests_to_end_are_the_parents),
        cmocka_unit_test(ignored_children_are_judged_too),
        cmocka_unit_test(without_a_child_it_is_an_error),
    };

    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || atexit(note_exit))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
