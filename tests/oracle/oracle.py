#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The oracle: a GGUF text model in float32 numpy, slow and plain, sharing nothing with the engine.

It answers what the logits of these quantised weights are when nothing else is approximated: weights are
dequantised by the `gguf` package, activations stay float32 throughout.

  oracle.py logits MODEL --tokens-file IDS --out X.npy          float32, shape (tokens, vocabulary)
  oracle.py compare MODEL --tokens-file IDS --other X.npy [--first N]
                                 mean and largest KL(oracle || other), top-1 agreement, positions N .. last but one
  oracle.py perplexity MODEL --tokens-file IDS [-c 512] [--chunks 8] [--bos ID]
                                 each chunk's second half scored; --bos replaces each chunk's first token
  oracle.py best MODEL --tokens 1,2,3                           the five best next tokens behind each position

Architectures: llama, qwen2, qwen3, gemma3.  Needs: pip install numpy gguf
"""
import argparse
import sys

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize

ARCHITECTURES = ("llama", "qwen2", "qwen3", "gemma3")
ROWS = 64       # positions whose logits are computed at a time: bounds the memory of a large vocabulary


class Model:
    """Hyper-parameters and dequantised weights of a file; keep=True holds on to what was dequantised once."""

    def __init__(self, path, keep=True):
        self.reader = GGUFReader(path)
        self.tensors = {t.name: t for t in self.reader.tensors}
        self.kept = {} if keep else None
        self.arch = self.meta("general.architecture")
        if self.arch not in ARCHITECTURES:
            sys.exit(f"oracle: architecture {self.arch!r} is none of {', '.join(ARCHITECTURES)}")
        self.layers = self.hyper("block_count")
        self.width = self.hyper("embedding_length")
        self.heads = self.hyper("attention.head_count")
        self.kv_heads = self.hyper("attention.head_count_kv", self.heads)
        self.head_dim = self.hyper("attention.key_length", self.width // self.heads)
        self.eps = self.hyper("attention.layer_norm_rms_epsilon")
        self.window = self.hyper("attention.sliding_window", 0)
        self.window_pattern = self.hyper("attention.sliding_window_pattern", 6)
        self.rope_dim = self.hyper("rope.dimension_count", self.head_dim)
        self.rope_base = self.hyper("rope.freq_base", 10000.0)
        self.rope_base_local = self.hyper("rope.freq_base_swa", 10000.0)
        self.rope_scale = self.linear_scale()
        # Gemma 3 27B scales queries by embedding / heads, all others by the head's dimension.
        wide = self.arch == "gemma3" and self.layers == 62
        self.query_scale = np.float32(1 / np.sqrt(self.width / self.heads if wide else self.head_dim))

    def meta(self, key, default=None):
        field = self.reader.fields.get(key)
        return default if field is None else field.contents()

    def hyper(self, key, default=None):
        return self.meta(f"{self.arch}.{key}", default)

    def linear_scale(self):
        kind = self.hyper("rope.scaling.type", "none")
        if kind not in ("none", "linear"):
            sys.exit(f"oracle: rope scaling {kind!r} is not known here")
        return self.hyper("rope.scaling.factor", 1.0) if kind == "linear" else 1.0

    def weight(self, name):
        """A tensor as float32 in numpy's order (rows, columns), or None."""
        if self.kept is not None and name in self.kept:
            return self.kept[name]
        t = self.tensors.get(name)
        w = None
        if t is not None:
            w = dequantize(t.data, t.tensor_type).astype(np.float32).reshape([int(n) for n in reversed(t.shape)])
        if self.kept is not None:
            self.kept[name] = w
        return w

    def embedding(self, ids):
        t = self.tensors["token_embd.weight"]
        rows = t.data.reshape(int(t.shape[1]), -1)[ids]
        x = dequantize(rows, t.tensor_type).astype(np.float32).reshape(len(ids), self.width)
        return x * np.float32(np.sqrt(self.width)) if self.arch == "gemma3" else x

    def head(self):
        w = self.weight("output.weight")
        return self.weight("token_embd.weight") if w is None else w


def rms_norm(x, g, eps):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * g


