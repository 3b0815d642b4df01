#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Token ids against reference vectors that are not ours to ship.

TENON_TEST_VOCAB   a folder of NAME.gguf with NAME.gguf.inp (texts, separated by a line __ggml_vocab_test__) and
                   NAME.gguf.out (a line of ids for each; special tokens are not parsed)
TENON_TEST_GOLDEN  a folder of tokens-MODEL.json: cases of text, ids (special tokens parsed), ids_no_special
TENON_TEST_MODELS  the folder where MODEL.gguf lies
"""
import glob
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import cases    # noqa: E402  pylint: disable=wrong-import-position

ENCODE = os.environ.get("TENON_VOCAB_ENCODE", os.path.join(cases.BUILD, "tests", "model", "vocab_encode"))
SEPARATOR = b"\n__ggml_vocab_test__\n"
PARSE_SPECIAL = 1


class Wrong(Exception):
    pass


def encode(gguf, requests):
    """[(flags, bytes)] → [(ids, offsets, decoded bytes)]"""
    stdin = b"".join(b"%d %d\n%s" % (flags, len(text), text) for flags, text in requests)
    out, _ = cases.run(ENCODE, gguf, stdin=stdin)
    lines = out.decode().split("\n")[1:]
    answers = []
    for i in range(len(requests)):
        pairs = [tuple(map(int, pair.split(":"))) for pair in lines[2 * i].split()]
        answers.append(([p[0] for p in pairs], [p[1] for p in pairs], bytes.fromhex(lines[2 * i + 1])))
    return answers


def check_answers(gguf, requests, expected):
    wrong = []
    for (flags, text), ids, (found, offsets, _) in zip(requests, expected, encode(gguf, requests)):
        if found != ids:
            wrong.append(f"flags {flags}, {text!r}\n  expected {ids}\n  found    {found}")
        if offsets != sorted(offsets) or any(o > len(text) for o in offsets):
            wrong.append(f"flags {flags}, {text!r}: offsets {offsets}")
    if wrong:
        raise Wrong(f"{len(wrong)} of {len(requests)} texts:\n" + "\n".join(wrong))


def vocabulary(path):
    with open(path + ".inp", "rb") as f:
        texts = f.read().split(SEPARATOR)
    with open(path + ".out", "rb") as f:
        lines = f.read().decode().split("\n")
    if texts and lines[len(texts):] not in ([], [""]):
        raise Wrong(f"{len(texts)} texts, {len(lines)} lines of ids")
    check_answers(path, [(0, text) for text in texts], [list(map(int, line.split())) for line in lines[:len(texts)]])


def golden(path):
    model = os.path.basename(path)[len("tokens-"):-len(".json")]
    gguf = os.path.join(cases.folder("TENON_TEST_MODELS"), model + ".gguf")
    if not os.path.isfile(gguf):
        raise cases.Skip(f"no {model}.gguf in TENON_TEST_MODELS")
    table = cases.load_json(path)["cases"]
    requests = [(flags, c["text"].encode()) for c in table for flags in (PARSE_SPECIAL, 0)]
    check_answers(gguf, requests, [c[key] for c in table for key in ("ids", "ids_no_special")])


def add(variable, pattern, function):
    paths = sorted(glob.glob(os.path.join(os.environ.get(variable) or "", pattern)))

    def none():
        cases.folder(variable)
        raise cases.Skip(f"nothing of {pattern} in {variable}")
    none.__name__ = f"{function.__name__}({pattern})"
    for path in paths:
        def one(path=path):
            function(path)
        one.__name__ = f"{function.__name__}({os.path.basename(path)})"
        cases.case(one)
    if not paths:
        cases.case(none)


if __name__ == "__main__":
    add("TENON_TEST_VOCAB", "*.gguf", vocabulary)
    add("TENON_TEST_GOLDEN", "tokens-*.json", golden)
    cases.main()
