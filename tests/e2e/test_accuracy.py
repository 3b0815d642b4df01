#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Accuracy against the float32 oracle: divergence of logits, perplexity, greedy texts, by activations and KV format."""
import functools
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "harness"), os.path.join(HERE, "..", "oracle")]
import cases
from cases import GPL, LONG, MODEL_FILES, Skip, cases_for, load_json, main, model, temporary, tenon, tokenize
from peer import Daemon

cases.need_numpy()
import numpy as np

import oracle

PROFILES = {"int8": ("--activations", "int8"), "int16": ("--activations", "int16"),
            "int8, KV q8": ("--activations", "int8", "--kv", "q8"),
            "int16, KV q8": ("--activations", "int16", "--kv", "q8")}
# First tokens of the GPL that are compared, the first position that counts, bounds of the mean KL by profile.
DIVERGENCE = {
    "smollm2": (256, 128, {"int8": 4.0e-3, "int16": 1e-5, "int8, KV q8": 6.5e-3, "int16, KV q8": 2.2e-3}),
    "gemma": (128, 64, {"int8": 1.1e-2, "int16": 1e-5, "int8, KV q8": 2.2e-2, "int16, KV q8": 8e-3}),
    "qwen": (128, 64, {"int8": 5.2e-3, "int16": 1e-5}),
}
PERPLEXITY_WITHIN = {"int8": 0.01, "int16": 0.0005, "int16, KV q8": 0.006}
REGRET = {"int16": 0.05, "int8": 0.35}     # log-probability that a greedy choice may give away
TOKENS = 24             # length of the golden continuations
OFTEN = ["smollm2", "gemma"]
ALL = OFTEN + (["qwen"] if LONG else [])


@functools.lru_cache(maxsize=1)
def oracle_model(name):
    return oracle.Model(model(name))


@functools.lru_cache(maxsize=None)
def gpl_ids(name):
    """The whole text as tokens, and the BOS where the model asks for one: then it is the first of them."""
    if not os.path.exists(GPL):
        raise Skip(f"no {GPL} here")
    with open(GPL, "rb") as f:
        ids = tokenize(model(name), f.read())
    asked = tokenize(model(name), "x")
    return ids, asked[0] if len(asked) > len(tokenize(model(name), "x", "--no-bos")) else None


def divergence(name):
    count, first, bounds = DIVERGENCE[name]
    ids = gpl_ids(name)[0][:count]
    found = {}
    with temporary() as here:
        tokens = os.path.join(here, "ids")
        with open(tokens, "w", encoding="ascii") as f:
            f.write(" ".join(map(str, ids)))
        for profile in bounds:
            out = os.path.join(here, profile + ".npy")
            tenon("logits", "-m", model(name), "--tokens-file", tokens, "--out", out, *PROFILES[profile])
            logits = np.load(out)
            assert logits.dtype == np.float32 and logits.shape[0] == count, (logits.dtype, logits.shape)
            found[profile] = oracle.compare(oracle_model(name), ids, logits, first)
    for profile, (mean, worst, same, n) in found.items():
        print(f"  {name} {profile}: mean KL {mean:.2e}, largest {worst:.2e}, top-1 {same:.3f}, {n} positions")
    for profile, bound in bounds.items():
        assert found[profile][0] <= bound, f"{profile}: mean KL {found[profile][0]:.2e} above {bound:.1e}"


def perplexity(name):
    stem = MODEL_FILES[name][: -len(".gguf")]
    wanted = load_json(os.path.join(HERE, "..", "oracle", "values.json"))["perplexity"].get(stem)
    if LONG:
        ids, bos = gpl_ids(name)
        again = oracle.perplexity(oracle_model(name), ids, 512, 8, bos)
        assert wanted is None or abs(again - wanted) < 1e-4 * wanted, f"values.json says {wanted}, the oracle {again}"
        wanted = again
    if wanted is None:
        raise Skip(f"no recorded value for {stem}; --long computes it")
    gpl_ids(name)       # skips where the text is missing
    for profile, within in PERPLEXITY_WITHIN.items():
        out, _ = tenon("eval", "perplexity", "-m", model(name), "-f", GPL, "-c", 512, "--chunks", 8,
                       *PROFILES[profile], timeout=300)
        found = float(re.findall(r"\d+\.\d+", out.decode())[0])
        print(f"  {name} {profile}: perplexity {found:.4f}, the oracle's {wanted:.4f}: {found / wanted - 1:+.3%}")
        assert abs(found / wanted - 1) <= within, f"{profile}: {found} is not within {within:.2%} of {wanted}"


