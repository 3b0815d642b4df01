/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A small but real vocabulary, in which every text has tokens.
 *
 * RANDOM_VOCAB_BPE: byte-level as gpt-2: 256 byte tokens, the results of some English merges, fillers, then
 * <|endoftext|>, <|im_start|>, <|im_end|> (ChatML).  No BOS is added.
 * RANDOM_VOCAB_SPM: SentencePiece as gemma: <pad> <eos> <bos> <unk> <start_of_turn> <end_of_turn>, 256 byte tokens
 * <0x00>…, pieces with scores, fillers.  BOS is added.
 */

#include "tests/harness/gguf_writer.h"

enum random_vocab_kind { RANDOM_VOCAB_BPE, RANDOM_VOCAB_SPM };

/* Tokens of the vocabulary without fillers. */
uint32_t random_vocab_least(enum random_vocab_kind kind);

/*
 * Adds the tokenizer.* keys with @count tokens (at least the least).  @pre names the pre-tokenizer ("qwen2").
 */
void random_vocab_write(struct gguf_writer *w, enum random_vocab_kind kind, const char *pre, uint32_t count);
