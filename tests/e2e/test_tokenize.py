#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tenon tokenize` against reference ids: our own few, the golden ones, and vocabularies with their texts."""
import glob
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from cases import LONG, MODEL_FILES, Skip, case, cases_for, folder, load_json, main, model, tenon, tokenize

SEPARATOR = "\n__ggml_vocab_test__\n"
SHORT_CASES = 6         # texts per vocabulary in the short form; the unit tests walk all of them in one process


def check(path, rows):
    """rows: (text, ids found, ids wanted)."""
    bad = [f"{text!r}: {found} instead of {wanted}" for text, found, wanted in rows if found != wanted]
    assert rows and not bad, f"{os.path.basename(path)}: {len(bad)} of {len(rows)} texts differ, the first: {bad[:1]}"


@cases_for(["smollm2", "gemma", "qwen"])
def golden(name):
    path = model(name)
    stem = MODEL_FILES[name][: -len(".gguf")]
    expected = load_json(os.path.join(folder("TENON_TEST_GOLDEN"), f"tokens-{stem}.json"))["cases"]
    rows = []
    for one in expected:
        text = one["text"]
        rows.append((text, tokenize(path, text, "--no-bos"), one["ids"]))
        rows.append((text, tokenize(path, text, "--no-bos", "--no-special"), one["ids_no_special"]))
    check(path, rows)


@case
def vocabularies():
    paths = sorted(glob.glob(os.path.join(glob.escape(folder("TENON_TEST_VOCAB")), "*.gguf")))
    if not paths:
        raise Skip("no vocabularies there")
    for path in paths:
        with open(path + ".inp", encoding="utf-8", newline="") as f:
            texts = f.read().split(SEPARATOR)
        with open(path + ".out", encoding="ascii") as f:
            wanted = [[int(i) for i in line.split()] for line in f.read().split("\n")]
        step = 1 if LONG else max(1, len(texts) // SHORT_CASES)
        check(path, [(texts[i], tokenize(path, texts[i], "--no-bos", "--no-special"), wanted[i])
                     for i in range(0, len(texts), step)])


@case
def own_vectors():
    """A handful for machines without the golden folders."""
    path = model("smollm2")
    vectors = (("Hello, world!", [19556, 28, 905, 17]), ("", []),
               ("\t\ttabs\n\nnewlines\n", [197, 197, 100, 7366, 198, 198, 2241, 5110, 198]),
               ("  leading and   inner  spaces ", [216, 2899, 284, 256, 6210, 216, 5600, 216]))
    check(path, [(text, tokenize(path, text, "--no-bos"), ids) for text, ids in vectors])
    marked = "<|im_start|>user"
    assert len(tokenize(path, marked, "--no-bos")) < len(tokenize(path, marked, "--no-bos", "--no-special"))


@case
def bos_as_the_model_asks():
    """Gemma asks for a BOS, SmolLM2 does not; --no-bos keeps it away."""
    gemma, smollm2 = model("gemma"), model("smollm2")
    assert tokenize(gemma, "Hello") == [2] + tokenize(gemma, "Hello", "--no-bos")
    assert tokenize(smollm2, "Hello") == tokenize(smollm2, "Hello", "--no-bos")


@case
def text_as_an_argument():
    path = model("smollm2")
    out, _ = tenon("tokenize", "-m", path, "--ids", "Hello, world!")
    assert out.strip().replace(b" ", b"") == b"[19556,28,905,17]", out


@case
def refusals():
    tenon("tokenize", expect=2)
    _, said = tenon("tokenize", "-m", "/nonexistent.gguf", "--ids", "x", expect=1)
    assert b"/nonexistent.gguf" in said, said


main()
