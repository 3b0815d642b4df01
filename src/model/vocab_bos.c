/* SPDX-License-Identifier: Apache-2.0 */
/* On its own, and without a look inside the vocabulary: tests of other rooms use it beside a vocabulary of theirs. */
#include "src/model/vocab.h"

#include <string.h>

int vocab_put_bos(const struct vocab *vocab, size_t first, struct tokens *tokens)
{
    size_t count = tokens->count - first;
    uint32_t bos = vocab_bos(vocab);

    if (!vocab_add_bos(vocab) || bos == VOCAB_NONE || (count && tokens->ids[first] == bos))
        return 0;
    if (tokens_push(tokens, bos, 0) < 0)
        return -ENOMEM;
    memmove(&tokens->ids[first + 1], &tokens->ids[first], count * sizeof(*tokens->ids));
    memmove(&tokens->offsets[first + 1], &tokens->offsets[first], count * sizeof(*tokens->offsets));
    tokens->ids[first] = bos;
    tokens->offsets[first] = 0;
    return 0;
}
