/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes many texts with one vocabulary, for tests in other languages:  vocab_encode FILE.gguf
 * Standard input: "FLAGS SIZE\n" and SIZE bytes, again and again.  Standard output: a line "id:offset id:offset …"
 * for each, then a line with the decoded text as hex.
 */

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/model/vocab.h"

static int answer(const struct vocab *vocab, unsigned flags, size_t size)
{
    struct tokens tokens = TOKENS_NULL;
    struct buffer decoded = BUFFER_NULL;
    struct error error = ERROR_NULL;
    char *text = malloc(size + 1);

    if (text == NULL || fread(text, 1, size, stdin) != size)
        return fprintf(stderr, "standard input ends in a text\n"), 1;
    if (vocab_encode(vocab, text, size, flags, &tokens, &error) < 0)
        return fprintf(stderr, "%s\n", error.text), 1;
    for (size_t i = 0; i < tokens.count; i++) {
        printf("%s%" PRIu32 ":%" PRIu32, i > 0 ? " " : "", tokens.ids[i], tokens.offsets[i]);
        vocab_decode(vocab, tokens.ids[i], true, &decoded);
    }
    printf("\n");
    for (size_t i = 0; i < decoded.size; i++)
        printf("%02x", decoded.data[i]);
    printf("\n");
    fflush(stdout);
    buffer_deinit(&decoded);
    tokens_deinit(&tokens);
    free(text);
    return 0;
}

int main(int argc, char **argv)
{
    struct gguf *gguf = NULL;
    struct vocab *vocab = NULL;
    struct error error = ERROR_NULL;
    int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1, r = 0;
    unsigned flags;
    size_t size;

    if (fd < 0)
        return fprintf(stderr, "usage: vocab_encode FILE.gguf\n"), 2;
    if (gguf_read(fd, &gguf, &error) < 0 || vocab_load(gguf, &vocab, &error) < 0)
        return fprintf(stderr, "%s: %s\n", argv[1], error.text), 1;
    printf("%s %s %" PRIu32 " %d %d\n", vocab_model_name(vocab), vocab_pre_name(vocab), vocab_size(vocab),
           vocab_add_bos(vocab), vocab_add_eos(vocab));
    while (r == 0 && scanf("%u %zu", &flags, &size) == 2 && getchar() == '\n')
        r = answer(vocab, flags, size);
    vocab_free(vocab);
    gguf_free(gguf);
    return r;
}
