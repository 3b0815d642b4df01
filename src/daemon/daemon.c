/* SPDX-License-Identifier: Apache-2.0 */
#include "src/daemon/daemon.h"

#include <signal.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/log.h"
#include "src/daemon/listen.h"
#include "src/daemon/report.h"
#include "src/serve/host.h"

struct daemon {
    const struct config *config;
    struct topology *host_topology, *invented;
    struct instance_config models[LIMIT_MODELS];
    struct listen listen;
    struct notify notify;
    struct report report;
    int signal_fd;
    struct ring *ring;
    struct bridge *bridge;
    struct host *host;
    struct door *door;
    uint64_t beat;
    uint32_t stops;                     /* signals to end that came */
};

int daemon_exit_code(int error)
{
    switch (error) {
    case 0:
        return EXIT_OK;
    case -EACCES:
    case -EPERM:
        return EXIT_NOPERM;
    case -ENOMEM:
        return EXIT_OSERR;
    case -EADDRINUSE:
        return EXIT_UNAVAILABLE;
    case -ENOENT:                       /* what a restart does not mend: names, paths, broken or unknown models */
    case -ENOTDIR:
    case -EISDIR:
    case -EEXIST:
    case -ENAMETOOLONG:
    case -ENOTSUP:
    case -EINVAL:
    case -EBADMSG:
        return EXIT_CONFIG;
    default:
        return EXIT_RUNTIME;
    }
}

/* --- what the door tells --- */

static void on_loading(void *arg, uint32_t model, const struct loader_report *l)
{
    struct daemon *d = arg;

    report_loading(&d->report, d->models[model].id, l);
}

static void on_ready(void *arg, uint32_t model, const struct instance *instance)
{
    struct daemon *d = arg;

    (void)model;
    report_ready(&d->report, instance_info(instance));
}

static void on_serving(void *arg)
{
    struct daemon *d = arg;

    log_line(LOG_LEVEL_NOTICE, "serving %u model%s", d->config->model_count, d->config->model_count == 1 ? "" : "s");
    notify_send(&d->notify, "READY=1\nSTATUS=Serving %u model%s", d->config->model_count,
                d->config->model_count == 1 ? "" : "s");
}

static void on_draining(void *arg)
{
    struct daemon *d = arg;

    report_break(&d->report);
    log_line(LOG_LEVEL_NOTICE, "no new requests; %u in flight", door_requests(d->door));
    notify_send(&d->notify, "STOPPING=1\nSTATUS=Finishing %u requests", door_requests(d->door));
}

/* The engine's thread shows that it lives: it steps, or loads, or at least turns over when it is woken. */
static void on_tick(void *arg)
{
    struct daemon *d = arg;
    uint64_t beat = bridge_gauge(d->bridge, BRIDGE_BEAT);

    if (beat != d->beat)
        notify_send(&d->notify, "WATCHDOG=1");
    d->beat = beat;
    bridge_nudge(d->bridge);
}

/* Nothing can be waited for, or has to be: the kernel takes back what this process has. */
static _Noreturn void leave(struct daemon *d, int code)
{
    report_break(&d->report);
    listen_close(&d->listen);
    _exit(code);
}

static void on_stop(struct daemon *d, const char *name)
{
    report_break(&d->report);
    if (d->stops++) {
        log_line(LOG_LEVEL_WARNING, "%s again: ending at once, %u requests are cut off", name, door_requests(d->door));
        leave(d, EXIT_RUNTIME);
    }
    log_line(LOG_LEVEL_NOTICE, "%s: ending", name);
    if (door_loading(d->door))
        leave(d, EXIT_OK);              /* nobody has been served yet */
    door_drain(d->door, WIRE_GOAWAY_REASON_SHUTDOWN, d->config->drain_ms);
}

static void on_signal(void *arg, int fd)
{
    struct daemon *d = arg;
    struct signalfd_siginfo info;

    while (read(fd, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo == SIGHUP)
            log_line(LOG_LEVEL_NOTICE, "SIGHUP: nothing is reloaded; a restart reads the configuration again");
        else
            on_stop(d, info.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM");
    }
}

/* --- birth --- */

/* Before there is any other thread, so that all inherit it. */
static int take_signals(struct daemon *d, struct error *error)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return error_set(error, -errno, "signals: %s", strerror(errno));
    d->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return d->signal_fd < 0 ? error_set(error, -errno, "signals: %s", strerror(errno)) : 0;
}