def rope_tables(positions, base, dim, factors, scale):
    inverse = base ** (-np.arange(0, dim, 2, dtype=np.float64) / dim) / scale
    if factors is not None:
        inverse = inverse / factors
    angle = np.arange(positions, dtype=np.float64)[:, None] * inverse
    return np.cos(angle)[:, None, :].astype(np.float32), np.sin(angle)[:, None, :].astype(np.float32)


def rope(x, tables, dim, adjacent):
    """x: (positions, heads, head_dim).  Pairs are (2i, 2i + 1) where adjacent, else (i, i + dim / 2)."""
    cos, sin = tables
    first, second = (slice(0, dim, 2), slice(1, dim, 2)) if adjacent else (slice(0, dim // 2), slice(dim // 2, dim))
    out = x.copy()
    out[..., first] = x[..., first] * cos - x[..., second] * sin
    out[..., second] = x[..., first] * sin + x[..., second] * cos
    return out


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def log_softmax(x):
    x = x.astype(np.float64)
    x = x - x.max(axis=-1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))


class Pass:
    """One forward pass over a whole sequence from position 0."""

    def __init__(self, model, ids):
        self.m, self.ids, self.n = model, np.asarray(ids), len(ids)
        m, gemma = model, model.arch == "gemma3"
        factors = m.weight("rope_freqs.weight")
        self.tables = rope_tables(self.n, m.rope_base, m.rope_dim, factors, m.rope_scale)
        self.tables_local = rope_tables(self.n, m.rope_base_local, m.rope_dim, None, 1.0) if gemma else self.tables
        q, k = np.arange(self.n)[:, None], np.arange(self.n)[None, :]
        self.causal = np.where(k <= q, 0, -np.inf).astype(np.float32)
        self.local = np.where(q - k < m.window, self.causal, -np.inf).astype(np.float32) if m.window else self.causal

    def attention(self, layer, h):
        m = self.m
        w = lambda name: m.weight(f"blk.{layer}.{name}")
        q, k, v = (h @ w(f"attn_{c}.weight").T for c in "qkv")
        if w("attn_q.bias") is not None:
            q, k, v = q + w("attn_q.bias"), k + w("attn_k.bias"), v + w("attn_v.bias")
        q, k, v = (t.reshape(self.n, -1, m.head_dim) for t in (q, k, v))
        if w("attn_q_norm.weight") is not None:
            q, k = rms_norm(q, w("attn_q_norm.weight"), m.eps), rms_norm(k, w("attn_k_norm.weight"), m.eps)
        near = m.arch == "gemma3" and (layer + 1) % m.window_pattern != 0
        tables, mask = (self.tables_local, self.local) if near else (self.tables, self.causal)
        adjacent = m.arch == "llama"        # GGUF stores llama's q and k permuted for adjacent pairs
        q, k = rope(q, tables, m.rope_dim, adjacent), rope(k, tables, m.rope_dim, adjacent)
        group = m.heads // m.kv_heads
        out = np.empty((self.n, m.heads, m.head_dim), np.float32)
        for head in range(m.heads):
            scores = q[:, head] @ k[:, head // group].T * m.query_scale + mask
            out[:, head] = softmax(scores) @ v[:, head // group]
        return out.reshape(self.n, -1) @ w("attn_output.weight").T

    def feed_forward(self, layer, h):
        w = lambda name: self.m.weight(f"blk.{layer}.{name}")
        gate, up = h @ w("ffn_gate.weight").T, h @ w("ffn_up.weight").T
        if self.m.arch == "gemma3":
            gate = 0.5 * gate * (1 + np.tanh(np.sqrt(2 / np.pi) * (gate + 0.044715 * gate**3)))
        else:
            gate = gate / (1 + np.exp(-gate))
        return (gate * up).astype(np.float32) @ w("ffn_down.weight").T

    def hidden(self):
        """What the head reads: (positions, width) after the last norm."""
        m = self.m
        x = m.embedding(self.ids)
        for layer in range(m.layers):
            g = lambda name: m.weight(f"blk.{layer}.{name}.weight")
            for part, norm, post in ((self.attention, "attn_norm", "post_attention_norm"),
                                     (self.feed_forward, "ffn_norm", "post_ffw_norm")):
                h = part(layer, rms_norm(x, g(norm), m.eps))
                x = x + (rms_norm(h, g(post), m.eps) if m.arch == "gemma3" else h)
        return rms_norm(x, m.weight("output_norm.weight"), m.eps)


def logits(model, ids, first=0):
    """float32 logits of positions first .. end."""
    return Pass(model, ids).hidden()[first:] @ model.head().T


def log_probabilities(model, ids, first, last):
    """Blocks of float64 log-probabilities of positions first .. last - 1, a few at a time: (position, rows)."""
    hidden, head = Pass(model, ids).hidden(), model.head()
    for at in range(first, last, ROWS):
        yield at, log_softmax(hidden[at : min(at + ROWS, last)] @ head.T)


def compare(model, ids, other, first):
    """(mean KL, largest KL, top-1 agreement, positions) of KL(oracle || other) over first .. last but one."""
    kl, same = [], []
    for at, ours in log_probabilities(model, ids, first, len(ids) - 1):
        theirs = log_softmax(other[at : at + len(ours)])
        kl.append((np.exp(ours) * (ours - theirs)).sum(axis=-1))
        same.append(ours.argmax(-1) == theirs.argmax(-1))
    kl, same = np.concatenate(kl), np.concatenate(same)
    return float(kl.mean()), float(kl.max()), float(same.mean()), len(kl)


def perplexity(model, ids, context, chunks, bos=None):
    """The whole text tokenised once; positions context / 2 .. context - 2 of each chunk predict the next token."""
    loss = []
    for c in range(min(chunks, len(ids) // context)):
        chunk = np.array(ids[c * context : (c + 1) * context])
        scored = chunk.copy()
        if bos is not None:
            chunk[0] = bos
        for at, rows in log_probabilities(model, chunk, context // 2, context - 1):
            loss.append(-rows[np.arange(len(rows)), scored[at + 1 : at + 1 + len(rows)]])
    return float(np.exp(np.concatenate(loss).mean()))


def gap(model, ids):
    """How much the best next token behind ids leads the second, in log-probability, and the two tokens."""
    row = log_softmax(logits(model, ids, len(ids) - 1))[0]
    second, best = np.argsort(row)[-2:]
    return float(row[best] - row[second]), int(best), int(second)


def read_ids(a):
    if a.tokens is None and a.tokens_file is None:
        sys.exit("oracle: which tokens? --tokens or --tokens-file")
    if a.tokens is not None:
        text = a.tokens
    else:
        with open(a.tokens_file, encoding="ascii") as f:
            text = f.read()
    return [int(t) for t in text.translate(str.maketrans(",[]", "   ")).split()]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("verb", choices=("logits", "compare", "perplexity", "best"))
    p.add_argument("model")
    p.add_argument("--tokens", help="comma-separated token ids")
    p.add_argument("--tokens-file", help="file of token ids separated by blanks or commas")
    p.add_argument("--out", help="logits: .npy to write")
    p.add_argument("--other", help="compare: .npy of logits of the same tokens")
    p.add_argument("--first", type=int, default=0, help="compare: first position that counts")
    p.add_argument("-c", "--context", type=int, default=512)
    p.add_argument("--chunks", type=int, default=8)
    p.add_argument("--bos", type=int, help="perplexity: token that begins each chunk")
    a = p.parse_args()
    ids, model = read_ids(a), Model(a.model)
    if a.verb == "logits":
        np.save(a.out, logits(model, ids))
    elif a.verb == "compare":
        mean, worst, same, n = compare(model, ids, np.load(a.other, mmap_mode="r"), a.first)
        print(f"positions {n}  mean KL {mean:.3e}  max KL {worst:.3e}  top-1 agreement {same:.4f}")
    elif a.verb == "perplexity":
        print(f"{perplexity(model, ids, a.context, a.chunks, a.bos):.4f}")
    else:
        for at, rows in log_probabilities(model, ids, 0, len(ids)):
            for i, row in enumerate(rows):
                print(at + i, ids[at + i], " ".join(f"{t}:{row[t]:.4f}" for t in np.argsort(-row)[:5]))


if __name__ == "__main__":
    main()
