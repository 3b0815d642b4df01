/* SPDX-License-Identifier: Apache-2.0 */

/*
 * kernels: what each level of this CPU could do at best, and what every kernel does, on one thread.
 *   kernels [--json] [--quick] [--level LEVEL] [--function NAME] [--seconds S]
 * Exit 0, 1 (it could not be measured), 2 (usage).
 */

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/kernels.h"

#define MEMORY_MIN (UINT64_C(256) << 20)
#define MEMORY_MAX (UINT64_C(1) << 30)
#define MEMORY_QUICK (UINT64_C(16) << 20)

static const struct {
    const char *name;
    void (*run)(struct bench *b);
} functions[] = {
    { "matmul", bench_matmul }, { "attend", bench_attend }, { "vector", bench_vector }, { "load", bench_load },
};

struct choice {
    const char *level, *function;
    bool as_json;
};

static int usage(void)
{
    fprintf(stderr, "usage: kernels [--json] [--quick] [--level LEVEL] [--function NAME] [--seconds S]\n  functions:");
    for (size_t i = 0; i < ARRAY_LENGTH(functions); i++)
        fprintf(stderr, " %s", functions[i].name);
    fprintf(stderr, "\n  levels:");
    for (unsigned l = 0; l < KERNEL_LEVEL_COUNT; l++)
        fprintf(stderr, " %s", kernel_level_name((enum kernel_level)l));
    fprintf(stderr, "\n");
    return 2;
}

static size_t cache_bytes(int name, size_t otherwise)
{
    long n = sysconf(name);

    return n > 0 ? (size_t)n : otherwise;
}

/* Weights share a cache with activations, sums and the stack. */
static int make_room(struct bench *b)
{
    size_t l3 = cache_bytes(_SC_LEVEL3_CACHE_SIZE, 0);
    void *p;

    b->l1_bytes = align_down(cache_bytes(_SC_LEVEL1_DCACHE_SIZE, 32768) / 2, STREAM_UNIT);
    b->l1_bytes = max_u64(b->l1_bytes, STREAM_UNIT);
    b->l2_bytes = align_down(cache_bytes(_SC_LEVEL2_CACHE_SIZE, 262144) / 4, STREAM_UNIT);
    b->l2_bytes = max_u64(b->l2_bytes, STREAM_UNIT);
    b->memory_bytes = b->quick ? MEMORY_QUICK : min_u64(max_u64(4 * l3, MEMORY_MIN), MEMORY_MAX);
    p = mmap(NULL, b->memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        perror("kernels: memory to read");
        return -1;
    }
    (void)!madvise(p, b->memory_bytes, MADV_HUGEPAGE);
    memset(p, 1, b->memory_bytes);      /* pages of its own everywhere */
    b->memory = p;
    return 0;
}

static int find_levels(struct bench *b, const char *only)
{
    unsigned n = 0;

    kernel_ops_init(&b->h.ref, KERNEL_REF);
    for (unsigned l = 0; l < KERNEL_LEVEL_COUNT; l++) {
        if (only && strcmp(only, kernel_level_name((enum kernel_level)l)) != 0)
            continue;
        b->has[l] = kernel_ops_init(&b->ops[l], (enum kernel_level)l) == (enum kernel_level)l;
        n += b->has[l];
        if (!b->has[l])
            fprintf(stderr, "kernels: this CPU lacks level %s\n", kernel_level_name((enum kernel_level)l));
    }
    return n ? 0 : -1;
}

/* One thread, which stays where it began. */
static void stay(void)
{
    cpu_set_t here;
    int cpu = sched_getcpu();

    if (cpu < 0)
        return;
    CPU_ZERO(&here);
    CPU_SET(cpu, &here);
    (void)!sched_setaffinity(0, sizeof(here), &here);
}

static int run(struct bench *b, const struct choice *c)
{
    struct buffer out = BUFFER_NULL;
    bool found = false;
    int r = 0;

    stay();
    seed(&b->h, 1);
    b->h.what = "kernels";
    for (size_t i = 0; i < ARRAY_LENGTH(functions); i++)
        if (!c->function || strcmp(c->function, functions[i].name) == 0) {
            found = true;
            functions[i].run(b);
        }
    if (!found)
        return usage();
    (c->as_json ? bench_put_json : bench_put_table)(b, &out);
    if (!buffer_ok(&b->rows) || !buffer_ok(&out) || b->h.failed ||
        fwrite(out.data, 1, out.size, stdout) != out.size || fflush(stdout) != 0) {
        fprintf(stderr, "kernels: no memory, or the output cannot be written\n");
        r = 1;
    }
    buffer_deinit(&out);
    return r;
}

static bool known_level(const char *name)
{
    for (unsigned l = 0; l < KERNEL_LEVEL_COUNT; l++)
        if (strcmp(name, kernel_level_name((enum kernel_level)l)) == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    static struct bench b = { .seconds = 0.1 };
    struct choice c = { .level = NULL };
    int r;

    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (strcmp(argv[i], "--json") == 0)
            c.as_json = true;
        else if (strcmp(argv[i], "--quick") == 0)
            b.quick = true;
        else if (strcmp(argv[i], "--level") == 0 && value && known_level(value))
            c.level = argv[++i];
        else if (strcmp(argv[i], "--function") == 0 && value)
            c.function = argv[++i];
        else if (strcmp(argv[i], "--seconds") == 0 && value && atof(value) > 0)
            b.seconds = atof(argv[++i]);
        else
            return usage();
    }
    if (b.quick)
        b.seconds = b.seconds < 0.0005 ? b.seconds : 0.0005;
    if (kernel_thread_init() < 0)
        return fprintf(stderr, "kernels: the floating point state does not stick\n"), 1;
    if (find_levels(&b, c.level) < 0 || make_room(&b) < 0)
        return 1;
    r = run(&b, &c);
    munmap(b.memory, b.memory_bytes);
    buffer_deinit(&b.rows);
    return r;
}
