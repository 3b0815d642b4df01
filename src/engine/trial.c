/* SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/trial.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/clock.h"

/* What a computation brings upon itself.  All else, as a Ctrl-C that the whole group gets, is the parent's. */
static const int faults[] = { SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGTRAP, SIGSYS, SIGABRT };

/* The child, which came with all signals blocked, so that no handler of the parent's runs here. */
static _Noreturn void compute(void (*what)(void *), void *arg, pid_t parent, volatile bool *finished)
{
    const struct rlimit none = { .rlim_cur = 0 };
    sigset_t others;

    /* Where core files go to a program, only the second one counts. */
    (void)!setrlimit(RLIMIT_CORE, &none);
    (void)!prctl(PR_SET_DUMPABLE, 0);
    (void)!prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    sigfillset(&others);
    for (size_t i = 0; i < ARRAY_LENGTH(faults); i++) {
        signal(faults[i], SIG_DFL);
        sigdelset(&others, faults[i]);
    }
    pthread_sigmask(SIG_SETMASK, &others, NULL);
    what(arg);
    *finished = true;
    _exit(0);
}

static pid_t start(void (*what)(void *), void *arg, volatile bool *finished)
{
    const pid_t parent = getpid();
    sigset_t all, old;
    pid_t child;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    child = fork();
    if (child == 0)
        compute(what, arg, parent, finished);
    child = child < 0 ? -errno : child;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return child;
}

/* Until the child has ended: 0, or the time is over: TRIAL_LATE. */
static int wait_for(pid_t child, uint32_t limit_ms)
{
    const uint64_t end = clock_now_ns() + limit_ms * NS_PER_MS;
    struct pollfd wait = { .fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN };
    int r;

    if (wait.fd < 0)
        return errno == ESRCH ? 0 : -errno;
    do {
        const uint64_t now = clock_now_ns();

        r = poll(&wait, 1, now < end ? (int)((end - now) / NS_PER_MS) : 0);
        r = r < 0 ? -errno : r;
    } while (r == -EINTR);
    close(wait.fd);
    return r < 0 ? r : r ? 0 : TRIAL_LATE;
}

static int judge(pid_t child, uint32_t limit_ms, const volatile bool *finished)
{
    int r = wait_for(child, limit_ms), status = 0;
    pid_t reaped;

    if (r)
        kill(child, SIGKILL);
    do
        reaped = waitpid(child, &status, 0);
    while (reaped < 0 && errno == EINTR);
    if (*finished)
        return 0;
    if (r)
        return r;
    /* Where SIGCHLD is ignored the system reaps, and tells nobody. */
    return reaped == child && WIFSIGNALED(status) ? WTERMSIG(status) : TRIAL_LOST;
}

int trial_run(void (*what)(void *arg), void *arg, uint32_t limit_ms)
{
    bool *finished = mmap(NULL, sizeof(*finished), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child;
    int r;

    if (finished == MAP_FAILED)
        return -errno;
    child = start(what, arg, finished);
    r = child < 0 ? child : judge(child, limit_ms, finished);
    munmap(finished, sizeof(*finished));
    return r;
}

void trial_describe(int verdict, char *text, size_t size)
{
    const char *name = verdict < TRIAL_LATE ? sigabbrev_np(verdict) : NULL;

    if (name)
        snprintf(text, size, "ends with SIG%s", name);
    else
        snprintf(text, size, "%s", verdict == TRIAL_LATE ? "does not come back" : "ends without a word");
}
