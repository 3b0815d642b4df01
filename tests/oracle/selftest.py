#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The oracle's own properties on a small invented model: causality, window, rope, KL, perplexity."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import cases

cases.need_numpy()
import numpy as np

import oracle

WIDTH, HEADS, KV_HEADS, HEAD_DIM, FEED, LAYERS, VOCAB = 32, 4, 2, 8, 48, 3, 50
GAIN = 6        # weights large enough that attention matters


class Invented(oracle.Model):
    """Random weights in place of a file."""

    def __init__(self, arch, window=0):     # pylint: disable=super-init-not-called
        draw = np.random.default_rng(7)
        matrix = lambda rows, columns: (draw.standard_normal((rows, columns)) * GAIN / columns).astype(np.float32)
        gain = lambda n: (1 + draw.standard_normal(n) / 10).astype(np.float32)
        self.arch, self.layers, self.width, self.heads, self.kv_heads = arch, LAYERS, WIDTH, HEADS, KV_HEADS
        self.head_dim = self.rope_dim = HEAD_DIM
        self.eps, self.window, self.window_pattern = 1e-5, window, 100
        self.rope_base = self.rope_base_local = 10000.0
        self.rope_scale, self.query_scale = 1.0, np.float32(HEAD_DIM**-0.5)
        self.kept = {"token_embd.weight": matrix(VOCAB, WIDTH) * WIDTH, "output_norm.weight": gain(WIDTH),
                     "output.weight": matrix(VOCAB, WIDTH), "rope_freqs.weight": None}
        for i in range(LAYERS):
            for name, rows, columns in (("attn_q", HEADS * HEAD_DIM, WIDTH), ("attn_k", KV_HEADS * HEAD_DIM, WIDTH),
                                        ("attn_v", KV_HEADS * HEAD_DIM, WIDTH), ("attn_output", WIDTH, HEADS * HEAD_DIM),
                                        ("ffn_gate", FEED, WIDTH), ("ffn_up", FEED, WIDTH), ("ffn_down", WIDTH, FEED)):
                self.kept[f"blk.{i}.{name}.weight"] = matrix(rows, columns)
            for name in ("attn_norm", "ffn_norm", "post_attention_norm", "post_ffw_norm"):
                self.kept[f"blk.{i}.{name}.weight"] = gain(WIDTH)

    def weight(self, name):
        return self.kept.get(name)

    def embedding(self, ids):
        return self.kept["token_embd.weight"][ids]


def close(a, b):
    return np.abs(a - b).max() < 1e-4 * max(1, np.abs(a).max())


@cases.cases_for(["llama", "qwen2", "gemma3"])
def prefix_is_causal(arch):
    model, ids = Invented(arch), [3, 1, 4, 1, 5, 9, 2, 6]
    whole, other = oracle.logits(model, ids), oracle.logits(model, ids[:5] + [7, 7, 7])
    assert close(oracle.logits(model, ids[:5]), whole[:5])
    assert close(other[:5], whole[:5])
    assert not close(other, whole)


@cases.case
def window_forgets():
    """With window 2 and three layers a token reaches three positions further, not four."""
    ids = [3, 1, 4, 1, 5, 9, 2, 6]
    near, far = Invented("gemma3", window=2), Invented("gemma3", window=100)
    a, b = oracle.logits(near, ids), oracle.logits(near, [8] + ids[1:])
    c, d = oracle.logits(far, ids), oracle.logits(far, [8] + ids[1:])
    assert close(a[4:], b[4:])
    assert not close(a[3], b[3])
    assert not close(c[4:], d[4:])


@cases.case
def rope_turns():
    """Lengths stay; a product of two depends on their distance alone; the two pairings differ."""
    x = np.random.default_rng(1).standard_normal((1, 1, HEAD_DIM)).astype(np.float32)
    x = np.repeat(x, 9, axis=0)
    tables = oracle.rope_tables(9, 10000.0, HEAD_DIM, None, 1.0)
    for adjacent in (False, True):
        y = oracle.rope(x, tables, HEAD_DIM, adjacent)[:, 0]
        assert close((y * y).sum(-1), (x[:, 0] * x[:, 0]).sum(-1))
        assert close(y[2] @ y[5], y[5] @ y[8])
        assert not close(y[2] @ y[5], y[2] @ y[7])
    assert not close(oracle.rope(x, tables, HEAD_DIM, True), oracle.rope(x, tables, HEAD_DIM, False))


@cases.case
def kl_measures():
    """0 of a thing with itself and where a constant is added, more where logits are rounded."""
    model, ids = Invented("llama"), [3, 1, 4, 1, 5, 9, 2, 6]
    mine = oracle.logits(model, ids)
    mean, worst, same, n = oracle.compare(model, ids, mine, 2)
    assert n == 5 and abs(mean) < 1e-9 and abs(worst) < 1e-9 and same == 1
    assert abs(oracle.compare(model, ids, mine + np.float32(3), 2)[0]) < 1e-6
    assert oracle.compare(model, ids, np.round(mine, 1), 2)[0] > 1e-6


@cases.case
def perplexity_counts():
    """By hand: two chunks of eight, positions 4 .. 6 of each, the first token replaced."""
    model, ids = Invented("qwen2"), [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2]
    loss = []
    for at in (0, 8):
        chunk = [0] + ids[at + 1 : at + 8]
        rows = oracle.log_softmax(oracle.logits(model, chunk))
        loss += [-rows[i, chunk[i + 1]] for i in (4, 5, 6)]
    by_hand = np.exp(np.mean(loss))
    assert abs(oracle.perplexity(model, ids, 8, 9, bos=0) - by_hand) < 1e-4 * by_hand


@cases.case
def gap_is_the_lead():
    model, ids = Invented("llama"), [3, 1, 4]
    row = np.sort(oracle.log_softmax(oracle.logits(model, ids))[-1])
    assert abs(oracle.gap(model, ids)[0] - (row[-1] - row[-2])) < 1e-6


cases.main()