static int place(struct daemon *d, struct error *error)
{
    int r = topology_load(NULL, &d->host_topology, error);

    if (r == 0 && d->config->topology)
        r = topology_load(d->config->topology, &d->invented, error);
    for (uint32_t i = 0; i < d->config->model_count && r == 0; i++)
        d->models[i] = config_instance(d->config, i, d->invented ? d->invented : d->host_topology, d->host_topology);
    return r;
}

static void wake_ring(void *arg)
{
    ring_wake(arg);
}

static uint64_t fresh_boot_id(void)
{
    uint64_t id;

    return getrandom(&id, sizeof(id), GRND_NONBLOCK) == sizeof(id) ? id : clock_now_ns();
}

static int open_door(struct daemon *d, struct error *error)
{
    struct ring_config ring = { .operations = (uint32_t)min_u64(4 * (uint64_t)d->config->limits.connections + 256,
                                                                RING_OPERATIONS_MAX) };
    struct door_config c = {
        .models = d->models, .model_count = d->config->model_count, .signal_fd = d->signal_fd,
        .tick_ns = d->notify.watchdog_ns / 3, .boot_id = fresh_boot_id(), .log_level = d->config->log_level,
        .limits = d->config->limits, .listener_count = d->listen.count,
        .hooks = { .arg = d, .loading = on_loading, .ready = on_ready, .serving = on_serving, .draining = on_draining,
                   .signal = on_signal, .tick = on_tick },
    };
    int r = ring_new(&ring, &d->ring, error);

    if (r < 0)
        return r;
    if (ring_note(d->ring)[0])
        log_line(LOG_LEVEL_NOTICE, "sockets by %s: %s", ring_name(d->ring), ring_note(d->ring));
    r = bridge_new(wake_ring, d->ring, &d->bridge);
    if (r < 0)
        return error_set(error, r, "no memory for the mailboxes");
    memcpy(c.listeners, d->listen.listeners, sizeof(c.listeners));
    c.ring = d->ring;
    c.bridge = d->bridge;
    return door_new(&c, &d->door, error);
}

static int start(struct daemon *d, struct error *error)
{
    int r = take_signals(d, error);

    if (r == 0)
        r = place(d, error);
    if (r == 0)
        r = listen_open(&d->listen, d->config, error);
    if (r == 0)
        r = open_door(d, error);
    if (r == 0)
        r = host_start(d->bridge, d->models, d->config->model_count, &d->host, error);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < ARRAY_LENGTH(d->listen.own); i++)
        if (d->listen.own[i].fd >= 0)
            log_line(LOG_LEVEL_NOTICE, "listening on %s%s", d->listen.own[i].path, i ? " for administrators" : "");
    return 0;
}

/* The reverse of start(); any part may be missing. */
static void end(struct daemon *d)
{
    host_join(d->host);
    ring_free(d->ring);
    door_free(d->door);
    bridge_free(d->bridge);
    listen_close(&d->listen);
    topology_free(d->invented);
    topology_free(d->host_topology);
    notify_close(&d->notify);
    if (d->signal_fd >= 0)
        close(d->signal_fd);
}

int daemon_run(const struct config *config)
{
    struct daemon d = { .config = config, .listen = LISTEN_NULL, .notify = NOTIFY_NULL, .signal_fd = -1 };
    struct error error = ERROR_NULL;
    int r;

    notify_open(&d.notify);
    d.report = (struct report){ .notify = &d.notify, .terminal = isatty(STDERR_FILENO) };
    r = start(&d, &error);
    if (r == 0)
        r = door_run(d.door, &error);
    report_break(&d.report);
    if (r < 0) {
        log_line(LOG_LEVEL_ERROR, "%s", error.text);
        notify_send(&d.notify, "ERRNO=%d\nSTATUS=%s", -r, error.text);
    } else {
        log_line(LOG_LEVEL_NOTICE, "ended");
    }
    end(&d);
    return daemon_exit_code(r);
}
