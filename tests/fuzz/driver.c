/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target over its corpus as an ordinary test: every file as it is, then N seeded mutations of each.
 * Any build will do: an input ends where an unreadable page begins, so an overrun faults without a sanitizer, and an
 * input that takes 20 s counts as a hang.
 *
 *     fuzz_gguf [-n MUTATIONS] [-s SEED] [-k ONLY] FILE|DIRECTORY…
 *
 * On a fault it names the file and the mutation and, where TENON_FUZZ_SAVE names a directory, writes the input there;
 * `-k` runs that mutation alone, for a debugger.  Random, coverage-guided fuzzing is run.sh's.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/bytes.h"
#include "src/base/hash.h"
#include "tests/fuzz/fuzz.h"
#include "tests/harness/guard.h"

#define INPUT_MAX (1u << 20)
#define HANG_S 20

/* With a sanitizer in the program: called before it ends the program. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

struct corpus {
    char **paths;
    struct buffer *files;
    size_t count;
};

static struct {
    char text[512];             /* what is running, ready to be written by a signal handler */
    const uint8_t *data;
    size_t size;
    char save[256];
} now;

static void tell(void)
{
    int fd;

    (void)!write(2, now.text, strlen(now.text));
    fd = now.save[0] ? open(now.save, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    if (fd >= 0) {
        (void)!write(fd, now.data, now.size);
        close(fd);
    }
}

static void on_signal(int number)
{
    tell();
    signal(number, SIG_DFL);
    raise(number);
}

/* --- mutations --- */

static uint64_t next(uint64_t *state)        /* splitmix64, https://prng.di.unimi.it/splitmix64.c */
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static size_t below(uint64_t *state, size_t n) { return n ? (size_t)(next(state) % n) : 0; }

static void replace(struct buffer *b, size_t at, size_t removed, const void *data, size_t size)
{
    struct buffer out = BUFFER_NULL;

    buffer_put(&out, b->data, at);
    buffer_put(&out, data, size);
    buffer_put(&out, b->data + at + removed, b->size - at - removed);
    buffer_deinit(b);
    *b = out;
}

/* Numbers where counts, lengths and signs turn. */
static uint64_t turning_point(uint64_t *random)
{
    static const uint64_t points[] = {
        0, 1, 2, 4, 8, 13, 127, 128, 255, 256, 4096, 65535, 65536, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX,
    };
    uint64_t value = points[below(random, ARRAY_LENGTH(points))];

    switch (below(random, 4)) {
    case 0: return value - 1;
    case 1: return value + 1;
    case 2: return UINT64_C(1) << below(random, 64);
    }
    return value;
}

static void mutate_once(struct buffer *b, const struct corpus *corpus, uint64_t *random)
{
    static const uint8_t widths[] = { 1, 2, 4, 8 };
    const struct buffer *other = &corpus->files[below(random, corpus->count)];
    size_t at = below(random, b->size), left = b->size - at, size, from;
    uint64_t value;

    switch (below(random, 8)) {
    case 0:
        if (left)
            b->data[at] ^= (uint8_t)(1u << below(random, 8));
        break;
    case 1:
        if (left)
            b->data[at] = (uint8_t)next(random);
        break;
    case 2: case 3:             /* a number in place */
        value = turning_point(random);
        size = widths[below(random, 4)];
        if (size <= left)
            memcpy(b->data + at, &value, size);
        break;
    case 4:                     /* cut out */
        replace(b, at, below(random, left < 32 ? left + 1 : 32), NULL, 0);
        break;
    case 5:                     /* cut off */
        replace(b, at, left, NULL, 0);
        break;
    case 6:                     /* put in a number */
        value = turning_point(random);
        replace(b, at, 0, &value, widths[below(random, 4)]);
        break;
    case 7:                     /* put in a piece of this or another file */
        from = below(random, other->size);
        size = below(random, other->size - from + 1);
        if (b->size + size <= INPUT_MAX)
            replace(b, at, 0, other->data + from, size);
        break;
    }
}

/* --- files --- */

static void read_file(const char *path, struct corpus *corpus)
{
    struct buffer b = { .limit = INPUT_MAX };
    uint8_t part[65536];
    FILE *f = fopen(path, "rb");
    size_t n;

    if (!f) {
        fprintf(stderr, "cannot open %s\n", path);
        exit(1);
    }
    while ((n = fread(part, 1, sizeof(part), f)) > 0)
        buffer_put(&b, part, n);
    fclose(f);
    if (!buffer_ok(&b)) {
        fprintf(stderr, "%s: a corpus file has at most %u bytes\n", path, INPUT_MAX);
        exit(1);
    }
    corpus->paths = realloc(corpus->paths, (corpus->count + 1) * sizeof(*corpus->paths));
    corpus->files = realloc(corpus->files, (corpus->count + 1) * sizeof(*corpus->files));
    check(corpus->paths && corpus->files);
    corpus->paths[corpus->count] = strdup(path);
    corpus->files[corpus->count++] = b;
}

static void read_path(const char *path, struct corpus *corpus)
{
    struct dirent **entries;
    char inner[4096];
    struct stat st;
    int n;

    if (stat(path, &st)) {
        fprintf(stderr, "%s is not there\n", path);
        exit(1);
    }
    if (!S_ISDIR(st.st_mode)) {
        read_file(path, corpus);
        return;
    }
    n = scandir(path, &entries, NULL, alphasort);       /* sorted: splices depend on the order */
    for (int i = 0; i < n; i++) {
        snprintf(inner, sizeof(inner), "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && !stat(inner, &st) && S_ISREG(st.st_mode))
            read_file(inner, corpus);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
}

/* --- runs --- */

static void run_one(const struct corpus *corpus, size_t index, long mutation, uint64_t seed)
{
    const char *slash = strrchr(corpus->paths[index], '/');
    const char *name = slash ? slash + 1 : corpus->paths[index];
    const char *folder = getenv("TENON_FUZZ_SAVE");
    struct buffer b = BUFFER_NULL;
    struct guard g;

    buffer_put(&b, corpus->files[index].data, corpus->files[index].size);
    if (mutation) {
        uint64_t random = hash64(name, strlen(name), seed + (uint64_t)mutation * UINT64_C(0x9e3779b97f4a7c15));

        for (size_t n = 1 + below(&random, 6); n; n--)
            mutate_once(&b, corpus, &random);
    }
    g = guard_copy(b.data, b.size);
    buffer_deinit(&b);
    snprintf(now.text, sizeof(now.text), "\nfuzz driver: failed in %s, mutation %ld (-s %llu -k %ld)\n", name,
             mutation, (unsigned long long)seed, mutation);
    if (folder)
        snprintf(now.save, sizeof(now.save), "%s/%s-%ld", folder, name, mutation);
    now.data = g.data;
    now.size = g.size;
    alarm(HANG_S);
    LLVMFuzzerTestOneInput(g.data, g.size);
    alarm(0);
    guard_free(&g);
}

int main(int argc, char **argv)
{
    static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM };
    struct corpus corpus = { .count = 0 };
    long mutations = 0, only = -1, runs = 0;
    uint64_t seed = 1;
    int option;

    while ((option = getopt(argc, argv, "n:s:k:")) >= 0) {
        switch (option) {
        case 'n': mutations = atol(optarg); break;
        case 's': seed = strtoull(optarg, NULL, 10); break;
        case 'k': only = atol(optarg); break;
        default: return 2;
        }
    }
    for (int i = optind; i < argc; i++)
        read_path(argv[i], &corpus);
    if (!corpus.count) {
        fprintf(stderr, "no corpus: nothing was tested\n");
        return 1;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(signals); i++)
        signal(signals[i], on_signal);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(tell);
    for (size_t i = 0; i < corpus.count; i++)
        for (long k = only < 0 ? 0 : only; k <= (only < 0 ? mutations : only); k++, runs++)
            run_one(&corpus, i, k, seed);
    printf("%zu files, %ld inputs, seed %llu\n", corpus.count, runs, (unsigned long long)seed);
    for (size_t i = 0; i < corpus.count; i++) {
        free(corpus.paths[i]);
        buffer_deinit(&corpus.files[i]);
    }
    free(corpus.paths);
    free(corpus.files);
    return 0;
}
