#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The verbs of `tenon` as a user meets them: help, options, exit codes, what is printed and where, in one process and
through a daemon.  On generated models: nothing here is about what they say."""
import glob
import json
import os
import pty
import re
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import pages
import sandbox
from cases import TENOND, TOP, case, cases_for, generated, main, model, run, temporary, tenon
from peer import Daemon

VERBS = ["run", "chat", "tokenize", "logits", "eval", "inspect", "plan", "bench", "ctl", "raw"]
EVIL = "evil\x1b[31m\nname\u009b5m\u202e"
TAKEN = ["seed ", "tokens/s"]           # the closing line of an answer on stderr

_shared = {}


def changed(path, key, new_key=None, text=None):
    """Renames a key of a GGUF file (same length), or gives it another string (as short as the old one, or shorter)."""
    with open(path, "rb") as f:
        data = bytearray(f.read())
    at = data.index(struct.pack("<Q", len(key)) + key.encode()) + 8
    if new_key:
        assert len(new_key) == len(key)
        data[at:at + len(key)] = new_key.encode()
    if text is not None:
        at += len(key) + 4
        size = struct.unpack_from("<Q", data, at)[0]
        text = text.encode()
        assert len(text) <= size, (key, size)
        data[at + 8:at + 8 + size] = text + b" " * (size - len(text))
    with open(path, "wb") as f:
        f.write(data)
    return path


def folder():
    if "folder" not in _shared:
        _shared["folder"] = temporary(prefix="tools")
    return _shared["folder"].name


def plain():
    """ChatML, no BOS."""
    if "plain" not in _shared:
        _shared["plain"] = generated(folder(), "llama", seed=1)
    return _shared["plain"]


def strange():
    """SentencePiece with BOS, a name that would colour the terminal, no chat template."""
    if "strange" not in _shared:
        path = generated(folder(), "llama", "tokenizer=spm", seed=22222222222)   # so much room has the name
        changed(path, "general.name", text=EVIL)
        _shared["strange"] = changed(path, "tokenizer.chat_template", new_key="tokenizer.chat_templatX")
    return _shared["strange"]


def daemon():
    """m0 is plain(), m1 strange()."""
    if "daemon" not in _shared:
        _shared["daemon"] = Daemon(plain(), strange(), options=["--sequences", 2])
    return _shared["daemon"]


def both(number, *words, **how):
    """(stdout, stderr) of a command in its own process and through the daemon, with model m0 or m1."""
    local = tenon(*words, "-m", (plain, strange)[number](), **how)
    remote = tenon(*words, "--socket", daemon().path, "-m", f"m{number}", **how)
    return local, remote


def refused(code, *words, said=(), **how):
    """A refusal: nothing on stdout, every text of `said` on stderr."""
    out, text = tenon(*words, expect=code, **how)
    text = text.decode(errors="replace")
    assert out == b"" and all(one in text for one in said), (words, out, text)
    return text


def on_terminal(*words):
    """What a command writes to a stderr that is a terminal."""
    ours, theirs = pty.openpty()
    try:
        tenon(*words, before=lambda: os.dup2(theirs, 2))
        os.close(theirs)
        theirs = None
        seen = b""
        try:
            while piece := os.read(ours, 65536):
                seen += piece
        except OSError:                 # EIO: nobody holds the other end any more
            pass
        return seen.decode()
    finally:
        os.close(ours)
        if theirs is not None:
            os.close(theirs)


def printable(text):
    return not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)


# --- help and words ---

def options_of(verb):
    """Long options in the source of a verb, those of its groups included."""
    def read(name):
        with open(os.path.join(TOP, "src", "tools", name), encoding="utf-8") as f:
            return f.read()
    source = read(f"verb_{verb}.c")
    texts = [source]
    texts += [read("options.h")] if "MODEL_LONG_OPTIONS" in source else []
    texts += [read("generate.h")] if "GENERATE_LONG_OPTIONS" in source else []
    return sorted(set(re.findall(r'\{ ?"([a-z][a-z0-9-]+)", (?:required|no)_argument', " ".join(texts))) - {"help"})


@cases_for(VERBS)
def help_names_every_option(verb):
    out, said = tenon(verb, "--help")
    assert not said and out.startswith(b"usage: tenon " + verb.encode()), (out, said)
    missing = [o for o in options_of(verb) if not re.search(rf"--{o}\b(?!-)", out.decode())]
    assert not missing, missing
    assert verb == "ctl" or verb == "raw" or options_of(verb), "no option was found in the source"
    refused(2, verb, "--no-such-option")


@case
def verbs_and_no_verb():
    out, _ = tenon("--help")
    assert all(re.search(rf"^  {verb} ", out.decode(), re.M) for verb in VERBS), out
    assert sorted(VERBS) == sorted(os.path.basename(p)[5:-2] for p in glob.glob(f"{TOP}/src/tools/verb_*.c"))
    refused(2, said=["usage"])
    refused(2, "nonsense", said=["nonsense"])
    assert tenon("--version")[0].startswith(b"tenon ")


@case
def values_are_refused_by_name_before_a_load():
    """The model is not even there: the option is looked at first, in this process as through a daemon."""
    for option, value in (("--top-p", 0), ("--top-p", 1.5), ("--typical-p", 0), ("--min-p", -1), ("--temp", 1e-9),
                          ("--repeat-penalty", 0), ("--presence-penalty", 101), ("--temp", "warm"), ("--stop", ""),
                          ("--stop", "x" * 257), ("--seed", -1), ("--top-k", -1)):
        said = [refused(2, "run", "-p", "x", *where, option, value, said=[option])
                for where in (("-m", "/missing.gguf"), ("--socket", "/missing"))]
        assert said[0] == said[1], said
    for text in ("int16:", "int16:qkv,", "int16:,qkv", "int16:nothing", "int4"):
        refused(2, "run", "-m", "/missing.gguf", "-p", "x", "--activations", text, said=["--activations", text])
    for text in ("f32", "q8_0", ""):
        refused(2, "run", "-m", "/missing.gguf", "-p", "x", "--kv", text, said=["--kv", "f16, q8"])
    for option in ("-p", "-n", "--batch", "--repeat"):
        refused(2, "bench", "-m", "/missing.gguf", option, 0, said=[option + " takes 1 to "])
    for verb in ("bench", "run"):
        refused(2, verb, "-m", "/missing.gguf", "--batch-size", 0, said=["--batch-size takes 1 to "])
        refused(2, verb, "-m", "/missing.gguf", "-t", 0, said=["-t takes 1 to "])


@case
def options_of_the_daemon_are_refused():
    for words in (("-c", 64), ("-t", 1), ("-b", 8), ("--prefill-chunk", 8), ("--isa", "ref"), ("--io", "preadv"),
                  ("--topology", "core:2 pu:1"), ("--memory", "ladder"), ("--activations", "int8"), ("--kv", "q8"),
                  ("--placement", "shard")):
        refused(2, "run", "--socket", "/missing", "-p", "x", *words, said=[words[0], "daemon"])
        refused(2, "run", "-m", "some-id", "-p", "x", *words, said=[words[0], "daemon"])
        refused(2, "chat", "--socket", "/missing", *words, said=[words[0], "daemon"])
    refused(2, "run", "--socket", "/missing", "-p", "x", "--parallel", 4, said=["--parallel"])
    refused(2, "run", "-m", "/missing.gguf", "-p", "x", "--system", "y", said=["--system", "--chat"])
    refused(2, "run", "-m", "/missing.gguf", said=["-p"])


@case
def habits_of_others():
    tenon("run", "-q", "-m", plain(), "-p", "x", "-n", 1, "--mlock", "--no-mmap")
    refused(2, "run", "-m", plain(), "-p", "x", "--mmap", said=["--mmap", "page cache"])
    refused(2, "run", "-m", plain(), "-p", "x", "--memory-f32", said=["--memory-f32", "f16", "q8"])
    scratch = [json.loads(tenon("plan", plain(), "--json", *words)[0])["nodes"][0]["scratch_bytes"]
               for words in ((), ("-b", 32), ("--batch-size", 32), ("--prefill-chunk", 32))]
    assert scratch[0] > scratch[1] == scratch[2] == scratch[3], scratch
    answers = {tenon("run", "-q", "-m", plain(), "-p", "a longer prompt", "-n", 4, "-b", b)[0] for b in (1, 3, 512)}
    assert len(answers) == 1, answers


# --- exit codes ---

@case
def exit_codes():
    with temporary() as here:
        refused(1, "run", "-m", os.path.join(here, "none.gguf"), "-p", "x", said=["none.gguf"])
        refused(69, "ctl", "ping", "--socket", os.path.join(here, "none"), said=["tenond"])
        refused(69, "run", "--socket", os.path.join(here, "none"), "-p", "x", said=["tenond"])
        refused(77, "run", "-m", plain(), "-p", "x", "--io", "uring", said=["uring"],
                before=sandbox.deny(sandbox.IO_URING_SETUP))
        with pages.taken():
            refused(71, "run", "-m", plain(), "-p", "x", "--memory", "require-huge", said=["pages"])
        wrong = os.path.join(here, "tenon.conf")
        with open(wrong, "w", encoding="ascii") as f:
            f.write("[server]\nnonsense = 1\n")
        run(TENOND, "--config", wrong, "--check-config", expect=78)


@case
def no_daemon_at_the_default_place():
    nowhere = {"TENON_SOCKET": "", "XDG_RUNTIME_DIR": "/nonexistent"}
    if not os.path.exists("/run/tenon/tenon.sock"):
        refused(69, "ctl", "ping", environment=nowhere,
                said=["/run/tenon/tenon.sock", "tenond", "--socket", "TENON_SOCKET"])
    _, said = run(TENOND, "--model", f"m={plain()}", "--socket", "/nonexistent/folder/s", expect=None, timeout=20)
    assert b"/nonexistent/folder" in said and b"--socket" in said, said


@case
def what_is_no_model():
    with temporary() as here:
        pipe, ids, missing = (os.path.join(here, name) for name in ("pipe.gguf", "ids", "missing.gguf"))
        os.mkfifo(pipe)
        with open(ids, "w", encoding="ascii") as f:
            f.write("1 2 3")
        for path in (pipe, here, missing):
            for words in (("run", "-m", path, "-p", "x"), ("chat", "-m", path), ("tokenize", "-m", path, "x"),
                          ("logits", "-m", path, "--tokens-file", ids, "--out", os.path.join(here, "x.npy")),
                          ("eval", "perplexity", "-m", path, "-f", ids), ("inspect", path),
                          ("inspect", path, "--graph"), ("plan", path), ("bench", "-m", path)):
                refused(1, *words, said=[path], timeout=10)
        assert sorted(os.listdir(here)) == ["ids", "pipe.gguf"]


@case
def unknown_model_over_the_socket():
    for verb in (("run", "-p", "x"), ("run", "--chat", "-p", "x")):
        refused(1, *verb, "--socket", daemon().path, "-m", "nobody", said=["nobody"])


@case
def output_that_cannot_be_written():
    """A full disk, and a descriptor that the caller closed."""
    commands = [("--help",), ("--version",), *((verb, "--help") for verb in VERBS), ("tokenize", "-m", plain(), "x"),
                ("inspect", plain()), ("plan", plain()), ("run", "-q", "-m", plain(), "-p", "x"),
                ("run", "-q", "--socket", daemon().path, "-m", "m0", "-p", "x")]
    commands += [("ctl", what, "--socket", daemon().path) for what in ("ping", "status", "metrics")]
    for words in commands:
        with open("/dev/full", "wb") as full:
            _, said = tenon(*words, expect=1, before=lambda fd=full.fileno(): os.dup2(fd, 1))
        assert b"output" in said, (words, said)
        _, said = tenon(*words, expect=1, before=lambda: os.close(1))
        assert b"output" in said, (words, said)


# --- run and chat ---

@case
def one_bos_whoever_brings_it():
    for number, texts in ((1, ("<bos>some words", "some words")), (0, ("some words",))):
        answers = {pair[0] for text in texts for pair in both(number, "run", "-q", "-p", text, "-n", 8)}
        assert len(answers) == 1, answers
        counts = {re.search(rb"(\d+) prompt tokens", pair[1])[1] for text in texts
                  for pair in both(number, "run", "-p", text, "-n", 1)}
        assert len(counts) == 1, counts
    ids = [json.loads(tenon("tokenize", "-m", strange(), text)[0]) for text in ("<bos>some words", "some words")]
    assert ids[0] == ids[1] and ids[0].count(ids[0][0]) == 1, ids


@case
def chat_without_bos():
    path = generated(folder(), "gemma3", seed=3)
    with Daemon(path) as d:
        counts = []
        for words in (("--no-bos",), ()):
            for where in (("-m", path), ("--socket", d.path)):
                _, said = tenon("run", "--chat", *words, *where, "-p", "hello", "-n", 1)
                counts.append(int(re.search(rb"(\d+) prompt tokens", said)[1]))
        assert counts[0] == counts[1] == counts[2] - 1 == counts[3] - 1, counts


@case
def chat_of_two_turns():
    lines = b"hello there\nand once more\n\nnot read\n"
    (local, said), (remote, _) = both(0, "chat", "-q", "-n", 6, "--ignore-eos", stdin=lines)
    assert local == remote and not said, (local, remote, said)
    single, _ = tenon("chat", "-q", "-n", 6, "--ignore-eos", "-m", plain(), stdin=b"hello there\n")
    assert local.startswith(single) and len(local) > len(single) + 1, (local, single)
    system, _ = tenon("chat", "-q", "-n", 6, "--ignore-eos", "--system", "Be brief.", "-m", plain(), stdin=lines)
    assert system != local


@case
def no_template_in_the_same_words():
    texts = set()
    for pair in both(1, "run", "--chat", "-p", "x", "-q", expect=1):
        assert pair[0] == b"" and b"template" in pair[1], pair
        texts.add(pair[1])
    assert len(texts) == 1, texts


@case
def seed_is_told():
    words = ["run", "-p", "hello", "-n", 6, "--temp", 1, "--ignore-eos"]    # chance may end a text
    for pair in both(0, *words):
        seed = re.search(r"seed (\d+)", pair[1].decode())
        assert seed and "6 tokens in" in pair[1].decode(), pair[1]
        for again in both(0, *words, "-q", "--seed", seed[1]):
            assert again == (pair[0], b""), (again, pair)


@case
def prompt_that_is_no_text():
    for number in (0, 1):
        with temporary() as here:
            path = os.path.join(here, "prompt")
            with open(path, "wb") as f:
                f.write(b"\xff\xfe\x00 caf\xc3 \xf0\x9f")
            local, remote = both(number, "run", "-q", "-f", path, "-n", 6)
        assert local == remote, (local, remote)
    local, remote = (pair[0] for pair in both(0, "run", "-q", "-p", b"\xff\xfe\xc3", "-n", 6))
    assert local == remote
    refused(1, "run", "-m", plain(), "-f", "/missing/prompt", said=["/missing/prompt"])


@case
def parallel_answers_are_one():
    alone, _ = tenon("run", "-q", "-m", plain(), "-p", "hello", "-n", 6)
    assert tenon("run", "-q", "-m", plain(), "-p", "hello", "-n", 6, "--parallel", 4)[0] == alone


# --- what is printed ---

@case
def names_do_not_reach_the_terminal_raw():
    for words in (("ctl", "status", "--socket", daemon().path), ("ctl", "metrics", "--socket", daemon().path),
                  ("ctl", "ping", "--socket", daemon().path), ("inspect", strange()),
                  ("inspect", strange(), "--tensors"),
                  ("tokenize", "-m", strange(), "--pieces", "x\x1b[31m\u009b")):
        text = tenon(*words)[0].decode()
        assert printable(text), (words, text)
    assert printable(daemon().said()), daemon().said()
    status = tenon("ctl", "status", "--socket", daemon().path)[0].decode()
    assert "(evil?[31m?name??5m???" in status, status
    with temporary() as here:
        path = changed(generated(here, "llama"), "tokenizer.ggml.model", text="\x1b[3")
        assert printable(refused(1, "tokenize", "-m", path, "x", said=["?[3"]))
        path = changed(generated(here, "llama"), "blk.0.attn_q.weight", new_key="\x1b[31m.attn_q.weight")
        assert printable(tenon("inspect", path, "--tensors")[0].decode())
        assert printable(refused(1, "plan", path))


@case
def no_pre_tokenizer():
    with temporary() as here:
        path = changed(generated(here, "llama"), "tokenizer.ggml.pre", new_key="tokenizer.ggml.prX")
        said = refused(1, "tokenize", "-m", path, "x", said=["the file names no pre-tokenizer", "known are"])
        assert '""' not in said, said


@case
def inspect():
    out = tenon("inspect", plain())[0].decode()
    assert "GGUF version 3" in out and "general.architecture" in out and '"llama"' in out, out
    tensors = tenon("inspect", "-m", plain(), "--tensors")[0].decode()
    assert len(tensors.splitlines()) == len(out.splitlines()) + int(re.search(r"(\d+) tensors", out)[1]), tensors
    assert re.search(r"blk\.0\.attn_q\.weight .* matmul_\w+__\w+", tensors), tensors
    assert re.search(r"blk\.0\.attn_norm\.weight .* bytes$", tensors, re.M), tensors
    graph = tenon("inspect", plain(), "--graph")[0].decode()
    assert "rms_norm" in graph and "phases" in graph, graph


@case
def plan_adds_up():
    """The bytes of all nodes are those of the packed model, however they are dealt."""
    with daemon().peer() as p:
        packed = p.call("MODEL_INFO", {"model": "m0"})[0]["weight_bytes"]
    for topology, nodes in ((None, None), ("numa:1 core:4 pu:2", 1), ("numa:2 core:3 pu:1", 2),
                            ("numa:5 core:2 pu:1", 5)):
        words = ("--topology", topology) if topology else ()
        whole = json.loads(tenon("plan", plain(), "--json", *words)[0])
        assert sum(n["weight_bytes"] for n in whole["nodes"]) == packed, (topology, whole, packed)
        assert nodes in (None, len(whole["nodes"])) and whole["architecture"] == "llama", whole
        assert sum(n["workers"] for n in whole["nodes"]) == whole["workers"], whole
        mirror = json.loads(tenon("plan", plain(), "--json", "--placement", "mirror", *words)[0])
        assert all(n["weight_bytes"] == packed for n in mirror["nodes"]), mirror
        local = json.loads(tenon("plan", plain(), "--json", "--placement", "local", *words)[0])
        assert [n["weight_bytes"] for n in local["nodes"]] == [packed], local
        text = tenon("plan", plain(), *words)[0].decode()
        assert len(re.findall(r"^node \d+ +\|[#+ ]{32}\|", text, re.M)) == len(whole["nodes"]), text
        for node in whole["nodes"]:
            assert f"echo {node['pages_2m']} > /sys/devices/system/node/node{node['os_node']}/" in text, text
        assert " ," not in text and "they share" not in (text if topology else ""), text
    assert ", 1 sequence of 64 positions" in tenon("plan", plain(), "--sequences", 1, "-c", 64)[0].decode()
    refused(1, "plan", plain(), "--topology", "nonsense:x", said=["nonsense"])


@case
def plan_of_the_readme():
    """What README.md shows is what is printed; lines of it may be left out."""
    with open(os.path.join(TOP, "README.md"), encoding="utf-8") as f:
        shown = re.search(r'\$ tenon plan \S+ --topology "(.*?)"\n(.*?)```', f.read(), re.S)
    printed = tenon("plan", model("qwen"), "--topology", shown[1])[0].decode().splitlines()
    at = -1
    for line in shown[2].splitlines():
        if line.strip() == "...":
            continue
        assert line in printed[at + 1:], line
        at = printed.index(line, at + 1)


@case
def bench_keys():
    words = ("bench", "-m", plain(), "-p", 16, "-n", 4, "--repeat", 1, "--batch", 2)
    out, _ = tenon(*words, "--json")
    r = json.loads(out)
    for value in (r["prefill"]["tokens_per_s"], r["decode"]["tokens_per_s"], r["decode"]["bandwidth_fraction"],
                  r["decode"]["bytes_per_s"], r["read_bandwidth_bytes_per_s"], r["load_bytes_per_s"], r["threads"],
                  r["nodes"]):
        assert value > 0, r
    assert r["decode"]["batch"] == 2 and r["prefill"]["tokens"] == 16 and r["level"] and r["activations"] == "int8", r
    text = tenon(*words)[0].decode()
    assert re.search(r"^prefill .*\ndecode .*% of the read bandwidth\nread .*\nload .*\n"
                    r"steps of few tokens: +embed .* waiting .* ms in the graph\n"
                    r"steps of many tokens: .*\n$", text), text
    few, many = r["phases"]["few_tokens"], r["phases"]["many_tokens"]
    assert few.pop("steps") == 4 and many.pop("steps") == 1, r["phases"]
    for phases in (few, many):
        assert set(phases) == {"embed", "qkv", "attend", "out", "gate_up", "down", "head"}, phases
        assert all(run > 0 and wait >= 0 for run, wait in phases.values()), phases
    assert sum(map(sum, few.values())) <= 4 * r["decode"]["step_seconds"][2], r


@case
def bench_sweeps():
    words = ("bench", "-m", plain(), "-p", 8, "-n", 3, "--repeat", 2, "--prefill", "1,5,17", "--batches", "2,1,3",
             "--contexts", "0,70", "--topology", "numa:2 core:1 pu:1", "--no-pin")
    r = json.loads(tenon(*words, "--json")[0])
    assert [p["tokens"] for p in r["prompts"]] == [1, 5, 17] and [p["batch"] for p in r["batches"]] == [2, 1, 3]
    assert [p["context"] for p in r["contexts"]] == [0, 70], r["contexts"]
    for p in r["prompts"] + r["batches"] + r["contexts"]:
        assert p["tokens_per_s"] > 0 and 0 < p["seconds"][0] <= p["seconds"][1] <= p["seconds"][2], p
    assert 0 < r["decode"]["step_seconds"][0] <= r["decode"]["step_seconds"][2]
    first, last = r["contexts"]
    assert first["added_bytes"] == 0 and last["added_bytes"] > 0 and last["added_bytes"] % 70 == 0, last
    assert abs(last["added_bytes_seconds"] * r["read_bandwidth_bytes_per_s"] / last["added_bytes"] - 1) < 1e-3
    assert len(r["links"]) == r["nodes"] ** 2 == 4 and all(link["bytes_per_s"] > 0 for link in r["links"]), r["links"]
    assert r["pinned"] is False and r["model"]["architecture"] == "llama", r
    text = tenon(*words)[0].decode()
    for title, count in (("prompt tokens", 3), ("sequences", 3), ("context", 2)):
        assert re.search(rf"^{title} +tokens/s .*\n(?: +\d+(?: +[\d.]+){{4}}\n){{{count}}}", text, re.M), (title, text)
    assert len(re.findall(r"^node \d+ reads node \d+ +[\d.]+ GB/s$", text, re.M)) == 4, text
    assert re.search(r"^70 positions more add -?[\d.]+ ms to a step", text, re.M), text


@case
def bench_lists_are_refused():
    for option, lowest in (("--prefill", 1), ("--batches", 1), ("--contexts", 0)):
        for value in ("", ",", "1,", ",1", "1,,2", "x", "1;2", "-1", lowest - 1, 10 ** 9, "9" * 40,
                      ",".join(["1"] * 33)):
            refused(2, "bench", "-m", "/missing.gguf", option, value, said=[option, "numbers from"])
    refused(1, "bench", "-m", "/missing.gguf", "--prefill", ",".join(["1"] * 32), said=["missing.gguf"])
    refused(1, "bench", "-m", plain(), "-c", 64, "-p", 8, "-n", 2, "--repeat", 1, "--prefill", 100, said=["context"])


@case
def bench_pages_by_word():
    """The ladder from a rung down: nothing of a higher one is taken, and 4 KiB pages are told."""
    for word in ("thp", "4k"):
        out, _ = tenon("bench", "-m", plain(), "-p", 4, "-n", 2, "--repeat", 1, "--json", "--memory", word)
        r = json.loads(out)
        assert r["pages"]["1g_bytes"] == r["pages"]["2m_bytes"] == 0 < r["pages"]["other_bytes"], r["pages"]
        assert ("4 KiB pages" in r["note"]) == (word == "4k"), r["note"]
    out, _ = tenon("bench", "-m", plain(), "-p", 4, "-n", 2, "--repeat", 1, "--json", "--memory", "2m")
    assert json.loads(out)["pages"]["1g_bytes"] == 0


# --- logits and eval ---

@case
def logits_destroy_nothing():
    with temporary() as here:
        ids, out = os.path.join(here, "ids"), os.path.join(here, "x.npy")
        words = ("logits", "-q", "-m", plain(), "--tokens-file", ids, "--out")
        with open(ids, "w", encoding="ascii") as f:
            f.write("1, 2\n3")
        assert tenon(*words, out) == (b"", b"")
        with open(out, "rb") as f:
            good = f.read()
        vocabulary = int(re.search(rb"\(3, (\d+)\)", good)[1])
        assert good.startswith(b"\x93NUMPY\x01\0") and len(good) == 128 + 4 * 3 * vocabulary, good[:128]
        assert tenon(*words, "/dev/stdout")[0] == good
        for bad in (f"1 2 {vocabulary}", "1 x", "", "99999999999"):
            with open(ids, "w", encoding="ascii") as f:
                f.write(bad)
            refused(1, *words, out)
            with open(out, "rb") as f:
                assert f.read() == good, "the output of a former run is gone"
        with open(ids, "w", encoding="ascii") as f:
            f.write("1 2 3")
        refused(1, *words, out, "-c", 2, said=["context"])
        os.symlink(out, os.path.join(here, "link"))
        tenon(*words, os.path.join(here, "link"))
        assert os.path.islink(os.path.join(here, "link"))
        assert "loading" not in refused(1, "logits", *words[2:], "/missing/x.npy", said=["/missing/x.npy"])
        assert sorted(os.listdir(here)) == ["ids", "link", "x.npy"]


@case
def eval_perplexity():
    with temporary() as here:
        path = os.path.join(here, "text")
        with open(path, "w", encoding="ascii") as f:
            f.write("The quick brown fox jumps over the lazy dog. " * 20)
        words = ("eval", "perplexity", "-q", "-m", plain(), "-f", path, "-c", 64)
        r = json.loads(tenon(*words, "--chunks", 2, "--json")[0])
        assert r["chunks"] == 2 and r["scored"] == 62 and r["perplexity"] > 1, r
        assert tenon(*words, "--chunks", 2)[0].startswith(f"perplexity {r['perplexity']:.4f} ".encode())
        refused(1, *words[:-1], 4096, said=["one chunk takes 4096"])
    said = refused(1, "eval", "perplexity", "-m", plain(), "-f", "/missing/text", said=["/missing/text"])
    assert "threads" not in said, "the model was loaded first"


@case
def progress_on_a_terminal():
    with temporary() as here:
        ids, text = os.path.join(here, "ids"), os.path.join(here, "text")
        with open(ids, "w", encoding="ascii") as f:
            f.write("1 2 3")
        with open(text, "w", encoding="ascii") as f:
            f.write("The quick brown fox jumps over the lazy dog. " * 10)
        commands = (("logits", "-m", plain(), "--tokens-file", ids, "--out", os.path.join(here, "x")),
                    ("eval", "perplexity", "-m", plain(), "-f", text, "-c", 32),
                    ("bench", "-m", plain(), "-p", 16, "-n", 4, "--repeat", 1))
        for words in commands:
            seen = on_terminal(*words)
            assert re.search(r"100 % \((\d+)/\1 tokens, 0 s left\)", seen), (words, seen)
            assert on_terminal(*words, "-q") == "", words
            _, said = tenon(*words)
            assert b" left)" not in said, said
    seen = on_terminal("run", "-m", plain(), "-p", "x", "-n", 2)
    assert all(one in seen for one in TAKEN), seen
    assert on_terminal("run", "-q", "-m", plain(), "-p", "x", "-n", 2) == ""


try:
    main()
finally:
    if "daemon" in _shared:
        _shared["daemon"].__exit__(None, None, None)
    if "folder" in _shared:
        _shared["folder"].cleanup()
