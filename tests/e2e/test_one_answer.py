#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One answer: the same bits from every level, thread count, node count, batch, prefill chunk and way of reading.

The program one_answer computes and hashes; here the settings are chosen and compared.  The full product runs on a
generated model that holds every tensor type, every pair of values on SmolLM2.  `tenon logits` and `tenon run` are
then asked for a few settings, so that their options are known to reach the engine.
"""
import hashlib
import itertools
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from cases import BUILD, LONG, case, cases_for, main, model, need_program, run, temporary, tenon

ONE_ANSWER = os.path.join(BUILD, "tests", "e2e", "one_answer")
RANDOM_MODEL = os.path.join(BUILD, "tests", "harness", "random_model")
ONE_NODE, TWO_NODES = "numa:1 core:4 pu:1", "numa:2 core:2 pu:1"


def levels():
    """ref, and what this CPU has above it."""
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
        flags = next((line.split() for line in f if line.startswith("flags")), [])
    return ["ref"] + (["avx2"] if {"avx2", "fma", "f16c"} <= set(flags) else [])


FACTORS = [levels(), [1, 2, 3], [ONE_NODE, TWO_NODES], ["uring", "preadv"], [1, 7, 64, 512], [1, 8]]


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


def compute(path, settings, *options, timeout=600):
    """{setting: hash}; checks that what was asked for was used."""
    words = [",".join(map(str, s)) for s in settings]
    out, _ = run(need_program(ONE_ANSWER), *options, path, *words, timeout=timeout)
    lines = [line.split() for line in out.decode().splitlines()]
    assert len(lines) == len(settings), out
    for setting, (_, level, threads, nodes, io) in zip(settings, lines):
        level_asked, threads_asked, topology, io_asked = setting[:4]
        nodes_asked = 2 if topology == TWO_NODES and threads_asked > 1 else 1
        used, asked = (level, int(threads), int(nodes), io), (level_asked, threads_asked, nodes_asked, io_asked)
        assert used == asked, f"asked for {asked}, used {used}"
    return {setting: line[0] for setting, line in zip(settings, lines)}


def assert_one(hashes):
    groups = {}
    for setting, value in hashes.items():
        groups.setdefault(value, []).append(setting)
    assert len(groups) == 1, "\n".join(f"{value}: {len(s)} settings, such as {s[:3]}" for value, s in groups.items())


def random_model(folder):
    path = os.path.join(folder, "random.gguf")
    run(need_program(RANDOM_MODEL), path)
    return path


@cases_for(["int8", "int16"])
def product_on_every_type(activations):
    settings = list(itertools.product(*FACTORS))
    with temporary() as here:
        assert_one(compute(random_model(here), settings, "--activations", activations, "--tokens", 70, "--generate", 4))
    print(f"  {len(settings)} settings, one hash")


@case
def across_ranges():
    """Prompts longer than a range of the attention (512 positions)."""
    settings = pairwise(FACTORS)
    with temporary() as here:
        assert_one(compute(random_model(here), settings, "--tokens", 1100, "--generate", 2))
    print(f"  {len(settings)} settings, one hash")


@case
def pairs_on_smollm2():
    settings = pairwise(FACTORS)
    short = [] if LONG else ["--tokens", 24, "--generate", 4]
    assert_one(compute(model("smollm2"), settings, *short))
    print(f"  {len(settings)} settings, one hash")


@case
def a_mutation_is_seen():
    """One bit of one output of one kernel: every hash of that level differs from ref's."""
    if len(levels()) < 2:
        return
    settings = [(level, 2, ONE_NODE, "uring", 64, 1) for level in levels()]
    with temporary() as here:
        path = random_model(here)
        honest, mutated = compute(path, settings), compute(path, settings, "--mutate")
    assert_one(honest)
    ref, other = settings
    assert mutated[ref] == honest[ref]
    halves = [[h[i : i + 16] for i in (0, 16, 32)] for h in (honest[other], mutated[other])]
    assert halves[0][0] == halves[1][0], "the weights themselves should be the same"
    assert halves[0][1] != halves[1][1] and halves[0][2] != halves[1][2], "the mutation went unseen"


@case
def different_questions_differ():
    """The hash is not a constant: other prompts, another profile."""
    setting = [(levels()[-1], 2, ONE_NODE, "uring", 64, 1)]
    with temporary() as here:
        path = random_model(here)
        found = [compute(path, setting, *options)[setting[0]]
                 for options in ((), ("--tokens", 99), ("--generate", 7), ("--activations", "int16"))]
    assert len(set(found)) == 4, found


@case
def commands_agree():
    """`tenon logits` and `tenon run` over a few settings."""
    hashes, texts = set(), set()
    with temporary() as here:
        ids, out = os.path.join(here, "ids"), os.path.join(here, "logits.npy")
        with open(ids, "w", encoding="ascii") as f:
            f.write("504 3575 282 4649 314 7042 30 504 3575 282 5826 314")
        for level, threads, topology, io, chunk, _ in pairwise(FACTORS)[:6]:
            options = ["--isa", level, "-t", threads, "--topology", topology, "--io", io, "--prefill-chunk", chunk]
            tenon("logits", "-m", model("smollm2"), "--tokens-file", ids, "--out", out, *options)
            with open(out, "rb") as f:
                hashes.add(hashlib.sha256(f.read()).hexdigest())
            text, _ = tenon("run", "-m", model("smollm2"), "-p", "The capital of Italy is", "-n", 8, "--temp", 0.7,
                            "--seed", 7, *options)
            texts.add(text)
    assert len(hashes) == 1 and len(texts) == 1, (hashes, texts)


main()