def regret(name, prompt, answer):
    """How much log-probability the worst choice of a greedy answer gives away, by the oracle, and which one it is."""
    rows = oracle.log_softmax(oracle.logits(oracle_model(name), (prompt + answer)[:-1], len(prompt) - 1))
    lost = rows.max(-1) - rows[np.arange(len(rows)), answer]
    return float(lost.max()), int(lost.argmax())


def greedy(name):
    """The golden texts come from an engine that rounds to 8 bits too, so where ours differ the oracle is the judge.

    int16: every choice of ours is the oracle's best, or as good as it.  int8: the worst choice gives away no more than
    the golden texts' own worst (0.31), with some room.  The tokens are those that were chosen, from the daemon: the
    text alone may be cut into others.
    """
    stem = MODEL_FILES[name][: -len(".gguf")]
    golden = load_json(os.path.join(cases.folder("TENON_TEST_GOLDEN"), f"greedy-{stem}.json"))["greedy"]
    wrong = []
    for profile, allowed in REGRET.items():
        equal, worst = 0, 0.0
        with Daemon(model(name), options=["--activations", profile]) as d, d.peer() as p:
            for one in golden:
                text, ids, _ = p.ask(one["prompt"], TOKENS)
                # The tool that made the golden file ends each text with line feeds of its own.
                ours, wanted = text.decode().rstrip("\n"), one["continuation"].rstrip("\n")
                if ours == wanted:
                    equal += 1
                    continue
                lost, at = regret(name, tokenize(model(name), one["prompt"]), ids)
                worst = max(worst, lost)
                if lost > allowed:
                    wrong.append(f"{profile}: {one['prompt']!r} {ours!r}, not {wanted!r}: token {at} of the answer "
                                 f"gives away {lost:.3f}")
        print(f"  {name} {profile}: {equal} of {len(golden)} texts equal, in the others the worst choice gives away "
              f"{worst:.3f}")
    assert not wrong, "\n".join(wrong)


# architecture, settings of random_model, vocabulary to draw ids from; random weights, every tensor type
GENERATED = [("llama",), ("llama", "rope_factors=1"), ("llama", "rope_linear=4"), ("qwen2",), ("qwen3",), ("gemma3",)]
GENERATED_BOUND = 2e-6


@cases_for(GENERATED)
def generated_divergence(what):
    """Random weights of every type and architecture, 600 positions (more than a range, more than a window)."""
    with temporary() as here:
        path = cases.generated(here, *what)
        reference = oracle.Model(path)
        vocabulary = len(reference.meta("tokenizer.ggml.tokens"))
        ids = [3 + (i * i * 31 + i) % (vocabulary - 3) for i in range(600)]
        tokens, out = os.path.join(here, "ids"), os.path.join(here, "out.npy")
        with open(tokens, "w", encoding="ascii") as f:
            f.write(" ".join(map(str, ids)))
        tenon("logits", "-m", path, "--tokens-file", tokens, "--out", out, "--activations", "int16")
        mean, worst, same, _ = oracle.compare(reference, ids, np.load(out), 0)
    print(f"  {' '.join(what)}: mean KL {mean:.2e}, largest {worst:.2e}, top-1 {same:.3f}")
    assert mean <= GENERATED_BOUND, f"mean KL {mean:.2e}"


cases_for(ALL)(divergence)
cases_for(OFTEN)(perplexity)
cases_for(ALL)(greedy)
main()
