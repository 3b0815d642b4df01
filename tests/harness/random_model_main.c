/* SPDX-License-Identifier: Apache-2.0 */
/* random_model OUT.gguf [ARCH [SEED [KEY=VALUE…]]]: a small model with random weights, for end-to-end scripts. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/harness/random_model.h"

int main(int argc, char **argv)
{
    struct random_model_spec spec;
    struct error error = ERROR_NULL;

    if (argc < 2 || random_model_spec_init(&spec, argc > 2 ? argv[2] : "llama",
                                           argc > 3 ? strtoull(argv[3], NULL, 10) : 1)) {
        fprintf(stderr, "usage: %s OUT.gguf [llama|qwen2|qwen3|gemma3 [SEED [KEY=VALUE…]]]   (llama, 1)\n"
                        "  type=T attn_q=T blk.1.ffn_up=T token_embd=T output=T     tensor types (Q4_K …)\n"
                        "  layers embedding feed_forward heads kv_heads head_dim context vocabulary window\n"
                        "  window_pattern tied rope_factors rope_linear rope_base   =NUMBER\n"
                        "  tokenizer=bpe|spm\n", argv[0]);
        return 2;
    }
    for (int i = 4; i < argc; i++)
        if (random_model_set(&spec, argv[i], &error)) {
            fprintf(stderr, "%s: %s\n", argv[0], error.text);
            return 2;
        }
    if (random_model_write(&spec, argv[1], &error)) {
        fprintf(stderr, "%s: %s\n", argv[0], error.text);
        return 1;
    }
    return 0;
}
