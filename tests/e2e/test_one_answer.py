#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One answer: the same bits from every level, thread count, node count, batch, prefill chunk and way of reading.

tests/engine/one_answer computes, hashes, checks that what was asked for was used, and breaks a kernel at the end to
prove that this is seen: the full product on a generated model that holds every tensor type, every pair of values on
SmolLM2.  Then `tenon logits` and `tenon run` are asked for a few settings, so that their options reach the engine.
"""
import hashlib
import itertools
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from cases import BUILD, Skip, case, generated, main, model, need_program, need_whole_suite, run, temporary, tenon

ONE_ANSWER = os.path.join(BUILD, "tests", "engine", "one_answer")


def levels():
    """ref, and what this CPU has above it; what it lacks is named."""
    needed = [("avx2", {"avx2", "fma", "f16c"}),
              ("avxvnni", {"avx2", "fma", "f16c", "avx_vnni"}),
              ("avx512", {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni"}),
              ("amx", {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "amx_tile", "amx_int8"})]
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
        flags = next((line.split() for line in f if line.startswith("flags")), [])
    found = ["ref"]
    for name, wanted in needed:
        if not wanted <= set(flags):
            print(f"skipped: level {name}, which this CPU lacks")
        else:
            found.append(name)
    return found


KV_FORMATS = ["f16", "q8"]
FACTORS = [levels(), [1, 2, 3], ["numa:1 core:4 pu:1", "numa:2 core:2 pu:1"], ["uring", "preadv"], [1, 7, 64, 512]]


def pairs_of(setting):
    return {(i, setting[i], j, setting[j]) for i, j in itertools.combinations(range(len(setting)), 2)}


def pairwise(factors):
    """Few settings in which every pair of values of two factors meets: greedy, always the same."""
    every = list(itertools.product(*(reversed(f) for f in factors)))     # on a tie the last value: the fast level
    missing, chosen = set().union(*map(pairs_of, every)), []
    while missing:
        best = max(every, key=lambda s: len(pairs_of(s) & missing))
        chosen.append(best)
        missing -= pairs_of(best)
    return chosen


def prove(path, how, seconds):
    if FACTORS[0] == ["ref"]:
        raise Skip("this CPU has no level to compare with ref")
    out, _ = run(need_program(ONE_ANSWER), path, how, timeout=seconds)
    text = out.decode()             # what this CPU lacks is named before the answers, and no reason to skip them
    assert sum(line.startswith("one answer, KV ") for line in text.splitlines()) == len(KV_FORMATS), text
    print("  " + text.strip())


@case
def product_on_every_type():
    """The other architectures have their pairs in the suite one_answer, and their product with TENON_TEST_LONG."""
    need_whole_suite()
    with temporary() as here:
        prove(generated(here, "llama"), "full", 900)


@case
def pairs_on_smollm2():
    need_whole_suite()
    prove(model("smollm2"), "pairwise", 900)


@case
def commands_agree():
    """`tenon logits` and `tenon run` over settings in which every pair of values meets."""
    hashes, texts, settings = {}, {}, pairwise(FACTORS)
    with temporary() as here:
        path = generated(here, "llama")
        ids, out = os.path.join(here, "ids"), os.path.join(here, "logits.npy")
        with open(ids, "w", encoding="ascii") as f:
            f.write(" ".join(str(3 + i * i % 200) for i in range(80)))
        for level, threads, topology, io, chunk in settings:
            options = ["--isa", level, "-t", threads, "--topology", topology, "--io", io, "--prefill-chunk", chunk]
            tenon("logits", "-m", path, "--tokens-file", ids, "--out", out, *options)
            with open(out, "rb") as f:
                hashes.setdefault(hashlib.sha256(f.read()).hexdigest(), options)
            text, said = tenon("run", "-m", path, "-p", "one answer", "-n", 8, "--temp", 0.7, "--seed", 7, *options)
            texts.setdefault(text, options)
            assert level.encode() in said, f"asked for {level}: {said}"
    assert len(hashes) == 1 and len(texts) == 1, (hashes, texts)
    print(f"  {len(settings)} settings, one hash, one text")


@case
def seeds_differ():
    """Sampling is sampling: another seed gives another text, the same seed the same."""
    with temporary() as here:
        path = generated(here, "llama")
        texts = [tenon("run", "-m", path, "-p", "one answer", "-n", 16, "--temp", 1, "--seed", seed)[0]
                 for seed in (1, 2, 1)]
    assert texts[0] == texts[2] != texts[1], texts


main()
